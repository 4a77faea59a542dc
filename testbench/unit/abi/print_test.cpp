#include "abi/print.h"
#include "abi/prm/qp.h"
#include "abi/prm/wqe.h"

#include <catch2/catch_test_macros.hpp>

using namespace abi;

namespace {
using Inner = Layout<"inner", 4, Bits<"x", 0, 31, 16>, Bits<"y", 0, 15, 0>>;
using Outer = Layout<"outer", 16, Bits<"state", 0, 31, 28, prm::QpState>, U64<"address", 4>, Sub<"inner", 12, Inner>>;
using Little = LittleLayout<"little", 8, U16<"id", 0>, Raw<"rest", 2, 3>>;

Block<Outer> filled() {
    Block<Outer> block;
    block.view().set<"state">(prm::QpState::rts).set<"address">(0xfedcba9876543210);
    block.view().sub<"inner">().set<"y">(7);
    return block;
}
} // namespace

TEST_CASE("a layout prints as one line with the names of its values", "[unit][print]") {
    const auto block = filled();

    CHECK(to_string(block.view()) == "state=0x3 (RTS) address=0xfedcba9876543210 inner={x=0x0 y=0x7}");
}

TEST_CASE("a layout prints one field a line with nested names dotted", "[unit][print]") {
    const auto block = filled();

    CHECK(to_string(block.view(), PrintForm::lines) ==
          "state=0x3 (RTS)\naddress=0xfedcba9876543210\ninner.x=0x0\ninner.y=0x7\n");
}

TEST_CASE("a layout prints as JSON", "[unit][print]") {
    const auto block = filled();

    CHECK(to_string(block.view(), PrintForm::json) ==
          R"({"state":3,"address":18364758544493064720,"inner":{"x":0,"y":7}})");
}

TEST_CASE("zero fields can be left out", "[unit][print]") {
    const auto block = filled();

    CHECK(to_string(block.view(), PrintForm::line, PrintZeros::no) ==
          "state=0x3 (RTS) address=0xfedcba9876543210 inner={y=0x7}");
}

TEST_CASE("little-endian fields and raw bytes print as they are meant", "[unit][print]") {
    Block<Little> block;
    block.view().set<"id">(0x1234).set<"rest">({std::byte{0xab}, std::byte{0x00}, std::byte{0x01}});

    CHECK(to_string(block.view()) == "id=0x1234 rest=ab0001");
    CHECK(to_string(block.view(), PrintForm::json) == R"({"id":4660,"rest":"ab0001"})");
}

TEST_CASE("a value without a name prints as a number", "[unit][print]") {
    Block<prm::WqeCtrl> block;
    block.view().set<"opcode">(static_cast<prm::WqeOpcode>(0xee));

    CHECK(to_string(block.view(), PrintForm::line, PrintZeros::no) == "opcode=0xee");
}
