// What a drive in files was, it is again in the next process.
#include "model/nvme/keep/state.h"
#include "testbench/unit/model/nvme/keep/drive_in_files.h"

#include <catch2/generators/catch_generators.hpp>

#include <csignal>

#include <sys/wait.h>

using namespace nvme_test;

namespace {
constexpr std::uint32_t save = 1u << 31;
constexpr std::uint32_t pract = 1u << 29, guard_and_reference = 1u << 28 | 1u << 26;

std::vector<std::byte> identity(DriveInFiles& drive, std::uint32_t nsid) {
    REQUIRE(drive.admin(AdminOpcode::identify, nsid, 0) == Status::success);
    return drive.bench->memory.peek(Bench::buffer, 4096);
}
std::vector<std::byte> sanitize_log(DriveInFiles& drive) {
    REQUIRE(drive.admin(AdminOpcode::get_log_page, 0, 127u << 16 | 0x81) == Status::success);
    return drive.bench->memory.peek(Bench::buffer, 8);
}
} // namespace

TEST_CASE("namespaces that a host creates, attaches, formats and deletes are so in the next process",
          "[unit][nvme][keep]") {
    DriveInFiles drive;
    const auto second = drive.create(2048), third = drive.create(128, 1), fourth = drive.create(64);
    REQUIRE(drive.write(second, 5, 0x22) == Status::success);
    REQUIRE(drive.write(third, 6, 0x33) == Status::success);
    drive.attach(third, false);
    REQUIRE(drive.admin(AdminOpcode::namespace_management, fourth, 1) == Status::success);
    REQUIRE(drive.write(1, 7, 0x11) == Status::success);
    REQUIRE(drive.admin(AdminOpcode::format_nvm, 1, 1) == Status::success); // blocks of 4096 bytes
    REQUIRE(drive.write(1, 3, 0x44) == Status::success);
    const auto before = identity(drive, second);

    drive.again();
    CHECK(identity(drive, second) == before);
    CHECK(drive.first_byte(second, 5) == 0x22);
    CHECK(drive.read(third, 6) == Status::invalid_field); // not attached
    drive.attach(third, true);
    CHECK(drive.first_byte(third, 6) == 0x33);
    CHECK(drive.space(third).shape().data_bytes() == 4096);
    CHECK(drive.bench->controller.namespaces().allocated(fourth) == nullptr);
    CHECK(drive.space().shape().data_bytes() == 4096);
    CHECK(drive.first_byte(1, 3) == 0x44);
    CHECK(drive.first_byte(1, 7) == 0);
    CHECK(drive.create(64) == fourth);
    CHECK(drive.first_byte(fourth, 0) == 0);
    CHECK(identity(drive, fourth) != before);
}

TEST_CASE("a process that is killed loses no command that has ended", "[unit][nvme][keep]") {
    DriveInFiles drive;
    drive.bench.reset();
    const auto child = fork();
    if (child == 0) {
        drive.again();
        const auto second = drive.create(2048);
        const bool is_done = drive.write(second, 5, 0x22) == Status::success &&
                             drive.io(IoOpcode::write_uncorrectable, second, 9) == Status::success &&
                             drive.admin(AdminOpcode::set_features, second, 0x84, 1) == Status::success;
        raise(is_done ? SIGKILL : SIGTERM);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));

    drive.again();
    CHECK(drive.first_byte(2, 5) == 0x22);
    CHECK(drive.read(2, 9) == Status::unrecovered_read_error);
    CHECK(drive.write(2, 5, 1) == Status::namespace_write_protected);
}

TEST_CASE("marks of blocks are there again: uncorrectable, deallocated, and written with zeroes",
          "[unit][nvme][keep]") {
    DriveInFiles drive;
    for (std::uint64_t lba = 0; lba < 8; ++lba) // a block of the host's file system has all of them
        REQUIRE(drive.write(1, lba, 1) == Status::success);
    REQUIRE(drive.io(IoOpcode::write_uncorrectable, 1, 1) == Status::success);
    REQUIRE(drive.io(IoOpcode::write_uncorrectable, 1, 2) == Status::success);
    REQUIRE(drive.write(1, 2, 2) == Status::success);
    REQUIRE(drive.deallocate(1, 3, 1) == Status::success);
    REQUIRE(drive.io(IoOpcode::write_zeroes, 1, 100) == Status::success);
    REQUIRE(drive.admin(AdminOpcode::set_features, 1, 5 | save, 1 << 16) == Status::success); // DULBE

    drive.again();
    CHECK(drive.read(1, 1) == Status::unrecovered_read_error);
    CHECK(drive.first_byte(1, 2) == 2);
    CHECK(drive.read(1, 3) == Status::deallocated_block);
    CHECK(drive.first_byte(1, 100) == 0);
    CHECK(drive.read(1, 101) == Status::deallocated_block);
    REQUIRE(drive.write(1, 1, 3) == Status::success);
    drive.again();
    CHECK(drive.first_byte(1, 1) == 3);
    CHECK(drive.space().allocated().count() == 8);
}

TEST_CASE("protection information and what has none are told apart in the next process", "[unit][nvme][keep]") {
    DriveInFiles drive(2, Protection::type1); // 512 and 8 bytes
    REQUIRE(drive.write(1, 6, 0x66, pract) == Status::success);
    REQUIRE(drive.write(1, 7, 0x77, pract) == Status::success);
    REQUIRE(drive.deallocate(1, 6, 1) == Status::success);

    drive.again();
    CHECK(drive.read(1, 6, guard_and_reference) == Status::success); // nobody checks it
    CHECK(drive.read(1, 7, guard_and_reference) == Status::success);
}

TEST_CASE("write protection outlives the process, but for that until a power cycle", "[unit][nvme][keep]") {
    DriveInFiles drive;
    for (unsigned i = 0; i < 3; ++i)
        drive.create(64);
    // An earlier version had those beyond on and off, and wrote them down.
    drive.space(3).set_write_protection(WriteProtection::until_power_cycle);
    drive.space(4).set_write_protection(WriteProtection::permanent);
    REQUIRE(drive.admin(AdminOpcode::set_features, 2, 0x84, 1) == Status::success);

    drive.again();
    CHECK(drive.write(1, 0, 1) == Status::success);
    CHECK(drive.write(2, 0, 1) == Status::namespace_write_protected);
    CHECK(drive.write(3, 0, 1) == Status::success);
    CHECK(drive.write(4, 0, 1) == Status::namespace_write_protected);
    CHECK(drive.admin(AdminOpcode::set_features, 4, 0x84, 0) == Status::feature_not_changeable);
    CHECK(drive.admin(AdminOpcode::set_features, 2, 0x84, 0) == Status::success);
    drive.again();
    CHECK(drive.write(2, 0, 1) == Status::success);
}

TEST_CASE("features that are saved outlive the process, others do not", "[unit][nvme][keep]") {
    DriveInFiles drive;
    const auto get = [&](Feature feature, std::uint32_t cdw11 = 0) {
        const auto answer = drive.bench->submit(0, Bench::command(static_cast<std::uint8_t>(AdminOpcode::get_features),
                                                                  0, static_cast<std::uint32_t>(feature), cdw11));
        return answer.view().get<"dw0">();
    };
    REQUIRE(drive.admin(AdminOpcode::set_features, 0, 1 | save, 5) == Status::success);
    REQUIRE(drive.admin(AdminOpcode::set_features, 0, 4 | save, 0x1'0000 | 300) == Status::success);
    REQUIRE(drive.admin(AdminOpcode::set_features, 0, 8, 0x203) == Status::success);

    drive.again();
    CHECK(get(Feature::arbitration) == 5);
    CHECK(get(Feature::temperature_threshold, 0x1'0000) == (0x1'0000 | 300));
    CHECK(get(Feature::interrupt_coalescing) == 0);
    REQUIRE(drive.admin(AdminOpcode::set_features, 0, 1 | save, 3) == Status::success);
    drive.again();
    CHECK(get(Feature::arbitration) == 3);
}

TEST_CASE("a sanitize operation that was under way is carried out by the next process", "[unit][nvme][keep]") {
    DriveInFiles drive;
    drive.config.timed = true;
    drive.config.sanitize_time = 1s;
    drive.again();
    REQUIRE(drive.write(1, 3, 0x33) == Status::success);
    drive.bench->place(0, Bench::command(static_cast<std::uint8_t>(AdminOpcode::sanitize), 0, 2));
    drive.bench->ring(0);
    while (!drive.bench->next(0))
        drive.bench->clock.set(drive.bench->clock.next()), drive.bench->controller.wake(drive.bench->clock.now());
    drive.bench.reset();
    Folder::write(drive.medium(), std::string(1 << 20, 'x')); // as if it had not come so far

    drive.bench = std::make_unique<Bench>(drive.config);
    drive.bench->start();
    drive.bench->clock.set(drive.bench->clock.next()), drive.bench->controller.wake(drive.bench->clock.now());
    CHECK((drive.bench->get(Register::csts) & 1) == 1);
    CHECK(drive.space().allocated().is_empty());
    CHECK(drive.bench->controller.namespaces().hold() == Status::sanitize_in_progress);
    drive.bench->run();
    CHECK(drive.bench->controller.namespaces().hold() == Status::success);
    drive.again();
    CHECK(std::to_integer<int>(sanitize_log(drive)[2] & std::byte{7}) == 1);
    CHECK(drive.first_byte(1, 3) == 0);
}

TEST_CASE("a sanitize operation that an earlier version called done without deallocation is done",
          "[unit][nvme][keep]") {
    DriveInFiles drive;
    REQUIRE(drive.admin(AdminOpcode::sanitize, 0, 2 | 1 << 9) == Status::success);
    drive.bench.reset();
    const auto bytes = Folder::read(drive.state());
    auto state = decode(std::as_bytes(std::span(bytes)), drive.config.space);
    REQUIRE(state);
    CHECK(state->sanitize.state == 1);
    state->sanitize.state = 4;
    const auto changed = encode(*state);
    Folder::write(drive.state(), std::string(reinterpret_cast<const char*>(changed.data()), changed.size()));

    drive.again();
    CHECK(std::to_integer<int>(sanitize_log(drive)[2] & std::byte{7}) == 1);
    CHECK(drive.read(1, 3) == Status::success);
}

TEST_CASE("a Format that was cut off is finished by the next process", "[unit][nvme][keep]") {
    DriveInFiles drive;
    REQUIRE(drive.write(1, 3, 0x33) == Status::success);
    drive.bench.reset();
    const auto bytes = Folder::read(drive.state());
    auto state = decode(std::as_bytes(std::span(bytes)), drive.config.space);
    REQUIRE(state);
    auto& one = state->namespaces.at(0);
    one.shape.format = drive.config.space.formats[1], one.shape.format_index = 1, one.is_erasing = true;
    const auto changed = encode(*state);
    Folder::write(drive.state(), std::string(reinterpret_cast<const char*>(changed.data()), changed.size()));
    const bool has_begun = GENERATE(false, true);
    if (has_begun)
        Folder::write(drive.marks(), "");

    drive.again();
    CHECK(drive.space().shape().data_bytes() == 4096);
    CHECK(drive.first_byte(1, 0) == 0);
    REQUIRE(drive.write(1, 2, 0x22) == Status::success);
    drive.again(); // and is not done twice
    CHECK(drive.first_byte(1, 2) == 0x22);
}

TEST_CASE("an image without a state is taken as it is", "[unit][nvme][keep]") {
    DriveInFiles drive;
    drive.bench.reset();
    std::filesystem::remove(drive.state());
    std::filesystem::remove(drive.marks());
    Folder::write(drive.medium(), std::string(8192, 'x'));
    drive.again();
    CHECK(drive.first_byte(1, 15) == 'x');
    CHECK(drive.first_byte(1, 16) == 0);
    CHECK(drive.space().allocated().count() == 16);
}

TEST_CASE("a namespace of the configuration that a host deletes leaves the file, empty, and stays deleted",
          "[unit][nvme][keep]") {
    DriveInFiles drive;
    REQUIRE(drive.write(1, 3, 0x33) == Status::success);
    REQUIRE(drive.admin(AdminOpcode::namespace_management, 0xffff'ffff, 1) == Status::success);
    drive.again();
    CHECK(drive.read(1, 3) == Status::invalid_field);
    CHECK(Folder::read(drive.medium()) == std::string(1 << 20, '\0'));
    CHECK_FALSE(std::filesystem::exists(drive.marks()));
    CHECK(drive.refusal().empty());
    // Another drive cannot have what this one has, though its first file is open no more.
    drive.again();
    try {
        Bench other(drive.config);
        FAIL("two drives have one state");
    } catch (const std::exception& why) {
        CHECK(std::string(why.what()) == drive.state() + " is the state of another drive");
    }
}
