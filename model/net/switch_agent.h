// The management agent of an InfiniBand switch (IBA 14.2.5): what a subnet manager reads of it and sets in it. Holds
// the forwarding tables and the state of each port; the switch around it forwards by them. Knows datagrams of 256
// bytes, no packets and no routes.
#pragma once

#include "abi/prm/vport.h"
#include "abi/wire/mad.h"
#include "model/management/port_info.h"
#include "model/net/lifetime_config.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace model::net {

struct SwitchAgentConfig {
    unsigned ports = 2; ///< without port 0, at most 63
    std::uint64_t guid = 0;
    double rate_gbps = 100; ///< of the cables
    /// A subnet manager fills the tables. Otherwise every port is active from the start, and the owner fills them.
    bool is_managed = false;
    LifetimeConfig lifetime{};
};

class SwitchAgent {
public:
    static constexpr std::uint8_t no_port = 255;

    explicit SwitchAgent(const SwitchAgentConfig& config);

    /// Carries out a Get or Set that came in at `ingress` and makes `mad` its answer. False: nothing answers this.
    bool process(std::span<std::byte, abi::wire::mad_bytes> mad, unsigned ingress, port::Time at);

    /// The link of port `number` is up, as when something is plugged in, or gone.
    void link_changed(unsigned number, bool is_up);
    /// Does what managers decided of links; train(number, is_on) is the cable's end and says whether the link is up.
    template <class Train> void apply_link_changes(Train&& train) {
        for (unsigned number = 1; number < ports_.size(); ++number)
            management::apply_link_change(
                ports_[number].link, [&](bool is_on) { return train(number, is_on); },
                [&](bool is_up) { link_changed(number, is_up); });
    }
    std::uint16_t lid() const { return ports_[0].lid; }
    unsigned port_count() const { return static_cast<unsigned>(ports_.size() - 1); }
    /// Whether port `number` carries more than management (IBA 7.2.7).
    bool carries_data(unsigned number) const { return ports_[number].state >= abi::prm::PortState::armed; }
    /// How long packets may wait at port `number`, as it was set last.
    const LifetimeConfig& lifetime(unsigned number) const { return lifetimes_[number]; }
    /// The port by which packets to a unicast LID leave; no_port when there is none, or when the LID is beyond
    /// LinearFDBTop, whatever the table says there (IBA 14.2.5.4).
    std::uint8_t route(std::uint16_t to) const {
        return to <= linear_top_ && to < linear_.size() ? linear_[to] : no_port;
    }
    void set_route(std::uint16_t to, std::uint8_t port) {
        linear_[to] = port;
        linear_top_ = std::max(linear_top_, to);
    }
    /// The longest payload that port `number` may send: NeighborMTU, as it was set last (IBA 14.2.5.6).
    std::uint32_t mtu_bytes(unsigned number) const { return management::bytes_of_mtu(ports_[number].neighbor_mtu); }
    /// Ports of a multicast LID, one bit each.
    std::uint64_t group(std::uint16_t to) const;
    /// Sends every multicast LID to all of `ports`, a bit each, since without a subnet manager nobody knows the
    /// members. Where switches form a circle these are not all ports, so that no packet goes round.
    void flood_groups(std::uint64_t ports = ~std::uint64_t{1});

private:
    struct Call;
    struct Attribute;
    using Data = std::span<std::byte, 64>;

    static std::span<const Attribute> attributes();
    abi::wire::MadStatus get_node_description(const Call& call, Data data);
    abi::wire::MadStatus get_node_info(const Call& call, Data data);
    abi::wire::MadStatus get_switch_info(const Call& call, Data data);
    abi::wire::MadStatus set_switch_info(const Call& call, Data data);
    abi::wire::MadStatus get_guid_info(const Call& call, Data data);
    abi::wire::MadStatus get_port_info(const Call& call, Data data);
    abi::wire::MadStatus set_port_info(const Call& call, Data data);
    abi::wire::MadStatus get_linear(const Call& call, Data data);
    abi::wire::MadStatus set_linear(const Call& call, Data data);
    abi::wire::MadStatus get_multicast(const Call& call, Data data);
    abi::wire::MadStatus set_multicast(const Call& call, Data data);
    bool has_pkeys(const Call& call) const;
    abi::wire::MadStatus get_pkeys(const Call& call, Data data);
    abi::wire::MadStatus set_pkeys(const Call& call, Data data);
    abi::wire::MadStatus get_nothing(const Call& call, Data data);
    abi::wire::MadStatus keep_nothing(const Call& call, Data data);

    SwitchAgentConfig config_;
    std::vector<management::ManagedPort> ports_; ///< 0: the switch itself
    std::vector<LifetimeConfig> lifetimes_;
    std::vector<std::uint8_t> linear_;
    std::vector<std::uint64_t> multicast_;
    std::uint16_t linear_top_ = 0;
    std::uint8_t life_time_ = 18;
    bool has_port_change_ = true;
    std::uint64_t bad_keys_forgiven_ = 0; ///< M_Keys that were wrong, which PortInfo counts no more
};

} // namespace model::net
