// Transfers to or from memory that devices share, and something that gets in their way at a chosen point: what
// explorers run once for each point there is. The points are the events of the run. Afterwards every byte is accounted
// for: what the memory held when the action had returned, what its next owner put there, what the peer got, and all
// that lies around.
//
// What races is a subject: devices of one kind, with the transfers that they make, whose memory these may be about, and
// what can happen to it. Each of these is a row of the subject's tables; nothing here knows which there are.
#pragma once

#include "platform/topology/config.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace platform::record {
class Recording;
}

namespace scenario::race {

/// A row of a table of a subject's, which lives as long as the program.
class Row {
public:
    explicit Row(std::string_view name) : name_(name) {}
    Row(const Row&) = delete;
    Row& operator=(const Row&) = delete;
    std::string_view name() const { return name_; }

protected:
    ~Row() = default;

private:
    std::string_view name_;
};

class Operation : public Row {
public:
    using Row::Row;
};
/// Whose memory it is.
class Victim : public Row {
public:
    using Row::Row;
};

/// Where its memory has to be for an action.
enum class MemoryKind : std::uint8_t {
    revocable, ///< a dma-buf, until its exporter takes it back
    on_demand, ///< a dma-buf, wherever it is
    host,      ///< DMA memory
};

/// What happens to the memory, or to a device that uses it.
class Action : public Row {
public:
    struct Traits {
        std::optional<MemoryKind> memory{}; ///< nothing: any
        bool needs_unit = false;            ///< what only a remapping unit can stop
        bool is_alone = false;              ///< cannot be with another one
    };
    Action(std::string_view name, const Traits& traits) : Row(name), traits_(traits) {}
    const Traits& traits() const { return traits_; }

private:
    Traits traits_;
};
/// Up to two of them, which begin at one instant in threads of their own; none: the transfer alone.
using Actions = std::array<const Action*, 2>;

/// A mistake on purpose, for looking whether it is found.
class Plant : public Row {
public:
    explicit Plant(std::string_view name, bool needs_unit = false) : Row(name), needs_unit_(needs_unit) {}
    bool needs_unit() const { return needs_unit_; } ///< what only with a remapping unit is a mistake

private:
    bool needs_unit_;
};

/// "revoke", or "revoke+death"; "none".
std::string name(const Actions& actions);
MemoryKind kind_of(const Actions& actions);
/// Two that are not the same and can be with memory of one kind.
bool can_be_at_once(const Actions& actions);
bool need_unit(const Actions& actions);

/// What a setting of a world is called, and the keys that make it.
struct Setting {
    std::string_view name;
    std::array<std::string_view, 2> keys;
};
using Axis = std::vector<Setting>;

class Subject;

struct Setup {
    const Subject* subject = nullptr;
    const Operation* operation = nullptr;
    Actions actions{};
    const Victim* victim = nullptr;
    const Plant* plant = nullptr; ///< nullptr: no mistake
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

class Subject {
public:
    virtual ~Subject() = default;
    virtual std::string_view name() const = 0;
    virtual std::span<const Operation* const> operations() const = 0;
    virtual std::span<const Victim* const> victims() const = 0;
    virtual std::span<const Action* const> actions() const = 0;
    /// Pairs of them that a wish for all has, too.
    virtual std::span<const Actions> together() const = 0;
    virtual std::span<const Plant* const> plants() const = 0;

    /// Whether the memory of `victim` is such as the actions need.
    virtual bool can_be(const Victim& victim, const Actions& actions) const {
        static_cast<void>(victim), static_cast<void>(actions);
        return true;
    }

    /// The platform, as a configuration; empty: the pair.
    virtual std::string_view platform() const = 0;
    /// Keys without which a race would not be one, for messages of so many bytes.
    virtual std::vector<std::string> keys(std::uint64_t bytes) const = 0;
    /// What changes when a transfer is under way, and so what an action finds there.
    virtual std::span<const Axis> axes() const = 0;
    /// Memory may be used by several transfers and importers.
    virtual bool can_share() const { return false; }

    /// Builds its platform: once in a process. With a recording its devices lend no memory, so that what is wrong with
    /// loans is not seen.
    virtual Outcome run(const platform::topology::Config& config, const Setup& setup,
                        platform::record::Recording* recording = nullptr) const = 0;
};

/// The first one is meant where nobody names another.
std::span<const Subject* const> subjects();

} // namespace scenario::race
