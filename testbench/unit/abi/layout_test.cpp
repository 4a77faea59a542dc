#include "abi/layout.h"
#include "abi/types.h"

#include <catch2/catch_test_macros.hpp>

using namespace abi;

using Big = Layout<"big", 16, Bits<"high", 0x0, 31, 24>, Bits<"low", 0x0, 23, 0>, U64<"long", 0x8>>;
using Small = LittleLayout<"small", 8, Bits<"bit", 0x0, 31>, Bits<"rest", 0x0, 30, 0>, U16<"half", 0x6>>;

TEST_CASE("a big-endian row is read and written in the document's bit order", "[unit][layout]") {
    Block<Big> block;

    block.view().set<"high">(0xab).set<"low">(0x123456).set<"long">(0x0102030405060708);

    CHECK(block.bytes[0] == std::byte{0xab});
    CHECK(block.bytes[3] == std::byte{0x56});
    CHECK(block.bytes[8] == std::byte{0x01});
    CHECK(block.view().get<"low">() == 0x123456u);
    CHECK(block.view().get<"long">() == 0x0102030405060708u);
}

TEST_CASE("writing one row leaves the other rows of the dword alone", "[unit][layout]") {
    Block<Big> block;
    block.view().set<"low">(0xffffff);

    block.view().set<"high">(0x7f);

    CHECK(block.view().get<"low">() == 0xffffffu);
}

TEST_CASE("a little-endian row lands in the right byte", "[unit][layout]") {
    Block<Small> block;

    block.view().set<"bit">(1).set<"half">(0xbeef);

    CHECK(block.bytes[3] == std::byte{0x80});
    CHECK(block.bytes[6] == std::byte{0xef});
}

TEST_CASE("a view can be copied, and read through a constant one", "[unit][layout]") {
    Block<Big> block;
    const View<Big> view = block.view();

    const View<Big> copy = view;
    const ConstView<Big> constant = view;
    copy.set<"low">(7);

    CHECK(constant.get<"low">() == 7u);
}

TEST_CASE("layouts work in constant expressions", "[unit][layout]") {
    constexpr auto value = [] {
        Block<Big> block;
        block.view().set<"low">(0x10203);
        return block.view().get<"low">();
    }();

    STATIC_CHECK(value == 0x10203);
}

TEST_CASE("sequence numbers compare around the wrap", "[unit][psn]") {
    CHECK(Psn{0} - Psn{0xffffff} == 1);
    CHECK(Psn{0xffffff}.is_before(Psn{0}));
    CHECK(Psn{0x800000}.is_after(Psn{1}));
    CHECK((Psn{0xfffffe} + 3) == Psn{1});
}
