// A device of a traffic: with memory for the messages of its ends, and that the others may reach.
#pragma once

#include "testbench/load/device.h"
#include "testbench/load/end.h"
#include "testbench/load/memory.h"

#include <cstdint>
#include <vector>

namespace load {

/// A counter of atomics, shared by all who send here.
struct Tally {
    std::uint64_t added = 0; ///< atomics that have changed it
    Wide seen = 0;           ///< sum of what they have found
};

class Node : public Device {
public:
    using Device::Device;

    /// How often parts of its memories are needed, before there are any.
    struct Needs {
        std::uint64_t out = 0, in = 0;            ///< areas
        std::uint64_t sending = 0, receiving = 0; ///< ends
        std::vector<std::uint64_t> queue_pairs{}; ///< of each core
    };
    void prepare(const Needs& needs);
    /// A queue pair of core `end.core`, and areas for what it does.
    void add(End& end, bool sends, bool is_sent_to);
    void connect(End& end, const Node& peer);
    void give_receive(End& end);

    const Memory& out() const { return out_; }
    const Memory& in() const { return in_; }
    const Memory& counters() const { return counters_; }
    const Memory& results() const { return results_; }
    std::vector<Tally>& tallies() { return tallies_; }

private:
    Area take(std::uint64_t& next, std::uint64_t share) const;

    Memory out_, in_, counters_, results_;
    std::uint64_t out_share_ = 0, in_share_ = 0; ///< slots of an area
    std::uint64_t out_next_ = 0, in_next_ = 0, results_next_ = 0;
    std::vector<Tally> tallies_;
};

} // namespace load
