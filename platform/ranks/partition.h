// Which process of a run has which part of its platform. Hosts stay with the switch that they are plugged into, as far
// as there are enough switches, so that few cables are cut; switches without hosts are dealt round.
#pragma once

#include "model/port/time.h"
#include "platform/topology/config.h"
#include "platform/topology/description.h"

#include <array>
#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace platform::ranks {

/// A cable whose ends are in two processes.
struct CutCable {
    std::size_t cable = 0;
    std::array<unsigned, 2> ranks{}; ///< of its ends
};

class Partition {
public:
    /// The error is one line for a person: what cannot be spread over so many processes, and why.
    static std::expected<Partition, std::string> make(const topology::Config& config,
                                                      const topology::Description& described, unsigned ranks);

    unsigned ranks() const { return ranks_; }
    unsigned rank_of_host(std::size_t host) const { return hosts_[host]; }
    unsigned rank_of_switch(std::size_t number) const { return switches_[number]; }
    unsigned rank_of(const topology::CableEnd& end) const {
        return end.is_switch ? switches_[end.fabric_switch] : hosts_[end.host];
    }
    const std::vector<CutCable>& cut() const { return cut_; }
    /// For so long each process can go on by itself: what another one does now has no effect here earlier.
    model::port::Time lookahead() const { return lookahead_; }
    /// Whether the events of a component of that name ("A.hca0", "leaf0") are those of `rank`. A cable has two ends,
    /// whose processes say each what that end has sent.
    bool is_said_by(const topology::Description& described, std::string_view component, unsigned rank) const;

private:
    unsigned ranks_ = 1;
    std::vector<unsigned> hosts_, switches_;
    std::vector<CutCable> cut_;
    model::port::Time lookahead_ = model::port::never;
};

/// What of a platform is in this process.
struct Share {
    const Partition* partition = nullptr; ///< nullptr: all of it
    unsigned rank = 0;

    bool has_host(std::size_t host) const { return partition == nullptr || partition->rank_of_host(host) == rank; }
    /// Of a cable: what that end sends is counted here.
    bool has(const topology::CableEnd& end) const { return partition == nullptr || partition->rank_of(end) == rank; }
};

} // namespace platform::ranks
