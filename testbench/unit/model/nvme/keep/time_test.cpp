// A drive that lies in files, and has times: what is kept takes none of them, and they are nothing that is kept.
#include "testbench/unit/model/nvme/keep/drive_in_files.h"

#include <algorithm>

using namespace nvme_test;
using namespace std::chrono_literals;

namespace {
constexpr std::uint32_t save = 1u << 31;

struct TimedDrive : DriveInFiles {
    TimedDrive() {
        config.timed = true;
        config.flash.host_buffer = 1 << 20;
        again();
    }
    std::uint64_t uses_of(std::string_view name) const {
        std::vector<model::time::Account> rows;
        bench->controller.accounts(rows);
        return std::ranges::find(rows, name, &model::time::Account::name)->usage.uses;
    }
};
} // namespace

TEST_CASE("a timed drive in files has its data, namespaces and formats again in the next process",
          "[unit][nvme][keep][time]") {
    TimedDrive drive;
    REQUIRE(drive.admin(AdminOpcode::format_nvm, 1, 1) == Status::success); // blocks of 4096 bytes
    const auto second = drive.create(2048);
    REQUIRE(drive.write(1, 3, 0x11) == Status::success);
    REQUIRE(drive.write(second, 5, 0x22) == Status::success);

    drive.again();
    CHECK(drive.space().shape().data_bytes() == 4096);
    const auto begin = drive.bench->clock.now();
    CHECK(drive.first_byte(1, 3) == 0x11);
    CHECK(drive.bench->clock.now() - begin >= drive.config.flash.read); // no cache outlives a process
    CHECK(drive.first_byte(second, 5) == 0x22);
    CHECK(drive.uses_of("dies") == 2);
}

TEST_CASE("to make and to delete a namespace programs nothing of what others have in the write cache",
          "[unit][nvme][keep][time]") {
    TimedDrive drive;
    REQUIRE(drive.write(1, 3, 0x11) == Status::success);
    REQUIRE(drive.uses_of("dies") == 0);

    const auto second = drive.create(2048);
    CHECK(drive.uses_of("dies") == 0);
    REQUIRE(drive.admin(AdminOpcode::namespace_management, second, 1) == Status::success);
    CHECK(drive.uses_of("dies") == 0);
    CHECK(drive.bench->ask(1, IoOpcode::flush, 1) == Status::success);
    CHECK(drive.uses_of("dies") == 1);
}

TEST_CASE("the host memory buffer is none of the features that are saved", "[unit][nvme][keep]") {
    TimedDrive drive;
    const auto set = [&](Feature feature, std::uint32_t flags, std::uint32_t value) {
        return drive.admin(AdminOpcode::set_features, 0, static_cast<std::uint32_t>(feature) | flags, value);
    };
    CHECK(set(Feature::host_memory_buffer, save, 0) == Status::feature_not_saveable);
    CHECK(set(Feature::host_memory_buffer, 0, 0) == Status::success);
    CHECK(set(Feature::arbitration, save, 2) == Status::success);

    drive.again();
    const auto get = [&](Feature feature) {
        return drive.bench->submit(0, Bench::command(static_cast<std::uint8_t>(AdminOpcode::get_features), 0,
                                                     static_cast<std::uint32_t>(feature)));
    };
    CHECK(get(Feature::arbitration).view().get<"dw0">() == 2);
    CHECK(get(Feature::host_memory_buffer).view().get<"dw0">() == 0);
}
