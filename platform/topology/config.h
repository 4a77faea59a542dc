// A configuration file as values: the defaults of each class of parts, which parts there are as somebody has written
// them, and the exceptions by name. Given by read.h, checked key by key, so that nothing here can be out of its range;
// description.h says what all of it means for each part. Holds no files and no SystemC.
#pragma once

#include "model/hca/config.h"
#include "model/iommu/config.h"
#include "model/net/lifetime_config.h"
#include "model/net/link.h"
#include "model/net/shared_buffer_config.h"
#include "model/pcie/device_tlb.h"
#include "model/pcie/host_cache.h"
#include "model/port/time.h"
#include "model/simple/config.h"
#include "platform/host/bar_access.h"
#include "platform/host/software.h"
#include "platform/topology/traffic_config.h"
#include "platform/topology/workload_config.h"
#include "platform/topology/written.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace platform::topology {

/// The workload, see testbench/scenario.
struct ScenarioConfig {
    std::string name = "gpudirect";
    std::string payload; ///< file to move; empty: the program itself
    std::uint64_t message_bytes = 1 << 20;
    std::uint32_t mtu_bytes = 4096;
    std::uint32_t queue_depth = 64; ///< messages under way, a queue pair
    std::uint32_t queue_pairs = 1;
    // Who does what, by name; empty: what is near (testbench/scenario/roles.h).
    std::string from, through;  ///< the GPU that has the payload, and its HCA
    std::string to, to_through; ///< the GPU that gets it, and its HCA
    // Of GPU programs:
    bool has_adversary = false; ///< stores reach memory late, shuffled and merged, and loads early, as far as is legal
    std::string omit;           ///< the fence that is left out, by its name (sw/gpu/fences.h); empty: none
    std::uint32_t seed = 1;     ///< of what is drawn
};

struct HostConfig {
    std::uint64_t memory_bytes = 4ULL << 30; ///< costs nothing until touched
    bool is_served = false;                  ///< its processor and memory are those of a vfio-user client
};

/// Access control that firmware switches on at the ports of switches and root complexes (PCIe 6.12).
enum class AcsMode : std::uint8_t { off, redirect, direct_translated };
/// As configurations write them, in the order of the enumeration.
inline constexpr std::array<std::string_view, 3> acs_modes{"off", "redirect", "direct_translated"};
constexpr std::string_view to_string(AcsMode mode) { return acs_modes.at(static_cast<std::size_t>(mode)); }

/// What each host does with requests of one device to another.
struct PeerConfig {
    AcsMode acs = AcsMode::off;
    bool is_forwarding = true; ///< the root complex passes on what comes up to it
};

/// The remapping unit of each host; software turns it on.
struct IommuConfig {
    bool is_present = false;
    model::iommu::IommuConfig unit;
    model::port::Time hit_latency{};
    /// With one table read of 90 ns, upper levels being cached, what a miss costs on a Haswell server (pcie-bench).
    model::port::Time miss_latency = std::chrono::nanoseconds{145};
    unsigned walkers = 5; ///< table walks at a time; with it, misses come as fast as that server serves them
};

/// What is looked at beside the work itself.
struct ObserveConfig {
    bool has_ownership = false; ///< the detector of stale mappings, on machines that are not served
};

/// The architecture of an HCA.
enum class HcaModel : std::uint8_t {
    connectx, ///< of the mlx5 programming interface (model/hca)
    simple,   ///< of one of its own (model/simple)
};
inline constexpr std::array<std::string_view, 2> hca_models{"connectx", "simple"};
constexpr std::string_view to_string(HcaModel model) { return hca_models.at(static_cast<std::size_t>(model)); }

struct GpuConfig {
    std::uint64_t vram_bytes = 2ULL << 30;
};

/// One PCIe link and what is negotiated over it.
struct PcieLinkConfig {
    std::uint32_t generation = 4;
    std::uint32_t width = 16;                                  ///< lanes
    std::uint32_t mps_bytes = 512;                             ///< maximum payload of a TLP
    std::uint32_t mrrs_bytes = 512;                            ///< maximum read request
    std::uint32_t tags = 256;                                  ///< of a function: reads that wait for completions
    std::uint32_t posted_credits = 2048;                       ///< room of a receiver, in 16 bytes; 0: without limit
    std::uint32_t nonposted_credits = 0;                       ///< of a receiver: requests; 0: without limit
    std::uint32_t completion_credits = 0;                      ///< of a switch below, in 16 bytes; 0: without limit
    model::port::Time tlp_time{};                              ///< least time a device takes for a TLP it sends
    model::port::Time latency = std::chrono::nanoseconds{150}; ///< one way, switch port included
};

/// By which of several ways through the switches packets go.
enum class FabricRouting : std::uint8_t {
    automatic, ///< minimal, unless credits could wait for each other in a circle; then up_down
    minimal,   ///< the fewest switches
    up_down,   ///< up a tree of the switches, then down (up*/down*)
};
inline constexpr std::array<std::string_view, 3> fabric_routings{"auto", "minimal", "up_down"};

/// What is between the HCAs.
struct FabricConfig {
    std::string topology;    ///< "fat_tree(k=4)", see topologies.h; empty: as written, or of the pair
    bool has_switch = false; ///< of the pair; else a cable
    FabricRouting routing = FabricRouting::automatic;
    bool has_adaptive_routing = false; ///< InfiniBand switches choose for each packet of a reliable connection
    /// From a change of a cable until the switches' tables are for what is left.
    model::port::Time reroute = std::chrono::milliseconds{10};
    bool is_managed = false; ///< a subnet manager on a host gives LIDs, routes and states; else the platform does
    std::uint32_t switch_ports = 8;
    model::port::Time switch_latency = std::chrono::nanoseconds{130};
    model::net::SharedBufferConfig buffer; ///< of each Ethernet switch
    model::net::LifetimeConfig lifetime;   ///< of packets in each InfiniBand switch
};

/// A key that somebody has set.
struct GivenKey {
    std::string path;
    std::string where; ///< "p2p.toml:12", "--set"
};

struct Config {
    std::string file;                ///< where it was read, for messages
    std::vector<GivenKey> given;     ///< in the order in which they were set
    Written written;                 ///< hosts and fabric; none: the pair
    std::vector<Setting> exceptions; ///< keys of parts by name, in the order in which they were set
    bool timed = true;               ///< master switch of the timing model; copied to every room's own
    ScenarioConfig scenario;
    TrafficConfig traffic;
    CollectiveConfig collective;
    KvConfig kv;
    StorageConfig storage;
    CheckpointConfig checkpoint;
    std::array<HostConfig, 2> hosts; ///< A and B of the pair
    PeerConfig peers;
    host::BarAccessConfig bar_access; ///< of each host's processor
    host::SoftwareConfig software;
    model::pcie::HostCacheConfig cache; ///< of each host
    IommuConfig iommu;
    HcaModel hca_model = HcaModel::connectx;
    model::hca::HcaConfig hca;
    /// What hca.congestion_control and hca.dcqcn.enabled have said of its congestion control, where somebody set them.
    std::optional<model::hca::congestion::Algorithm> said_control;
    std::optional<bool> said_dcqcn;
    model::simple::SimpleConfig simple; ///< of each HCA of that model
    model::pcie::AtsConfig hca_ats;     ///< of each HCA: its own TLB, off without entries
    GpuConfig gpu;
    PcieLinkConfig device_link;   ///< switch to HCA and to GPU
    PcieLinkConfig upstream_link; ///< root port to switch
    model::net::LinkConfig link;  ///< the cable between the two HCAs, or each one's cable to the switch
    FabricConfig fabric;
    ObserveConfig observe;

    /// Nothing says which parts there are.
    bool is_pair() const { return written.is_pair() && fabric.topology.empty(); }
};

} // namespace platform::topology
