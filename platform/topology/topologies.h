// Fabrics that have a name in the literature, from one line: "fat_tree(k=4)" is the switches, the cables between them
// and the place of each HCA that a person would else write down. Knows no configuration and no modules.
#pragma once

#include <array>
#include <cstddef>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace platform::topology {

struct Shape;

/// A line that was read: its parameters are in their ranges and go together.
class Topology {
public:
    /// No switch has more than `most_ports` cables. The error says what is wrong with the text, and what to write.
    static std::expected<Topology, std::string> read(std::string_view text, unsigned most_ports);

    /// Names of the switches, in their order: "leaf0", "pod1_agg0".
    std::vector<std::string> switch_names() const;

    struct Fabric {
        std::vector<std::string> switches;
        std::vector<std::pair<std::size_t, std::size_t>> cables; ///< between switches, by number
        std::vector<std::size_t> places;                         ///< the switch of each HCA
        /// How many cables each switch has.
        std::vector<unsigned> degrees() const;
    };
    /// hcas    how many HCAs each host has, in the order of hosts; their HCAs are in this order, too
    ///
    /// The error says how many hosts or HCAs there are places for, or which switch has too few ports.
    std::expected<Fabric, std::string> wire(std::span<const unsigned> hcas) const;

private:
    Topology(const Shape& shape, std::string text, unsigned most_ports)
        : shape_(&shape), text_(std::move(text)), most_ports_(most_ports) {}

    const Shape* shape_;
    std::string text_; ///< as written, for messages
    unsigned most_ports_;
    std::array<unsigned, 5> values_{}; ///< of the parameters, in their order; 0: left out
};

/// The topologies with their parameters, a line each, for `hcasim keys`.
std::string about_topologies();

} // namespace platform::topology
