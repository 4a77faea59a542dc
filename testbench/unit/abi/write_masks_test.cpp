#include "abi/write_masks.h"

#include <catch2/catch_test_macros.hpp>

#include <cstddef>
#include <cstdint>

using namespace abi;

namespace {
// clang-format off
template <Endian E> using Inner = OrderedLayout<"inner", 4, E,
    U32 <"value",   0x0,                        rw>>;
template <Endian E> using Registers = OrderedLayout<"registers", 20, E,
    Bits<"version", 0x00,  3,  0,               ro>,
    Bits<"mode",    0x00,  6,  4, std::uint8_t, rw>,
    Bits<"kept",    0x00,  8,  8, bool,         rws>,
    Bits<"of_link", 0x00,  9,  9, bool,         rwl>,
    Bits<"error",   0x00, 16, 16, bool,         rw1c>,
    Bits<"start",   0x00, 24, 24, bool,         rw1s>,
    Bits<"strap",   0x00, 31, 28,               hwinit>,
    U16 <"half",    0x04,                       rw>,
    Raw <"text",    0x08, 4,                    ro>,
    Sub <"inner",   0x0c, Inner<E>>,
    U32 <"ring",    0x10,                       wo>>;
// clang-format on

template <Endian E> void check_writes() {
    Block<Registers<E>> block;
    const auto view = block.view();
    view.template set<"version">(0xa).template set<"strap">(0x5).template set<"error">(true);

    SECTION("ones set what is writable, clear what they clear and start what they start") {
        write_dword(view, 0x00, 0xffff'ffff);

        CHECK(view.template get<"version">() == 0xa);
        CHECK(view.template get<"mode">() == 7);
        CHECK(view.template get<"kept">());
        CHECK_FALSE(view.template get<"error">());
        CHECK(view.template get<"start">());
        CHECK(view.template get<"strap">() == 0x5);
        CHECK(load<std::uint32_t, E>(block.bytes.data()) == 0x5100'037a); // no bit without a row
    }
    SECTION("zeros clear what is writable, and neither clear an error nor stop what was started") {
        view.template set<"mode">(7).template set<"kept">(true).template set<"start">(true);

        write_dword(view, 0x00, 0);

        CHECK(load<std::uint32_t, E>(block.bytes.data()) == 0x5101'000a);
    }
    SECTION("rows of bytes, of other structures and of commands have their policies too") {
        for (std::size_t at = 4; at < Registers<E>::size; at += 4)
            write_dword(view, at, 0x1234'5678);

        CHECK(view.template get<"half">() == (E == Endian::big ? 0x1234 : 0x5678));
        CHECK(view.template get<"text">() == std::array<std::byte, 4>{});
        CHECK(view.template sub<"inner">().template get<"value">() == 0x1234'5678);
        CHECK(view.template get<"ring">() == 0); // its effect is somebody else's
    }
}
} // namespace

TEST_CASE("a write does to each field what the policy of its row says, in either byte order", "[unit][abi][access]") {
    SECTION("little") { check_writes<Endian::little>(); }
    SECTION("big") { check_writes<Endian::big>(); }
}

TEST_CASE("a function-level reset keeps sticky rows and those of the link, a reset of the link sticky ones alone",
          "[unit][abi][access]") {
    constexpr auto& masks = write_masks<Registers<Endian::little>>;

    for (std::size_t i = 0; i < masks.kept.size(); ++i) {
        CHECK(masks.kept[i] == (i == 1 ? std::byte{3} : std::byte{0}));
        CHECK(masks.sticky[i] == (i == 1 ? std::byte{1} : std::byte{0}));
    }
}

TEST_CASE("a row has its policy with its type and without, and a row of a structure in memory has none",
          "[unit][abi][access]") {
    using Rows = Registers<Endian::little>;
    STATIC_CHECK(std::is_same_v<Rows::field<"version">::type, std::uint32_t>);
    STATIC_CHECK(std::is_same_v<Rows::field<"mode">::type, std::uint8_t>);
    STATIC_CHECK(Rows::field<"version">::access == AccessPolicy::ro);
    STATIC_CHECK(Rows::fields[1].access == AccessPolicy::rw);
    STATIC_CHECK(Bits<"x", 0, 1, 0>::access == AccessPolicy::unstated);
    STATIC_CHECK(U32<"x", 0>::access == AccessPolicy::unstated);
}
