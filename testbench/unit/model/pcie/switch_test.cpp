#include "model/pcie/root_complex.h"
#include "model/pcie/switch.h"

#include <catch2/catch_test_macros.hpp>

using namespace model::pcie;
using abi::pcie::Bdf;
using To = MemoryRouting::To;

namespace {
constexpr std::uint64_t mebibyte = 1 << 20, high = std::uint64_t{1} << 40;

void write(BridgeSpace& bridge, std::uint16_t offset, unsigned bytes, std::uint32_t value) {
    REQUIRE_FALSE(bridge.write(offset, bytes, value));
}
/// Bus numbers, a 32-bit window and a 64-bit window of whole MiB, memory space and bus mastering on.
void program(BridgeSpace& bridge, unsigned secondary, unsigned subordinate, Range low, Range prefetchable) {
    write(bridge, 0x19, 1, secondary);
    write(bridge, 0x1a, 1, subordinate);
    write(bridge, 0x20, 2, static_cast<std::uint32_t>(low.begin / mebibyte) << 4);
    write(bridge, 0x22, 2, static_cast<std::uint32_t>(low.end / mebibyte - 1) << 4);
    write(bridge, 0x24, 2, static_cast<std::uint32_t>(prefetchable.begin / mebibyte & 0xfff) << 4);
    write(bridge, 0x26, 2, static_cast<std::uint32_t>((prefetchable.end / mebibyte - 1) & 0xfff) << 4);
    write(bridge, 0x28, 4, static_cast<std::uint32_t>(prefetchable.begin >> 32));
    write(bridge, 0x2c, 4, static_cast<std::uint32_t>((prefetchable.end - 1) >> 32));
    write(bridge, 0x04, 2, 6);
}

/// Bus 1 above, bus 2 inside; port 0 leads to bus 3, port 1 to buses 4 and 5, port 2 to nothing.
struct Tree {
    Switch core{{.upstream_identity = {.vendor_id = 1, .device_id = 2},
                 .downstream_identity = {.vendor_id = 1, .device_id = 3},
                 .upstream_link = {},
                 .downstream_links = std::vector<LinkConfig>(3)}};
    Tree() {
        program(core.upstream(), 2, 5, {0x8000'0000, 0x8040'0000}, {high, high + 64 * mebibyte});
        program(core.port(0), 3, 3, {0x8000'0000, 0x8010'0000}, {high, high + 16 * mebibyte});
        program(core.port(1), 4, 5, {0x8010'0000, 0x8020'0000}, {high + 16 * mebibyte, high + 32 * mebibyte});
    }
};
} // namespace

TEST_CASE("requests from above go to the port whose window they hit", "[unit][pcie][switch]") {
    const Tree tree;

    CHECK(tree.core.route_from_upstream(0x8000'0000).port == 0);
    CHECK(tree.core.route_from_upstream(0x8010'0000).port == 1);
    CHECK(tree.core.route_from_upstream(high + 16 * mebibyte).port == 1);
    CHECK(tree.core.route_from_upstream(0x8020'0000).to == To::nowhere); // in the switch, in no port
    CHECK(tree.core.route_from_upstream(0x9000'0000).to == To::nowhere);
}

TEST_CASE("requests from below go to a peer, up, or nowhere", "[unit][pcie][switch]") {
    Tree tree;

    CHECK(tree.core.route_from_port(0, high + 16 * mebibyte).to == To::port);
    CHECK(tree.core.route_from_port(0, high + 16 * mebibyte).port == 1);
    CHECK(tree.core.route_from_port(0, 0x1000).to == To::upstream);
    CHECK(tree.core.route_from_port(0, high).to == To::nowhere);        // back where it came from
    CHECK(tree.core.route_from_port(0, 0x8030'0000).to == To::nowhere); // the switch claims it, no port does
    CHECK(tree.core.route_from_port(2, 0x1000).to == To::nowhere);      // bus mastering of the port is off
    write(tree.core.upstream(), 4, 2, 2);
    CHECK(tree.core.route_from_port(0, 0x1000).to == To::nowhere);
    CHECK(tree.core.route_from_port(0, high + 16 * mebibyte).to == To::port); // peers need no way up
}

TEST_CASE("a routing holds for the whole range it names", "[unit][pcie][switch]") {
    const Tree tree;
    for (const std::uint64_t address :
         {std::uint64_t{0}, std::uint64_t{0x8000'0000}, std::uint64_t{0x8018'0000}, std::uint64_t{0x8030'0000},
          std::uint64_t{0xf000'0000}, high + 1, high + 40 * mebibyte, high + 65 * mebibyte}) {
        const auto routing = tree.core.route_from_port(0, address);
        CAPTURE(address, routing.range.begin, routing.range.end);
        REQUIRE(routing.range.contains(address));
        for (const auto other : {routing.range.begin, routing.range.end - 1}) {
            CHECK(tree.core.route_from_port(0, other).to == routing.to);
            CHECK(tree.core.route_from_port(0, other).range == routing.range);
        }
        if (routing.range.begin != 0)
            CHECK_FALSE(tree.core.route_from_port(0, routing.range.begin - 1).range == routing.range);
    }
}

TEST_CASE("a port without memory space claims nothing", "[unit][pcie][switch]") {
    Tree tree;
    write(tree.core.port(1), 4, 2, 4);

    CHECK(tree.core.route_from_upstream(high + 16 * mebibyte).to == To::nowhere);
    CHECK(tree.core.route_from_port(0, high + 16 * mebibyte).to == To::nowhere);
}

TEST_CASE("a window whose base is above its limit claims nothing", "[unit][pcie][switch]") {
    Tree tree;
    write(tree.core.port(0), 0x20, 4, 0x0000'fff0);

    CHECK(tree.core.port(0).meaning().memory == Range{});
    CHECK(tree.core.route_from_upstream(0x8000'0000).to == To::nowhere);
}

TEST_CASE("the largest window ends with the address space", "[unit][pcie][switch]") {
    Tree tree;
    write(tree.core.port(0), 0x24, 4, 0xfff0'0000);
    write(tree.core.port(0), 0x28, 4, 0);
    write(tree.core.port(0), 0x2c, 4, ~0u);

    CHECK(tree.core.port(0).meaning().prefetchable == Range{0, ~std::uint64_t{0}});
}

TEST_CASE("configuration requests are routed by bus and device number", "[unit][pcie][switch]") {
    using Way = ConfigRouting::To;
    const Tree tree;
    const auto type1 = [&](unsigned bus, unsigned device, unsigned function = 0) {
        return tree.core.route_config(true, Bdf{bus, device, function});
    };

    CHECK(tree.core.route_config(false, Bdf{1, 0, 0}).to == Way::self);
    CHECK(tree.core.route_config(false, Bdf{1, 1, 0}).to == Way::nowhere);
    CHECK(tree.core.route_config(false, Bdf{1, 0, 1}).to == Way::nowhere);
    CHECK(type1(2, 1).to == Way::port_function);
    CHECK(type1(2, 1).port == 1);
    CHECK(type1(2, 3).to == Way::nowhere);
    CHECK(type1(2, 0, 1).to == Way::nowhere);
    CHECK(type1(3, 0, 5).to == Way::port_type0); // functions are the device's business
    CHECK(type1(3, 1).to == Way::nowhere);
    CHECK(type1(4, 0).port == 1);
    CHECK(type1(5, 7).to == Way::port_type1);
    CHECK(type1(6, 0).to == Way::nowhere);
    CHECK(type1(1, 0).to == Way::nowhere);
}

TEST_CASE("the root complex routes to DRAM, interrupts, ECAM and root ports", "[unit][pcie][switch]") {
    using Way = RootComplex::Routing::To;
    RootComplex root({.map = {}, .port_identity = {}, .links = std::vector<LinkConfig>(2)});
    program(root.port(0), 1, 1, {0x8000'0000, 0x8010'0000}, {high, high + mebibyte});
    program(root.port(1), 2, 2, {0x8010'0000, 0x8020'0000}, {high + mebibyte, high + 2 * mebibyte});

    CHECK(root.route_from_port(0, 0x1234).to == Way::dram);
    CHECK(root.route_from_port(0, 0x1'0000'0000).offset == 0x8000'0000); // the part above 4 GiB follows the low part
    CHECK(root.route_from_port(0, 0x1'8000'0000).to == Way::nowhere);    // beyond the last byte of DRAM
    CHECK(root.route_from_port(0, 0xfee0'0000).to == Way::interrupts);
    CHECK(root.route_from_processor(0xfee0'0000).to == Way::nowhere);
    CHECK(root.route_from_processor(0xe000'1000).to == Way::ecam);
    CHECK(root.route_from_processor(0xe000'1000).offset == 0x1000);
    CHECK(root.route_from_port(0, 0xe000'1000).to == Way::nowhere);
    CHECK(root.route_from_processor(high).port == 0);
    CHECK(root.route_from_port(0, high + mebibyte).port == 1);
    CHECK(root.route_from_port(0, high).to == Way::nowhere);
    CHECK(root.route_from_processor(0x9000'0000).to == Way::nowhere);
    const auto range = root.route_from_processor(high + 5).range;
    CHECK(range.begin == high);
    CHECK(range.end == high + mebibyte);
    write(root.port(0), 4, 2, 2);
    CHECK(root.route_from_port(0, 0x1234).to == Way::nowhere);

    using Function = ConfigRouting::To;
    CHECK(root.route_config({0, 1, 0}).to == Function::port_function);
    CHECK(root.route_config({0, 2, 0}).to == Function::port_function);
    for (const Bdf nobody : {Bdf{0, 0, 0}, Bdf{0, 3, 0}, Bdf{0, 1, 1}})
        CHECK(root.route_config(nobody).to == Function::nowhere);
}

TEST_CASE("access control of a port decides about requests to peers", "[unit][pcie][switch][acs]") {
    Tree tree;
    constexpr std::uint64_t peer = high + 16 * mebibyte;
    const Origin here{.requester = Bdf{3, 0, 0}}, translated{Bdf{3, 0, 0}, abi::pcie::AddressType::translated};
    const auto control = [&](std::uint32_t bits) { write(tree.core.port(0), 0x106, 2, bits); };

    control(0x04); // request redirect
    CHECK(tree.core.route_from_port(0, peer, here).to == To::upstream);
    CHECK(tree.core.route_from_port(0, peer, here).is_redirected);
    CHECK(tree.core.route_from_port(0, peer, translated).to == To::upstream);
    CHECK_FALSE(tree.core.route_from_port(0, 0x1000, here).is_redirected);
    CHECK(tree.core.route_from_port(1, high, {.requester = Bdf{4, 0, 0}}).to == To::port); // each port has its own
    control(0x44);                                                                         // and direct translated
    CHECK(tree.core.route_from_port(0, peer, here).to == To::upstream);
    CHECK(tree.core.route_from_port(0, peer, translated).to == To::port);

    control(0);
    CHECK(tree.core.route_from_port(0, high, here).blocked == blocked::own_port);
    control(0x10); // upstream forwarding
    CHECK(tree.core.route_from_port(0, high, here).to == To::upstream);
    CHECK(tree.core.route_from_port(0, peer, here).to == To::port);

    control(0x01); // source validation
    CHECK(tree.core.route_from_port(0, 0x1000, here).to == To::upstream);
    const auto spoofed = tree.core.route_from_port(0, 0x1000, {.requester = Bdf{4, 0, 0}});
    CHECK(spoofed.to == To::nowhere);
    CHECK(spoofed.is_violation);
    CHECK(spoofed.blocked == blocked::source);

    control(0x02); // translation blocking
    CHECK(tree.core.route_from_port(0, 0x1000, here).to == To::upstream);
    CHECK(tree.core.route_from_port(0, 0x1000, translated).blocked == blocked::translation);
    control(0x08);
    CHECK(tree.core.redirects_completion(0, false));
    CHECK_FALSE(tree.core.redirects_completion(0, true));
    CHECK_FALSE(tree.core.redirects_completion(1, false));
}

TEST_CASE("a root port sends a request back down with upstream forwarding only", "[unit][pcie][switch][acs]") {
    for (const bool is_forwarding : {true, false}) {
        RootComplex root(
            {.map = {}, .port_identity = {}, .links = std::vector<LinkConfig>(1), .peer_forwarding = is_forwarding});
        program(root.port(0), 1, 1, {0x8000'0000, 0x8010'0000}, {high, high + mebibyte});

        CHECK(root.route_from_port(0, high).blocked == blocked::own_port);
        write(root.port(0), 0x106, 2, 0x10);
        CHECK(root.route_from_port(0, high).blocked == (is_forwarding ? std::nullopt : std::optional(blocked::host)));
        CHECK((root.route_from_port(0, high).to == RootComplex::Routing::To::port) == is_forwarding);
    }
}

TEST_CASE("peer to peer between root ports can be switched off", "[unit][pcie][switch]") {
    RootComplex root({.map = {}, .port_identity = {}, .links = std::vector<LinkConfig>(2), .peer_forwarding = false});
    program(root.port(0), 1, 1, {0x8000'0000, 0x8010'0000}, {high, high + mebibyte});
    program(root.port(1), 2, 2, {0x8010'0000, 0x8020'0000}, {high + mebibyte, high + 2 * mebibyte});

    CHECK(root.route_from_port(0, high + mebibyte).to == RootComplex::Routing::To::nowhere);
    CHECK(root.route_from_port(0, 0x1000).to == RootComplex::Routing::To::dram);
}

TEST_CASE("ports that face down report that their link is up, and others do not", "[unit][pcie][switch]") {
    using abi::pcie::PciExpress;
    using abi::pcie::PortType;
    for (const auto& [type, faces_down] :
         {std::pair{PortType::root_port, true}, std::pair{PortType::switch_downstream, true},
          std::pair{PortType::switch_upstream, false}}) {
        const BridgeSpace bridge({}, type, {}, 1);
        abi::Block<PciExpress> capability;
        for (std::uint16_t at = 0; at < PciExpress::size; at += 4)
            abi::store<std::uint32_t, abi::Endian::little>(
                capability.bytes.data() + at, bridge.read(static_cast<std::uint16_t>(pci_express_offset + at), 4));
        CHECK((capability.view().get<"link_active_reporting">() != 0) == faces_down);
    }
}
