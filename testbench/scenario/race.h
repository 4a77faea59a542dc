// Transfers to or from a registered dma-buf, and something that gets in their way at a chosen point: what explorers run
// once for each point there is. The points are the events of the run. Afterwards every byte is accounted for: what the
// buffer held when the action had returned, what its next owner put there, what the peer got, and all that lies around.
#pragma once

#include "platform/topology/config.h"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace platform::record {
class Recording;
}

namespace scenario::race {

enum class Operation : std::uint8_t { write, read, send, atomic };
/// What happens to the buffer, or to a card that uses it.
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
    death, ///< the peer's card is reset, as when its process was killed; the peer's memory is somebody else's at once
};
/// Up to two of them, which begin at one instant in threads of their own.
using Actions = std::array<Action, 2>;
/// Whose memory it is: that of the side that requests, or of the one that responds.
enum class Victim : std::uint8_t { requester, responder };
/// A mistake on purpose, for looking whether it is found.
enum class Plant : std::uint8_t {
    none,
    stale_key,            ///< the revocation does not reach the card
    missing_invalidation, ///< the remapping unit is not told that a mapping went
    // The card keeps lent payload under way although memory goes
    umr_drain,     ///< by a work request that changes its key
    command_drain, ///< by a command
    reset_drain,   ///< by a reset of the card
};

/// The names of these, in their order.
std::span<const std::string_view> operations();
std::span<const std::string_view> actions();
std::span<const std::string_view> victims();
std::span<const std::string_view> plants();
/// "revoke", or "revoke+death".
std::string name(const Actions& actions);

/// Where its memory has to be for an action.
enum class MemoryKind : std::uint8_t {
    revocable, ///< a dma-buf, until its exporter takes it back
    on_demand, ///< a dma-buf, wherever it is
    host,      ///< DMA memory
};
MemoryKind kind_of(const Actions& actions);
/// Two that are not the same and can be with memory of one kind.
bool can_be_at_once(const Actions& actions);

struct Setup {
    Operation operation{};
    Actions actions{};
    Victim victim = Victim::responder;
    Plant plant{};
    bool is_bare = false;         ///< the actions are not done: what the transfer is without them
    std::uint64_t point = 0;      ///< events after the request was posted
    bool is_late = false;         ///< the actions begin at the time that the event has, not when it is known
    std::uint32_t bytes = 20000;  ///< of a message; atomics have 8
    bool has_alike_owner = false; ///< the next owner of the memory puts the bytes there that the transfer has
    unsigned importers = 1;       ///< registrations of the same memory; transfers use them in turn
};

/// How a transfer touches the victim's memory: by accesses of the victim's card, and by packets that carry what it
/// held.
struct Touches {
    std::uint64_t count = 0;           ///< in all
    std::uint64_t first = 0, last = 0; ///< events after the request was posted
    /// Of them, those at which the victim's card has translated an address and its access is still to come to an end;
    /// and events at which a switch sends on what it keeps. Events after the request was posted.
    std::vector<std::uint64_t> translations{}, forwards{};
};

struct Outcome {
    std::uint64_t points = 0;                      ///< events between the request and its completion
    Touches touches;                               ///< of what was seen of the transfer
    std::uint64_t at_ps = 0;                       ///< simulated time at which the actions began
    std::string behind;                            ///< the event at whose point they began
    bool is_reached = false;                       ///< there was such a point, and the actions were done
    bool has_begun = false;                        ///< the first packet had been sent by then
    std::uint64_t touched = 0, touched_at_end = 0; ///< times, before the actions began, and before the first returned
    std::string completion; ///< of the request; of several, the last that is no success; empty: none
    std::vector<std::string> violations;
    std::vector<std::uint64_t> judgements{}; ///< of each rule of the monitor, where one has looked on
};

/// Whether the actions came into a transfer under way: it had touched the memory and, undisturbed, would have touched
/// it again. One that touches it but once is under way from its first packet on.
bool has_overlapped(const Touches& undisturbed, const Outcome& outcome);
/// Whether it was still so when the first action had returned.
bool has_overlapped_end(const Touches& undisturbed, const Outcome& outcome);

/// Builds its platform: once in a process. As many transfers by the same key, each on a connection of its own, as the
/// configuration has queue pairs, and no fewer than there are importers. With a recording its devices lend no memory,
/// so that what is wrong with loans is not seen.
Outcome run(const platform::topology::Config& config, const Setup& setup,
            platform::record::Recording* recording = nullptr);

} // namespace scenario::race
