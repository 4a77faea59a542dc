// The worlds that an exploration goes through: what a link, a fabric and a remapping unit change about when a transfer
// is under way, and so about what something that gets in its way finds there. Each is a configuration of its own.
#pragma once

#include "platform/topology/config.h"
#include "testbench/scenario/race.h"

#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <vector>

namespace hcasim {

/// One setting of each axis.
struct Variant {
    std::string name; ///< "2500 ns, 1 Gb/s, switch, remapping"; empty: what the configuration has
    std::vector<std::string> overrides;
    std::vector<unsigned> settings; ///< on each axis
    unsigned importers = 1;         ///< registrations of the same memory
};

enum class Sweep : std::uint8_t {
    none,  ///< the configuration as it is
    pairs, ///< as few variants as have each pair of settings at least once
    all,   ///< each combination
};

/// The subject's axes, with every setting that does not contradict `overrides`; an axis that has none
/// left is as they say. In turn they have one transfer, two by one key, and two importers of the memory with one each,
/// where neither `importers` (0: nothing is said) nor the overrides say how many.
std::vector<Variant> variants(const scenario::race::Subject& subject, Sweep sweep,
                              std::span<const std::string> overrides, unsigned importers = 0);

/// The subject's platform with its keys, in the smallest steps: a packet is sent when the one before has left, and
/// arrives in a step of its own. The variant's keys and then the caller's count before these.
std::expected<platform::topology::Config, std::string> explored(const scenario::race::Subject& subject,
                                                                const Variant& variant,
                                                                std::span<const std::string> overrides,
                                                                std::uint64_t bytes);

} // namespace hcasim
