// One PCIe link: what a transfer costs on it and what went over it, in each direction. Rates follow the specification's
// recommended ACK and flow-control traffic (PCIe 5.0 tables 2-46 and 3-7 ff.; the model of Neugebauer et al.,
// "Understanding PCIe performance", SIGCOMM 2018). Carries no data and knows no topology.
#pragma once

#include "model/pcie/posted_credits.h"
#include "model/pcie/request_credits.h"
#include "model/port/time.h"
#include "model/time/schedule.h"
#include "model/time/usage.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace model::pcie {

struct LinkConfig {
    unsigned generation = 4;         ///< 1 to 5
    unsigned width = 16;             ///< lanes: 1, 2, 4, 8, 16 or 32
    unsigned max_payload = 256;      ///< MPS that both ends support, bytes
    unsigned max_read_request = 512; ///< MRRS that the platform programs, bytes
    unsigned tags = 256;             ///< requests of a function behind the link that may wait for completions at a time
    unsigned posted_credits = 2048;  ///< room of each receiver for posted data, in 16 bytes; 0: without limit
    unsigned nonposted_credits = 0;  ///< room of each receiver for non-posted requests; 0: without limit
    /// Room of a switch below this link for data of completions, in 16 bytes; 0: without limit. Endpoints and root
    /// complexes have no limit (PCIe 6.0 §2.6.1): they have room for all that they have asked for.
    unsigned completion_credits = 0;
    port::Time tlp_time{}; ///< that the device takes for each TLP it sends upstream, if that is longer
    port::Time latency = std::chrono::nanoseconds{100}; ///< one way, the receiving port's forwarding included
    bool timed = true;                                  ///< without it, transfers are counted but take no time
};

/// Of a requester with 10-bit tags (PCIe 6.0 §2.2.6.2).
inline constexpr unsigned most_tags = 768;
/// With the largest scale (PCIe 6.0 §3.4.2): 11 bits of credits, times 16.
inline constexpr unsigned most_posted_credits = 2047 * 16;
/// And 7 bits of those for headers.
inline constexpr unsigned most_nonposted_credits = 127 * 16;

/// Refuses what cannot be built; static text that names the member, or nullptr.
const char* find_fault(const LinkConfig& config);

/// The 3-bit code of MPS and MRRS: 128 << code bytes.
constexpr std::uint32_t size_code(unsigned bytes) {
    return static_cast<std::uint32_t>(std::bit_width(bytes / 128) - 1);
}
constexpr unsigned size_of_code(std::uint32_t code) { return 128u << (code > 5 ? 5 : code); }

enum class Direction : std::uint8_t { downstream, upstream };
constexpr Direction reverse(Direction d) {
    return d == Direction::downstream ? Direction::upstream : Direction::downstream;
}

/// What went over a link in one direction. Wire bytes are TLPs with header, framing, sequence number and LCRC.
struct Traffic {
    std::uint64_t tlps = 0, wire_bytes = 0, payload_bytes = 0;
    Traffic& operator+=(const Traffic& other) {
        tlps += other.tlps, wire_bytes += other.wire_bytes, payload_bytes += other.payload_bytes;
        return *this;
    }
    bool operator==(const Traffic&) const = default;
};

class Route;
struct Hop;

class Link {
public:
    Link(std::string name, const LinkConfig& config);
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;
    ~Link(); ///< routes that use the link go on without it

    const std::string& name() const { return name_; }
    const LinkConfig& config() const { return config_; }
    double raw_gbps() const;    ///< after line coding
    double usable_gbps() const; ///< what is left for TLPs

    /// Where a transfer is: its first and its last byte at the receiver.
    struct Front {
        port::Time head, tail;
    };
    /// What is to be sent.
    struct Cargo {
        // NOLINTNEXTLINE(google-explicit-constructor): most callers have bytes only
        Cargo(std::uint64_t bytes, std::uint64_t number = 0) : wire_bytes(bytes), tlps(number) {}
        std::uint64_t wire_bytes, tlps;
    };
    /// How long it takes the link.
    port::Time span_of(Direction direction, const Cargo& cargo) const {
        const port::Time bytes{static_cast<std::int64_t>(cargo.wire_bytes * picoseconds_per_kib_ >> 10)};
        return direction == Direction::downstream
                   ? bytes
                   : std::max(bytes, static_cast<std::int64_t>(cargo.tlps) * config_.tlp_time);
    }
    /// Sends the cargo cut-through: the head leaves when it has arrived and the link is free, the tail no earlier
    /// than it has arrived. What is known to come later (the completions of a read, say) leaves the time until then to
    /// others.
    Front transfer(Direction direction, const Cargo& cargo, Front front) {
        const auto span = span_of(direction, cargo);
        const auto taken = schedules_[static_cast<std::size_t>(direction)].book_in_pieces(front.head, span);
        auto& usage = usages_[static_cast<std::size_t>(direction)];
        const auto waited = taken.end - span - front.head;
        ++usage.uses;
        usage.busy += span;
        usage.waited += waited;
        usage.longest_wait = std::max(usage.longest_wait, waited);
        return {taken.begin + config_.latency, std::max(taken.end, front.tail) + config_.latency};
    }
    /// Forgets when the link is busy: what was sent so far belongs to the time before the measurement.
    void forget_occupancy() {
        schedules_.fill(time::Schedule{});
        for (auto& credits : credits_)
            credits.clear();
        for (auto& credits : request_credits_)
            credits.clear();
        completion_credits_.clear();
    }
    /// For posted requests that cross the link in that direction.
    PostedCredits& posted_credits(Direction direction) { return credits_[static_cast<std::size_t>(direction)]; }
    /// For non-posted requests.
    RequestCredits& request_credits(Direction direction) {
        return request_credits_[static_cast<std::size_t>(direction)];
    }
    /// For completions that come down into a switch; nullptr: the receiver in that direction has no limit.
    PostedCredits* completion_credits(Direction direction) {
        return direction == Direction::downstream && config_.completion_credits != 0 ? &completion_credits_ : nullptr;
    }
    void count(Direction direction, const Traffic& traffic) { own_[static_cast<std::size_t>(direction)] += traffic; }
    /// As a resource, for a report.
    time::Account account(Direction direction) const;
    time::Account credit_account(Direction direction) const;
    time::Account request_credit_account(Direction direction) const;
    time::Account completion_credit_account() const;
    /// Of the link in both directions, with those of credits that anybody has used.
    template <class Add> void for_each_account(Add&& add) const {
        for (const auto direction : {Direction::upstream, Direction::downstream})
            add(account(direction));
        for (const auto direction : {Direction::upstream, Direction::downstream})
            add_used(add, credit_account(direction));
        for (const auto direction : {Direction::upstream, Direction::downstream})
            add_used(add, request_credit_account(direction));
        add_used(add, completion_credit_account());
    }
    /// All traffic so far, including that of routes that still exist.
    Traffic traffic(Direction direction) const;

private:
    friend class Route;
    template <class Add> static void add_used(Add& add, const time::Account& account) {
        if (account.usage.uses != 0)
            add(account);
    }
    struct User {
        Route* route;
        Direction direction;
        bool has_requests, has_answers;
        User(Route* r, const Hop& hop);
    };

    std::string name_;
    LinkConfig config_;
    std::uint64_t picoseconds_per_kib_;
    std::array<time::Schedule, 2> schedules_{time::Schedule{}, time::Schedule{}};
    std::array<time::Usage, 2> usages_{};
    std::array<PostedCredits, 2> credits_;
    std::array<RequestCredits, 2> request_credits_;
    PostedCredits completion_credits_;
    std::array<Traffic, 2> own_{};
    std::vector<User> users_;
};

} // namespace model::pcie
