// A shorter life makes fewer objects, and a device numbers them in the order in which they are made: the n-th that is
// left has the number that the recorded n-th had. This room finds where those numbers stand (commands and their
// answers, doorbells, work requests, completions, events, frames from outside) and what they are then.
//
// An event queue that is not made has no entries either: those of the device, their interrupts, and the doorbells of
// software that has read them are gone. So is the event of a completion, or an interrupt, that software has not asked
// for.
#pragma once

#include "platform/record/record_store.h"
#include "traces/codec/signal.h"
#include "traces/tool/decoder.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

namespace platform::record {

class ObjectNumbers {
public:
    /// What a number counts.
    enum class Kind : std::uint8_t {
        event_queue,
        completion_queue,
        queue_pair,
        domain,
        key,
        user_context,
        counter_set
    };

    /// Of a dword.
    struct Bits {
        unsigned low = 0, count = 32;
    };

    explicit ObjectNumbers(const RecordStore& store) : store_(store) {}
    /// What a record of the store is; one after the other.
    void take(std::size_t at, const traces::tool::Seen& seen);

    /// Which records are kept, by their positions: an object is made if the end of its command is one of them.
    void choose(const std::function<bool(std::size_t)>& is_kept);
    /// Whether it does not happen then: it is of an event queue that is not made, or nobody has asked for it.
    bool is_gone(std::size_t at) const { return gone_.contains(at); }
    /// Whether it names an object.
    bool names_any(std::size_t at) const { return names_.contains(at); }
    /// Changes the numbers in it. False: they are what they were.
    bool edit(std::size_t at, RecordStore::Edited& edited) const;

private:
    struct Object {
        std::uint32_t number = 0, now = 0;
        std::size_t made = 0;        ///< position of the end of its command
        bool has_plain_work = false; ///< of a queue pair: its work requests have no segment for an address
    };
    /// A number in a dword of the payload; of a frame: its destination.
    struct Name {
        std::size_t object = 0, offset = 0;
        Bits bits{};
        std::optional<std::size_t> signature{}; ///< the byte that closes the entry
    };
    struct Slot {
        std::size_t input = 0, answer = 0; ///< bytes of the input so far; position of the answer
    };

    std::optional<std::size_t> find(std::uint32_t interface, Kind kind, std::uint32_t number) const;
    void command(std::size_t at, const traces::tool::Seen& seen);
    void name(std::size_t at, Kind kind, std::size_t offset, Bits bits);
    void input(std::size_t at, const traces::tool::Command& command, std::size_t begin, std::size_t place);
    void made(std::size_t at, const traces::tool::Command& command, std::size_t answer);
    void work(std::size_t at, const traces::tool::Item& item, std::size_t begin);
    void entry(std::size_t at, const traces::tool::Item& item, std::size_t begin);
    void happens_in(std::size_t at, std::uint32_t eqn);
    void signal(std::size_t at, traces::codec::Signal code);
    void forget(std::uint32_t interface);

    const RecordStore& store_;
    std::vector<Object> objects_;
    std::vector<std::vector<std::size_t>> series_; ///< objects that are numbered one behind the other
    std::map<std::pair<std::uint32_t, Kind>, std::size_t> series_of_;
    std::map<std::tuple<std::uint32_t, Kind, std::uint32_t>, std::size_t> known_; ///< by interface, kind and number
    std::map<std::size_t, std::vector<Name>> names_;                              ///< by position
    /// Of a completion queue, by interface and number: where software asked for an event, and where one came.
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::pair<std::size_t, bool>>> asked_;
    std::map<std::size_t, std::size_t> needs_; ///< by position: that of what it does not happen without
    std::set<std::size_t> gone_;               ///< positions
    std::map<std::pair<std::uint32_t, unsigned>, Slot> slots_;
    std::optional<std::size_t> event_; ///< position of the last entry of an event queue, or doorbell, in this call
    bool is_written_ = true;           ///< the end of that entry is told
    std::uint64_t gate_ = 0;
};

} // namespace platform::record
