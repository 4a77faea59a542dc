// What a drive counts over its life, and its self-tests: there again in the next process.
#include "model/nvme/data/crc.h"
#include "model/nvme/keep/state.h"
#include "testbench/unit/model/nvme/keep/drive_in_files.h"

using namespace nvme_test;
using namespace std::chrono_literals;
using abi::nvme::LogPage;

namespace {

struct Life : DriveInFiles {
    abi::Block<abi::nvme::SmartLog> smart() { return log<abi::nvme::SmartLog>(LogPage::smart); }
    std::uint64_t unsafe_shutdowns() { return smart().view().get<"unsafe_shutdowns">(); }
    /// Number of the newest entry of the error log; 0: it has none.
    std::uint64_t newest_error() {
        const auto page = log<abi::nvme::ErrorEntry>(LogPage::error);
        return page.view().get<"count">();
    }
    void shut_down() {
        bench->set(Register::cc, 0x0046'4001);
        bench->run();
        REQUIRE(bench->get(Register::csts) == (1 | 2 << 2));
    }
    void reset() {
        bench->set(Register::cc, 0x0046'0000);
        bench->enable();
    }
};

struct TimedLife : Life {
    TimedLife() {
        config.timed = true;
        again();
        REQUIRE(newest_test().view().get<"result">() == 0xf);
    }
    /// Begins a self-test, up to the completion of the command.
    void begin_test(std::uint32_t code, std::uint32_t nsid) {
        bench->place(0, Bench::command(static_cast<std::uint8_t>(AdminOpcode::device_self_test), nsid, code));
        bench->ring(0);
        while (!bench->next(0))
            bench->clock.set(bench->clock.next()), bench->controller.wake(bench->clock.now());
    }
};

} // namespace

TEST_CASE("what a drive has counted goes on in the next process, and each process is a power cycle",
          "[unit][nvme][keep]") {
    Life drive;
    REQUIRE(drive.write(1, 3, 1) == Status::success);
    REQUIRE(drive.read(1, 3, 3) == Status::success);
    REQUIRE(drive.io(IoOpcode::write_uncorrectable, 1, 9) == Status::success);
    REQUIRE(drive.read(1, 9) == Status::unrecovered_read_error);
    REQUIRE(drive.read(1, 9) == Status::unrecovered_read_error);
    const auto before = drive.smart();
    CHECK(before.view().get<"power_cycles">() == 1);
    drive.shut_down();

    drive.again();
    auto after = drive.smart();
    CHECK(after.view().get<"power_cycles">() == 2);
    CHECK(after.view().get<"media_errors">() == 2);
    CHECK(after.view().get<"num_err_log_entries">() == 2);
    CHECK(after.view().get<"unsafe_shutdowns">() == 0);
    after.view().set<"power_cycles">(1);
    CHECK(after.bytes == before.bytes);
    REQUIRE(drive.write(1, 3, 1) == Status::success);
    CHECK(drive.smart().view().get<"host_writes">() == 2);
}

TEST_CASE("a process that ends without a shutdown of the drive is an unsafe shutdown", "[unit][nvme][keep]") {
    Life drive;
    CHECK(drive.unsafe_shutdowns() == 0);

    drive.again();
    CHECK(drive.unsafe_shutdowns() == 1);
    drive.shut_down();
    drive.again();
    CHECK(drive.unsafe_shutdowns() == 1);
    drive.shut_down();
    drive.reset(); // it begins again, and then the power goes
    drive.again();
    CHECK(drive.unsafe_shutdowns() == 2);
    drive.shut_down();
    drive.bench->set(Register::cc, 0x0046'0000); // the reset behind a shutdown is no begin
    drive.again();
    CHECK(drive.unsafe_shutdowns() == 2);
    CHECK(drive.smart().view().get<"power_cycles">() == 5);
}

TEST_CASE("a reset empties the error log and writes down what was counted; numbers of errors go on",
          "[unit][nvme][keep]") {
    Life drive;
    REQUIRE(drive.read(9, 0) == Status::invalid_field);
    REQUIRE(drive.read(9, 0) == Status::invalid_field);
    CHECK(drive.newest_error() == 2);

    drive.reset();
    CHECK(drive.newest_error() == 0);
    CHECK(drive.smart().view().get<"num_err_log_entries">() == 2);
    drive.again(); // as if it had been killed
    CHECK(drive.newest_error() == 0);
    CHECK(drive.smart().view().get<"num_err_log_entries">() == 2);
    REQUIRE(drive.read(9, 0) == Status::invalid_field);
    CHECK(drive.newest_error() == 3);
}

TEST_CASE("commands that move data write no state", "[unit][nvme][keep]") {
    Life drive;
    const auto before = Folder::read(drive.state());

    REQUIRE(drive.write(1, 3, 1) == Status::success);
    REQUIRE(drive.read(1, 3) == Status::success);
    REQUIRE(drive.bench->ask(1, IoOpcode::flush, 1) == Status::success);
    REQUIRE(drive.read(9, 0) == Status::invalid_field);
    CHECK(Folder::read(drive.state()) == before);
}

TEST_CASE("hours of power are those of all processes, and stand in the results of self-tests", "[unit][nvme][keep]") {
    TimedLife drive;
    const auto pass = [&](Time time) {
        drive.bench->run(); // what a doorbell has asked for
        drive.bench->clock.set(drive.bench->clock.now() + time);
    };
    pass(90min);
    CHECK(drive.smart().view().get<"power_on_hours">() == 1);
    drive.shut_down();

    drive.again();
    CHECK(drive.smart().view().get<"power_on_hours">() == 1);
    pass(31min);
    CHECK(drive.smart().view().get<"power_on_hours">() == 2);
    drive.begin_test(1, 0);
    drive.bench->run();
    CHECK(drive.newest_test().view().get<"poh">() == 2);
}

TEST_CASE("results of self-tests are there again", "[unit][nvme][keep]") {
    Life drive;
    REQUIRE(drive.io(IoOpcode::write_uncorrectable, 1, 77) == Status::success);
    REQUIRE(drive.admin(AdminOpcode::device_self_test, 1, 1) == Status::success);
    REQUIRE(drive.admin(AdminOpcode::device_self_test, 1, 2) == Status::success);
    const auto before = drive.log<abi::nvme::SelfTestLog>(LogPage::self_test);

    drive.again();
    CHECK(drive.log<abi::nvme::SelfTestLog>(LogPage::self_test).bytes == before.bytes);
    CHECK(drive.newest_test().view().get<"result">() == 7);
    CHECK(drive.newest_test().view().get<"flba">() == 77);
    for (unsigned i = 0; i < abi::nvme::self_test_results; ++i)
        REQUIRE(drive.admin(AdminOpcode::device_self_test, 1, 1) == Status::success);
    drive.again(); // no more than the log has room for
    CHECK(drive.newest_test().view().get<"result">() == 0);
}

TEST_CASE("an extended self-test begins anew with the power, a short one has gone with it", "[unit][nvme][keep]") {
    TimedLife drive;
    drive.begin_test(2, 1);
    drive.again(); // up to where nothing is under way
    CHECK(drive.bench->clock.now() >= 10 * drive.config.self_test_time);
    CHECK((drive.newest_test().view().get<"result">() == 0 && drive.newest_test().view().get<"code">() == 2));

    drive.begin_test(1, 1);
    drive.again();
    CHECK(drive.log<abi::nvme::SelfTestLog>(LogPage::self_test).view().get<"current_operation">() == 0);
    CHECK((drive.newest_test().view().get<"result">() == 2 && drive.newest_test().view().get<"code">() == 1));
}

TEST_CASE("a self-test that cannot be written down does not begin", "[unit][nvme][keep]") {
    TimedLife drive;
    std::filesystem::create_directory(drive.state() + ".new"); // in the way of the new file
    CHECK(drive.admin(AdminOpcode::device_self_test, 0, 1) == Status::internal_error);
    CHECK(drive.log<abi::nvme::SelfTestLog>(LogPage::self_test).view().get<"current_operation">() == 0);
}

TEST_CASE("a state of version 1 is read, and its drive has counted nothing yet", "[unit][nvme][keep]") {
    Life drive;
    const auto second = drive.create(128);
    REQUIRE(drive.write(second, 5, 0x22) == Status::success);
    drive.shut_down();
    drive.bench.reset();
    auto bytes = Folder::read(drive.state()); // without the counters this is what version 1 was
    bytes.erase(StateHeader::size, CounterRecord::size);
    const abi::View<StateHeader> header(std::as_writable_bytes(std::span(bytes)).first(StateHeader::size));
    header.set<"version">(1).set<"length">(static_cast<std::uint32_t>(bytes.size())).set<"checksum">(0);
    header.set<"checksum">(crc64_nvme(std::as_bytes(std::span(bytes))));
    Folder::write(drive.state(), bytes);

    drive.again();
    CHECK(drive.first_byte(second, 5) == 0x22);
    CHECK(drive.smart().view().get<"power_cycles">() == 1);
    CHECK(drive.unsafe_shutdowns() == 0);
    drive.again(); // it has become one of version 2
    CHECK(drive.smart().view().get<"power_cycles">() == 2);
    CHECK(drive.unsafe_shutdowns() == 1);
}
