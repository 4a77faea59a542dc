// A platform as it will be built: hosts, in each a tree of root ports, switches and cards, and the graph of cables and
// switches between their HCAs. Every part has a name, a path and the values of its keys. Given by describe() from a
// configuration, whether that says all this or is the short form of two hosts; taken by whoever builds or draws it.
#pragma once

#include "platform/card/kinds.h"
#include "platform/topology/config.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace platform::topology {

/// `device`: any other kind in the table of devices (platform/card/kinds.h).
enum class PartKind : std::uint8_t { root_port, pcie_switch, hca, gpu, device };

struct HcaPart {
    HcaModel model = HcaModel::connectx;
    model::hca::HcaConfig core; ///< with the identities of this one, which it has whatever its model
    model::simple::SimpleConfig simple;
    model::pcie::AtsConfig ats;
    std::size_t number = 0; ///< among all HCAs of the platform; GUID, LID and IP address follow from it
    std::size_t cable = 0;
    unsigned end = 0; ///< of that cable
};

struct Part {
    PartKind kind{};
    std::string name; ///< "hca0", its own within its host
    std::string path; ///< "root0.sw0.hca0"
    std::optional<std::size_t>
        parent{};            ///< what it is plugged into, among the parts of its host; none: the root complex
    unsigned slot = 0;       ///< of its parent
    PcieLinkConfig link{};   ///< to its parent; of a root port: none
    std::string link_name{}; ///< "upstream", "hca0": what is counted on that link, after the host's name
    std::variant<std::monostate, HcaPart, GpuConfig, card::DeviceConfig> device{};
    std::string where{}; ///< "server.toml:12"; empty: of the short form

    bool is_card() const { return kind != PartKind::root_port && kind != PartKind::pcie_switch; }
    const HcaPart& hca() const { return std::get<HcaPart>(device); }
    const GpuConfig& gpu() const { return std::get<GpuConfig>(device); }
    const card::DeviceConfig& other() const { return std::get<card::DeviceConfig>(device); }
};

struct DescribedHost {
    std::string name;
    std::string served_name; ///< what its functions are called towards clients: "hostA" and "hostA.hca"
    HostConfig memory;
    PeerConfig peers;
    host::BarAccessConfig bar_access;
    host::SoftwareConfig software;
    model::pcie::HostCacheConfig cache;
    IommuConfig iommu;
    bool is_served = false;  ///< its processor and memory are a client's
    std::vector<Part> parts; ///< parents before what is plugged into them
    std::string where{};
};

/// A switch, InfiniBand or Ethernet as its cables are.
struct FabricSwitch {
    std::string name;
    unsigned ports = 0; ///< numbered from 1
    model::port::Time latency{};
    bool is_managed = false;
    bool is_ethernet = false;
    model::net::SharedBufferConfig buffer; ///< of an Ethernet switch
    model::net::LifetimeConfig lifetime;   ///< of packets in an InfiniBand switch
    std::uint64_t guid = 0;
    double rate_gbps = 0;                           ///< of its fastest cable
    std::vector<std::optional<std::size_t>> cables; ///< by port number; 0 is none
    std::string where{};
};

/// Where a cable ends: at an HCA, or at a port of a switch.
struct CableEnd {
    bool is_switch = false;
    std::size_t host = 0, part = 0; ///< of an HCA
    std::size_t fabric_switch = 0;
    unsigned port = 0; ///< of a switch
};

struct Cable {
    std::string name;
    model::net::LinkConfig link;
    std::array<CableEnd, 2> ends;
    std::string where{};
};

/// Cables that carry nothing for a time.
struct Failure {
    std::string name;                ///< "leaf0.9 -- spine1.1", "spine0"
    std::vector<std::size_t> cables; ///< by number
    model::port::Time at{};
    std::optional<model::port::Time> until{}; ///< repaired; none: not any more
    std::string where{};
};

struct PartAt {
    std::size_t host = 0, part = 0;
    bool operator==(const PartAt&) const = default;
};

struct Description {
    bool is_pair = false; ///< of the short form
    std::vector<DescribedHost> hosts;
    std::vector<FabricSwitch> switches;
    std::vector<Cable> cables;
    std::vector<PartAt> hcas; ///< by HcaPart::number
    FabricRouting routing{};
    std::vector<Failure> failures;

    const Part& part(const PartAt& at) const { return hosts[at.host].parts[at.part]; }
    /// "A.hca0", or with as much of the path as somebody likes: "A.root0.sw0.hca0". A number 0 may be left out.
    std::optional<PartAt> find(std::string_view name) const;
    std::optional<std::size_t> find_host(std::string_view name) const;
    /// "A.hca0"
    std::string name_of(const PartAt& at) const;
    /// "A.root0.sw0.hca0"
    std::string path_of(const PartAt& at) const;
    /// "A.hca0", "leaf0.3"
    std::string name_of(const CableEnd& end) const;
};

/// Something that is wrong with a configuration.
struct Fault {
    std::string where, text;
};

/// All that is wrong with it, or what it describes.
std::expected<Description, std::vector<Fault>> describe(const Config& config);

/// The short form as it would be written.
Written written_pair(const Config& config);

} // namespace platform::topology
