#include "platform/observe/count/queues.h"

#include "abi/prm/cqe.h"
#include "abi/prm/eqe.h"

#include <fmt/format.h>

#include <algorithm>

namespace platform::observe::count {
namespace {

using namespace traces;

/// Indices of WQEs count modulo 2^16, and a ring has at most half as many.
bool is_behind(std::uint16_t index, std::uint16_t other) {
    return static_cast<std::int16_t>(static_cast<std::uint16_t>(index - other)) < 0;
}

enum class Side : std::uint8_t { send, receive, neither };

Side side_of(std::uint8_t opcode) {
    using enum abi::prm::CqeOpcode;
    switch (static_cast<abi::prm::CqeOpcode>(opcode)) {
    case req:
    case req_err: return Side::send;
    case resp_wr_imm:
    case resp_send:
    case resp_send_imm:
    case resp_send_inv:
    case resp_err: return Side::receive;
    default: return Side::neither;
    }
}

/// Everything that went through.
std::uint64_t work(const QueueCounts& c) {
    return c.requests.value_or(0) + c.requests_again.value_or(0) + c.completions_ok.value_or(0) +
           c.completions_error.value_or(0) + c.armed.value_or(0) + c.events.value_or(0);
}

void add_to(QueueCounts& sum, const QueueCounts& one) {
    for (const auto member :
         {&QueueCounts::requests, &QueueCounts::requests_again, &QueueCounts::bytes, &QueueCounts::completions_ok,
          &QueueCounts::completions_error, &QueueCounts::armed, &QueueCounts::events})
        if (one.*member)
            sum.*member = (sum.*member).value_or(0) + *(one.*member);
    if (one.deepest)
        sum.deepest = std::max(sum.deepest.value_or(0), *one.deepest);
}

std::string print_name(std::string_view card, QueueKind kind, std::uint32_t number) {
    switch (kind) {
    case QueueKind::send:
    case QueueKind::receive: return fmt::format("{} QP {:#x} {}", card, number, name_of(kind));
    case QueueKind::completion: return fmt::format("{} CQ {:#x}", card, number);
    case QueueKind::event: return fmt::format("{} EQ {:#x}", card, number);
    }
    return {};
}

} // namespace

std::string_view name_of(QueueKind kind) {
    constexpr std::array<std::string_view, queue_kind_count> names{"send", "receive", "completion", "event"};
    return names[static_cast<std::size_t>(kind)];
}

void Queues::UnderWay::complete(std::uint16_t index) {
    while (done_ < indices_.size() && !is_behind(index, indices_[done_]))
        ++done_;
    // What is done goes once it is most of the whole, so that each moves at most once.
    if (done_ > indices_.size() / 2) {
        indices_.erase(indices_.begin(), indices_.begin() + static_cast<std::ptrdiff_t>(done_));
        done_ = 0;
    }
}

void Queues::on(const Stamp& stamp, const Event& event) {
    std::visit(
        [&]<class E>(const E& e) {
            if constexpr (requires(Card& card) { on(card, e); }) {
                if (stamp.source >= cards_.size())
                    cards_.resize(stamp.source + std::size_t{1});
                auto& card = cards_[stamp.source];
                if (!card)
                    card = std::make_unique<Card>();
                on(*card, e);
            }
        },
        event);
}

void Queues::on(Card& card, const WqeFetched& event) {
    auto& queue = card.sends.at(event.qpn);
    if (queue.has_begun && !is_behind(queue.newest, event.index)) {
        ++queue.again;
        return;
    }
    queue.has_begun = true;
    queue.newest = event.index;
    ++queue.requests;
    queue.bytes += event.length;
    queue.under_way.add(event.index);
    queue.deepest = std::max<std::uint64_t>(queue.deepest, queue.under_way.size());
}

void Queues::on(Card& card, const QueueStateChanged& event) {
    constexpr std::uint8_t reset = 0; // the number that both the PRM and traces/event.h give it
    auto* queue = card.sends.find(event.qpn);
    if (queue == nullptr || (event.from != reset && event.to != reset))
        return;
    queue->has_begun = false;
    queue->under_way.clear();
}

void Queues::on(Card& card, const CompletionWritten& event) {
    const bool is_error = event.syndrome != 0;
    auto& cq = card.completions.at(event.cqn);
    ++(is_error ? cq.error : cq.ok);
    if (cq.armed != 0)
        cq.deepest = std::max(cq.deepest, ++cq.since_arm);
    const auto side = side_of(event.opcode);
    if (side == Side::send) {
        auto& queue = card.sends.at(event.qpn);
        ++(is_error ? queue.error : queue.ok);
        queue.under_way.complete(event.wqe_counter);
    } else if (side == Side::receive) {
        auto& queue = card.receives.at(event.qpn);
        ++(is_error ? queue.error : queue.ok);
        queue.bytes += is_error ? 0 : event.byte_count;
    }
}

void Queues::on(Card& card, const CompletionArmed& event) {
    auto& cq = card.completions.at(event.cqn);
    ++cq.armed;
    cq.since_arm = 0;
}

void Queues::on(Card& card, const EventWritten& event) {
    ++card.events.at(event.eqn).events;
    if (event.type == static_cast<std::uint8_t>(abi::prm::EventType::completion))
        ++card.completions.at(event.number).events;
}

QueueCounts Queues::counts_of(const Send& queue) {
    return {.requests = queue.requests,
            .requests_again = queue.again,
            .bytes = queue.bytes,
            .completions_ok = queue.ok,
            .completions_error = queue.error,
            .deepest = queue.deepest};
}

QueueCounts Queues::counts_of(const Receive& queue) {
    return {.bytes = queue.bytes, .completions_ok = queue.ok, .completions_error = queue.error};
}

QueueCounts Queues::counts_of(const Completion& queue) {
    return {.completions_ok = queue.ok,
            .completions_error = queue.error,
            .deepest = queue.armed == 0 ? std::nullopt : std::optional(queue.deepest),
            .armed = queue.armed,
            .events = queue.events};
}

QueueCounts Queues::counts_of(const EventQueue& queue) { return {.events = queue.events}; }

template <class Row>
void Queues::add(const Table<Row>& table, std::string_view card, QueueKind kind, std::size_t limit,
                 QueueReport& report) const {
    struct Found {
        std::uint64_t work;
        std::uint32_t number;
        const Row* row;
    };
    std::vector<Found> found;
    QueueSum sum{.card = std::string(card), .kind = kind};
    table.for_each([&](std::uint32_t number, const Row& row) {
        const auto counts = counts_of(row);
        if (work(counts) == 0)
            return;
        found.push_back({work(counts), number, &row});
        ++sum.queues;
        add_to(sum.counts, counts);
    });
    if (found.empty())
        return;
    const auto last = found.begin() + static_cast<std::ptrdiff_t>(std::min(limit, found.size()));
    std::ranges::partial_sort(found, last, [](const Found& a, const Found& b) {
        return a.work != b.work ? a.work > b.work : a.number < b.number;
    });
    for (auto one = found.begin(); one != last; ++one)
        report.busiest.push_back({.card = std::string(card),
                                  .name = print_name(card, kind, one->number),
                                  .kind = kind,
                                  .counts = counts_of(*one->row)});
    report.sums.push_back(std::move(sum));
}

QueueReport Queues::report(std::size_t limit) const {
    QueueReport report;
    for (std::size_t source = 0; source < cards_.size(); ++source) {
        if (!cards_[source])
            continue;
        const auto& card = *cards_[source];
        const auto name = sources_.name(static_cast<std::uint16_t>(source));
        add(card.sends, name, QueueKind::send, limit, report);
        add(card.receives, name, QueueKind::receive, limit, report);
        add(card.completions, name, QueueKind::completion, limit, report);
        add(card.events, name, QueueKind::event, limit, report);
    }
    return report;
}

} // namespace platform::observe::count
