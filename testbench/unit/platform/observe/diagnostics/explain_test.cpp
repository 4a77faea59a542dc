#include "firmware/refusal.h"
#include "testbench/unit/platform/observe/diagnostics/explain_bench.h"

using namespace explained;
using namespace platform::observe;
using namespace platform::observe::diagnostics;
using namespace traces;

TEST_CASE("a refused key, its error completion, the error state and the flushed rest are one paragraph",
          "[unit][observe][explain]") {
    Bench bench;

    fail_locally(bench.a, 1'500'000);

    CHECK(bench.finish() ==
          "0.000001500 s, A.hca: QP 0x48, send WQE 0x3 (RDMA_WRITE): IBV_WC_LOC_PROT_ERR (local protection error).\n"
          "  Decoded: error CQE in CQ 0x4, syndrome 0x4, vendor syndrome 0x23 (translation: wrong protection domain); "
          "key 0x1a05 (index 0x1a, variant 0x5), address 0x7f0000001000, 64 bytes: wrong protection domain; "
          "the queue pair went from RTS to ERR; 3 work requests behind it were flushed (IBV_WC_WR_FLUSH_ERR).\n"
          "  Rule: memory key and queue pair belong to the same protection domain [IBA 10.6.3; PRM \"Memory key\"].\n"
          "  Likely cause: the region was registered with another PD than the queue pair (or shared receive queue) was "
          "created with.\n");
}

TEST_CASE("a refusal waits for the completion that earlier work requests hold up", "[unit][observe][explain]") {
    Bench bench;

    bench.a.emit(At{1}, Refused{.key = 0x100, .address = 0, .length = 1, .violation = "out of bounds"});
    bench.a.emit(At{2}, PacketReceived{.destination_qpn = 0x48, .psn = 1, .opcode = 0x11, .payload = 0});
    bench.a.emit(At{3}, CompletionFailed{.cqn = 4,
                                         .qpn = 0x48,
                                         .opcode = req_err,
                                         .syndrome = 0x04,
                                         .vendor = 0x26,
                                         .send_opcode = 0x0a,
                                         .wqe_counter = 0});

    const auto text = bench.finish();
    CHECK(count(text, "Likely cause") == 1);
    CHECK(text.contains("key 0x100"));
}

TEST_CASE("a key that is refused without any consequence is explained when nothing is under way",
          "[unit][observe][explain]") {
    Bench bench;
    bench.a.emit(At{1}, Refused{.key = 0x100, .address = 0, .length = 1, .violation = "no right"});
    CHECK(bench.text().empty());

    bench.settle();

    CHECK(bench.text().contains("A.hca: key 0x100 refused: no right."));
}

TEST_CASE("a NAK and its cause are the responder's paragraph, the peer's completion comes after it",
          "[unit][observe][explain]") {
    Bench bench;

    bench.b.emit(At{1}, Refused{.key = 0x200, .address = 0x10, .length = 8, .violation = "no right"});
    bench.b.emit(At{1}, Naked{.qpn = 0x50, .psn = 7, .syndrome = 0x62});
    bench.b.emit(At{1}, EventWritten{.eqn = 1, .type = 0x11, .subtype = 0, .number = 0x50});
    bench.b.emit(At{1}, QueueStateChanged{.qpn = 0x50, .from = rts, .to = err});
    bench.a.emit(At{2}, CompletionFailed{.cqn = 4,
                                         .qpn = 0x48,
                                         .opcode = req_err,
                                         .syndrome = 0x13,
                                         .vendor = 0x52,
                                         .send_opcode = 0x10,
                                         .wqe_counter = 0});
    bench.a.emit(At{2}, QueueStateChanged{.qpn = 0x48, .from = rts, .to = err});
    bench.a.emit(At{3}, DoorbellRung{.qpn = 0x49, .uar = 1, .producer = 1});

    const auto text = bench.text();
    CHECK(count(text, "Likely cause") == 2);
    const auto responder = text.find("B.hca: QP 0x50 refuses a request of its peer"),
               requester = text.find("IBV_WC_REM_ACCESS_ERR");
    CHECK(responder < requester);
    CHECK(requester != std::string::npos);
    CHECK(text.contains("NAK for PSN 0x7: remote access error; asynchronous event: work queue access error"));
    CHECK(text.contains("the key does not grant") == false);
    CHECK(text.contains("Rule: a key grants only the accesses whose bits it has"));
}

TEST_CASE("what the requester repeats by itself is not explained", "[unit][observe][explain]") {
    Bench bench;

    bench.b.emit(At{1}, Naked{.qpn = 0x50, .psn = 7, .syndrome = 0x60}); // PSN sequence error
    bench.b.emit(At{1}, Naked{.qpn = 0x50, .psn = 7, .syndrome = 0x2c}); // RNR

    CHECK(bench.finish().empty());
}

TEST_CASE("tries that ran out say why the requester went back", "[unit][observe][explain]") {
    Bench bench;

    bench.a.emit(At{1}, Retried{.qpn = 0x48, .psn = 7, .left = 0, .reason = "timeout"});
    bench.a.emit(At{2}, CompletionFailed{.cqn = 4,
                                         .qpn = 0x48,
                                         .opcode = req_err,
                                         .syndrome = 0x15,
                                         .vendor = 0x70,
                                         .send_opcode = 0x08,
                                         .wqe_counter = 0});

    const auto text = bench.finish();
    CHECK(text.contains("IBV_WC_RETRY_EXC_ERR"));
    CHECK(text.contains("reason \"timeout\""));
    CHECK(text.contains("the peer's queue pair is not in RTR"));
}

TEST_CASE("what a queue pair of the same number had gone through before is no cause", "[unit][observe][explain]") {
    constexpr std::uint8_t rst = 0, init = 1;
    const Retried before{.qpn = 0x48, .psn = 7, .left = 0, .reason = "rnr"};
    const auto failed = fail_send(0x48, 0x02, 0x14);

    Bench made_anew;
    made_anew.a.emit(At{1}, before);
    made_anew.a.emit(At{2}, QueueStateChanged{.qpn = 0x48, .from = rst, .to = init});
    made_anew.a.emit(At{3}, failed);
    Bench of_another_driver;
    of_another_driver.a.emit(At{1}, before);
    of_another_driver.a.emit(At{2}, enable_hca());
    of_another_driver.a.emit(At{3}, failed);
    Bench its_own;
    its_own.a.emit(At{1}, before);
    its_own.a.emit(At{2}, QueueStateChanged{.qpn = 0x49, .from = rst, .to = init});
    its_own.a.emit(At{3}, failed);

    for (auto* bench : {&made_anew, &of_another_driver}) {
        const auto text = bench->finish();
        CHECK(text.contains("IBV_WC_LOC_QP_OP_ERR"));
        CHECK_FALSE(text.contains("had gone back before"));
    }
    CHECK(its_own.finish().contains("the requester had gone back before, reason \"rnr\""));
}

TEST_CASE("PSNs and path MTUs that do not fit are among the causes", "[unit][observe][explain]") {
    Bench bench;

    bench.a.emit(At{1}, fail_send(0x48, 0x15, 0x70));
    bench.a.emit(At{2}, fail_send(0x49, 0x12, 0x51));
    bench.b.emit(At{3}, Naked{.qpn = 0x50, .psn = 7, .syndrome = 0x61}); // invalid request

    const auto text = bench.finish();
    CHECK(count(text, "its rq_psn is not the sq_psn of this side") == 1);
    CHECK(count(text, "the two sides have different path MTUs") == 2);
}

TEST_CASE("a DMA access that the bus refuses belongs to the completion it spoils", "[unit][observe][explain]") {
    Bench bench;

    bench.a_bus.emit(At{1}, DmaWritten{.address = 0xdead000, .length = 64, .status = 1});
    bench.a.emit(At{1}, CompletionFailed{.cqn = 4,
                                         .qpn = 0x48,
                                         .opcode = resp_err,
                                         .syndrome = 0x11,
                                         .vendor = 0xa1,
                                         .send_opcode = 0,
                                         .wqe_counter = 9});
    bench.a_bus.emit(At{2}, DmaRead{.address = 0xbeef000, .length = 16, .status = 1});

    const auto text = bench.finish();
    CHECK(count(text, "Likely cause") == 2);
    CHECK(text.contains("receive WQE 0x9: IBV_WC_LOC_ACCESS_ERR"));
    CHECK(text.contains("DMA write of 64 bytes at bus address 0xdead000: unsupported request."));
    CHECK(text.contains("A.hca.pcie: the bus refuses a DMA access (unsupported request).\n  Decoded: DMA read of 16 "
                        "bytes at bus address 0xbeef000"));
}

TEST_CASE("a component is no part of a card because of its name", "[unit][observe][explain]") {
    Bench bench;

    bench.namesake.emit(At{1}, DmaWritten{.address = 0xdead000, .length = 64, .status = 1});
    bench.b.emit(At{1}, CompletionFailed{.cqn = 4,
                                         .qpn = 0x48,
                                         .opcode = resp_err,
                                         .syndrome = 0x11,
                                         .vendor = 0xa1,
                                         .send_opcode = 0,
                                         .wqe_counter = 9});

    const auto text = bench.finish();
    CHECK(count(text, "0xdead000") == 1);
    CHECK(text.contains("B.hca.pcie: the bus refuses a DMA access (unsupported request)."));
}

TEST_CASE("a queue pair that the driver brings to the error state is no failure", "[unit][observe][explain]") {
    Bench bench;

    bench.a.emit(At{1}, QueueStateChanged{.qpn = 0x48, .from = rts, .to = err});
    bench.a.emit(At{1},
                 CompletionWritten{
                     .cqn = 4, .qpn = 0x48, .opcode = req_err, .syndrome = 0x05, .wqe_counter = 0, .byte_count = 0});
    bench.a.emit(At{1}, CommandExecuted{
                            .opcode = 0x507, .op_mod = 0, .status = 0, .syndrome = 0, .command = "2ERR_QP", .why = ""});

    CHECK(bench.finish().empty());
}

TEST_CASE("a queue pair in error without a completion is explained by its asynchronous event",
          "[unit][observe][explain]") {
    Bench bench;

    bench.a.emit(At{1}, EventWritten{.eqn = 1, .type = 0x05, .subtype = 0, .number = 0x48});
    bench.a.emit(At{1}, QueueStateChanged{.qpn = 0x48, .from = rts, .to = err});

    const auto text = bench.finish();
    CHECK(text.contains("QP 0x48 goes to the error state"));
    CHECK(text.contains("the producer in the doorbell record ran more than a ring ahead"));
}

TEST_CASE("a UMR's refusal and its error completion are one paragraph", "[unit][observe][explain]") {
    Bench bench;

    bench.a.emit(At{1}, KeyChangeRefused{.qpn = 0x48, .key = 0x300, .why = "the key does not take UMRs"});
    bench.a.emit(At{1}, CompletionFailed{.cqn = 4,
                                         .qpn = 0x48,
                                         .opcode = req_err,
                                         .syndrome = 0x06,
                                         .vendor = 0x81,
                                         .send_opcode = 0x25,
                                         .wqe_counter = 0});

    const auto text = bench.finish();
    CHECK(count(text, "Likely cause") == 1);
    CHECK(text.contains("IBV_WC_MW_BIND_ERR"));
    CHECK(text.contains("UMR of key 0x300: the key does not take UMRs"));
    CHECK(text.contains("CREATE_MKEY was given without mkc.umr_en"));
}

TEST_CASE("work requests that are posted to a queue pair in error are counted", "[unit][observe][explain]") {
    Bench bench;
    const CompletionWritten flushed{
        .cqn = 4, .qpn = 0x48, .opcode = req_err, .syndrome = 0x05, .wqe_counter = 0, .byte_count = 0};

    fail_locally(bench.a, 1);
    bench.a.emit(At{2}, DoorbellRung{.qpn = 0x48, .uar = 1, .producer = 9});
    bench.a.emit(At{3}, flushed);
    bench.a.emit(At{3}, flushed);
    bench.a.emit(At{4}, QueueStateChanged{.qpn = 0x48, .from = err, .to = 0});

    CHECK(count(bench.text(), "Likely cause") == 1);
    CHECK(bench.text().ends_with(
        "A.hca: QP 0x48: 2 more work requests were flushed in the error state (IBV_WC_WR_FLUSH_ERR)\n"));
}

TEST_CASE("an arm that is written twice is no mistake", "[unit][observe][explain]") {
    Bench bench;

    bench.a.emit(At{1}, DoorbellIgnored{.number = 0x48, .uar = 16, .reason = traces::harmless});

    CHECK(bench.text().empty());
}
