#include "model/port/memory_dma.h"

#include <catch2/catch_test_macros.hpp>

using namespace model::port;
using abi::BusAddress;

namespace {
std::vector<std::byte> pattern(std::size_t length) {
    std::vector<std::byte> bytes(length);
    for (std::size_t i = 0; i < length; ++i)
        bytes[i] = static_cast<std::byte>(i * 7 + 1);
    return bytes;
}
} // namespace

TEST_CASE("memory behind a test's Dma reads back what was written across pages", "[unit][dma]") {
    MemoryDma memory;
    const auto written = pattern(200'000);
    std::vector<std::byte> read(written.size());

    memory.write(BusAddress{MemoryDma::page_bytes - 13}, written, Time{});
    const auto result = memory.read(BusAddress{MemoryDma::page_bytes - 13}, read, Time{});

    CHECK(result.is_ok());
    CHECK(read == written);
    CHECK(memory.peek(MemoryDma::page_bytes - 14, 1)[0] == std::byte{});
}

TEST_CASE("a failing range moves nothing and gives its status", "[unit][dma]") {
    MemoryDma memory;
    memory.fail(0x1000, 0x1001, DmaStatus::completer_abort);

    CHECK(memory.write(BusAddress{0xff8}, pattern(8), Time{}).is_ok());
    CHECK(memory.write(BusAddress{0xff9}, pattern(8), Time{}).status == DmaStatus::completer_abort);
    CHECK(memory.lend(BusAddress{0x1000}, 1, Time{}).data == nullptr);
    CHECK(memory.peek(0x1000, 1)[0] == std::byte{});
    CHECK(memory.log().size() == 3);
}

TEST_CASE("a fault may wait for a number of accesses", "[unit][dma]") {
    MemoryDma memory;
    memory.fail(0, 64, DmaStatus::unsupported_request, 2);

    CHECK(memory.lend(BusAddress{0}, 8, Time{}).result.is_ok());
    CHECK(memory.lend(BusAddress{0}, 8, Time{}).result.is_ok());
    CHECK(memory.lend(BusAddress{0}, 8, Time{}).result.status == DmaStatus::unsupported_request);
}

TEST_CASE("a loan shows later writes", "[unit][dma]") {
    MemoryDma memory;
    const auto loan = memory.lend(BusAddress{0x40}, 8, Time{}, Purpose::payload);

    memory.write(BusAddress{0x40}, pattern(8), Time{});

    REQUIRE(loan.data != nullptr);
    CHECK(loan.data[0] == std::byte{1});
    CHECK(memory.log().front() == MemoryDma::Access{MemoryDma::Kind::lend, 0x40, 8, Purpose::payload, DmaStatus::ok});
}
