#include "firmware/refusal.h"
#include "testbench/unit/platform/observe/diagnostics/explain_bench.h"

using namespace explained;
using namespace platform::observe;
using namespace platform::observe::diagnostics;
using namespace traces;

TEST_CASE("a refused command shows its input by the names of its fields", "[unit][observe][explain]") {
    Bench bench;
    const auto* refusal = firmware::refuse("destroy_cq.unknown");

    bench.a.emit(
        At{1},
        CommandInput{.opcode = 0x401, .offset = 0, .first = 0x0401'0000'0000'0000, .second = 0x0000'0077'0000'0000});
    bench.a.emit(At{1}, CommandExecuted{.opcode = 0x401,
                                        .op_mod = 0,
                                        .status = 5,
                                        .syndrome = refusal->syndrome,
                                        .command = "DESTROY_CQ",
                                        .why = refusal->why});

    const auto text = bench.text();
    CHECK(text.contains(
        "command DESTROY_CQ (opcode 0x401, op_mod 0x0) refused: status 0x5 (bad resource), syndrome 0x90b."));
    CHECK(text.contains("opcode=0x401 (DESTROY_CQ)"));
    CHECK(text.contains("cqn=0x77"));
    CHECK(text.contains("Rule: cqn names no completion queue [PRM \"Completion queues\"]."));
    CHECK(text.contains("Likely cause: the number was never given out"));
}

TEST_CASE("input of one refused command does not reach into the next", "[unit][observe][explain]") {
    Bench bench;
    const auto* refusal = firmware::refuse("destroy_cq.unknown");
    const auto fail = [&] {
        bench.a.emit(At{1}, CommandExecuted{.opcode = 0x401,
                                            .op_mod = 0,
                                            .status = 5,
                                            .syndrome = refusal->syndrome,
                                            .command = "DESTROY_CQ",
                                            .why = refusal->why});
    };

    bench.a.emit(At{1}, CommandInput{.opcode = 0x401, .offset = 0xffff, .first = 1, .second = 1});
    bench.a.emit(
        At{1},
        CommandInput{.opcode = 0x401, .offset = 0, .first = 0x0401'0000'0000'0000, .second = 0x0000'0077'0000'0000});
    fail();
    fail();

    CHECK(count(bench.text(), "cqn=0x77") == 1);
    CHECK(count(bench.text(), "Likely cause") == 2);
}

TEST_CASE("a command whose queue entry cannot be delivered is explained by its delivery status",
          "[unit][observe][explain]") {
    Bench bench;

    bench.a.emit(At{1}, CommandExecuted{.opcode = 0x800,
                                        .op_mod = 0,
                                        .status = 1,
                                        .syndrome = 0,
                                        .command = "ALLOC_PD",
                                        .why = "token error",
                                        .delivery = static_cast<std::uint8_t>(abi::prm::DeliveryStatus::token_error)});

    const auto* known = explain(abi::prm::DeliveryStatus::token_error);
    REQUIRE(known != nullptr);
    const auto text = bench.finish();
    CHECK(text.contains(std::string(known->rule)));
    CHECK(text.contains(std::string(known->cause)));
    // The driver finds this in the entry; of status and syndrome there are none.
    CHECK(text.contains("refused: delivery status 0x2 (token error).\n"));
    CHECK_FALSE(text.contains("syndrome"));
}

TEST_CASE("the same mistake of the same object is printed three times and then counted", "[unit][observe][explain]") {
    Bench bench;

    for (std::int64_t i = 0; i < 100; ++i)
        bench.a.emit(At{i}, DoorbellIgnored{.number = 0x48, .uar = 16, .reason = "no such queue pair"});
    bench.a.emit(At{100}, DoorbellIgnored{.number = 0x49, .uar = 16, .reason = "no such queue pair"});

    const auto text = bench.finish();
    CHECK(count(text, "Likely cause") == 4);
    CHECK(count(text, "once more, and from now on only counted") == 1);
    CHECK(text.contains("100 times in all, 97 of them left out here"));
}

TEST_CASE("a mistake that another driver makes anew is told anew", "[unit][observe][explain]") {
    Bench bench;
    const auto mistake = [](const Events& events) {
        events.emit(At{1}, DoorbellIgnored{.number = 0x48, .uar = 16, .reason = "no such queue pair"});
    };
    for (unsigned i = 0; i < 5; ++i)
        mistake(bench.a), mistake(bench.b);
    REQUIRE(count(bench.text(), "Likely cause") == 6);

    bench.a.emit(At{2}, done(0x103, "TEARDOWN_HCA"));
    CHECK(
        bench.text().ends_with("A.hca: doorbell of 0x48 on UAR page 0x10 ignored: \"a send doorbell names a queue pair "
                               "that exists\": 5 times in all, 2 of them left out here\n"));
    bench.a.emit(At{3}, enable_hca());
    mistake(bench.a), mistake(bench.b);

    const auto text = bench.finish();
    CHECK(count(text, "Likely cause") == 7); // the other device has its driver still
    CHECK(count(text, "B.hca: doorbell of 0x48 on UAR page 0x10 ignored: \"a send doorbell names a queue pair that "
                      "exists\": 6 times in all, 3 of them left out here\n") == 1);
}

TEST_CASE("what was flushed before another driver began is not counted with its own", "[unit][observe][explain]") {
    Bench bench;
    const CompletionWritten flushed{
        .cqn = 4, .qpn = 0x48, .opcode = req_err, .syndrome = 0x05, .wqe_counter = 0, .byte_count = 0};
    fail_locally(bench.a, 1);
    bench.a.emit(At{2}, DoorbellRung{.qpn = 0x48, .uar = 1, .producer = 9});
    bench.a.emit(At{3}, flushed);

    bench.a.emit(At{4}, enable_hca());

    CHECK(bench.text().ends_with(
        "A.hca: QP 0x48: 1 more work request was flushed in the error state (IBV_WC_WR_FLUSH_ERR)\n"));
    bench.a.emit(At{5}, flushed);
    CHECK(count(bench.finish(), "in the error state (") == 1);
}

TEST_CASE("a refused command that repeats is named whole", "[unit][observe][explain]") {
    Bench bench;
    const auto* refusal = firmware::refuse("destroy_cq.unknown");

    for (unsigned i = 0; i < 5; ++i)
        bench.a.emit(At{1}, CommandExecuted{.opcode = 0x401,
                                            .op_mod = 0,
                                            .status = 5,
                                            .syndrome = refusal->syndrome,
                                            .command = "DESTROY_CQ",
                                            .why = refusal->why});

    CHECK(bench.finish().ends_with(
        "A.hca: command DESTROY_CQ (opcode 0x401, op_mod 0x0) refused: \"cqn names no completion queue\": once more, "
        "and from now on only counted\n"
        "A.hca: command DESTROY_CQ (opcode 0x401, op_mod 0x0) refused: \"cqn names no completion queue\": 5 times in "
        "all, 2 of them left out here\n"));
}

TEST_CASE("the doorbell of the command queue has slots and no UAR page", "[unit][observe][explain]") {
    Bench bench;

    for (const Reason reason :
         {Reason("command doorbell before the command queue's address"),
          Reason("the command queue's memory cannot be read"), Reason("the command queue entry belongs to software")})
        bench.a.emit(At{1}, DoorbellIgnored{.number = 13, .uar = 0, .reason = reason});

    const auto text = bench.finish();
    CHECK(count(text, "A.hca: command doorbell of slot 13 (bit 13 of command_doorbell_vector) ignored: ") == 3);
    CHECK_FALSE(text.contains("UAR"));
}

TEST_CASE("a doorbell record that was not written is told with what it says", "[unit][observe][explain]") {
    Bench bench;

    bench.a.emit(At{1}, DoorbellRung{.qpn = 0x48, .uar = 16, .producer = 7});
    bench.a.emit(
        At{1},
        DoorbellIgnored{.number = 0x48, .uar = 16, .reason = "the doorbell record does not count this work request"});

    CHECK(bench.finish().contains(
        "A.hca: doorbell of 0x48 on UAR page 0x10 ignored: the doorbell record does not count this work request.\n"
        "  Decoded: the record of QP 0x48 says 7 still.\n"
        "  Rule: the doorbell record is written before the doorbell [PRM \"Doorbell record\"].\n"
        "  Likely cause: the record was not written, "));
}

TEST_CASE("events that a full event queue loses are told", "[unit][observe][explain]") {
    Bench bench;

    for (std::uint32_t i = 0; i < 5; ++i)
        bench.a.emit(At{1}, EventLost{.eqn = 5, .type = 0, .subtype = 0, .number = 0x80 + i});

    const auto text = bench.finish();
    CHECK(text.contains("A.hca: event queue 0x5 is full: an event is lost.\n"
                        "  Decoded: type 0x0 (completion), number 0x80.\n"
                        "  Rule: an event queue has a free entry for each event"));
    CHECK(text.contains("5 times in all, 2 of them left out here"));
}

TEST_CASE("mistakes without number end in a count", "[unit][observe][explain]") {
    Bench bench;

    for (std::uint32_t i = 0; i < 5000; ++i)
        bench.a.emit(At{1}, DoorbellIgnored{.number = i, .uar = 16, .reason = "no such queue pair"});

    const auto text = bench.finish();
    CHECK(count(text, "Likely cause") == 4096);
    CHECK(text.contains("904 further mistakes are neither printed nor told apart"));
}
