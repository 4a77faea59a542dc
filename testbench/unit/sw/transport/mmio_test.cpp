#include "sw/transport/mmio.h"

#include "testbench/unit/sw/fake_transport.h"

#include <catch2/catch_test_macros.hpp>

namespace {
using Block =
    abi::Layout<"block", 16, abi::Bits<"high", 0x4, 31, 16>, abi::Bits<"low", 0x4, 15, 0>, abi::U32<"whole", 0x8>>;
}

TEST_CASE("registers are big-endian dwords named by their layout", "[unit][base]") {
    testbench::FakeTransport transport;
    transport.bars[1].resize(64);
    sw::transport::Registers<Block> registers(transport, 1, 0x20);

    registers.set<"low">(0x1234);
    registers.set<"whole">(0xdeadbeef);

    CHECK(transport.bars[1][0x26] == std::byte{0x12});
    CHECK(transport.bars[1][0x27] == std::byte{0x34});
    CHECK(registers.get<"low">() == 0x1234);
    CHECK(registers.get<"high">() == 0);
    CHECK(registers.get<"whole">() == 0xdeadbeef);
}
