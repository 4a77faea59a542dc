#include "platform/record/steps.h"

#include "platform/record/accesses.h"

#include <fmt/format.h>

#include <algorithm>

namespace platform::record {

using namespace traces::codec;
using model::port::DmaStatus;
using model::port::Time;

namespace {

/// 53 days. Whoever adds what a device takes to a time of a recording stays within the numbers that there are.
constexpr Time last_time{std::int64_t{1} << 62};

/// Whether the value of this signal is a time.
bool is_time(Signal signal) {
    switch (signal) {
    case Signal::time:
    case Signal::written:
    case Signal::sent:
    case Signal::no_answer: return true;
    default: return false;
    }
}

DmaStatus dma_status(abi::pcie::CompletionStatus status) {
    using enum abi::pcie::CompletionStatus;
    switch (status) {
    case success: return DmaStatus::ok;
    case unsupported_request: return DmaStatus::unsupported_request;
    default: return DmaStatus::completer_abort;
    }
}

std::uint64_t as_value(Time time) { return static_cast<std::uint64_t>(time.count()); }

std::string digits(std::span<const std::byte> bytes) {
    constexpr std::size_t most_shown = 16;
    std::string out;
    for (const auto byte : bytes.first(std::min(bytes.size(), most_shown)))
        out += fmt::format(" {:02x}", std::to_integer<unsigned>(byte));
    return bytes.size() > most_shown ? out + " ..." : out;
}

std::string_view name(Signal signal) {
    switch (signal) {
    case Signal::wake: return "the time that was asked for";
    case Signal::reset: return "a reset";
    case Signal::page_answer: return "the answer to page requests";
    case Signal::settle: return "the turn to deliver to itself";
    case Signal::batch_end: return "the end of a batch of packets";
    case Signal::link: return "a change of the link";
    case Signal::room: return "room on the wire";
    case Signal::cannot_take: return "that no packets are taken";
    case Signal::space_read: return "a read of a register space";
    case Signal::space_write: return "a write to a register space";
    case Signal::interrupt: return "an interrupt";
    case Signal::wake_at: return "the request to be woken";
    case Signal::settled: return "whether anything was delivered";
    case Signal::turn: return "turning the link";
    case Signal::space_value: return "the value of a register space";
    case Signal::bar_address: return "the address of a BAR";
    case Signal::time: return "the time";
    case Signal::written: return "the end of a write";
    case Signal::no_answer: return "that a read has no answer";
    case Signal::cannot_send: return "that the wire takes nothing";
    case Signal::sent: return "the end of a frame";
    case Signal::turned: return "the state of the link";
    case Signal::traffic:
    case Signal::traffic_bytes: return "the traffic so far";
    case Signal::discarded:
    case Signal::waited: return "what was not sent so far";
    case Signal::tangled: return "calls that end out of order";
    case Signal::cannot_read: return "that no read can leave";
    }
    return "an unknown signal";
}

} // namespace

bool Step::is_call() const {
    if (direction != Direction::inbound)
        return false;
    return what == What::signal ? signal < Signal::interrupt : what != What::data;
}

std::string describe(const Step& step) {
    const auto at = fmt::format("at {}.{:03} ns", step.at.count() / 1000, step.at.count() % 1000);
    switch (step.what) {
    case Step::What::write:
        return fmt::format("a write of {} bytes to {:#x} {}:{}", step.length, step.address, at, digits(step.bytes));
    case Step::What::read: return fmt::format("a read of {} bytes at {:#x} {}", step.length, step.address, at);
    case Step::What::data:
        if (step.status != DmaStatus::ok)
            return fmt::format("a refusal ({}) of a read {}", static_cast<unsigned>(step.status), at);
        return fmt::format("the answer of {} bytes {}:{}", step.length, at, digits(step.bytes));
    case Step::What::frame:
        return fmt::format("a frame of {} bytes at port {} {}:{}", step.bytes.size(), step.place, at,
                           digits(step.bytes));
    case Step::What::signal: break;
    }
    return fmt::format("{} (port {}, number {}, value {}) {}", name(step.signal), step.told.port, step.told.number,
                       step.told.value, at);
}

const Step* Steps::peek() {
    while (!has_step_) {
        if (!build())
            return nullptr;
        // What the recording tells along the way, and nobody asks for.
        if (step_.is(Direction::inbound, Signal::bar_address))
            bars_[{step_.place, step_.told.number}] = step_.told.value;
        else if (step_.is(Direction::inbound, Signal::time))
            now_ = Time(static_cast<std::int64_t>(step_.told.value));
        else
            has_step_ = true;
    }
    return &step_;
}

std::optional<Steps::BarPlace> Steps::bar_of(std::size_t function, std::uint64_t address) const {
    std::optional<BarPlace> best;
    for (const auto& [key, begin] : bars_)
        if (key.first == function && begin <= address && (!best || address - begin < best->offset))
            best = BarPlace{key.second, address - begin};
    return best;
}

/// The next record of this device.
bool Steps::load() {
    while (!raw_ && !is_at_end_ && !fault_) {
        const auto record = reader_.next();
        if (!record) {
            fault_ = record.error();
        } else if (*record == nullptr) {
            is_at_end_ = true;
        } else {
            const auto& one = **record;
            const bool is_ours =
                std::ranges::find(interfaces_.functions, one.interface) != interfaces_.functions.end() ||
                std::ranges::find(interfaces_.ports, one.interface, &DeviceInterfaces::Port::interface) !=
                    interfaces_.ports.end();
            if (is_ours)
                raw_ = Raw{one.number,
                           one.interface,
                           Time(one.time_ps),
                           one.mark,
                           {one.head.begin(), one.head.end()},
                           {one.payload.begin(), one.payload.end()}};
        }
    }
    return raw_.has_value();
}

bool Steps::build() {
    if (!load())
        return false;
    step_ = {};
    step_.record = raw_->number;
    step_.gate = raw_->mark.gate;
    step_.cause = raw_->mark.cause;
    step_.direction = raw_->mark.direction;
    step_.at = raw_->at;
    if (step_.at > last_time)
        return refuse("a time beyond all times");
    if (raw_->mark.kind == RecordKind::frame) {
        const auto port = std::ranges::find(interfaces_.ports, raw_->interface, &DeviceInterfaces::Port::interface);
        step_.what = Step::What::frame;
        step_.place = static_cast<std::size_t>(port - interfaces_.ports.begin());
        step_.bytes = std::move(raw_->head);
        raw_.reset();
        return true;
    }
    step_.place = static_cast<std::size_t>(std::ranges::find(interfaces_.functions, raw_->interface) -
                                           interfaces_.functions.begin());
    if (raw_->mark.kind == RecordKind::signal) {
        const abi::ConstView<SignalRecord> view(raw_->head);
        step_.what = Step::What::signal;
        step_.signal = static_cast<Signal>(view.get<"code">());
        step_.told = {.port = view.get<"port">(), .number = view.get<"number">(), .value = view.get<"value">()};
        const auto is_never = step_.signal == Signal::wake_at && step_.told.value == as_value(model::port::never);
        if ((is_time(step_.signal) || step_.signal == Signal::wake_at) && !is_never &&
            step_.told.value > as_value(last_time))
            return refuse("a time beyond all times");
        if (step_.signal == Signal::tangled)
            return refuse("a call of the device ended while a later one waited: from here on it cannot be played again",
                          FaultKind::unreadable);
        raw_.reset();
        return true;
    }
    if (raw_->mark.kind == RecordKind::continuation)
        return refuse("a continuation of nothing");
    return build_tlp();
}

bool Steps::build_tlp() {
    const auto first = *raw_;
    bool is_answer = false;
    if (const auto request = read_memory_request(first.head)) {
        step_.what = request->is_write ? Step::What::write : Step::What::read;
        step_.address = request->piece.address;
    } else if (const auto answer = read_completion(first.head)) {
        step_.what = Step::What::data;
        step_.status = dma_status(answer->status);
        is_answer = true;
    } else {
        return refuse("a TLP that is neither a memory request nor a completion");
    }
    do {
        std::uint32_t lead = 0, length = 0;
        if (const auto request = read_memory_request(raw_->head); request && !is_answer) {
            lead = request->piece.lead();
            length = request->piece.length;
            const bool is_same = request->is_write == (step_.what == Step::What::write);
            if (!is_same || request->piece.address != step_.address + step_.length)
                return refuse("a continuation of another access");
        } else if (const auto answer = read_completion(raw_->head); answer && is_answer) {
            lead = answer->lead;
            length = answer->length;
        } else {
            return refuse("a continuation of another access");
        }
        if (step_.length + length > most_access_)
            return refuse(fmt::format("an access of more than {} bytes", most_access_), FaultKind::excessive);
        step_.length += length;
        if (!raw_->payload.empty()) {
            if (lead + length > raw_->payload.size())
                return refuse("a TLP with fewer bytes than it enables");
            const auto begin = raw_->payload.begin() + lead;
            step_.bytes.insert(step_.bytes.end(), begin, begin + length);
        }
        raw_.reset();
    } while (load() && raw_->mark.kind == RecordKind::continuation && raw_->interface == first.interface);
    return !fault_;
}

bool Steps::refuse(std::string reason, FaultKind kind) {
    fault_ = Fault{.kind = kind,
                   .block = reader_.blocks(),
                   .reason = fmt::format("record {}: {}", step_.record, std::move(reason))};
    return false;
}

} // namespace platform::record
