// Device writes as the processor sees them. Untimed, bytes are in memory at once. With timed links, a control write (a
// completion, an event, a counter) is held until its bytes have crossed the links, so that a polling driver sees it
// when silicon would show it. Payload is in memory at once, unless an earlier write of its function is held: posted
// writes show in the order in which they were issued (PCIe 6.0 §2.4.1), so that it is held behind that one. Device
// reads see what is held.
#pragma once

#include "model/port/time.h"
#include "model/time/schedule.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

namespace model::pcie {

/// The posted writes of one function to host memory, its interrupt messages included: none arrives before one that was
/// issued before it. Links keep that order by themselves; a remapping unit that has to walk its tables for one write
/// would not. A device's writes are booked when it is known what they will be, which may be long before they are
/// issued: a completion waits for its context while those of other queues go by.
class WriteOrder {
public:
    /// When a write that is issued at `issued` and could be there at `at` is. Of those issued at one time the one that
    /// is booked first comes first.
    port::Time arrive(port::Time issued, port::Time at) {
        issued = std::max(issued, time::past_until); // nobody will book anything before that
        auto place = later_.end();
        while (place != later_.begin() && std::prev(place)->issued > issued)
            --place;
        const auto before = place == later_.begin() ? settled_ : std::prev(place)->there;
        if (at <= before)
            return before; // whoever waits for those before it waits for this one, too
        // Who is issued later waits for this one instead of those that are there sooner.
        auto end = place;
        while (end != later_.end() && end->there <= at)
            ++end;
        if (place != end) {
            *place = {issued, at};
            later_.erase(std::next(place), end);
        } else {
            later_.insert(place, {issued, at});
            if (later_.size() >= few)
                settle();
        }
        return at;
    }
    /// When all writes that were issued until `issued` are there, or were.
    port::Time all_there(port::Time issued) const {
        auto there = settled_;
        for (const auto& write : later_) {
            if (write.issued > std::max(issued, time::past_until))
                break;
            there = write.there;
        }
        return there;
    }
    std::uint32_t held = 0; ///< how many of them the processor does not see yet

private:
    struct Write {
        port::Time issued, there;
    };
    /// What is issued from now on waits for all that were issued before, whichever these were. Nobody books as far
    /// ahead as the most that are kept: all would wait for the first of them.
    void settle() {
        auto past = later_.begin();
        while (past != later_.end() && past->issued <= time::past_until)
            settled_ = (past++)->there;
        if (past == later_.begin() && later_.size() > most)
            settled_ = (past++)->there;
        later_.erase(later_.begin(), past);
    }
    static constexpr std::size_t few = 32, most = 1024;
    port::Time settled_{};     ///< when those are there that every write waits for
    std::vector<Write> later_; ///< the others that anybody waits for; both times rise from one to the next
};

class PostedWrites {
public:
    virtual ~PostedWrites() = default;

    /// A write is in memory.
    void note() {
        ++count_;
        if (watchers_ != 0) [[unlikely]]
            wake();
    }
    /// Holds a write until `due`, which its function's order has given. Both stay as long as anything is held.
    void post(std::byte* to, std::span<const std::byte> from, port::Time due, WriteOrder& order);
    /// Whether a held write has bytes in [begin, begin + length).
    bool is_held(const std::byte* begin, std::size_t length) const {
        return !order_.empty() && may_be_held(begin, length) && find_held(begin, length);
    }
    /// What a device has read from `begin` on becomes what it would be with everything held in place.
    void show_to_device(const std::byte* begin, std::span<std::byte> read) const {
        if (!order_.empty() && may_be_held(begin, read.size())) [[unlikely]]
            overlay(begin, read);
    }
    /// Brings everything due at `now` into memory; returns when to call again, or port::never.
    port::Time apply(port::Time now);
    /// When the last of the writes held so far is in memory, or was.
    port::Time landed_at() const { return landed_at_; }

    /// Device writes seen so far; changes whenever memory may have changed.
    std::uint64_t count() const { return count_; }
    /// While somebody watches, each write calls wake().
    void watch(bool on) { on ? ++watchers_ : --watchers_; }

protected:
    virtual void wake() = 0;
    /// Asks for apply() at `due`; called when that is the earliest time of all held writes.
    virtual void schedule(port::Time due) = 0;

private:
    struct Held {
        std::byte* to = nullptr;
        WriteOrder* order = nullptr;
        std::vector<std::byte> bytes; ///< keeps its capacity from write to write
    };
    struct Due {
        port::Time time;
        std::uint64_t sequence;
        std::uint32_t slot;
        bool operator<(const Due& other) const { // a heap has its greatest in front: the earliest
            return time != other.time ? time > other.time : sequence > other.sequence;
        }
    };
    void store(std::uint32_t slot);
    bool find_held(const std::byte* begin, std::size_t length) const;
    void overlay(const std::byte* begin, std::span<std::byte> read) const;

    static constexpr unsigned log_page = 12;
    static constexpr std::size_t page_counts = 256;
    template <class F> static void each_page(const std::byte* begin, std::size_t length, F&& visit) {
        const auto first = reinterpret_cast<std::uintptr_t>(begin) >> log_page;
        const auto last = (reinterpret_cast<std::uintptr_t>(begin) + length - 1) >> log_page;
        for (auto page = first; page <= last; ++page)
            visit(page % page_counts);
    }
    /// False for nearly all that devices read, however much is held elsewhere.
    bool may_be_held(const std::byte* begin, std::size_t length) const {
        bool is_touched = false;
        if (length != 0)
            each_page(begin, length, [&](std::size_t page) { is_touched |= held_in_[page] != 0; });
        return is_touched;
    }

    std::uint64_t count_ = 0, sequence_ = 0;
    unsigned watchers_ = 0;
    port::Time landed_at_{};
    std::vector<Due> order_; ///< heap
    std::vector<Held> slots_;
    std::vector<std::uint32_t> free_;
    std::array<std::uint32_t, page_counts> held_in_{}; ///< held writes by page, modulo the size
};

} // namespace model::pcie
