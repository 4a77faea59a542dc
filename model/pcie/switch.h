// The routing of a switch: an upstream port and downstream ports, each a type 1 function. Takes an address or a
// configuration target and the port that the request came in by; gives the port to send it out by. Moves no data.
// PCIe 6.0 §1.3.3, §2.2.4, §7.3.
#pragma once

#include "model/pcie/bridge_space.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace model::pcie {

/// Where a memory request goes, and the range of addresses around it that go the same way.
struct MemoryRouting {
    enum class To : std::uint8_t { port, upstream, nowhere } to = To::nowhere;
    unsigned port = 0; ///< downstream port number
    Range range{0, ~std::uint64_t{0}};
    bool is_redirected = false;                   ///< to a peer, by way of the root complex
    bool is_violation = false;                    ///< of access control: Completer Abort
    std::optional<traces::BlockReason> blocked{}; ///< why it goes nowhere, where access control has decided so
};

/// Where a configuration request goes.
struct ConfigRouting {
    enum class To : std::uint8_t { self, port_function, port_type0, port_type1, nowhere } to = To::nowhere;
    unsigned port = 0;
};

/// The downstream port a bus number lies behind, and as which type the request goes out there.
ConfigRouting route_below(std::span<const BridgeSpace> ports, abi::pcie::Bdf target);

class Switch {
public:
    struct Config {
        ConfigSpace::Identity upstream_identity, downstream_identity;
        LinkConfig upstream_link;
        std::vector<LinkConfig> downstream_links; ///< one for each downstream port
    };
    explicit Switch(const Config& config);

    static constexpr unsigned max_ports = 32; ///< device numbers of the internal bus

    MemoryRouting route_from_upstream(std::uint64_t address) const;
    /// Peer to peer between downstream ports stays inside, unless access control sends it up.
    MemoryRouting route_from_port(unsigned port, std::uint64_t address, const Origin& origin = {}) const;
    /// Whether a completion that comes in by a port goes up, although its requester is a peer.
    bool redirects_completion(unsigned port, bool is_relaxed) const {
        return ports_[port].meaning().acs.completion_redirect && !is_relaxed;
    }
    /// A configuration request that arrived at the upstream port.
    ConfigRouting route_config(bool is_type1, abi::pcie::Bdf target) const;

    unsigned port_count() const { return static_cast<unsigned>(ports_.size()); }
    BridgeSpace& upstream() { return upstream_; }
    BridgeSpace& port(unsigned number) { return ports_[number]; }
    void reset();

private:
    Range same_routing(std::uint64_t address) const;

    BridgeSpace upstream_;
    std::vector<BridgeSpace> ports_;
};

} // namespace model::pcie
