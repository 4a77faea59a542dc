// What a controller says at its door of what it does, and what it says to a host that waits for events.
#include "testbench/unit/model/nvme/controller_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <string>
#include <string_view>

using namespace nvme_test;
using abi::nvme::AdminOpcode;
using abi::nvme::IoOpcode;

namespace {

struct Heard {
    EventLog log;
    Bench b{small(), traces::Events(&log, 0)};

    explicit Heard(std::uint32_t entries = 16) {
        b.enable();
        b.create_pair(1, entries);
        log.entries.clear();
    }
    template <class E> E only() {
        const auto all = log.all<E>();
        REQUIRE(all.size() == 1);
        return all.front();
    }
    /// Number and cause of the one event of this type.
    template <class E> traces::Stamp stamp() {
        for (const auto& [stamp, event] : log.entries)
            if (std::holds_alternative<E>(event))
                return stamp;
        FAIL("no such event");
        return {};
    }
};

} // namespace

TEST_CASE("a command is heard of from its doorbell to its completion, each event the cause of the next",
          "[unit][nvme][events]") {
    Heard heard;
    CHECK(heard.b.ask(1, IoOpcode::read, 1, 5) == Status::success);

    CHECK(heard.log.all<traces::NvmeDoorbellRung>().size() == 2); // the tail, and then the head
    const auto rung = heard.log.all<traces::NvmeDoorbellRung>().front();
    CHECK((rung.queue == 1 && !rung.is_completion && rung.value == 1));
    const auto fetched = heard.only<traces::NvmeCommandFetched>();
    CHECK((fetched.sqid == 1 && fetched.opcode == 2 && fetched.nsid == 1));
    const auto completed = heard.only<traces::NvmeCommandCompleted>();
    CHECK((completed.sqid == 1 && completed.cqid == 1 && completed.cid == fetched.cid && completed.status == 0));
    CHECK(heard.stamp<traces::NvmeCommandFetched>().cause == heard.stamp<traces::NvmeDoorbellRung>().number);
    CHECK(heard.stamp<traces::NvmeCommandCompleted>().cause == heard.stamp<traces::NvmeCommandFetched>().number);
    CHECK(heard.log.all<traces::NvmeCommandRefused>().empty());
}

TEST_CASE("a refused command is heard of with its entry, its status and the place of the error",
          "[unit][nvme][events]") {
    Heard heard;
    CHECK(heard.b.ask(1, IoOpcode::read, 1, 5000, 0, 7) == Status::lba_out_of_range);

    const auto refused = heard.only<traces::NvmeCommandRefused>();
    CHECK((refused.sqid == 1 && refused.opcode == 2 && refused.nsid == 1 && refused.prp1 == Bench::buffer));
    CHECK((refused.dwords_10_11 == 5000 && refused.dwords_12_13 == 7));
    CHECK((refused.status == 0x80 && refused.parameter == 40 && refused.lba == 5000));
    CHECK(heard.only<traces::NvmeCommandCompleted>().is_final);
}

TEST_CASE("each doorbell that is passed over is heard of with its reason, is in the error log, and is an event once",
          "[unit][nvme][events]") {
    Heard heard;
    auto& b = heard.b;
    b.place(0, Bench::command(0x0c)), b.ring(0);
    b.place(1, Bench::command(0, 1)), b.place(1, Bench::command(0, 1));
    const auto ring = [&](std::uint64_t offset, std::uint32_t value, std::string_view reason) {
        heard.log.entries.clear();
        b.set(offset, value);
        CHECK(heard.only<traces::NvmeDoorbellIgnored>().reason.text() == reason);
        CHECK(heard.log.all<traces::NvmeDoorbellRung>().size() <= 1);
        return heard.log.all<traces::NvmeEventReported>();
    };
    const auto events = ring(0x1010, 1, "no such queue"); // of queue 2
    REQUIRE(events.size() == 1);
    CHECK((events[0].type == 0 && events[0].info == 0 && events[0].log == 1));
    CHECK(ring(0x1014, 1, "no such queue").empty());
    CHECK(ring(0x1ff0, 1, "no such queue").empty());
    CHECK(ring(0x1008, 16, "the value is no entry of the queue").empty());
    CHECK(ring(0x100c, 16, "the value is no entry of the queue").empty());
    CHECK(ring(0x100c, 1, "the head passes completions that are not there").empty());
    REQUIRE(b.next(0));

    auto log = Bench::command(static_cast<std::uint8_t>(AdminOpcode::get_log_page), 0, 255u << 16 | 1);
    REQUIRE(b.submit(0, log).view().get<"status">() == Status::success);
    const auto bytes = b.memory.peek(Bench::buffer, 1024);
    const abi::ConstView<abi::nvme::ErrorEntry> newest(std::span<const std::byte>(bytes).first(64));
    CHECK((newest.get<"count">() == 6 && newest.get<"sqid">() == 0xffff && newest.get<"cid">() == 0xffff));
    CHECK((newest.get<"status">() == 0 && newest.get<"parameter">() == 0xffff));
    // The log has been read: the next one is an event again.
    b.place(0, Bench::command(0x0c)), b.ring(0);
    CHECK(b.next(0)); // what had waited
    CHECK(b.ask(1, IoOpcode::flush, 1) == Status::success);
}

TEST_CASE("a Get Log Page that is refused takes nothing from the log, and lets no event come again",
          "[unit][nvme][events]") {
    Bench b;
    b.enable();
    REQUIRE(b.ask(0, AdminOpcode::set_features, 0, 0x0b, 1 << 8) == Status::success);
    const auto format = [&] {
        b.place(0, Bench::command(0x0c)), b.ring(0);
        REQUIRE(b.ask(0, AdminOpcode::format_nvm, 1) == Status::success);
    };
    const auto read = [&](std::uint64_t prp1, std::uint32_t offset, bool is_retained = false) {
        b.memory.poke(Bench::buffer, std::vector<std::byte>(4096, std::byte{0xee}));
        auto log = Bench::command(static_cast<std::uint8_t>(AdminOpcode::get_log_page), 0,
                                  1023u << 16 | (is_retained ? 1u << 15 : 0u) | 4, 0, offset);
        log.view().set<"prp1">(prp1);
        return b.submit(0, log).view().get<"status">();
    };
    const auto first = [&] { return std::to_integer<int>(b.memory.peek(Bench::buffer, 1)[0]); };
    format();
    REQUIRE(b.next(0)); // the event
    format();

    CHECK(read(Bench::buffer + 1, 0) == Status::invalid_prp_offset);
    CHECK(read(Bench::buffer, 8192) == Status::invalid_field);
    CHECK_FALSE(b.next(0));
    CHECK(read(Bench::buffer, 0, true) == Status::success);
    CHECK(first() == 1);
    CHECK_FALSE(b.next(0));
    CHECK(read(Bench::buffer, 0) == Status::success);
    CHECK(first() == 1);
    CHECK(b.next(0));
    CHECK(read(Bench::buffer, 0) == Status::success);
    CHECK(first() == 0);
}

TEST_CASE("a tail that takes back entries which wait is passed over", "[unit][nvme][events]") {
    EventLog log;
    auto config = small();
    config.timed = true;
    Bench b(config, traces::Events(&log, 0));
    b.enable();
    b.create_pair(1);
    for (unsigned i = 0; i < 3; ++i)
        b.place(1, Bench::command(0, 1));
    b.ring(1); // nothing is fetched before its latency
    b.set(0x1008, 1);
    REQUIRE(log.all<traces::NvmeDoorbellIgnored>().size() == 1);
    CHECK(log.all<traces::NvmeDoorbellIgnored>()[0].reason.text() == "the tail takes entries back");
    b.run();
    for (unsigned i = 0; i < 3; ++i)
        CHECK(b.next(1));
}

TEST_CASE("memory of a queue that is gone fails the controller, and a host that waits is told by the admin queue",
          "[unit][nvme][events]") {
    Heard heard;
    auto& b = heard.b;
    b.place(0, Bench::command(0x0c)), b.ring(0);
    const auto gone = [&](std::uint64_t begin) {
        b.memory.fail(begin, begin + 0x1000, model::port::DmaStatus::unsupported_request);
    };
    std::string_view reason;
    std::uint64_t address = 0;
    SECTION("a submission queue") {
        gone(b.queues[1].sq);
        reason = "a submission queue cannot be read", address = b.queues[1].sq;
    }
    SECTION("a completion queue") {
        gone(b.queues[1].cq);
        reason = "a completion queue cannot be written", address = b.queues[1].cq;
    }
    SECTION("a shadow doorbell") {
        auto config = Bench::command(0x7c);
        config.view().set<"prp1">(0x400000).set<"prp2">(0x401000);
        REQUIRE(b.submit(0, config).view().get<"status">() == Status::success);
        gone(0x400000);
        reason = "a shadow doorbell cannot be reached", address = 0x400008;
    }
    b.place(1, Bench::command(0, 1)), b.ring(1);

    const auto failed = heard.only<traces::NvmeFailed>();
    CHECK(failed.reason.text() == reason);
    CHECK(failed.address == address);
    CHECK(b.get(Register::csts) == 3);
    const auto event = b.next(0);
    REQUIRE(event);
    CHECK(event->view().get<"dw0">() == 0x01'03'00); // persistent internal error
    heard.log.entries.clear();
    b.set(Register::cc, 0x0046'0000);
    b.memory.clear_faults();
    b.enable();
    CHECK(b.get(Register::csts) == 1);
    const auto states = heard.log.all<traces::NvmeStateChanged>();
    REQUIRE(states.size() == 3);
    CHECK((states[0].state.text() == "disabled" && states[2].state.text() == "ready"));
}

TEST_CASE("memory of the admin queues that is gone fails the controller, and that is all", "[unit][nvme][events]") {
    Heard heard;
    auto& b = heard.b;
    b.place(0, Bench::command(0x0c)), b.ring(0);
    b.memory.fail(Bench::admin_cq, Bench::admin_cq + 0x1000, model::port::DmaStatus::unsupported_request);
    b.place(0, Bench::command(6, 0, 1)), b.ring(0);
    CHECK(b.get(Register::csts) == 3);
    CHECK(heard.only<traces::NvmeFailed>().address == Bench::admin_cq + 2 * 16);
}

TEST_CASE("what happens to namespaces is heard of", "[unit][nvme][events]") {
    Heard heard;
    auto& b = heard.b;
    abi::Block<abi::nvme::CreateNamespace> wanted;
    wanted.view().set<"nsze">(64).set<"ncap">(64);
    const auto with_list = [&] { b.memory.poke(Bench::buffer, std::array<std::byte, 4>{std::byte{1}}); };
    b.memory.poke(Bench::buffer, wanted.bytes);
    REQUIRE(b.ask(0, AdminOpcode::namespace_management) == Status::success);
    with_list();
    REQUIRE(b.ask(0, AdminOpcode::namespace_attachment, 2) == Status::success);
    REQUIRE(b.ask(0, AdminOpcode::format_nvm, 2) == Status::success);
    REQUIRE(b.ask(0, AdminOpcode::set_features, 2, 0x84, 1) == Status::success);
    REQUIRE(b.ask(0, AdminOpcode::set_features, 2, 0x84, 0) == Status::success);
    with_list();
    REQUIRE(b.ask(0, AdminOpcode::namespace_attachment, 2, 1) == Status::success);
    REQUIRE(b.ask(0, AdminOpcode::namespace_management, 2, 1) == Status::success);
    REQUIRE(b.ask(0, AdminOpcode::sanitize, 0, 2) == Status::success);

    std::vector<std::string> heard_of;
    for (const auto& change : heard.log.all<traces::NvmeNamespaceChanged>())
        heard_of.push_back(std::to_string(change.nsid) + " " + std::string(change.what.text()));
    CHECK(heard_of == std::vector<std::string>{"2 created", "2 attached", "2 formatted", "2 write protection changed",
                                               "2 write protection changed", "2 detached", "2 deleted",
                                               "4294967295 sanitized"});
}
