// Writes of software to configuration space, bit by bit, against the access policies of the rows: for each kind of
// function, with what it has hardwired.
#include "abi/pcie/access_control.h"
#include "abi/pcie/translation_services.h"
#include "model/pcie/bridge_space.h"
#include "model/pcie/endpoint_space.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

using namespace model;
using namespace model::pcie;
using namespace abi::pcie;
using abi::AccessPolicy;

namespace {
constexpr std::size_t dwords = config_space_bytes / 4;
constexpr std::uint16_t extended = first_extended_capability;
using Names = std::vector<std::string_view>;
/// Bits of each dword of the space.
using Bits = std::array<std::uint32_t, dwords>;

/// What the rows of layouts say of a space.
struct Expectation {
    Bits writable{}, clearable{};

    template <class L> Expectation& has(std::size_t at, const Names& hardwired = {}) {
        for (const auto& field : L::fields) {
            REQUIRE(field.access != AccessPolicy::unstated);
            if (std::ranges::find(hardwired, field.name) != hardwired.end())
                continue;
            for (std::size_t bit = 0; bit < 8 * field.bytes; ++bit) {
                if (field.kind == abi::FieldKind::bits && (bit < field.low || bit > field.high))
                    continue;
                const auto place = 8 * (at + field.offset) + bit;
                const auto mask = 1u << place % 32;
                if (abi::is_writable(field.access))
                    writable[place / 32] |= mask;
                if (field.access == AccessPolicy::rw1c)
                    clearable[place / 32] |= mask;
            }
        }
        return *this;
    }
};

const Names no_bars{"bar0", "bar1", "bar2", "bar3", "bar4", "bar5", "expansion_rom"};

FunctionConfig everything() {
    FunctionConfig function;
    function.identity = {.vendor_id = 0x1234, .device_id = 0x5678, .class_code = 0x020700};
    function.bars[0] = {.size = 0x10000};
    function.bars[2] = {.size = std::uint64_t{8} << 30, .is_64bit = true, .resizable_sizes = 0x3fff};
    function.msix_vectors = 4;
    function.has_gateway = true;
    function.ats = {.entries = 16, .has_page_requests = true, .pasid_bits = 20};
    return function;
}

Expectation of_endpoint() {
    Expectation expected;
    expected.has<CommonHeader>(0).has<Type0Header>(0, no_bars);
    expected.has<PowerManagement>(power_management_offset);
    expected.has<PciExpress>(pci_express_offset,
                             {"relaxed_ordering_enable", "no_snoop_enable", "link_disable", "timeout_disable"});
    expected.has<MsixCapability>(msix_offset);
    expected.has<ResizableBar>(extended).has<AddressTranslation>(extended + 0x10, {"smallest_unit"});
    expected.has<PageRequestInterface>(extended + 0x20).has<PasidCapability>(extended + 0x30);
    expected.writable[bar_offset / 4 + 0] = 0xffff0000;
    expected.writable[bar_offset / 4 + 3] = 0xfffffffe; // 8 GiB
    return expected;
}

Expectation of_port(PortType type) {
    Expectation expected;
    expected.has<CommonHeader>(0).has<Type1Header>(0, {"bar0", "bar1", "expansion_rom", "io_base", "io_limit"});
    expected.has<PowerManagement>(power_management_offset);
    expected.has<PciExpress>(pci_express_offset,
                             {"relaxed_ordering_enable", "no_snoop_enable", "link_disable", "timeout_disable",
                              "max_read_request_size", "initiate_reset", "read_completion_boundary"});
    if (type == PortType::switch_downstream)
        expected.has<AccessControl>(extended, {"egress_control"});
    if (type == PortType::root_port)
        expected.has<AccessControl>(extended,
                                    {"egress_control", "request_redirect", "completion_redirect", "direct_translated"});
    return expected;
}

/// Writes ones and then zeros to each dword of a space as it comes out of `make`, and compares what changed. Bits of
/// `left_out` are written as they are.
template <class Make> void check_each_dword(Make make, const Expectation& expected, const Bits& left_out) {
    for (std::size_t i = 0; i < dwords; ++i) {
        CAPTURE(i * 4);
        auto space = make();
        const auto at = static_cast<std::uint16_t>(4 * i);
        const auto before = space.read(at, 4);
        const auto mask = expected.writable[i] & ~left_out[i], kept = before & left_out[i];

        (void)space.write(at, 4, ~left_out[i] | kept);
        CHECK(space.read(at, 4) == (before | mask));
        (void)space.write(at, 4, kept);
        CHECK(space.read(at, 4) == (before & ~mask));
    }
}
} // namespace

TEST_CASE("a write to an endpoint changes exactly the bits that their rows let software change",
          "[unit][pcie][access]") {
    Bits left_out{}; // what a write of it starts has tests of its own
    left_out[(pci_express_offset + 8) / 4] = 1u << PciExpress::field<"initiate_reset">::low;
    left_out[(extended + 8) / 4] = 0x3f00; // the BAR's size
    left_out[(extended + 0x24) / 4] = 1;   // enabling page requests, which clears "stopped"

    check_each_dword([] { return EndpointSpace(everything()); }, of_endpoint(), left_out);
}

TEST_CASE("a write to a port changes exactly the bits that their rows let software change", "[unit][pcie][access]") {
    for (const auto type : {PortType::root_port, PortType::switch_upstream, PortType::switch_downstream}) {
        CAPTURE(static_cast<int>(type));
        check_each_dword([&] { return BridgeSpace({.vendor_id = 0x1234}, type, {}, 1); }, of_port(type), {});
    }
}

TEST_CASE("software clears an error of the secondary bus by writing a one to it", "[unit][pcie][access]") {
    constexpr std::uint16_t secondary_status = 0x1e, signaled_target_abort = 1u << 11;
    BridgeSpace space({}, PortType::switch_downstream, {}, 1);
    space.note_violation(false);
    REQUIRE(space.read(secondary_status, 2) == signaled_target_abort);

    (void)space.write(secondary_status, 2, 0);
    CHECK(space.read(secondary_status, 2) == signaled_target_abort);
    (void)space.write(secondary_status, 2, signaled_target_abort);
    CHECK(space.read(secondary_status, 2) == 0);
}

TEST_CASE("an error bit of any row is cleared by writing a one, and by nothing else", "[unit][pcie][access]") {
    const auto expected = of_endpoint();
    EndpointSpace space(everything());
    space.note_received(port::DmaStatus::unsupported_request);
    space.note_received(port::DmaStatus::completer_abort);
    space.note_refused(port::DmaStatus::completer_abort, true);
    space.note_refused(port::DmaStatus::unsupported_request, false);
    space.note_page_response(true, true);

    unsigned seen = 0;
    for (std::size_t i = 0; i < dwords; ++i) {
        const auto at = static_cast<std::uint16_t>(4 * i);
        const auto errors = space.read(at, 4) & expected.clearable[i];
        if (errors == 0)
            continue;
        CAPTURE(at);
        ++seen;
        (void)space.write(at, 4, space.read(at, 4) & ~expected.clearable[i]);
        CHECK((space.read(at, 4) & expected.clearable[i]) == errors);
        (void)space.write(at, 4, space.read(at, 4));
        CHECK((space.read(at, 4) & expected.clearable[i]) == 0);
    }
    CHECK(seen == 3); // status, device status, page request status
}

TEST_CASE("a function-level reset leaves exactly the fields that their rows say it leaves", "[unit][pcie][access]") {
    EndpointSpace space(everything());
    const auto fresh = space;
    for (std::size_t i = 0; i < PciExpress::size; i += 4)
        if (i != 8)
            (void)space.write(static_cast<std::uint16_t>(pci_express_offset + i), 4, ~0u);
    const auto reset = 1u << PciExpress::field<"initiate_reset">::low;
    (void)space.write(pci_express_offset + 8, 4, ~reset);
    const auto written = space;

    REQUIRE(space.write(pci_express_offset + 8, 4, written.read(pci_express_offset + 8, 4) | reset));

    for (const auto& field : PciExpress::fields) {
        CAPTURE(field.name);
        std::uint32_t mask = 0;
        for (auto bit = field.low; bit <= field.high; ++bit)
            mask |= 1u << bit;
        const auto at = static_cast<std::uint16_t>(pci_express_offset + field.offset);
        const bool is_kept = field.access == AccessPolicy::rws || field.access == AccessPolicy::rwl;
        const auto& like = is_kept ? written : fresh;
        CHECK((space.read(at, 4) & mask) == (like.read(at, 4) & mask));
    }
}

namespace {
/// A reset of the link leaves the sticky rows of the PCI Express capability, and puts all others back.
template <class Space> void check_reset_of_link(const Space& fresh, const std::function<void(Space&)>& reset) {
    auto space = fresh;
    const auto flr = static_cast<std::uint32_t>(1u << PciExpress::field<"initiate_reset">::low);
    for (std::uint16_t i = 0; i < PciExpress::size; i += 4) {
        const auto at = static_cast<std::uint16_t>(pci_express_offset + i);
        (void)space.write(at, 4, ~space.read(at, 4) & ~(i == 8 ? flr : 0));
    }
    const auto written = space;

    reset(space);

    unsigned changed = 0;
    for (const auto& field : PciExpress::fields) {
        CAPTURE(field.name);
        std::uint32_t mask = 0;
        for (auto bit = field.low; bit <= field.high; ++bit)
            mask |= 1u << bit;
        const auto at = static_cast<std::uint16_t>(pci_express_offset + field.offset);
        const bool is_sticky = field.access == AccessPolicy::rws;
        CHECK((space.read(at, 4) & mask) == ((is_sticky ? written : fresh).read(at, 4) & mask));
        changed += is_sticky && (written.read(at, 4) & mask) != (fresh.read(at, 4) & mask);
    }
    CHECK(changed != 0);
}
} // namespace

TEST_CASE("a reset of the link leaves exactly the sticky fields of a function", "[unit][pcie][access]") {
    check_reset_of_link<EndpointSpace>(EndpointSpace(everything()), [](auto& space) { space.reset(false); });
}

TEST_CASE("a reset of the link above leaves exactly the sticky fields of a port", "[unit][pcie][access]") {
    check_reset_of_link<BridgeSpace>(BridgeSpace({.vendor_id = 1}, PortType::switch_downstream, {}, 3),
                                     [](auto& space) { space.reset(); });
}
