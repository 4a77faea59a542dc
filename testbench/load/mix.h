// What messages of a load are: their verbs and sizes, as a person writes them down, and one after the other as a queue
// pair draws them.
#pragma once

#include "testbench/load/random.h"

#include <array>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace load {

enum class Verb : std::uint8_t { write, read, send, fetch_add, compare_swap };
inline constexpr std::array<std::string_view, 5> verb_names{"write", "read", "send", "fetch_add", "compare_swap"};
constexpr std::string_view name_of(Verb verb) { return verb_names[static_cast<std::size_t>(verb)]; }
constexpr bool is_atomic(Verb verb) { return verb == Verb::fetch_add || verb == Verb::compare_swap; }
inline constexpr std::uint32_t atomic_bytes = 8;

/// Verbs with the share that each has.
class Verbs {
public:
    Verbs(Verb only = Verb::write) : choices_{{only, 1}} {} // NOLINT: one verb is a mix of one
    /// Of "read", or "write:70, read:30" by weights. The error says what is wrong with the text.
    static std::expected<Verbs, std::string> read(std::string_view text);

    /// Also this one, as often as each other.
    void add(Verb verb);

    Verb draw(Random& random) const;
    bool has(Verb verb) const;
    bool has_atomics() const { return has(Verb::fetch_add) || has(Verb::compare_swap); }
    /// Whether one moves data of the load's own sizes.
    bool has_data() const { return has(Verb::write) || has(Verb::read) || has(Verb::send); }

private:
    struct Choice {
        Verb verb;
        std::uint64_t weight;
    };
    std::vector<Choice> choices_;
    std::uint64_t total_ = 1;
};

/// Sizes, in turn or drawn by weights.
class Sizes {
public:
    Sizes(std::uint32_t only = 8) : ranges_{{only, only, 1}} {} // NOLINT: one size is a list of one
    /// Of "4 KiB"; of "64 B, 1 MiB", which come in turn; of "64 B..4 KiB:90, 1 MiB:10", which are drawn by weights, and
    /// evenly between the two of a range. From 1 byte to 1 GiB. The error says what is wrong with the text.
    static std::expected<Sizes, std::string> read(std::string_view text);

    /// Of message `number` of a queue pair. In multiples of `unit`, where all ranges are_whole() in these.
    std::uint32_t draw(Random& random, std::uint64_t number, std::uint32_t unit = 1) const;
    std::uint32_t least() const;
    std::uint32_t most() const;
    /// Whether both ends of each range are multiples of `unit`.
    bool are_whole(std::uint32_t unit) const;

private:
    struct Range {
        std::uint32_t least, most;
        std::uint64_t weight;
    };
    std::vector<Range> ranges_;
    std::uint64_t total_ = 0; ///< of the weights; 0: in turn
};

} // namespace load
