#include "platform/record/script.h"

#include <fmt/format.h>

#include <algorithm>

namespace platform::record {

using namespace traces::codec;
using model::port::DmaStatus;

namespace {

/// How far ahead the recording is read while the device does what it did: more than any device is early by.
constexpr std::size_t most_bytes = 16 << 20, most_inputs = 4096, most_expected = 65536;
constexpr std::size_t most_calls = 64; ///< that have a frame, of which one may be in progress

} // namespace

Script::Script(Reader& reader, const DeviceInterfaces& interfaces, std::size_t most_held)
    : steps_(reader, interfaces), deeds_(interfaces), most_held_(most_held) {
    expectations_.more = [this] { return read_ahead(); };
}

std::size_t Script::held_bytes() const { return memory_.held_bytes() + input_bytes_; }

std::size_t Script::footprint_bytes() const {
    return memory_.footprint_bytes() + expectations_.held_bytes() + input_bytes_ + inputs_.size() * sizeof(Input) +
           waiting_ * sizeof(Step);
}

const Input* Script::next() {
    const auto is_whole = [this] { // a read is, with its answer
        const auto& first = inputs_.front().step;
        return first.what != Step::What::read && first.signal != Signal::space_read &&
                       first.signal != Signal::space_write
                   ? true
                   : inputs_.front().answer.has_value();
    };
    while (inputs_.empty() || !is_whole())
        if (!read_one())
            return inputs_.empty() ? nullptr : &inputs_.front();
    return &inputs_.front();
}

Input Script::take() {
    auto input = std::move(inputs_.front());
    inputs_.pop_front();
    input_bytes_ -= input.step.bytes.size() + (input.answer ? input.answer->bytes.size() : 0);
    memory_.forget(input.step.record);
    return input;
}

std::uint64_t Script::next_record() {
    const auto* input = next();
    return input != nullptr ? input->step.record : ~std::uint64_t{0};
}

bool Script::read_ahead() {
    return held_bytes() < most_bytes && inputs_.size() < most_inputs && expectations_.held() < most_expected &&
           read_one();
}

bool Script::read_one() {
    const auto* step = fault() ? nullptr : steps_.peek();
    if (step == nullptr)
        return false;
    if (footprint_bytes() > most_held_) {
        fault_ = Fault{.kind = FaultKind::excessive,
                       .block = steps_.blocks(),
                       .reason = fmt::format("record {}: to go on, more than {} MiB of what the device reads and does "
                                             "would be held; strictly it plays with less",
                                             step->record, most_held_ >> 20)};
        return false;
    }
    end_ = std::max(end_, step->at);
    if (step->direction == Direction::outbound)
        deed(*step);
    else if (step->is_call())
        call(*step);
    else
        answer(*step);
    steps_.take();
    return true;
}

void Script::call(const Step& step) {
    if (step.what == Step::What::signal) {
        // When the device is woken, delivers to itself, and finds room on the wire is its own time; so is what it
        // answers to whether it takes packets.
        switch (step.signal) {
        case Signal::wake:
        case Signal::room: own_ = step.at; return;
        case Signal::settle:
        case Signal::cannot_take: return;
        default: break;
        }
    }
    Input input{.step = step, .bar = {}, .answer = {}, .own = own_};
    if (step.what == Step::What::write || step.what == Step::What::read)
        input.bar = steps_.bar_of(step.place, step.address);
    if (step.what == Step::What::frame) {
        queue_pairs_[step.record] = deeds_.queue_pair_of(step);
        if (queue_pairs_.size() > most_calls)
            queue_pairs_.erase(queue_pairs_.begin());
    }
    deeds_.called(step, input.bar ? &*input.bar : nullptr);
    input_bytes_ += step.bytes.size();
    inputs_.push_back(std::move(input));
}

/// The last one that waits: what was done in the course of its answer has been answered before.
std::optional<Step> Script::answered(Waiting& waiting, std::size_t place) {
    auto& steps = waiting[place];
    if (steps.empty())
        return std::nullopt;
    auto step = std::move(steps.back());
    steps.pop_back();
    --waiting_;
    return step;
}

void Script::answer(const Step& step) {
    const auto is_read = step.what == Step::What::data || step.signal == Signal::no_answer;
    if (is_read) {
        const auto asked = answered(reads_, step.place);
        if (!asked)
            return;
        const auto status = step.what == Step::What::data ? step.status : DmaStatus::timeout;
        memory_.observe(asked->record, asked->address, asked->length, step.bytes, status, step.at - asked->at);
        if (status == DmaStatus::ok)
            deeds_.has_read(step.place, asked->address, step.bytes);
        return;
    }
    const auto value = step.told.value;
    switch (step.signal) {
    case Signal::written:
        if (const auto write = answered(writes_, step.place))
            expectations_.answered(write->record, {static_cast<DmaStatus>(step.told.number & 3),
                                                   Time(static_cast<std::int64_t>(value)) - write->at});
        return;
    case Signal::sent:
        if (const auto frame = answered(frames_, step.told.port)) {
            // What it took by itself, not what it waited for the one before.
            const Time out(static_cast<std::int64_t>(value));
            auto& before = sent_[step.told.port];
            expectations_.answered(frame->record, {.took = out - std::max(frame->at, before)});
            before = out;
        }
        return;
    case Signal::turned:
    case Signal::traffic:
    case Signal::traffic_bytes:
    case Signal::discarded:
    case Signal::waited: wire_answers_[{step.told.port, step.signal}].push_back(value); return;
    default: return;
    }
}

void Script::deed(const Step& step) {
    const auto is_answer = step.what == Step::What::data || step.is(Direction::outbound, Signal::space_value);
    if (is_answer) {
        const auto asks = [&](const Input& input) {
            const bool is_read = step.what == Step::What::data ? input.step.what == Step::What::read
                                                               : input.step.signal == Signal::space_read ||
                                                                     input.step.signal == Signal::space_write;
            return is_read && input.step.place == step.place && !input.answer;
        };
        const auto asked = std::find_if(inputs_.rbegin(), inputs_.rend(), asks);
        if (asked != inputs_.rend()) {
            asked->answer = step;
            input_bytes_ += step.bytes.size();
        }
        return;
    }
    const auto keep = [&](Waiting& where) {
        auto& kept = where[step.place].emplace_back(step);
        kept.bytes = {};
        ++waiting_;
    };
    if (step.what == Step::What::read)
        return keep(reads_);
    if (step.is(Direction::outbound, Signal::wake_at) || step.is(Direction::outbound, Signal::settled))
        return;
    if (step.what == Step::What::write)
        keep(writes_);
    else if (step.what == Step::What::frame)
        keep(frames_);
    const auto call = queue_pairs_.find(step.cause);
    expectations_.add(deeds_.of(step, call == queue_pairs_.end() ? 0 : call->second));
}

std::uint64_t Script::wire_answer(std::size_t port, Signal signal, std::uint64_t otherwise) {
    auto& answers = wire_answers_[{port, signal}];
    while (answers.empty())
        if (!read_ahead())
            return otherwise;
    const auto value = answers.front();
    if (answers.size() > 1)
        answers.pop_front();
    return value;
}

} // namespace platform::record
