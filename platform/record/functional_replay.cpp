#include "platform/record/functional_replay.h"

#include "platform/record/packets.h"
#include "platform/record/time_valued.h"

#include <algorithm>
#include <utility>

namespace platform::record {

using namespace traces::codec;
using namespace model;
using port::Time;
using Kind = Divergence::Kind;

namespace {

/// Wakes of a device in the course of which nothing comes that the recording waits for.
constexpr unsigned most_idle = 100'000;
/// How long a device may take longer than the recorded one: retransmissions give up sooner.
constexpr Time most_late = std::chrono::seconds(30);
/// How long it is listened to after a difference, since what is missing may only be late.
constexpr Time aftermath = std::chrono::milliseconds(1);
constexpr unsigned most_aftermath = 10'000;

Time later(Time at, Time by) { return at > port::never - by ? port::never : at + by; }

} // namespace

Replay::Result FunctionalReplay::run(pcie::Device& device) {
    device_ = &device;
    auto& expectations = script_.expectations();
    unsigned idle = 0;
    for (std::uint64_t compared = 0; !has_stopped();) {
        if (std::exchange(compared, compared_) != compared_)
            idle = 0;
        const auto* input = script_.next();
        if (input == nullptr)
            break;
        const auto at = std::max(now_, input->step.at + late_);
        // A call may revoke a key in the middle of a READ: how much of it was answered by then, is in the recording.
        if (idle < most_idle && advance(std::min(at, later(input->own, late_)))) {
            ++idle;
            continue;
        }
        // All that it did before this may be what led to it.
        if (const auto missing = expectations.earliest(); missing != 0 && missing < input->step.record) {
            if (++idle < most_idle && advance(later(at, most_late)))
                continue;
            expectations.deadlock("nothing: the device waits, and so does " + describe(input->step));
            break;
        }
        idle = 0;
        const auto taken = script_.take();
        applied_ = taken.step.record;
        if (!taken.bar) // a processor may be ahead: its accesses make nothing that comes next later
            now_ = at;
        play(taken, at);
    }
    if (!has_stopped())
        let_it_end(later(script_.end(), late_));
    if (expectations.has_diverged())
        for (unsigned i = 0, end = most_aftermath; i < end && advance(later(now_, aftermath)); ++i) {
        }
    auto divergence = expectations.conclude();
    if (divergence) {
        divergence->call = applied_;
        const auto* input = script_.next();
        divergence->next = input == nullptr ? 0 : input->step.record;
    }
    return {
        .records = script_.records(), .calls = calls_, .divergence = std::move(divergence), .fault = script_.fault()};
}

/// There are no more calls: what the recorded device did by itself is still to come.
void FunctionalReplay::let_it_end(Time until) {
    auto& expectations = script_.expectations();
    while (script_.read_ahead()) {
    }
    until = std::max(until, later(script_.end(), late_));
    for (unsigned i = 0; i < most_idle && !has_stopped(); ++i)
        if (!advance(expectations.is_done() ? until : later(until, most_late)))
            break;
    expectations.finish();
}

// --- time ---

Time FunctionalReplay::due() const {
    auto at = wake_;
    for (const auto at_port : rooms_)
        at = std::min(at, at_port);
    return at;
}

/// The next thing that the device does by itself, if it is due by then. False: there is none.
bool FunctionalReplay::advance(Time until) {
    const auto at = due();
    if (at == port::never || at > until)
        return false;
    now_ = std::max(now_, at);
    ++calls_;
    if (wake_ <= now_) {
        wake_ = port::never;
        device_->wake(now_);
    } else {
        const auto port = static_cast<std::size_t>(std::ranges::min_element(rooms_) - rooms_.begin());
        rooms_[port] = port::never;
        if (auto* receiver = device_->receiver(static_cast<unsigned>(port)))
            receiver->ready(now_);
    }
    settle();
    return true;
}

/// Where time plays no part, the device delivers to itself when its call is over.
void FunctionalReplay::settle() {
    for (unsigned i = 0; i < most_idle && device_->settle(); ++i) {
    }
}

// --- what is done to the device ---

void FunctionalReplay::play(const Input& input, Time at) {
    const auto& step = input.step;
    deeds_.called(step, input.bar ? &*input.bar : nullptr);
    ++calls_;
    auto* function = step.what == Step::What::frame ? device_ : device_->function(static_cast<unsigned>(step.place));
    const bool is_access = step.what == Step::What::write || step.what == Step::What::read;
    if (function == nullptr)
        impossible(step, "no such function");
    else if (is_access && !input.bar)
        impossible(step, "no BAR has this address");
    else if (step.what == Step::What::frame)
        receive(input);
    else if (step.what == Step::What::signal)
        signal(*function, input);
    else if (step.what == Step::What::write)
        function->bar_write(input.bar->bar, input.bar->offset, step.bytes, at);
    else
        read_bar(*function, input, at);
    settle();
}

void FunctionalReplay::read_bar(pcie::Function& function, const Input& input, Time at) {
    std::vector<std::byte> bytes(input.step.length);
    const auto result = function.bar_read(input.bar->bar, input.bar->offset, bytes, at);
    if (!input.answer)
        return; // the recording ends in its course
    Step actual;
    actual.record = input.answer->record;
    actual.what = Step::What::data;
    actual.direction = Direction::outbound;
    actual.at = result.done;
    actual.status = result.status;
    if (result.is_ok())
        actual.bytes = bytes, actual.length = bytes.size();
    auto expected = input.answer->bytes;
    if (deeds_.is_hca()) {
        blank_time(input.bar->bar, input.bar->offset, bytes);
        blank_time(input.bar->bar, input.bar->offset, expected);
    }
    if (!result.is_ok())
        bytes.clear();
    if (actual.status != input.answer->status || bytes != expected)
        different(*input.answer, actual);
}

void FunctionalReplay::receive(const Input& input) {
    const auto& step = input.step;
    auto* receiver = device_->receiver(static_cast<unsigned>(step.place));
    if (receiver == nullptr)
        return impossible(step, "no such port");
    for (unsigned i = 0; i < most_idle && !receiver->can_receive(now_); ++i)
        if (!advance(port::never))
            break;
    become(packet_, step.bytes, interfaces_.ports[step.place].encapsulation);
    queue_pair_ = deeds_.queue_pair_of(step);
    receiver->receive(packet_, now_);
    queue_pair_ = 0;
}

void FunctionalReplay::signal(pcie::Function& function, const Input& input) {
    using Space = port::RegisterSpaces::Space;
    const auto& step = input.step;
    const auto answered = [&](std::uint32_t number, std::uint64_t value) {
        if (!input.answer || (input.answer->told.number == number && input.answer->told.value == value))
            return;
        auto actual = *input.answer;
        actual.told.number = number;
        actual.told.value = value;
        different(*input.answer, actual);
    };
    switch (step.signal) {
    case Signal::reset: return function.reset(now_);
    case Signal::page_answer:
        return function.page_answered(static_cast<std::uint16_t>(step.told.number),
                                      static_cast<std::uint8_t>(step.told.value), now_);
    case Signal::space_read:
    case Signal::space_write: {
        auto* spaces = function.spaces();
        if (spaces == nullptr)
            return impossible(step, "no register spaces");
        const auto space = static_cast<Space>(step.told.number);
        const auto address = static_cast<std::uint32_t>(step.told.value);
        if (step.signal == Signal::space_write)
            return answered(spaces->write(space, address, static_cast<std::uint32_t>(step.told.value >> 32)), 0);
        const auto value = spaces->read(space, address, now_);
        return answered(value.has_value(), value.value_or(0));
    }
    default: return port_signal(step);
    }
}

void FunctionalReplay::port_signal(const Step& step) {
    auto* receiver = device_->receiver(step.told.port);
    if (receiver == nullptr)
        return impossible(step, "no such port");
    if (step.signal == Signal::batch_end)
        receiver->received_all(now_);
    else if (step.signal == Signal::link)
        receiver->link_changed(step.told.value != 0, now_);
    else
        impossible(step, "no such call");
}

void FunctionalReplay::impossible(const Step& step, const char* why) {
    script_.expectations().differ({.kind = Kind::missing,
                                   .record = step.record,
                                   .expected = describe(step),
                                   .actual = why,
                                   .expected_step = step});
}

void FunctionalReplay::different(const Step& expected, const Step& actual) {
    script_.expectations().differ({.kind = Kind::field,
                                   .record = expected.record,
                                   .expected = describe(expected),
                                   .actual = describe(actual),
                                   .expected_step = expected,
                                   .actual_step = actual});
}

// --- what it does ---

std::optional<Expectations::Match> FunctionalReplay::take(Step step) {
    if (script_.fault())
        return std::nullopt;
    step.direction = Direction::outbound;
    const auto at = step.at;
    const auto deed = deeds_.of(std::move(step), queue_pair_);
    const auto match = script_.expectations().take(deed, script_.next_record());
    if (match) {
        ++compared_;
        late_ = std::max(Time{}, at - match->at);
    }
    return match;
}

} // namespace platform::record
