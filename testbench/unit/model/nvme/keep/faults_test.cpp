// A drive in files whose configuration says what fails.
#include "testbench/unit/model/nvme/broken_file.h"
#include "testbench/unit/model/nvme/keep/drive_in_files.h"

using namespace nvme_test;

namespace {

struct FaultyDrive : DriveInFiles {
    std::string& script() { return config.space.namespaces[0].faults; }
    void again_with(const std::string& faults) {
        script() = faults;
        again();
    }
};

} // namespace

TEST_CASE("what a script says fails in each process that has it, whatever the size of blocks is by then",
          "[unit][nvme][keep]") {
    FaultyDrive drive;
    drive.again_with("read 5, write 6, full 7, flush");
    CHECK(drive.read(1, 5) == Status::unrecovered_read_error);
    CHECK(drive.write(1, 6, 1) == Status::write_fault);
    CHECK(drive.write(1, 7, 1) == Status::capacity_exceeded);
    CHECK(drive.bench->ask(1, IoOpcode::flush, 1) == Status::write_fault);
    CHECK(drive.read(1, 6) == Status::success);
    const auto second = drive.create(64); // the host's own has no faults
    CHECK(drive.read(second, 5) == Status::success);
    drive.again_with("");
    CHECK(drive.read(1, 5) == Status::success);
    REQUIRE(drive.admin(AdminOpcode::format_nvm, 1, 1) == Status::success);

    drive.again_with("read 5");
    CHECK(drive.space().shape().data_bytes() == 4096);
    CHECK(drive.read(1, 4) == Status::success);
    CHECK(drive.read(1, 5) == Status::unrecovered_read_error);
    drive.script() = "read 5000";
    CHECK(drive.refusal() == "faults has block 5000, and the medium has 256");
}

TEST_CASE("where the power goes with the process, what was not flushed may be gone, and nothing else is",
          "[unit][nvme][keep]") {
    unsigned kept = 0, lost = 0;
    for (unsigned seed = 1; seed <= 8; ++seed) {
        FaultyDrive drive;
        drive.again_with("power " + std::to_string(seed));
        for (std::uint64_t lba = 0; lba < 8; ++lba)
            REQUIRE(drive.write(1, lba, 1) == Status::success);
        REQUIRE(drive.bench->ask(1, IoOpcode::flush, 1) == Status::success);
        for (std::uint64_t lba = 0; lba < 4; ++lba)
            REQUIRE(drive.write(1, lba, 2) == Status::success);
        REQUIRE(drive.write(1, 4, 2, 1u << 30) == Status::success); // FUA

        drive.again_with("");
        for (std::uint64_t lba = 0; lba < 4; ++lba) {
            const auto byte = drive.first_byte(1, lba);
            CHECK((byte == 1 || byte == 2));
            (byte == 1 ? lost : kept) += 1;
        }
        CHECK(drive.first_byte(1, 4) == 2);
        CHECK(drive.first_byte(1, 5) == 1);
    }
    CHECK(kept > 4);
    CHECK(lost > 4);
}

TEST_CASE("an overwrite whose marks cannot be kept has failed", "[unit][nvme][keep]") {
    DriveInFiles drive;
    REQUIRE(drive.write(1, 5, 1) == Status::success);
    auto& spaces = drive.bench->controller.namespaces();
    model::port::Time at{};
    {
        const BrokenFile broken(drive.marks());
        CHECK(spaces.sanitize(model::nvme::SanitizeAction::overwrite, 0, false, at).status == Status::sanitize_failed);
    }

    REQUIRE(drive.write(1, 5, 1) == Status::success);
    CHECK(spaces.sanitize(model::nvme::SanitizeAction::overwrite, 0, false, at).is_ok());
}
