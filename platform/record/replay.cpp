#include "platform/record/replay.h"

#include "platform/record/packets.h"

#include <fmt/format.h>

#include <algorithm>

namespace platform::record {

using namespace traces::codec;
using namespace model;
using port::DmaStatus;
using port::Time;

// --- comparing ---

void Replay::diverge(Divergence::Kind kind, const Step* expected, std::string actual, const Step* actual_step) {
    if (has_stopped())
        return;
    const auto record = expected == nullptr ? 0 : expected->record;
    divergence_ = Divergence{.kind = kind,
                             .record = record,
                             .expected = expected == nullptr ? "nothing more" : describe(*expected),
                             .actual = std::move(actual),
                             .next = record,
                             .call = call_};
    if (expected != nullptr)
        divergence_->expected_step = *expected;
    if (actual_step != nullptr)
        divergence_->actual_step = *actual_step;
    records_ = steps_.records();
}

/// The device does the same, and its link makes other TLPs of it: then the first of those is the difference.
bool Replay::is_cut_otherwise(const Step& expected, const Step& actual, std::uint64_t address) {
    const bool is_access = expected.what == Step::What::write || expected.what == Step::What::read ||
                           (expected.what == Step::What::data && expected.status == DmaStatus::ok);
    if (!is_access || !sizes_.has_changed()) [[likely]]
        return false;
    const auto sort = expected.what == Step::What::write  ? TlpSort::write
                      : expected.what == Step::What::read ? TlpSort::read_request
                                                          : TlpSort::completion;
    const auto other = first_other_tlp(sort, address, expected.length, sizes_);
    if (!other)
        return false;
    const auto tlp = [&](const Step& step, std::uint32_t length) {
        auto one = step;
        one.address = other->address;
        one.length = length;
        if (!step.bytes.empty()) {
            const auto begin = step.bytes.begin() + static_cast<std::ptrdiff_t>(other->address - address);
            one.bytes.assign(begin, begin + length);
        }
        return one;
    };
    auto recorded = tlp(expected, other->recorded);
    const auto played = tlp(actual, other->played);
    // An access of several records, one behind the other, has as many as it has blocks.
    recorded.record += other->address / most_recorded_payload - address / most_recorded_payload;
    diverge(Divergence::Kind::field, &recorded, describe(played), &played);
    return true;
}

/// From here on the device does not do what it did. What it was to do in this call is what the recording has of the
/// same access at the gate.
void Replay::inquire() {
    constexpr std::size_t most_steps = 4096, most_bytes = 16 << 20;
    records_ = steps_.records();
    std::vector<Step> to_come;
    std::size_t bytes = 0;
    for (const auto* step = peek(); step != nullptr && step->gate == gate_; step = peek()) {
        if (to_come.size() == most_steps || bytes > most_bytes)
            break;
        bytes += step->bytes.size();
        to_come.push_back(*step);
        steps_.take();
    }
    const auto* next = to_come.empty() ? peek() : &to_come.front();
    next_ = next == nullptr ? 0 : next->record;
    inquiry_.emplace(std::move(to_come));
}

/// The device does this now: is it what it did? If so, that is taken.
bool Replay::expect(const Step& actual) {
    if (inquiry_)
        inquired_ = inquiry_->happens(actual);
    if (has_stopped())
        return false;
    const auto* expected = peek();
    while (is_unasked(expected)) {
        steps_.take();
        expected = peek();
    }
    if (steps_.fault())
        return false;
    const bool is_wake = actual.what == Step::What::signal && actual.signal == Signal::wake_at;
    if (expected == nullptr || expected->direction != Direction::outbound || !is_same_deed(*expected, actual)) {
        inquire();
        inquired_ = inquiry_->happens(actual);
        return false;
    }
    if (is_cut_otherwise(*expected, actual, expected->address))
        return false;
    if (mode_ == Mode::strict &&
        (expected->at != actual.at || (is_wake && expected->told.value != actual.told.value))) {
        diverge(Divergence::Kind::time, expected, describe(actual), &actual);
        return false;
    }
    late_ = actual.at - expected->at;
    steps_.take();
    return true;
}

/// The recorded answer to what the device has just done. Calls that were made meanwhile are made first.
const Step* Replay::answer(std::size_t place, Signal signal, Step::What what, const char* question) {
    while (!has_stopped()) {
        const auto* step = peek();
        if (step != nullptr && step->direction == Direction::inbound && step->place == place &&
            ((step->what == what && what != Step::What::signal) ||
             (step->what == Step::What::signal && step->signal == signal)))
            return step;
        if (step != nullptr && step->is_call())
            call(*step);
        else
            diverge(Divergence::Kind::extra, step, fmt::format("{} that was not answered then", question));
    }
    return nullptr;
}

Step Replay::outbound(Signal signal, Time at, LinkLog::Told told, std::size_t place) {
    Step step;
    step.direction = Direction::outbound;
    step.signal = signal;
    step.at = at;
    step.told = told;
    step.place = place;
    return step;
}

// --- playing ---

/// The next step that counts: who is woken when it asks does not ask as it did.
const Step* Replay::peek() {
    const auto* step = steps_.peek();
    while (mode_ == Mode::untimed && step != nullptr && step->is(Direction::outbound, Signal::wake_at)) {
        steps_.take();
        step = steps_.peek();
    }
    return step;
}

/// An answer of the wire, or of its tags, to a question that the device, at another time, has not asked.
bool Replay::is_unasked(const Step* step) const {
    return mode_ == Mode::untimed && step != nullptr &&
           (step->is(Direction::inbound, Signal::cannot_send) || step->is(Direction::inbound, Signal::cannot_read));
}

Time Replay::now() const { return mode_ == Mode::strict ? steps_.now() : std::max(now_, steps_.now()); }

/// Wakes the device at the time it has asked for. False: it has not.
bool Replay::wake() {
    if (wake_ == port::never)
        return false;
    now_ = std::max(now(), std::exchange(wake_, port::never));
    device_->wake(now_);
    return true;
}

Replay::Result Replay::run(pcie::Device& device) {
    constexpr unsigned most_idle = 100'000; ///< wakes of a device in the course of which it does nothing
    device_ = &device;
    std::uint64_t waits_for = 0;
    for (unsigned idle = 0; !has_stopped();) {
        const auto* step = peek();
        if (step == nullptr)
            break;
        idle = std::exchange(waits_for, step->record) == step->record ? idle + 1 : 0;
        if (is_unasked(step)) {
            steps_.take();
        } else if (mode_ == Mode::untimed && step->is(Direction::inbound, Signal::wake)) {
            const auto at = step->at;
            steps_.take();
            steps_.now_is(at);
            if (wake_ <= now()) // a later one comes when something waits for it
                wake();
        } else if (step->is_call()) {
            call(*step);
        } else if (mode_ == Mode::strict || idle == most_idle || !wake())
            diverge(Divergence::Kind::missing, step, "nothing: the call is over");
    }
    if (inquiry_) {
        divergence_ = inquiry_->judge();
        divergence_->next = next_;
        divergence_->call = call_;
    }
    // What the inquiry has read ahead is no part of what was played.
    return {.records = divergence_ ? records_ : steps_.records(),
            .calls = calls_,
            .divergence = divergence_,
            .fault = divergence_ ? std::nullopt : steps_.fault()};
}

void Replay::call(Step step) {
    steps_.take();
    steps_.now_is(step.at);
    step.at = now(); // a processor that is ahead of the others calls at a later time than who calls next
    ++calls_;
    ++depth_;
    gate_ = step.gate;
    const auto outer = std::exchange(call_, step.record);
    auto* function = step.what == Step::What::frame ? device_ : device_->function(static_cast<unsigned>(step.place));
    if (function == nullptr) {
        diverge(Divergence::Kind::missing, &step, "no such function");
    } else if (step.what == Step::What::frame) {
        receive(step);
    } else if (step.what == Step::What::signal) {
        signal(*function, step);
    } else if (const auto bar = steps_.bar_of(step.place, step.address); !bar) {
        diverge(Divergence::Kind::missing, &step, "no BAR has this address");
    } else if (step.what == Step::What::write) {
        function->bar_write(bar->bar, bar->offset, step.bytes, step.at);
    } else {
        read_bar(*function, step, *bar);
    }
    if (--depth_ != 0 && !has_stopped())
        call_ = outer;
}

void Replay::read_bar(pcie::Function& function, const Step& step, Steps::BarPlace at) {
    std::vector<std::byte> bytes(step.length);
    const auto result = function.bar_read(at.bar, at.offset, bytes, step.at);
    if (has_stopped())
        return;
    Step actual;
    actual.what = Step::What::data;
    actual.direction = Direction::outbound;
    actual.at = result.done;
    actual.status = result.status;
    actual.length = result.is_ok() ? bytes.size() : 0;
    if (result.is_ok())
        actual.bytes = std::move(bytes);
    const auto* expected = peek();
    if (expected == nullptr || !expected->is(Direction::outbound, Step::What::data) || expected->place != step.place)
        diverge(Divergence::Kind::missing, expected, describe(actual), &actual);
    else if (expected->status != actual.status || expected->bytes != actual.bytes)
        diverge(Divergence::Kind::field, expected, describe(actual), &actual);
    else if (is_cut_otherwise(*expected, actual, step.address))
        return;
    else if (mode_ == Mode::strict && expected->at != actual.at)
        diverge(Divergence::Kind::time, expected, describe(actual), &actual);
    else
        steps_.take();
}

void Replay::receive(const Step& step) {
    auto* receiver = device_->receiver(static_cast<unsigned>(step.place));
    if (receiver == nullptr)
        return diverge(Divergence::Kind::missing, &step, "no such port");
    while (packets_.size() < depth_)
        packets_.push_back(std::make_unique<port::Packet>());
    auto& packet = *packets_[depth_ - 1];
    become(packet, step.bytes, interfaces_.ports[step.place].encapsulation);
    receiver->receive(packet, step.at);
}

void Replay::signal(pcie::Function& function, const Step& step) {
    using Space = port::RegisterSpaces::Space;
    const auto answered = [&](Signal wanted, std::uint32_t number, std::uint64_t value) {
        auto actual = outbound(wanted, step.at, {.number = number, .value = value}, step.place);
        const auto* expected = has_stopped() ? nullptr : peek();
        if (has_stopped())
            return;
        if (expected == nullptr || !expected->is(Direction::outbound, wanted))
            return diverge(Divergence::Kind::missing, expected, describe(actual), &actual);
        if (expected->told.number != number || expected->told.value != value)
            return diverge(Divergence::Kind::field, expected, describe(actual), &actual);
        steps_.take();
    };
    auto* spaces =
        step.signal == Signal::space_read || step.signal == Signal::space_write ? function.spaces() : nullptr;
    switch (step.signal) {
    case Signal::wake: return device_->wake(step.at);
    case Signal::reset: return function.reset(step.at);
    case Signal::page_answer:
        return function.page_answered(static_cast<std::uint16_t>(step.told.number),
                                      static_cast<std::uint8_t>(step.told.value), step.at);
    case Signal::settle: return answered(Signal::settled, 0, device_->settle());
    case Signal::space_read:
    case Signal::space_write: {
        if (spaces == nullptr)
            return diverge(Divergence::Kind::missing, &step, "no register spaces");
        const auto space = static_cast<Space>(step.told.number);
        const auto address = static_cast<std::uint32_t>(step.told.value);
        if (step.signal == Signal::space_write)
            return answered(Signal::space_value,
                            spaces->write(space, address, static_cast<std::uint32_t>(step.told.value >> 32)), 0);
        const auto value = spaces->read(space, address, step.at);
        return answered(Signal::space_value, value.has_value(), value.value_or(0));
    }
    default: return port_signal(step);
    }
}

void Replay::port_signal(const Step& step) {
    auto* receiver = device_->receiver(step.told.port);
    if (receiver == nullptr)
        return diverge(Divergence::Kind::missing, &step, "no such port");
    switch (step.signal) {
    case Signal::batch_end: return receiver->received_all(step.at);
    case Signal::link: return receiver->link_changed(step.told.value != 0, step.at);
    case Signal::room: return receiver->ready(step.at);
    case Signal::cannot_take:
        if (receiver->can_receive(step.at))
            diverge(Divergence::Kind::field, &step, "that packets are taken");
        return;
    default: return diverge(Divergence::Kind::missing, &step, "no such call");
    }
}

} // namespace platform::record
