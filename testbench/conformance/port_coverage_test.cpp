// "Nothing is advertised that is not built", of configuration space and of ports: what their structures say names what
// builds it, and no bit is set that has no name here.
#include "testbench/conformance/port_capability_map.h"

#include "abi/pcie/access_control.h"
#include "abi/pcie/translation_services.h"
#include "abi/pcie/vendor_gateway.h"
#include "abi/prm/access_register.h"
#include "model/pcie/bridge_space.h"
#include "model/pcie/endpoint_space.h"
#include "testbench/harness/command_bench.h"
#include "testbench/harness/source_tree.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string>

using namespace harness;

namespace {

using Names = std::set<std::string>;
using namespace abi::pcie;

/// Adds the rows that are not zero; whether nothing is set between the rows.
template <class L> bool collect(std::span<const std::byte> structure, Names& names, bool is_chained = false) {
    abi::Block<L> known;
    const abi::View<L> view(known.bytes);
    L::for_each([&]<class Row>(std::type_identity<Row>) {
        if constexpr (requires { Row::template get<L::endian>(structure.data()); }) {
            const auto value = Row::template get<L::endian>(structure.data());
            Row::template set<L::endian>(known.bytes.data(), value);
            const auto row = Row::name.view();
            const bool is_of_chain = is_chained && (row == "id" || row == "next" || row == "version");
            if (value != typename Row::type{} && !is_of_chain)
                names.insert(std::string(L::name.view()) + "." + std::string(row));
        }
    });
    return std::ranges::equal(known.bytes, structure.first(L::size));
}

using Bytes = std::array<std::byte, config_space_bytes>;
template <class Space> Bytes bytes_of(const Space& space) {
    Bytes bytes;
    for (std::uint16_t at = 0; at < bytes.size(); at += 4)
        abi::store<std::uint32_t, abi::Endian::little>(&bytes[at], space.read(at, 4));
    return bytes;
}

/// Walks both chains; whether everything behind the header has a name.
bool walk(const Bytes& bytes, Names& names) {
    const std::span all(bytes);
    auto rest = bytes;
    bool is_known = true;
    const auto visit = [&]<class L>(std::type_identity<L>, unsigned at) {
        const auto structure = std::span(bytes).subspan(at, L::size);
        is_known &= collect<L>(structure, names, true);
        std::ranges::fill(std::span(rest).subspan(at, L::size), std::byte{});
    };
    using abi::ConstView;
    for (unsigned at = ConstView<CommonHeader>(std::span(bytes).first<64>()).get<"capabilities_pointer">(); at != 0;) {
        const ConstView<CapabilityHeader> header(all.subspan(at, CapabilityHeader::size));
        switch (header.get<"id">()) {
        case CapabilityId::power_management: visit(std::type_identity<PowerManagement>{}, at); break;
        case CapabilityId::pci_express: visit(std::type_identity<PciExpress>{}, at); break;
        case CapabilityId::msix: visit(std::type_identity<MsixCapability>{}, at); break;
        case CapabilityId::vendor_specific: visit(std::type_identity<VendorGateway>{}, at); break;
        default: return false;
        }
        at = header.get<"next">();
    }
    constexpr unsigned none = 0; // zeros where the first would be (§7.6.1)
    const bool has_extended = bytes[first_extended_capability] != std::byte{};
    for (unsigned at = has_extended ? first_extended_capability : none; at != none;) {
        const ConstView<ExtendedCapabilityHeader> header(all.subspan(at, ExtendedCapabilityHeader::size));
        switch (header.get<"id">()) {
        case ExtendedCapabilityId::access_control: visit(std::type_identity<AccessControl>{}, at); break;
        case ExtendedCapabilityId::address_translation: visit(std::type_identity<AddressTranslation>{}, at); break;
        case ExtendedCapabilityId::page_request: visit(std::type_identity<PageRequestInterface>{}, at); break;
        case ExtendedCapabilityId::resizable_bar: visit(std::type_identity<ResizableBar>{}, at); break;
        case ExtendedCapabilityId::pasid: visit(std::type_identity<PasidCapability>{}, at); break;
        default: return false;
        }
        at = header.get<"next">();
    }
    return is_known && std::ranges::all_of(std::span(rest).subspan(64), [](std::byte b) { return b == std::byte{}; });
}

constexpr model::pcie::ConfigSpace::Identity identity{.vendor_id = 0x15b3, .device_id = 1};

/// An endpoint with everything that one can have.
model::pcie::EndpointSpace endpoint() {
    model::pcie::FunctionConfig config;
    config.identity = identity;
    config.msix_vectors = 8;
    config.has_gateway = true;
    config.bars[0] = {.size = 0x10000};
    config.bars[2] = {.size = 2 << 20, .is_64bit = true, .is_prefetchable = true, .resizable_sizes = 3};
    config.ats = {.entries = 16, .has_page_requests = true, .pasid_bits = 20};
    REQUIRE(model::pcie::find_fault(config) == nullptr);
    return model::pcie::EndpointSpace(config);
}

struct Port : CommandBench {
    explicit Port(bool is_ethernet, double gbps) : CommandBench(config(is_ethernet, gbps)) { REQUIRE(initialize()); }
    static model::hca::HcaConfig config(bool is_ethernet, double gbps) {
        auto c = untimed();
        c.is_ethernet = is_ethernet;
        c.port_rate_gbps = gbps;
        return c;
    }
    template <class L> abi::Block<L> get(prm::RegisterId id) {
        Input<prm::AccessRegIn> in(prm::Opcode::access_reg, static_cast<std::uint16_t>(prm::RegisterAction::read));
        in.set<"register_id">(static_cast<std::uint32_t>(id));
        abi::Block<L> reg;
        reg.view().template set<"local_port">(1);
        in.bytes.insert(in.bytes.end(), reg.bytes.begin(), reg.bytes.end());
        const auto out = run<prm::AccessRegOut>(in, in.bytes.size());
        REQUIRE(out.is_ok());
        std::copy_n(out.bytes.begin() + prm::AccessRegOut::size, L::size, reg.bytes.begin());
        return reg;
    }
    std::array<std::byte, 64> port_info() {
        const auto out = run<prm::MadIfcOut>(mad_input(abi::wire::MadMethod::get, abi::wire::SmAttribute::port_info));
        REQUIRE(out.is_ok());
        std::array<std::byte, 64> info;
        std::copy_n(out.bytes.begin() + 0x50, info.size(), info.begin());
        return info;
    }
};

void collect_bits(std::string_view mask, std::uint32_t value, Names& names) {
    for (unsigned bit = 0; bit < 32; ++bit)
        if (value >> bit & 1)
            names.insert(std::string(mask) + " bit " + std::to_string(bit));
}

constexpr std::array rates{0.0, 2.5, 10.0, 40.0, 56.0, 100.0, 200.0, 400.0};

Names advertised_by_ports() {
    using namespace abi::wire;
    Names names;
    for (const auto gbps : rates) {
        for (const bool is_ethernet : {true, false}) {
            Port port(is_ethernet, gbps);
            CHECK(collect<prm::PtysReg>(port.get<prm::PtysReg>(prm::RegisterId::ptys).bytes, names));
            CHECK(collect<prm::PmtuReg>(port.get<prm::PmtuReg>(prm::RegisterId::pmtu).bytes, names));
            if (is_ethernet)
                continue;
            CHECK(collect<prm::PvlcReg>(port.get<prm::PvlcReg>(prm::RegisterId::pvlc).bytes, names));
            const auto info = port.port_info();
            const auto whole = std::span(info);
            CHECK(collect<PortInfo>(whole.first<PortInfo::size>(), names));
            std::array<std::byte, 64> rest{};
            std::ranges::copy(whole.subspan(PortInfo::size), rest.begin() + PortInfo::size);
            CHECK(collect<PortInfoExtended>(rest, names));
            collect_bits("cap_mask", abi::ConstView<PortInfo>(whole.first<PortInfo::size>()).get<"cap_mask">(), names);
            collect_bits("cap_mask2", abi::ConstView<PortInfoExtended>(whole).get<"cap_mask2">(), names);
        }
    }
    names.erase("port_info.cap_mask"), names.erase("port_info_extended.cap_mask2"); // named bit by bit
    for (const auto state : conformance::port_state)
        names.erase(std::string(state));
    return names;
}

template <class Rows> Names named(const Rows& rows) {
    Names names;
    for (const auto& row : rows) {
        INFO(row.field << " is built by " << row.by);
        CHECK(std::filesystem::exists(std::filesystem::path(testbench::source_tree()) / row.by));
        names.emplace(row.field);
    }
    return names;
}

} // namespace

TEST_CASE("every capability of a function names what builds it", "[conformance][coverage][pcie]") {
    Names names;
    CHECK(walk(bytes_of(endpoint()), names));
    for (const auto type : {PortType::root_port, PortType::switch_upstream, PortType::switch_downstream}) {
        model::pcie::BridgeSpace bridge(identity, type, {}, 1);
        bridge.set_link({});
        names.erase("pci_express.link_active");
        CHECK(walk(bytes_of(bridge), names));
    }
    names.erase("pci_express.link_active"); // a state

    CHECK(names == named(conformance::built_in_functions));
}

TEST_CASE("a function that never relaxes the order, and never leaves out the snoop, lets nobody enable it",
          "[conformance][coverage][pcie]") {
    auto function = endpoint();
    constexpr std::uint16_t device_control = model::pcie::pci_express_offset + 8;

    CHECK_FALSE(function.write(device_control, 2, 0x0810 | 0x5000));

    CHECK((function.read(device_control, 2) & 0x7810) == 0x5000);
    for (const bool is_ethernet : {true, false}) {
        model::hca::HcaConfig config;
        config.is_ethernet = is_ethernet;
        const firmware::Capabilities capabilities(config);
        const abi::ConstView<prm::CmdHcaCap> general(
            capabilities.page(prm::CapabilityType::general, prm::CapabilityMode::maximum));
        CHECK_FALSE(general.get<"relaxed_ordering_write">());
        CHECK_FALSE(general.get<"relaxed_ordering_read">());
        CHECK_FALSE(general.get<"relaxed_ordering_read_pci_enabled">());
        CHECK_FALSE(general.get<"relaxed_ordering_write_umr">());
        CHECK_FALSE(general.get<"relaxed_ordering_read_umr">());
    }
}

TEST_CASE("every capability of a port names what builds it", "[conformance][coverage]") {
    CHECK(advertised_by_ports() == named(conformance::built_in_ports));
}

TEST_CASE("a port has one virtual lane, one speed and one width, wherever it says so", "[conformance][coverage]") {
    for (const auto gbps : rates) {
        Port port(false, gbps);
        const auto info = port.port_info();
        CHECK(abi::ConstView<abi::wire::PortInfo>(info).get<"vl_cap">() == abi::wire::vl_0);
        CHECK(port.get<prm::PvlcReg>(prm::RegisterId::pvlc).view().get<"vl_hw_cap">() == 1);
        const auto link = port.get<prm::PtysReg>(prm::RegisterId::ptys);
        const auto ptys = link.view();
        CHECK(ptys.get<"ib_proto_capability">() == ptys.get<"ib_proto_oper">());
        CHECK(ptys.get<"ib_link_width_capability">() == ptys.get<"ib_link_width_oper">());
    }
}
