// The adversary of store order: stores that a thread has issued and nobody else sees yet. They reach memory in any
// order that the instruction set allows: each within its bound, those of one thread to the same bytes in their order,
// and all of a thread before its release or wait goes on (RDNA3 ISA "Data dependency resolution", vscnt).
#pragma once

#include "model/gpu/memory/access.h"

#include <algorithm>
#include <array>
#include <optional>
#include <random>
#include <vector>

namespace model::gpu::wave {

class HeldStores {
public:
    static constexpr std::size_t max_bytes = 64, capacity = 256;

    struct Store {
        unsigned thread = 0;
        std::uint32_t length = 0;
        std::uint64_t address = 0;
        memory::Modifiers modifiers;
        port::Time issued{}, due{};
        std::array<std::byte, max_bytes> bytes{};

        std::uint64_t end() const { return address + length; }
        bool overlaps(std::uint64_t from, std::size_t count) const { return from < end() && address < from + count; }
    };

    explicit HeldStores(port::Time bound) : bound_(bound) { stores_.reserve(capacity); }

    bool is_full() const { return stores_.size() == capacity; }
    bool is_empty() const { return stores_.empty(); }
    port::Time next_due() const { return next_due_; }

    /// Takes a store of at most max_bytes while there is room. `merges`: the page combines writes, so that a store
    /// to the same bytes, or right behind, of the same thread may join one that has not gone yet.
    void hold(unsigned thread, std::uint64_t address, std::span<const std::byte> from, memory::Modifiers modifiers,
              bool merges, port::Time at, std::mt19937_64& random) {
        auto due = at + draw(random);
        // From the youngest on: a store joins none that a younger one has covered since.
        for (auto earlier = stores_.rbegin(); earlier != stores_.rend(); ++earlier) {
            if (earlier->thread != thread)
                continue;
            const bool overlaps = earlier->overlaps(address, from.size());
            if (merges && earlier->modifiers == modifiers && merge(*earlier, address, from))
                return;
            if (overlaps) {
                due = std::max(due, earlier->due);
                merges = false;
            }
        }
        auto& store = stores_.emplace_back();
        store = {.thread = thread,
                 .length = static_cast<std::uint32_t>(from.size()),
                 .address = address,
                 .modifiers = modifiers,
                 .issued = at,
                 .due = due};
        std::ranges::copy(from, store.bytes.begin());
        next_due_ = std::min(next_due_, due);
    }

    /// When the last store of the thread is performed; nothing: none of it is held.
    std::optional<port::Time> last_due(unsigned thread) const {
        std::optional<port::Time> last;
        for (const auto& store : stores_)
            if (store.thread == thread)
                last = std::max(last.value_or(store.due), store.due);
        return last;
    }
    /// Hands `perform` what is due by `now`, the earliest first; of equal ones the older.
    template <class Perform> void advance(port::Time now, Perform&& perform) {
        while (next_due_ <= now) {
            const auto first = std::ranges::min_element(stores_, {}, &Store::due);
            give(first, std::max(first->due, port::Time{}), perform);
        }
    }
    /// All of one thread, in an order that is drawn, except where bytes overlap.
    template <class Perform> void drain(unsigned thread, port::Time at, std::mt19937_64& random, Perform&& perform) {
        for (auto& store : stores_)
            if (store.thread == thread)
                store.due = at - draw(random) - bound_;
        // Later stores to the same bytes stay behind earlier ones.
        for (auto one = stores_.begin(); one != stores_.end(); ++one)
            for (auto other = one + 1; other != stores_.end(); ++other)
                if (one->thread == thread && other->thread == thread && one->overlaps(other->address, other->length))
                    other->due = std::max(other->due, one->due);
        for (;;) {
            auto first = stores_.end();
            for (auto one = stores_.begin(); one != stores_.end(); ++one)
                if (one->thread == thread && (first == stores_.end() || one->due < first->due))
                    first = one;
            if (first == stores_.end())
                return;
            give(first, at, perform);
        }
    }
    /// Those of one thread that its own access to these bytes must find done, and, since they may lie under them, all
    /// that the thread has stored before.
    template <class Perform>
    void drain_overlapping(unsigned thread, std::uint64_t address, std::size_t length, port::Time at,
                           Perform&& perform) {
        const auto is_own = [&](const Store& store) { return store.thread == thread; };
        while (std::ranges::any_of(
            stores_, [&](const Store& store) { return is_own(store) && store.overlaps(address, length); }))
            give(std::ranges::find_if(stores_, is_own), at, perform);
    }
    /// The one that is due first, to make room.
    template <class Perform> void make_room(port::Time at, Perform&& perform) {
        give(std::ranges::min_element(stores_, {}, &Store::due), at, perform);
    }
    /// Stores that have gone before an older one of their thread.
    std::uint64_t overtakes() const { return overtakes_; }
    void forget_all() { stores_.clear(), next_due_ = port::never; }

private:
    port::Time draw(std::mt19937_64& random) const {
        return port::Time{static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(bound_.count() + 1))};
    }
    static bool merge(Store& earlier, std::uint64_t address, std::span<const std::byte> from) {
        const bool is_inside = address >= earlier.address && address + from.size() <= earlier.end();
        const bool is_behind = address == earlier.end() && earlier.length + from.size() <= max_bytes;
        if (!is_inside && !is_behind)
            return false;
        std::ranges::copy(from, earlier.bytes.begin() + static_cast<std::ptrdiff_t>(address - earlier.address));
        earlier.length = static_cast<std::uint32_t>(std::max(earlier.end(), address + from.size()) - earlier.address);
        return true;
    }
    template <class Perform> void give(std::vector<Store>::iterator one, port::Time at, Perform& perform) {
        const auto store = *one;
        overtakes_ +=
            std::any_of(stores_.begin(), one, [&](const Store& older) { return older.thread == store.thread; });
        stores_.erase(one);
        next_due_ = stores_.empty() ? port::never : std::ranges::min_element(stores_, {}, &Store::due)->due;
        perform(store, at);
    }

    port::Time bound_;
    std::vector<Store> stores_; ///< in the order of their issue
    port::Time next_due_ = port::never;
    std::uint64_t overtakes_ = 0;
};

} // namespace model::gpu::wave
