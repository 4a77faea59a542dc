// What a queue pair's congestion control is told, and what it says. Told: packets that leave, answers that come, CNPs,
// losses. Says: when the next packet may leave, and how many may be in flight. The requester asks it before each
// packet; a queue pair without one is limited by its port alone. Measures nothing itself: round_trips.h does that.
#pragma once

#include "model/port/time.h"

#include <cstdint>
#include <limits>
#include <optional>

namespace model::hca::congestion {

/// A packet that leaves, or several that go as one.
struct Departure {
    std::uint64_t bytes = 0;   ///< of whole frames
    std::uint32_t packets = 1; ///< sequence numbers: of a READ those of its whole answer
    port::Time at{};           ///< of the turn in which it was made
};

/// What an answer of the peer says.
struct Acknowledged {
    std::uint32_t packets = 0;            ///< sequence numbers that nobody had answered before
    std::optional<port::Time> round_trip; ///< of the packet that it answers, where that is known
    port::Time at{};
};

enum class Loss : std::uint8_t {
    refused, ///< the peer, or an answer behind a missing one, has said so: "fast recovery"
    timeout, ///< nobody has said anything
};

class Control {
public:
    virtual ~Control() = default;

    virtual void sent(const Departure& packet) = 0;
    virtual void acknowledged(const Acknowledged& answer) = 0;
    /// A CNP has come.
    virtual void notified(port::Time now) = 0;
    /// A packet has to be sent again.
    virtual void lost(Loss how, port::Time now) = 0;

    /// When the next packet may leave, as far as is known by `now`.
    virtual port::Time next(port::Time now) = 0;
    /// When to ask again after a packet could not leave: then, or when that may be earlier.
    virtual port::Time asks_again() const = 0;
    /// How many packets may be in flight; a fraction, below 1 too. Infinite: as many as there are.
    virtual double window() const { return std::numeric_limits<double>::infinity(); }
    /// How many answers it wants for a window of packets; 0: none beyond those that are asked for anyway.
    virtual std::uint32_t answers_per_window() const { return 0; }
    /// Whether the next packet is held back for so long that no answer can be expected meanwhile.
    virtual bool is_silent(port::Time /*now*/) const { return false; }
    /// Whether the port alone limits the queue pair again, and this may be forgotten.
    virtual bool is_over(port::Time /*now*/) { return false; }
};

} // namespace model::hca::congestion
