// Self-tests and sanitize operations that fail, are in each other's way, or meet a namespace that goes.
#include "testbench/unit/model/nvme/keep/drive_in_files.h"

using namespace nvme_test;
using namespace std::chrono_literals;
using abi::nvme::LogPage;

namespace {

constexpr std::uint32_t block_erase = 2, exit_failure = 1, unrestricted = 1 << 3, extended = 2;

struct Drive : DriveInFiles {
    explicit Drive(const std::string& faults = {}) { again_with(faults); }
    void again_with(const std::string& faults) {
        config.space.namespaces[0].faults = faults;
        again();
    }
    Status sanitize(std::uint32_t cdw10) { return admin(AdminOpcode::sanitize, 0, cdw10); }
    unsigned sanitize_state() { return log<abi::nvme::SanitizeLog>(LogPage::sanitize).view().get<"status">(); }
    unsigned result() { return newest_test().view().get<"result">(); }
    /// Up to the completion of the command, and no further.
    Status give(AdminOpcode opcode, std::uint32_t nsid, std::uint32_t cdw10) {
        auto block = Bench::command(static_cast<std::uint8_t>(opcode), nsid, cdw10);
        bench->place(0, block), bench->ring(0);
        for (;;) {
            if (const auto entry = bench->next(0))
                return entry->view().get<"status">();
            REQUIRE(bench->clock.next() != model::port::never);
            bench->clock.set(bench->clock.next()), bench->controller.wake(bench->clock.now());
        }
    }
    void take_time() {
        config.timed = true;
        again();
    }
};

} // namespace

TEST_CASE(
    "after a sanitize operation that has failed only what looks after the controller runs, also in the next process",
    "[unit][nvme][background]") {
    Drive drive("write 3");
    REQUIRE(drive.sanitize(block_erase) == Status::success);

    for (const bool is_next : {false, true}) {
        CAPTURE(is_next);
        CHECK(drive.sanitize_state() == 3);
        CHECK(drive.read(1, 0) == Status::sanitize_failed);
        CHECK(drive.bench->ask(1, IoOpcode::flush, 1) == Status::sanitize_failed);
        CHECK(drive.admin(AdminOpcode::format_nvm, 1) == Status::sanitize_failed);
        CHECK(drive.admin(AdminOpcode::namespace_management, 1, 1) == Status::sanitize_failed);
        CHECK(drive.admin(AdminOpcode::get_log_page, 0, 127u << 16 | 7) == Status::sanitize_failed);
        CHECK(drive.admin(AdminOpcode::identify, 0, 1) == Status::success);
        CHECK(drive.sanitize(exit_failure) == Status::sanitize_failed); // the operation had to end well
        CHECK(drive.sanitize(block_erase | unrestricted) == Status::sanitize_failed);
        drive.again();
    }
    drive.again_with("");
    CHECK(drive.read(1, 0) == Status::sanitize_failed);
    REQUIRE(drive.sanitize(block_erase) == Status::success);
    CHECK(drive.sanitize_state() == 1);
    CHECK(drive.read(1, 0) == Status::success);
}

TEST_CASE("a sanitize operation that may be left after it has failed is left by a command",
          "[unit][nvme][background]") {
    Drive drive("write 3");
    REQUIRE(drive.sanitize(block_erase | unrestricted) == Status::success);
    REQUIRE(drive.read(1, 0) == Status::sanitize_failed);

    CHECK(drive.sanitize(exit_failure) == Status::success);
    CHECK(drive.sanitize_state() == 0);
    CHECK(drive.read(1, 0) == Status::success);
    drive.again();
    CHECK(drive.read(1, 0) == Status::success);
}

TEST_CASE("no self-test begins while the drive is sanitized", "[unit][nvme][background]") {
    Drive drive;
    drive.take_time();
    REQUIRE(drive.give(AdminOpcode::sanitize, 0, block_erase) == Status::success);
    CHECK(drive.give(AdminOpcode::device_self_test, 1, 1) == Status::sanitize_in_progress);
    drive.bench->run();
    CHECK(drive.result() == 0xf);
}

TEST_CASE("a self-test ends with the namespace that it reads, and not with another one", "[unit][nvme][background]") {
    Drive drive;
    drive.take_time();
    const auto second = drive.create(64), third = drive.create(64);
    REQUIRE(drive.give(AdminOpcode::device_self_test, second, extended) == Status::success);
    REQUIRE(drive.give(AdminOpcode::format_nvm, third, 0) == Status::success);
    REQUIRE(drive.give(AdminOpcode::namespace_management, third, 1) == Status::success);
    CHECK(drive.give(AdminOpcode::device_self_test, 1, 1) == Status::self_test_in_progress);

    REQUIRE(drive.give(AdminOpcode::namespace_management, second, 1) == Status::success);
    CHECK(drive.result() == 3);
    CHECK(drive.newest_test().view().get<"nsid">() == second);
    REQUIRE(drive.give(AdminOpcode::device_self_test, 0xffff'ffff, extended) == Status::success);
    REQUIRE(drive.give(AdminOpcode::format_nvm, 1, 0) == Status::success);
    CHECK(drive.result() == 4);
}

TEST_CASE("an extended self-test finds a block that the medium cannot read, in the namespaces that it is to read",
          "[unit][nvme][background]") {
    Drive drive;
    for (std::uint64_t lba = 0; lba < 64; ++lba)
        REQUIRE(drive.write(1, lba, 1) == Status::success);
    const auto second = drive.create(64);
    REQUIRE(drive.write(second, 0, 1) == Status::success);
    drive.again_with("read 50");

    REQUIRE(drive.admin(AdminOpcode::device_self_test, second, extended) == Status::success);
    CHECK(drive.result() == 0);
    for (const auto nsid : {1u, 0xffff'ffffu}) {
        REQUIRE(drive.admin(AdminOpcode::device_self_test, nsid, extended) == Status::success);
        const auto found = drive.newest_test();
        CHECK(found.view().get<"result">() == 7);
        CHECK(found.view().get<"seg">() == 6);
        CHECK(found.view().get<"nsid">() == 1);
        CHECK(found.view().get<"flba">() == 50);
    }
    REQUIRE(drive.admin(AdminOpcode::device_self_test, 0, extended) == Status::success); // of no namespace
    CHECK(drive.result() == 0);
    drive.attach(1, false);
    REQUIRE(drive.admin(AdminOpcode::device_self_test, 0xffff'ffff, extended) == Status::success);
    CHECK(drive.result() == 0);
}
