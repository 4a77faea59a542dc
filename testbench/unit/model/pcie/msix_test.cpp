#include "model/pcie/msix.h"

#include <catch2/catch_test_macros.hpp>

using namespace model::pcie;

namespace {
void write32(Msix& msix, std::uint64_t offset, std::uint32_t value) {
    std::array<std::byte, 4> bytes;
    abi::store<std::uint32_t, std::endian::little>(bytes.data(), value);
    msix.write_table(offset, bytes);
}
std::uint32_t read32(const Msix& msix, std::uint64_t offset) {
    std::array<std::byte, 4> bytes;
    msix.read_table(offset, bytes);
    return abi::load<std::uint32_t, std::endian::little>(bytes.data());
}
/// Vector `n` unmasked, with a message of its own.
void program(Msix& msix, unsigned n) {
    write32(msix, n * 16 + 0, 0xfee00000);
    write32(msix, n * 16 + 8, 0x40 + n);
    write32(msix, n * 16 + 12, 0);
}
std::uint64_t pending(const Msix& msix) {
    std::array<std::byte, 8> bytes;
    msix.read_pending(0, bytes);
    return abi::load<std::uint64_t, std::endian::little>(bytes.data());
}
} // namespace

TEST_CASE("after reset every vector is masked and MSI-X is off", "[unit][msix]") {
    Msix msix(3);

    CHECK(read32(msix, 12) == 1);
    CHECK(read32(msix, 44) == 1);
    CHECK_FALSE(msix.raise(0));
    CHECK(pending(msix) == 0); // disabled: dropped, not pending
}

TEST_CASE("an unmasked vector sends its message at once", "[unit][msix]") {
    Msix msix(3);
    msix.control(true, false);
    program(msix, 2);

    CHECK(msix.raise(2) == Msix::Message{0xfee00000, 0x42, 2});
    CHECK(pending(msix) == 0);
    CHECK_FALSE(msix.raise(3)); // no such vector
    CHECK_FALSE(msix.raise(0xffff));
}

TEST_CASE("masked vectors are pending until unmasked, lowest first", "[unit][msix]") {
    Msix msix(70);
    msix.control(true, false);
    program(msix, 1);
    program(msix, 69);
    write32(msix, 1 * 16 + 12, 1);
    write32(msix, 69 * 16 + 12, 1);
    CHECK_FALSE(msix.raise(69));
    CHECK_FALSE(msix.raise(1));
    CHECK_FALSE(msix.raise(1));
    CHECK(msix.is_pending(69));
    CHECK(pending(msix) == 2);
    CHECK_FALSE(msix.next());

    write32(msix, 69 * 16 + 12, 0);
    write32(msix, 1 * 16 + 12, 0);

    CHECK(msix.next()->vector == 1);
    CHECK(msix.next()->vector == 69);
    CHECK_FALSE(msix.next());
    CHECK_FALSE(msix.is_pending(69));
}

TEST_CASE("the function mask holds back all vectors and keeps their own masks", "[unit][msix]") {
    Msix msix(2);
    msix.control(true, true);
    program(msix, 0);
    CHECK_FALSE(msix.raise(0));
    CHECK_FALSE(msix.raise(1));
    CHECK(pending(msix) == 3);

    msix.control(true, false);

    CHECK(msix.next()->vector == 0);
    CHECK_FALSE(msix.next()); // vector 1 has its own mask
    CHECK(pending(msix) == 2);
}

TEST_CASE("the table takes aligned dwords, keeps reserved bits zero, and ignores the rest", "[unit][msix]") {
    Msix msix(1);
    write32(msix, 0, 0xffffffff);
    write32(msix, 4, 0xffffffff);
    write32(msix, 12, 0xffffffff);
    CHECK(read32(msix, 0) == 0xfffffffc);
    CHECK(read32(msix, 4) == 0xffffffff);
    CHECK(read32(msix, 12) == 1);

    const std::array<std::byte, 8> zeros{};
    msix.write_table(2, std::span(zeros).first(2));
    msix.write_table(4, std::span(zeros).first(3));
    CHECK(read32(msix, 4) == 0xffffffff);
    msix.write_table(0, zeros); // 8 bytes are two dwords
    CHECK(read32(msix, 0) == 0);
    CHECK(read32(msix, 4) == 0);
}

TEST_CASE("a message goes where the entry says at the moment it is sent", "[unit][msix]") {
    Msix msix(1);
    msix.control(true, false);
    CHECK_FALSE(msix.raise(0)); // masked after reset

    write32(msix, 0, 0xfee01000);
    write32(msix, 4, 1);
    write32(msix, 8, 7);
    write32(msix, 12, 0);

    CHECK(msix.next() == Msix::Message{0x1'fee01000, 7, 0});
}

TEST_CASE("what is pending waits while the function is masked or MSI-X is off", "[unit][msix]") {
    Msix msix(3);
    program(msix, 1);
    msix.control(true, true);
    CHECK_FALSE(msix.raise(1));

    CHECK_FALSE(msix.next());
    msix.control(false, false);
    CHECK_FALSE(msix.next());
    CHECK(pending(msix) == 2);
    msix.control(true, false);
    CHECK(msix.next() == Msix::Message{0xfee00000, 0x41, 1});
}
