#include "platform/record/divergence.h"

#include "abi/prm/cqe.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <span>

namespace platform::record {

using namespace traces::codec;
using What = Step::What;

std::string_view name(Divergence::Kind kind) {
    constexpr std::array<std::string_view, 5> names{"missing", "extra", "order", "field", "time"};
    return names[static_cast<std::size_t>(kind)];
}

std::string Divergence::text() const {
    return fmt::format("{} at record {}\n  expected: {}\n  actual:   {}", name(kind), record, expected, actual);
}

bool is_same_sort(const Step& one, const Step& other) {
    return one.what == other.what && one.place == other.place &&
           (one.what != What::signal || (one.signal == other.signal && one.told.port == other.told.port));
}

namespace {

using Entry = std::array<std::byte, abi::prm::Cqe64::size>;
/// A completion, by its signature: without it, and without its time stamp. Nothing: it is none.
std::optional<Entry> without_time(std::span<const std::byte> bytes) {
    if (bytes.size() < Entry{}.size())
        return std::nullopt;
    Entry entry;
    std::ranges::copy(bytes.last(entry.size()), entry.begin());
    const abi::View<abi::prm::Cqe64> cqe(entry);
    if (cqe.get<"signature">() != abi::prm::cqe_signature(entry))
        return std::nullopt;
    cqe.set<"timestamp">(0).set<"signature">(0);
    return entry;
}

/// A completion says when it was written (PRM "CQE", timestamp): at another time it has another time stamp.
bool has_same_bytes(const Step& one, const Step& other) {
    if (one.bytes == other.bytes)
        return true;
    if (one.what != What::write || one.at == other.at || one.bytes.size() != other.bytes.size())
        return false;
    const auto mine = without_time(one.bytes);
    const auto front = one.bytes.size() - std::min(one.bytes.size(), Entry{}.size());
    return mine && mine == without_time(other.bytes) &&
           std::ranges::equal(std::span(one.bytes).first(front), std::span(other.bytes).first(front));
}

} // namespace

bool is_same_deed(const Step& one, const Step& other) {
    if (!is_same_sort(one, other) || one.address != other.address || !has_same_bytes(one, other))
        return false;
    if (one.what != What::signal)
        return one.length == other.length;
    const bool is_time = one.signal == Signal::wake_at; // its value is one
    return one.told.number == other.told.number && (is_time || one.told.value == other.told.value);
}

namespace {

bool is_answer_to(const Step& answer, const Step& deed) {
    if (answer.direction != Direction::inbound || answer.is_call())
        return false;
    return deed.what == What::read && answer.place == deed.place &&
           (answer.what == What::data || answer.is(Direction::inbound, Signal::no_answer));
}

using Sequence = std::vector<const Step*>;
Sequence without(Sequence steps, std::size_t number) {
    steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(number));
    return steps;
}
Sequence rest(Sequence steps) { return without(std::move(steps), 0); }

/// How many of the first ones agree.
std::size_t agreement(const Sequence& one, const Sequence& other) {
    std::size_t count = 0;
    while (count < one.size() && count < other.size() && is_same_deed(*one[count], *other[count]))
        ++count;
    return count;
}

std::optional<std::size_t> find(const Sequence& steps, const Step& wanted) {
    const auto found = std::ranges::find_if(steps, [&](const Step* step) { return is_same_deed(*step, wanted); });
    return found == steps.end() ? std::nullopt
                                : std::optional(static_cast<std::size_t>(std::distance(steps.begin(), found)));
}

} // namespace

const Step* Inquiry::happens(const Step& actual) {
    if (came_.size() == most_steps)
        return nullptr;
    came_.push_back(actual);
    for (std::size_t i = 0; i < to_come_.size(); ++i) {
        if (is_used_[i] || to_come_[i].direction != Direction::outbound || !is_same_deed(to_come_[i], actual))
            continue;
        is_used_[i] = true;
        for (auto later = i + 1; later < to_come_.size(); ++later) {
            if (is_answer_to(to_come_[later], to_come_[i]))
                return &to_come_[later];
            if (to_come_[later].what == What::read)
                break; // that is another's
        }
        return nullptr;
    }
    return nullptr;
}

Divergence Inquiry::judge() const {
    using enum Divergence::Kind;
    Sequence expected, actual;
    for (const auto& step : to_come_)
        if (step.direction == Direction::outbound)
            expected.push_back(&step);
    for (const auto& step : came_)
        actual.push_back(&step);

    Divergence divergence{
        .kind = extra, .expected = "nothing more in this call", .actual = "nothing: the call is over"};
    divergence.next = to_come_.empty() ? 0 : to_come_.front().record;
    if (!actual.empty()) {
        divergence.actual = describe(*actual.front());
        divergence.actual_step = *actual.front();
    }
    if (expected.empty()) {
        divergence.others = actual.empty() ? 0 : actual.size() - 1;
        return divergence;
    }
    // Of two that explain as much, the first in this order.
    std::size_t best = 0;
    const auto propose = [&](Divergence::Kind kind, std::size_t explained) {
        if (explained + 1 > best) {
            best = explained + 1;
            divergence.kind = kind;
            const std::size_t is_it = kind == field || kind == order ? 2 : 1; // of both sides, or of one
            divergence.others = expected.size() + actual.size() - is_it - 2 * explained;
        }
    };
    if (actual.empty()) {
        propose(missing, 0);
    } else {
        const auto later = find(actual, *expected.front()), earlier = find(expected, *actual.front());
        if (later && earlier) {
            propose(order, std::max(agreement(rest(expected), without(actual, *later)),
                                    agreement(without(expected, *earlier), rest(actual))));
            divergence.other = expected[*earlier]->record;
        }
        if (is_same_sort(*expected.front(), *actual.front()))
            propose(field, agreement(rest(expected), rest(actual)));
        propose(missing, agreement(rest(expected), actual));
        propose(extra, agreement(expected, rest(actual)));
    }
    if (divergence.kind != order)
        divergence.other = 0;
    if (divergence.kind == extra) {
        divergence.expected = fmt::format("nothing here; next would be {}", describe(*expected.front()));
        return divergence;
    }
    divergence.record = expected.front()->record;
    divergence.expected = describe(*expected.front());
    divergence.expected_step = *expected.front();
    return divergence;
}

} // namespace platform::record
