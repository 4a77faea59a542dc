#include "abi/prm/capability.h"
#include "abi/prm/eqe.h"
#include "abi/prm/init_segment.h"
#include "abi/prm/mkey.h"
#include "abi/prm/opcodes.h"
#include "abi/prm/qp.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>

using namespace abi;
using namespace abi::prm;

TEST_CASE("the access mode of a key survives its two places", "[unit][mkey]") {
    for (const auto& mode : named(std::type_identity<AccessMode>{})) {
        Block<Mkc> block;

        set_access_mode(block.view(), mode.value);

        CHECK(access_mode(ConstView<Mkc>(block.view())) == mode.value);
        CHECK(block.view().get<"access_mode_1_0">() == (static_cast<unsigned>(mode.value) & 3));
    }
}

TEST_CASE("opcodes have names and stand in ascending order", "[unit][command]") {
    constexpr auto rows = named(std::type_identity<Opcode>{});

    CHECK(std::ranges::is_sorted(rows, {}, &Named<Opcode>::value));
    CHECK(std::ranges::adjacent_find(rows, {}, &Named<Opcode>::value) == rows.end());
    CHECK(name(Opcode::qp_2err) == "2ERR_QP");
    CHECK(name(Opcode::create_mkey) == "CREATE_MKEY");
    CHECK(name(static_cast<Opcode>(0x7ff)).empty());
}

TEST_CASE("the data of an event is a window into its entry", "[unit][eqe]") {
    Block<Eqe> block;

    event_data<CompletionEventData>(block.view()).set<"cqn">(0x123456);

    CHECK(block.bytes[0x39] == std::byte{0x12});
    CHECK(block.bytes[0x3b] == std::byte{0x56});
    CHECK(event_data<CompletionEventData>(ConstView<Eqe>(block.view())).get<"cqn">() == 0x123456u);
}

TEST_CASE("a capability page is a window into the command", "[unit][capability]") {
    Block<QueryHcaCapOut> out;

    View<CmdHcaCap>(out.view().sub<"capability">().bytes()).set<"log_max_qp">(18);

    CHECK(out.bytes[0x10 + 0x13] == std::byte{18});
}

TEST_CASE("an MTU code that is none stands for no bytes", "[unit][qp]") {
    CHECK(bytes_of(Mtu::bytes_256) == 256);
    CHECK(bytes_of(Mtu::bytes_4096) == 4096);
    CHECK(bytes_of(static_cast<Mtu>(0)) == 0);
    CHECK(bytes_of(static_cast<Mtu>(6)) == 0);
}

TEST_CASE("the optional parameter mask names its bits", "[unit][qp]") {
    CHECK(has(0xe, OptParam::rwe));
    CHECK_FALSE(has(0xe, OptParam::pkey_index));
}
