#include "model/nvme/media/fault_script.h"
#include "model/nvme/media/faulty_medium.h"
#include "model/nvme/media/file_medium.h"
#include "model/nvme/media/memory_medium.h"
#include "testbench/unit/model/nvme/broken_file.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <vector>

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace model::nvme;

namespace {

/// A file that is gone afterwards.
struct File {
    std::string path = (std::filesystem::temp_directory_path() / "hcasim_medium_XXXXXX").string();
    File() {
        const auto file = mkstemp(path.data());
        REQUIRE(file >= 0);
        close(file);
    }
    ~File() { unlink(path.c_str()); }
    std::uint64_t disk_bytes() const {
        struct stat status{};
        REQUIRE(stat(path.c_str(), &status) == 0);
        return static_cast<std::uint64_t>(status.st_blocks) * 512;
    }
};

std::vector<std::byte> bytes(std::size_t length, int value) {
    return std::vector<std::byte>(length, static_cast<std::byte>(value));
}
MediumResult write(Medium& medium, std::uint64_t offset, const std::vector<std::byte>& from,
                   Durability durability = Durability::volatile_cache) {
    const std::array piece{std::span<const std::byte>(from)};
    return medium.write(offset, piece, durability, {});
}
std::vector<std::byte> read(Medium& medium, std::uint64_t offset, std::size_t length) {
    std::vector<std::byte> into(length);
    REQUIRE(medium.read(offset, into, {}).is_ok());
    return into;
}

} // namespace

TEST_CASE("each medium reads what was written, and zero elsewhere", "[unit][nvme]") {
    File file;
    std::array<std::unique_ptr<Medium>, 2> media{std::make_unique<MemoryMedium>("test", 1 << 20),
                                                 std::make_unique<FileMedium>(file.path, 1 << 20)};
    for (auto& medium : media) {
        std::vector<std::vector<std::byte>> parts;
        std::vector<std::span<const std::byte>> pieces;
        for (int i = 0; i < 200; ++i) // more than one call of the kernel takes
            parts.push_back(bytes(static_cast<std::size_t>(i % 5) * 100, i));
        std::vector<std::byte> all;
        for (const auto& part : parts) {
            pieces.emplace_back(part);
            all.insert(all.end(), part.begin(), part.end());
        }
        REQUIRE(medium->write(10000, pieces, Durability::durable, {}).is_ok());
        CHECK(read(*medium, 10000, all.size()) == all);
        CHECK(read(*medium, 9000, 1000) == bytes(1000, 0));
        CHECK(read(*medium, 10000 + all.size(), 1000) == bytes(1000, 0));

        REQUIRE(medium->discard(10050, 9000, Durability::volatile_cache, {}).is_ok());
        CHECK(read(*medium, 10050, 9000) == bytes(9000, 0));
        CHECK(read(*medium, 10000, 50) == std::vector(all.begin(), all.begin() + 50));
        CHECK(read(*medium, 19050, 100) == std::vector(all.begin() + 9050, all.begin() + 9150));
        CHECK(medium->flush({}).is_ok());
    }
}

TEST_CASE("a file keeps what was written, and gives back what was discarded", "[unit][nvme]") {
    File file;
    {
        FileMedium medium(file.path, 16 << 20);
        REQUIRE(write(medium, 1 << 20, bytes(1 << 20, 7)).is_ok());
    }
    CHECK(file.disk_bytes() < 4 << 20);
    FileMedium medium(file.path, 16 << 20);
    CHECK(read(medium, 1 << 20, 1 << 20) == bytes(1 << 20, 7));
    const auto data = medium.next_data(0);
    REQUIRE(data);
    CHECK(data->begin <= 1 << 20);
    CHECK(data->end >= 2 << 20);
    CHECK_FALSE(medium.next_data(data->end));
    REQUIRE(medium.discard(1 << 20, 1 << 20, Durability::durable, {}).is_ok());
    CHECK(file.disk_bytes() < 1 << 20);
}

TEST_CASE("a killed process loses nothing that was completed", "[unit][nvme]") {
    File file;
    const auto child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        FileMedium medium(file.path, 1 << 20);
        const auto data = bytes(4096, 9);
        const std::array piece{std::span<const std::byte>(data)};
        medium.write(8192, piece, Durability::volatile_cache, {});
        medium.flush({});
        kill(getpid(), SIGKILL);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status));

    FileMedium medium(file.path, 1 << 20);
    CHECK(read(medium, 8192, 4096) == bytes(4096, 9));
}

TEST_CASE("a file that cannot be the medium is refused with its name", "[unit][nvme]") {
    File file;
    REQUIRE(truncate(file.path.c_str(), 4096) == 0);
    CHECK_THROWS_AS(FileMedium(file.path, 2048), std::runtime_error);
    CHECK_THROWS_AS(FileMedium(file.path + "/none", 2048), std::system_error);
    CHECK_THROWS_AS(FileMedium("/dev/null", 2048), std::runtime_error);
}

TEST_CASE("a file is the medium of one namespace", "[unit][nvme]") {
    File file;
    {
        FileMedium medium(file.path, 4096);
        CHECK_THROWS_AS(FileMedium(file.path, 4096), std::runtime_error);
    }
    CHECK_NOTHROW(FileMedium(file.path, 4096));
}

TEST_CASE("a file that somebody has made shorter is a read error", "[unit][nvme]") {
    File file;
    FileMedium medium(file.path, 1 << 20);
    REQUIRE(truncate(file.path.c_str(), 6000) == 0);
    std::vector<std::byte> into(4096);
    const auto result = medium.read(4096, into, {});
    CHECK(result.status == MediumStatus::read_error);
    CHECK(result.where == 6000);
}

TEST_CASE("after the disk has lost writes what is to be durable fails, and what is not goes on", "[unit][nvme]") {
    const File file;
    FileMedium medium(file.path, 1 << 16);
    {
        const nvme_test::BrokenFile broken(file.path);
        CHECK(medium.flush({}).status == MediumStatus::write_fault);
    }

    CHECK(write(medium, 0, bytes(512, 1)).is_ok());
    CHECK(write(medium, 0, bytes(512, 2), Durability::durable).status == MediumStatus::write_fault);
    CHECK(medium.flush({}).status == MediumStatus::write_fault); // nobody knows what was lost
}

TEST_CASE("a disk without room refuses a write", "[unit][nvme]") {
    File file;
    FileMedium medium(file.path, 64 << 20);
    rlimit before{};
    REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
    const rlimit small{1 << 20, before.rlim_max};
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
    const auto result = write(medium, (1 << 20) - 512, bytes(1024, 1));
    REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
    std::signal(SIGXFSZ, handler);
    CHECK(result.status == MediumStatus::write_fault);
    CHECK(result.where == 1 << 20);
}

TEST_CASE("a loss of power leaves each unit as it is or as it was", "[unit][nvme]") {
    unsigned kept = 0, lost = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        INFO("seed " << seed);
        FaultyMedium medium(std::make_unique<MemoryMedium>("test", 1 << 20), 512, seed * 0x9e3779b97f4a7c15);
        REQUIRE(write(medium, 0, bytes(2048, 1)).is_ok());
        REQUIRE(medium.flush({}).is_ok());
        REQUIRE(write(medium, 512, bytes(1024, 2)).is_ok());
        REQUIRE(write(medium, 1024, bytes(512, 3)).is_ok());
        REQUIRE(write(medium, 1536, bytes(512, 4), Durability::durable).is_ok());
        CHECK(medium.unsafe_units() == 3);

        medium.lose_power();

        CHECK(read(medium, 0, 512) == bytes(512, 1));
        CHECK(read(medium, 1536, 512) == bytes(512, 4));
        const auto one = read(medium, 512, 512), two = read(medium, 1024, 512);
        CHECK((one == bytes(512, 1) || one == bytes(512, 2)));
        CHECK((two == bytes(512, 1) || two == bytes(512, 2) || two == bytes(512, 3)));
        (one == bytes(512, 1) ? lost : kept) += 1;
        CHECK(medium.unsafe_units() == 0);
    }
    CHECK(kept > 5);
    CHECK(lost > 5);
}

TEST_CASE("a script says what fails, by blocks", "[unit][nvme]") {
    const auto medium = make_faulty(std::make_unique<MemoryMedium>("test", 1 << 20),
                                    "read 2, write 4..5,full 6 , silent 8, flush", 512);
    std::vector<std::byte> into(512);
    const auto status = [&](std::uint64_t block) { return medium->read(block * 512, into, {}).status; };
    const auto written = [&](std::uint64_t block) { return write(*medium, block * 512, bytes(512, 1)).status; };

    CHECK((status(1) == MediumStatus::ok && status(2) == MediumStatus::read_error && status(3) == MediumStatus::ok));
    CHECK((written(3) == MediumStatus::ok && written(4) == MediumStatus::write_fault));
    CHECK((written(5) == MediumStatus::write_fault && written(6) == MediumStatus::no_space));
    CHECK((written(7) == MediumStatus::ok && status(8) == MediumStatus::no_answer));
    CHECK(medium->flush({}).status == MediumStatus::write_fault);
    CHECK(write(*medium, 2 * 512, bytes(512, 1)).is_ok());
    CHECK(status(2) == MediumStatus::ok);
}

TEST_CASE("a script that is wrong is refused with the fault that is none", "[unit][nvme]") {
    for (const auto* script : {"raed 5", "read", "read x", "read 5..", "read 5..4", "read 5 6", "flush 1", "power",
                               "power -1", "read 5,,flush", " ", "read 99999999999999999999"}) {
        CAPTURE(script);
        CHECK_THROWS_AS(make_faulty(std::make_unique<MemoryMedium>("test", 1 << 20), script, 512),
                        std::invalid_argument);
    }
    CHECK_THROWS_MATCHES(make_faulty(std::make_unique<MemoryMedium>("test", 1 << 20), "read 7..2048", 512),
                         std::invalid_argument,
                         Catch::Matchers::Message("faults has block 2048, and the medium has 2048"));
}

TEST_CASE("a write heals a latent sector where it is, and nowhere else", "[unit][nvme]") {
    FaultyMedium medium(std::make_unique<MemoryMedium>("test", 1 << 20), 512);
    medium.make_latent({1000, 4000});
    std::vector<std::byte> into(512);
    CHECK(medium.read(0, into, {}).is_ok());
    CHECK(medium.read(512, into, {}).where == 1000);
    REQUIRE(write(medium, 1024, bytes(512, 1)).is_ok());
    CHECK(medium.read(1024, into, {}).is_ok());
    CHECK(medium.read(512, into, {}).status == MediumStatus::read_error);
    CHECK(medium.read(1536, into, {}).status == MediumStatus::read_error);
    medium.heal();
    CHECK(medium.read(1536, into, {}).is_ok());
}
