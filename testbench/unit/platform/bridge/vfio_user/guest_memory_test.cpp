#include "platform/bridge/vfio_user/guest_memory.h"

#include <catch2/catch_test_macros.hpp>

#include <fcntl.h>
#include <sys/mman.h>

#include <array>
#include <cerrno>
#include <string>

using namespace platform::bridge::vfio_user;

namespace {

/// A memory file as QEMU makes it: it cannot be shortened.
Descriptor memory_file(std::uint64_t bytes, unsigned seals = F_SEAL_SHRINK) {
    Descriptor file(::memfd_create("guest", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    REQUIRE(::ftruncate(file.number(), static_cast<off_t>(bytes)) == 0);
    REQUIRE(::fcntl(file.number(), F_ADD_SEALS, seals) == 0);
    return file;
}
DmaMapRequest range(std::uint64_t address, std::uint64_t size, std::uint64_t offset = 0) {
    return {address, size, offset, true, true};
}

struct Guest {
    FileMappings files;
    GuestMemory memory{files};
};
constexpr std::uint64_t page = 4096;

} // namespace

TEST_CASE("ranges of one file share its mapping", "[unit][vfio_user]") {
    Guest guest;
    const auto file = memory_file(16 * page);

    REQUIRE(guest.memory.map(range(0, 4 * page), file) == 0);
    REQUIRE(guest.memory.map(range(0x1'0000'0000, 4 * page, 8 * page), file) == 0);

    CHECK(guest.files.size() == 1);
    const auto *low = guest.memory.find(page), *high = guest.memory.find(0x1'0000'0000);
    REQUIRE((low != nullptr && high != nullptr));
    CHECK(high->memory - low->memory == 8 * page);
    CHECK(guest.memory.find(4 * page) == nullptr);
    CHECK(guest.memory.find(0x1'0000'0000 + 4 * page) == nullptr);
    low->memory[0] = std::byte{0x5a};
    std::byte seen{};
    CHECK(::pread(file.number(), &seen, 1, 0) == 1);
    CHECK(seen == std::byte{0x5a});
}

TEST_CASE("a range that touches another one is refused with EEXIST", "[unit][vfio_user]") {
    Guest guest;
    const auto file = memory_file(16 * page);
    REQUIRE(guest.memory.map(range(4 * page, 4 * page), file) == 0);
    for (const auto& bad : {range(4 * page, 4 * page), range(7 * page, page), range(3 * page, 2 * page),
                            range(0, 16 * page), range(5 * page, page)})
        CHECK(guest.memory.map(bad, file) == EEXIST);
    CHECK(guest.memory.map(range(3 * page, page), file) == 0);
    CHECK(guest.memory.map(range(8 * page, page), file) == 0);
}

TEST_CASE("an unmap takes all ranges inside of it, as in the kernel's VFIO, and cuts none", "[unit][vfio_user]") {
    Guest guest;
    const auto file = memory_file(16 * page);
    REQUIRE(guest.memory.map(range(4 * page, 4 * page), file) == 0);
    REQUIRE(guest.memory.map(range(9 * page, page), file) == 0);
    for (const auto& cut : {range(4 * page, page), range(5 * page, 3 * page), range(5 * page, page), range(0, 5 * page),
                            range(4 * page, 3 * page), range(7 * page, 9 * page)})
        CHECK(guest.memory.unmap({cut.address, cut.size, false}) == EINVAL);
    CHECK(guest.memory.size() == 2);
    CHECK(guest.memory.unmap({8 * page, page, false}) == 0); // nothing is there
    CHECK(guest.memory.unmap({0, 4 * page, false}) == 0);
    CHECK(guest.memory.size() == 2);
    CHECK(guest.memory.unmap({4 * page, 4 * page, false}) == 0);
    CHECK(guest.memory.find(4 * page) == nullptr);
    REQUIRE(guest.memory.map(range(4 * page, page), file) == 0);
    CHECK(guest.memory.unmap({1ull << 63, 1ull << 63, false}) == 0); // up to the last address
    CHECK(guest.memory.size() == 2);
    CHECK(guest.memory.unmap({0, 1ull << 63, false}) == 0);
    CHECK(guest.memory.size() == 0);
}

TEST_CASE("a mapping stays until it is swept", "[unit][vfio_user]") {
    Guest guest;
    const auto file = memory_file(4 * page);
    REQUIRE(guest.memory.map(range(0, page), file) == 0);
    guest.files.sweep();
    CHECK(guest.files.size() == 1);
    REQUIRE(guest.memory.unmap({0, 0, true}) == 0);
    CHECK(guest.files.size() == 1); // bytes of it may be under way
    guest.files.sweep();
    CHECK(guest.files.size() == 0);
}

TEST_CASE("a file that can be shortened is reached by messages", "[unit][vfio_user]") {
    Guest guest;
    REQUIRE(guest.memory.map(range(0, page), memory_file(4 * page, 0)) == 0);
    REQUIRE(guest.memory.map(range(page, page), Descriptor(::open("/dev/zero", O_RDWR | O_CLOEXEC))) == 0);
    CHECK(guest.memory.find(0)->memory == nullptr);
    CHECK(guest.memory.find(page)->memory == nullptr);
    CHECK(guest.files.size() == 0);
}

TEST_CASE("what is no memory, or was not opened for it, is refused", "[unit][vfio_user]") {
    Guest guest;
    std::array<int, 2> ends{};
    REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
    const Descriptor reading(ends[0]), writing(ends[1]);
    CHECK(guest.memory.map(range(0, page), reading) == ENODEV);
    CHECK(guest.memory.map(range(0, page), writing) == ENODEV);
    CHECK(guest.memory.map(range(0, page), Descriptor(::open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC))) == ENODEV);
    CHECK(guest.memory.map(range(0, page), Descriptor(::open("/dev/zero", O_PATH | O_CLOEXEC))) == ENODEV);
    for (const unsigned seals : {F_SEAL_SHRINK, 0}) {
        const auto file = memory_file(4 * page, seals);
        const auto path = "/proc/self/fd/" + std::to_string(file.number());
        const Descriptor write_only(::open(path.c_str(), O_WRONLY | O_CLOEXEC)),
            read_only(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
        CHECK(guest.memory.map(range(0, page), write_only) == EACCES);
        CHECK(guest.memory.map({0, page, 0, false, true}, write_only) == EACCES);
        CHECK(guest.memory.map({0, page, 0, true, false}, write_only) == EACCES);
        CHECK(guest.memory.map(range(0, page), read_only) == EACCES);
    }
    CHECK(guest.memory.size() == 0);
}

TEST_CASE("of a large file the part that is asked for is mapped", "[unit][vfio_user]") {
    Guest guest;
    constexpr std::uint64_t terabyte = std::uint64_t{1} << 40;
    const auto file = memory_file(64 * terabyte);
    for (std::uint64_t i = 0; i < 100; ++i)
        REQUIRE(guest.memory.map(range(i * terabyte, 16 * page, (i % 64) * terabyte + 8 * page), file) == 0);
    auto* memory = guest.memory.find(3 * terabyte)->memory;
    REQUIRE(memory != nullptr);
    memory[5] = std::byte{0x5a};
    std::byte seen{};
    CHECK(::pread(file.number(), &seen, 1, static_cast<off_t>(3 * terabyte + 8 * page + 5)) == 1);
    CHECK(seen == std::byte{0x5a});
    CHECK(guest.files.size() == 64); // the later ones found a window
}

TEST_CASE("pages of one part of a file share a window", "[unit][vfio_user]") {
    Guest guest;
    const auto file = memory_file(std::uint64_t{1} << 34);
    for (std::uint64_t i = 0; i < 1000; ++i)
        REQUIRE(guest.memory.map(range(2 * i * page, page, i * page), file) == 0);
    CHECK(guest.files.size() == 1);
}

TEST_CASE("files beyond a client's sum are reached by messages, and cost another client nothing", "[unit][vfio_user]") {
    Guest guest;
    GuestMemory other(guest.files);
    constexpr std::uint64_t bytes = std::uint64_t{1} << 41;
    std::uint64_t address = 0;
    for (unsigned i = 0; i < 8; ++i, address += bytes)
        REQUIRE(guest.memory.map(range(address, bytes), memory_file(std::uint64_t{1} << 46)) == 0);
    CHECK(guest.memory.find(bytes)->memory != nullptr);
    CHECK(guest.memory.find(2 * bytes)->memory == nullptr);
    REQUIRE(other.map(range(0, page), memory_file(page)) == 0);
    CHECK(other.find(0)->memory != nullptr);

    // What it gives back it may have again, but not before it has been swept.
    guest.memory.unmap_all();
    REQUIRE(guest.memory.map(range(0, bytes), memory_file(bytes)) == 0);
    CHECK(guest.memory.find(0)->memory == nullptr);
    guest.memory.unmap_all();
    guest.files.sweep();
    REQUIRE(guest.memory.map(range(0, bytes), memory_file(bytes)) == 0);
    CHECK(guest.memory.find(0)->memory != nullptr);
}

TEST_CASE("a client has so many mappings and no more", "[unit][vfio_user]") {
    Guest guest;
    for (std::uint64_t i = 0; i <= FileMappings::max_count; ++i)
        REQUIRE(guest.memory.map(range(i * page, page), memory_file(page)) == 0);
    CHECK(guest.files.size() == FileMappings::max_count);
    CHECK(guest.memory.find(FileMappings::max_count * page)->memory == nullptr);
}

TEST_CASE("a file that fails under its mapping becomes zeroes, and is no longer used", "[unit][vfio_user]") {
    Guest guest;
    const auto file = memory_file(4 * page, 0);
    const auto mapping = FileMapping::create(file.number(), 0, 4 * page, true, false);
    REQUIRE(mapping.has_value());
    (*mapping)->bytes()[0] = std::byte{1};
    CHECK((*mapping)->holds(page, page, true));
    REQUIRE(::ftruncate(file.number(), 0) == 0);

    CHECK((*mapping)->bytes()[2 * page] == std::byte{0});
    CHECK((*mapping)->is_broken());
    CHECK_FALSE((*mapping)->holds(page, page, true));
    (*mapping)->bytes()[3 * page] = std::byte{2};
    std::uint64_t count = 0;
    CHECK(::read(guest.files.fault_file(), &count, sizeof count) == sizeof count);
    CHECK(count == 1);
}

TEST_CASE("a range beyond the end of its file is refused", "[unit][vfio_user]") {
    Guest guest;
    CHECK(guest.memory.map(range(0, 5 * page), memory_file(4 * page)) == EINVAL);
    CHECK(guest.memory.map(range(0, page, 4 * page), memory_file(4 * page)) == EINVAL);
    CHECK(guest.memory.map(range(0, page, ~0xfffull), memory_file(4 * page)) == EINVAL);
    CHECK(guest.memory.size() == 0);
}

TEST_CASE("a file that was opened for reading cannot be mapped for writing", "[unit][vfio_user]") {
    Guest guest;
    const auto file = memory_file(4 * page);
    const auto path = "/proc/self/fd/" + std::to_string(file.number());
    const Descriptor read_only(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    CHECK(guest.memory.map(range(0, page), read_only) == EACCES);
    CHECK(guest.memory.map({0, page, 0, true, false}, read_only) == 0);
    CHECK_FALSE(guest.memory.find(0)->allows(true));
    CHECK(guest.memory.find(0)->allows(false));
}

TEST_CASE("there are so many ranges and no more", "[unit][vfio_user]") {
    Guest guest;
    const Descriptor no_file;
    for (std::uint64_t i = 0; i < GuestMemory::max_ranges; ++i)
        REQUIRE(guest.memory.map(range(2 * i * page, page), no_file) == 0);
    CHECK(guest.memory.map(range(page, page), no_file) == ENOSPC);
}

TEST_CASE("the gap around an address ends where ranges begin", "[unit][vfio_user]") {
    Guest guest;
    const Descriptor no_file;
    REQUIRE(guest.memory.map(range(page, page), no_file) == 0);
    REQUIRE(guest.memory.map(range(8 * page, page), no_file) == 0);
    CHECK(guest.memory.gap(4 * page) == model::pcie::Range{2 * page, 8 * page});
    CHECK(guest.memory.gap(0) == model::pcie::Range{0, page});
    CHECK(guest.memory.gap(9 * page) == model::pcie::Range{9 * page, ~0ull});
}
