// One transfer to or from a registered dma-buf, and something that gets in its way at a chosen point: what explorers
// run once for each point there is. The points are the events of the run. Afterwards every byte is accounted for: what
// the buffer held when the action had returned, what its next owner put there, what the peer got, and all that lies
// around.
#pragma once

#include "platform/topology/config.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace scenario::race {

enum class Operation : std::uint8_t { write, read, send, atomic };
/// What happens to the buffer, or to the card that uses it.
enum class Action : std::uint8_t {
    none,
    revoke, ///< its exporter takes it back
    move,   ///< its exporter wants to move it, which a buffer that is pinned for a card does not allow
    unmap,  ///< its registration goes
    flr,    ///< the card is reset
    /// Host memory is given back with its registration alive: behind a remapping unit, which then leads nowhere.
    release,
    /// Its exporter moves it to host memory: it is registered on demand, so the transfer goes on where it is then.
    migrate,
};
/// Whose memory it is: that of the side that requests, or of the one that responds.
enum class Victim : std::uint8_t { requester, responder };
/// A mistake on purpose, for looking whether it is found.
enum class Plant : std::uint8_t {
    none,
    stale_key,            ///< the revocation does not reach the card
    missing_invalidation, ///< the remapping unit is not told that a mapping went
};

/// The names of these, in their order.
std::span<const std::string_view> operations();
std::span<const std::string_view> actions();
std::span<const std::string_view> victims();
std::span<const std::string_view> plants();

struct Setup {
    Operation operation{};
    Action action{};
    Victim victim = Victim::responder;
    Plant plant{};
    std::uint64_t point = 0;     ///< events after the request was posted
    std::uint32_t bytes = 20000; ///< of the message; atomics have 8
    bool has_alike_owner = false; ///< the next owner of the memory puts the bytes there that the transfer has
};

struct Outcome {
    std::uint64_t points = 0; ///< events between the request and its completion
    std::uint64_t at_ps = 0;  ///< simulated time of the action
    bool is_reached = false;  ///< there was such a point, and the action was done
    std::string completion;   ///< of the request; empty: none
    std::vector<std::string> violations;
};

/// Builds its platform: once in a process.
Outcome run(const platform::topology::Config& config, const Setup& setup);

} // namespace scenario::race
