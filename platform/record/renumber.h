// A shorter life has fewer entries in its rings: where calls are left out that wrote entries of an event or completion
// queue, those behind them move up, and what software says of how far it has read is less by as many. So calls can go
// on which nothing depends but the places of what comes behind them, such as commands, each with an event of its own.
//
// Where the n-th entry of a queue lies and who owns it then is what the recorded n-th entry says; no size is needed.
// Where messages of a send queue are left out (`work_gap`), their numbers follow, and so do those of objects
// (`objects`).
#pragma once

#include "platform/record/objects.h"
#include "platform/record/record_store.h"
#include "platform/record/work_gap.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <vector>

namespace platform::record {

class Renumbering {
public:
    explicit Renumbering(const RecordStore& store);

    WorkGaps& work() { return work_; }
    const WorkGaps& work() const { return work_; }

    /// Which records are kept of those of the store, by their positions; what the gap takes is not.
    void choose(const std::function<bool(std::size_t)>& is_kept);
    /// Whether a record has no place in the shorter life, though its call is kept.
    bool is_gone(std::size_t at) const {
        return work_.part(at) == WorkGaps::Part::gone || unread_.contains(at) || objects_.is_gone(at);
    }

    using Edited = RecordStore::Edited;
    /// What the kept record at a position says then; nothing: the same.
    std::optional<Edited> edited(std::size_t at) const;

private:
    /// A completion queue looked full, and the device reads how far software is.
    struct Look {
        std::size_t request, answer; ///< positions
        std::size_t entries;         ///< before it
        std::uint32_t consumer;
    };
    struct Queue {
        bool is_signed = false; ///< its entries have signatures
        std::vector<Look> looks{};
        std::vector<std::size_t> entries{}; ///< positions of the records that write them, in order
        std::vector<std::uint32_t> kept{0}; ///< of the first n entries
        std::uint32_t moved(std::uint32_t index) const;
    };
    /// An index of a queue, in the low 24 bits of a word.
    struct Index {
        std::size_t queue = 0, at = 0; ///< at: in the payload
    };
    struct Place {
        std::size_t position = 0; ///< of the record
        std::size_t queue = none; ///< whose entry it writes
        std::uint32_t number = 0; ///< of the entry
        std::vector<Index> indices{};
    };
    static constexpr std::size_t none = ~std::size_t{0};

    const Place* find(std::size_t position) const;
    bool move(const Place& place, Edited& edited) const;
    void look_when_full(const Queue& queue);

    const RecordStore& store_;
    WorkGaps work_;
    ObjectNumbers objects_;
    std::set<std::size_t> unread_; ///< positions of looks that a shorter life does not need
    std::vector<Queue> queues_;
    std::vector<Place> places_; ///< by their positions
};

} // namespace platform::record
