// What went through each queue of a run's cards: work requests, completions, events. Counts from events, since a queue
// is gone when its run is over. A queue is found by its number, in a table; other events cost a branch. What no event
// says is not guessed: shared receive queues count at the queue pairs that took from them, and how many entries of a
// completion queue are unread is known only to the software that reads it.
#pragma once

#include "platform/observe/event.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace platform::observe::count {

/// What a queue, or several together, had; empty: queues of its kind do not have it, or no event says it.
struct QueueCounts {
    std::optional<std::uint64_t> requests{};       ///< work requests begun
    std::optional<std::uint64_t> requests_again{}; ///< fetched once more, since packets were sent again
    std::optional<std::uint64_t> bytes{};          ///< of the messages: asked for, or received
    std::optional<std::uint64_t> completions_ok{}, completions_error{};
    std::optional<std::uint64_t> deepest{}; ///< most requests under way; most completions from one arm to the next
    std::optional<std::uint64_t> armed{};
    std::optional<std::uint64_t> events{}; ///< written into the queue; of a completion queue: about it
};

enum class QueueKind : std::uint8_t { send, receive, completion, event };
inline constexpr std::size_t queue_kind_count = 4;
std::string_view name_of(QueueKind kind);

struct QueueRow {
    std::string card{}, name{}; ///< "A.hca", "A.hca QP 0x41 send"
    QueueKind kind{};
    QueueCounts counts{};
};

/// All queues of one kind on a card.
struct QueueSum {
    std::string card{};
    QueueKind kind{};
    std::uint64_t queues = 0;
    QueueCounts counts{}; ///< sums; of `deepest` the largest
};

struct QueueReport {
    std::vector<QueueRow> busiest{}; ///< by card, then kind; within them the busiest first
    std::vector<QueueSum> sums{};    ///< in the same order
};

class Queues final : public traces::Sink {
public:
    explicit Queues(const Sources& sources) : sources_(sources) {}
    void on(const traces::Stamp& stamp, const traces::Event& event) override;

    /// Every queue that anything went through, at most `limit` rows of each card and kind.
    QueueReport report(std::size_t limit) const;

private:
    /// Work requests that were begun and are not known to be complete: their indices, oldest first.
    class UnderWay {
    public:
        void add(std::uint16_t index) { indices_.push_back(index); }
        /// A completion stands for all before it that asked for none.
        void complete(std::uint16_t index);
        void clear() { indices_.clear(), done_ = 0; }
        std::size_t size() const { return indices_.size() - done_; }

    private:
        std::vector<std::uint16_t> indices_;
        std::size_t done_ = 0; ///< so many of them, at the front
    };
    struct Send {
        std::uint64_t requests = 0, again = 0, bytes = 0, ok = 0, error = 0, deepest = 0;
        std::uint16_t newest = 0;
        bool has_begun = false; ///< since it was last reset
        UnderWay under_way;
    };
    struct Receive {
        std::uint64_t bytes = 0, ok = 0, error = 0;
    };
    struct Completion {
        std::uint64_t ok = 0, error = 0, armed = 0, since_arm = 0, deepest = 0, events = 0;
    };
    struct EventQueue {
        std::uint64_t events = 0;
    };

    /// Rows by number. Numbers have 24 bits and are dense from wherever they start.
    template <class Row> class Table {
    public:
        /// Null when there is none of that number yet.
        Row* find(std::uint32_t number) {
            const std::size_t page = (number & 0xffffff) / page_rows;
            return page < pages_.size() && pages_[page] ? &(*pages_[page])[number % page_rows] : nullptr;
        }
        Row& at(std::uint32_t number) {
            const std::size_t page = (number & 0xffffff) / page_rows;
            if (page >= pages_.size())
                pages_.resize(page + 1);
            if (!pages_[page])
                pages_[page] = std::make_unique<Page>();
            return (*pages_[page])[number % page_rows];
        }
        template <class Visit> void for_each(Visit&& visit) const {
            for (std::size_t page = 0; page < pages_.size(); ++page)
                for (std::size_t i = 0; pages_[page] && i < page_rows; ++i)
                    visit(static_cast<std::uint32_t>(page * page_rows + i), (*pages_[page])[i]);
        }

    private:
        static constexpr std::size_t page_rows = 64;
        using Page = std::array<Row, page_rows>;
        std::vector<std::unique_ptr<Page>> pages_;
    };
    struct Card {
        Table<Send> sends;
        Table<Receive> receives;
        Table<Completion> completions;
        Table<EventQueue> events;
    };

    static QueueCounts counts_of(const Send& queue);
    static QueueCounts counts_of(const Receive& queue);
    static QueueCounts counts_of(const Completion& queue);
    static QueueCounts counts_of(const EventQueue& queue);
    static void on(Card& card, const traces::WqeFetched& event);
    static void on(Card& card, const traces::QueueStateChanged& event);
    static void on(Card& card, const traces::CompletionWritten& event);
    static void on(Card& card, const traces::CompletionArmed& event);
    static void on(Card& card, const traces::EventWritten& event);
    template <class Row>
    void add(const Table<Row>& table, std::string_view card, QueueKind kind, std::size_t limit,
             QueueReport& report) const;

    const Sources& sources_;
    std::vector<std::unique_ptr<Card>> cards_; ///< by source; null: a component without queues
};

} // namespace platform::observe::count
