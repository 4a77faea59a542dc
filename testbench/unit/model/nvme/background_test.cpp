// What goes on behind commands: self-tests, sanitize operations; and what telemetry and the time of day say.
#include "testbench/unit/model/nvme/controller_bench.h"

#include "abi/nvme/log.h"

#include <catch2/catch_test_macros.hpp>

using namespace nvme_test;
using abi::nvme::AdminOpcode;
using abi::nvme::IoOpcode;
using abi::nvme::LogPage;
using model::port::Time;

namespace {

NvmeConfig slow() {
    auto config = small();
    config.timed = true;
    return config;
}

struct Drive : Bench {
    using Bench::Bench;
    template <class Log> abi::Block<Log> log(LogPage page, std::uint32_t action = 0) {
        memory.poke(buffer, std::vector<std::byte>(Log::size, std::byte{0xee}));
        const auto dwords = static_cast<std::uint32_t>(Log::size / 4 - 1);
        REQUIRE(give(AdminOpcode::get_log_page, 0xffff'ffff,
                     dwords << 16 | action << 8 | static_cast<std::uint32_t>(page)) == Status::success);
        abi::Block<Log> block;
        memory.peek(buffer, block.bytes);
        return block;
    }
    /// Without waiting for what goes on behind it.
    Status give(AdminOpcode opcode, std::uint32_t nsid = 0, std::uint32_t cdw10 = 0, std::uint32_t cdw11 = 0) {
        return give(0, static_cast<std::uint8_t>(opcode), nsid, cdw10, cdw11);
    }
    Status give(std::uint16_t queue, std::uint8_t opcode, std::uint32_t nsid, std::uint32_t cdw10,
                std::uint32_t cdw11 = 0) {
        auto block = command(opcode, nsid, cdw10, cdw11);
        block.view().set<"cid">(next_cid++);
        place(queue, block), ring(queue);
        for (;;) {
            if (const auto entry = next(queue))
                return entry->view().get<"status">();
            pass(clock.next() - clock.now());
        }
    }
    void pass(Time time) {
        const auto until = clock.now() + time;
        while (clock.next() <= until) {
            clock.set(clock.next());
            controller.wake(clock.now());
        }
        clock.set(until);
        controller.wake(until);
    }
    /// A controller reset, after which not more time passes than it takes.
    void restart() {
        set(Register::cc, 0);
        start();
        pass(1ms);
    }
    Status self_test(std::uint32_t code, std::uint32_t nsid = 0) {
        return give(AdminOpcode::device_self_test, nsid, code);
    }
    /// Result and code of the newest entry.
    std::pair<unsigned, unsigned> newest() {
        const auto page = log<abi::nvme::SelfTestLog>(LogPage::self_test);
        const abi::ConstView<abi::nvme::SelfTestResult> entry(std::span(page.bytes).subspan(4));
        return {entry.get<"result">(), entry.get<"code">()};
    }
    Status write(std::uint64_t block, std::byte value) {
        memory.poke(buffer, std::vector<std::byte>(512, value));
        return ask(1, IoOpcode::write, 1, static_cast<std::uint32_t>(block));
    }
    std::byte read(std::uint64_t block) {
        memory.poke(buffer, std::vector<std::byte>(512, std::byte{0xee}));
        CHECK(ask(1, IoOpcode::read, 1, static_cast<std::uint32_t>(block)) == Status::success);
        return memory.peek(buffer, 1)[0];
    }
};

} // namespace

TEST_CASE("a self-test takes its time, is the only one, and leaves a result", "[unit][nvme][background]") {
    Drive drive(slow());
    drive.enable();
    const auto before = drive.log<abi::nvme::SelfTestLog>(LogPage::self_test);
    CHECK(drive.newest().first == 0xf); // zero would say that a test has passed
    CHECK(drive.self_test(1) == Status::success);
    drive.pass(5ms);
    const auto during = drive.log<abi::nvme::SelfTestLog>(LogPage::self_test);
    CHECK(during.view().get<"current_operation">() == 1);
    CHECK(during.view().get<"completion_percent">() >= 49);
    CHECK(during.view().get<"completion_percent">() <= 51);
    CHECK(drive.self_test(2) == Status::self_test_in_progress);
    drive.pass(6ms);
    CHECK(drive.newest() == std::pair{0u, 1u});
    CHECK(drive.log<abi::nvme::SelfTestLog>(LogPage::self_test).view().get<"current_operation">() == 0);
    CHECK(before.view().get<"current_operation">() == 0);
}

TEST_CASE("a self-test is aborted by a command, a format and a sanitize operation; a short one by a reset, too",
          "[unit][nvme][background]") {
    Drive drive(slow());
    drive.enable();
    CHECK(drive.self_test(0xf) == Status::success); // there is none
    CHECK(drive.newest().first == 0xf);

    CHECK(drive.self_test(2, 1) == Status::success);
    CHECK(drive.self_test(0xf) == Status::success);
    CHECK(drive.newest() == std::pair{1u, 2u});

    CHECK(drive.self_test(1) == Status::success);
    drive.set(Register::cc, 0);
    drive.enable();
    CHECK(drive.newest() == std::pair{2u, 1u});

    CHECK(drive.self_test(2, 1) == Status::success);
    drive.restart();
    CHECK(drive.log<abi::nvme::SelfTestLog>(LogPage::self_test).view().get<"current_operation">() == 2);
    CHECK(drive.give(AdminOpcode::format_nvm, 1) == Status::success);
    CHECK(drive.newest() == std::pair{4u, 2u});

    CHECK(drive.self_test(2, 1) == Status::success);
    CHECK(drive.give(AdminOpcode::sanitize, 0, 2) == Status::success);
    CHECK(drive.newest() == std::pair{9u, 2u});
}

TEST_CASE("an extended self-test names the block that it cannot read", "[unit][nvme][background]") {
    Drive drive(slow());
    drive.enable();
    drive.create_pair(1);
    CHECK(drive.ask(1, IoOpcode::write_uncorrectable, 1, 77) == Status::success);
    CHECK(drive.self_test(2, 0xffff'ffff) == Status::success);
    drive.pass(200ms);
    const auto page = drive.log<abi::nvme::SelfTestLog>(LogPage::self_test);
    const abi::ConstView<abi::nvme::SelfTestResult> entry(std::span(page.bytes).subspan(4));
    CHECK(entry.get<"result">() == 7);
    CHECK(entry.get<"nsid">() == 1);
    CHECK(entry.get<"flba">() == 77);
    CHECK(entry.get<"vdi">() == 3);
    // A short one reads no blocks.
    CHECK(drive.self_test(1, 1) == Status::success);
    drive.pass(200ms);
    CHECK(drive.newest() == std::pair{0u, 1u});
}

TEST_CASE("a self-test of what is not there is refused", "[unit][nvme][background]") {
    Drive drive;
    drive.enable();
    CHECK(drive.self_test(3) == Status::invalid_field);
    CHECK(drive.self_test(1, 9) == Status::invalid_field);
    CHECK(drive.self_test(1, 1000) == Status::invalid_namespace);
}

TEST_CASE("a sanitize operation holds I/O until everything is gone, and says so by log and event",
          "[unit][nvme][background]") {
    for (const std::uint32_t action : {2u, 3u, 4u}) {
        CAPTURE(action);
        Drive drive(slow());
        drive.enable();
        drive.create_pair(1);
        CHECK(drive.log<abi::nvme::SanitizeLog>(LogPage::sanitize).view().get<"erased">());
        CHECK(drive.write(5, std::byte{0x5a}) == Status::success);
        CHECK(drive.read(5) == std::byte{0x5a});
        CHECK_FALSE(drive.log<abi::nvme::SanitizeLog>(LogPage::sanitize).view().get<"erased">());

        auto event = drive.command(static_cast<std::uint8_t>(AdminOpcode::async_event_request));
        event.view().set<"cid">(0x777);
        drive.place(0, event), drive.ring(0);

        CHECK(drive.give(AdminOpcode::sanitize, 0, action | (action == 3 ? 1u << 9 : 0u), 0xa5a5'a5a5) ==
              Status::success);
        drive.pass(2ms);
        auto log = drive.log<abi::nvme::SanitizeLog>(LogPage::sanitize);
        CHECK(log.view().get<"status">() == 2);
        CHECK(log.view().get<"sprog">() > 65536 / 10);
        CHECK(log.view().get<"sprog">() < 65536 / 3);
        CHECK((log.view().get<"scdw10">() & 7) == action);
        CHECK(drive.give(AdminOpcode::sanitize, 0, 2) == Status::sanitize_in_progress);
        CHECK(drive.give(AdminOpcode::format_nvm, 1) == Status::sanitize_in_progress);
        CHECK(drive.give(AdminOpcode::identify, 0, 1) == Status::success);
        CHECK(drive.give(1, static_cast<std::uint8_t>(IoOpcode::read), 1, 5) == Status::sanitize_in_progress);
        drive.pass(20ms);
        const auto told = drive.next(0).value();
        CHECK(told.view().get<"cid">() == 0x777);
        CHECK(told.view().get<"dw0">() == 0x81'01'06u);
        log = drive.log<abi::nvme::SanitizeLog>(LogPage::sanitize);
        CHECK(log.view().get<"status">() == 1); // whether or not blocks were to be deallocated
        CHECK(log.view().get<"passes">() == (action == 3 ? 16 : 0));
        CHECK(log.view().get<"sprog">() == 0xffff);
        CHECK(log.view().get<"erased">());
        CHECK(drive.read(5) == (action == 3 ? std::byte{0xa5} : std::byte{}));
    }
}

TEST_CASE("the log of an overwrite says how many passes are completed", "[unit][nvme][background]") {
    Drive drive(slow());
    drive.enable();
    const auto passes = [&] { return drive.log<abi::nvme::SanitizeLog>(LogPage::sanitize).view().get<"passes">(); };
    CHECK(drive.give(AdminOpcode::sanitize, 0, 2 << 4 | 3) == Status::success);
    drive.pass(3ms);
    CHECK(passes() == 0);
    drive.pass(4ms);
    CHECK(passes() == 1);
    drive.pass(20ms);
    CHECK(passes() == 2);
    CHECK(drive.give(AdminOpcode::sanitize, 0, 2 << 4 | 2) == Status::success); // OWPASS is of no other operation
    drive.pass(20ms);
    CHECK(passes() == 0);
}

TEST_CASE("a controller reset does not end a sanitize operation", "[unit][nvme][background]") {
    Drive drive(slow());
    drive.enable();
    CHECK(drive.give(AdminOpcode::sanitize, 0, 2) == Status::success);
    drive.restart();
    CHECK(drive.log<abi::nvme::SanitizeLog>(LogPage::sanitize).view().get<"status">() == 2);
    drive.pass(20ms);
    CHECK(drive.log<abi::nvme::SanitizeLog>(LogPage::sanitize).view().get<"status">() == 1);
    CHECK(drive.give(AdminOpcode::sanitize, 0, 0) == Status::invalid_field);
    CHECK(drive.give(AdminOpcode::sanitize, 0, 7) == Status::invalid_field);
    CHECK(drive.give(AdminOpcode::sanitize, 0, 1) == Status::success); // there is no failure to leave
}

TEST_CASE("telemetry has what the drive has counted when the host asked for a capture", "[unit][nvme][background]") {
    Drive drive;
    drive.enable();
    drive.create_pair(1);
    CHECK(drive.log<abi::nvme::TelemetryLog>(LogPage::telemetry_host).view().get<"dalb1">() == 0);
    CHECK(drive.write(1, std::byte{1}) == Status::success);
    const auto head = drive.log<abi::nvme::TelemetryLog>(LogPage::telemetry_host, 1);
    CHECK(head.view().get<"lpi">() == 7);
    CHECK(head.view().get<"dalb3">() == 1);
    CHECK(head.view().get<"hostdgn">() == 1);
    CHECK(drive.write(1, std::byte{1}) == Status::success);
    // 1024 bytes from the begin: the head and its one block.
    CHECK(drive.ask(0, AdminOpcode::get_log_page, 0, 255u << 16 | 7) == Status::success);
    abi::Block<abi::nvme::SmartLog> kept;
    drive.memory.peek(Bench::buffer + 512, kept.bytes);
    CHECK(kept.view().get<"host_writes">() == 1);
    CHECK(drive.log<abi::nvme::TelemetryLog>(LogPage::telemetry_controller).view().get<"ctrlavail">() == 0);
    CHECK(drive.ask(0, AdminOpcode::get_log_page, 0, 10u << 16 | 7) == Status::invalid_field);
}

TEST_CASE("a capture of telemetry that the host does not get is none", "[unit][nvme][background]") {
    Drive drive;
    drive.enable();
    const auto create = [&](std::uint64_t prp1, std::uint32_t offset) {
        auto block =
            Bench::command(static_cast<std::uint8_t>(AdminOpcode::get_log_page), 0, 127u << 16 | 1 << 8 | 7, 0, offset);
        block.view().set<"prp1">(prp1);
        return drive.submit(0, block).view().get<"status">();
    };
    CHECK(create(Bench::buffer + 1, 0) == Status::invalid_prp_offset);
    CHECK(create(Bench::buffer, 8192) == Status::invalid_field);

    const auto head = drive.log<abi::nvme::TelemetryLog>(LogPage::telemetry_host);
    CHECK(head.view().get<"dalb1">() == 0);
    CHECK(head.view().get<"hostdgn">() == 0);
    CHECK(create(Bench::buffer, 0) == Status::success);
    CHECK(drive.log<abi::nvme::TelemetryLog>(LogPage::telemetry_host).view().get<"hostdgn">() == 1);
}

TEST_CASE("the time of day goes on from what the host has set, and is unset after a reset",
          "[unit][nvme][background]") {
    Drive drive(slow());
    drive.enable();
    const auto read = [&] {
        CHECK(drive.give(AdminOpcode::get_features, 0, 0x0e) == Status::success);
        abi::Block<abi::nvme::Timestamp> value;
        drive.memory.peek(Bench::buffer, value.bytes);
        return value;
    };
    abi::Block<abi::nvme::Timestamp> wanted;
    wanted.view().set<"ms_low">(0xffff'fff0).set<"ms_high">(0x18b);
    drive.memory.poke(Bench::buffer, wanted.bytes);
    CHECK(drive.give(AdminOpcode::set_features, 0, 0x0e) == Status::success);
    drive.pass(1s);
    const auto later = read();
    CHECK(later.view().get<"origin">() == 1);
    CHECK(later.view().get<"ms_high">() == 0x18c);
    CHECK(later.view().get<"ms_low">() >= 984);
    CHECK(later.view().get<"ms_low">() < 990);
    drive.set(Register::cc, 0);
    drive.enable();
    CHECK(read().view().get<"origin">() == 0);
    CHECK(read().view().get<"ms_high">() == 0);
}
