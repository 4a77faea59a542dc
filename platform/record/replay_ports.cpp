// The outside of a device that is played again: its ports, answered from the recording.
#include "platform/record/replay.h"

#include "model/wire/builder.h"

#include <algorithm>

namespace platform::record {

using namespace traces::codec;
using namespace model;
using port::DmaStatus;
using port::Time;

class Replay::Dma final : public port::Dma {
public:
    Dma(Replay& replay, std::size_t function) : replay_(replay), function_(function) {}

    port::DmaResult read(abi::BusAddress address, std::span<std::byte> into, Time at, port::Purpose) override {
        std::ranges::fill(into, std::byte{});
        Step step = access(Step::What::read, address.value, into.size(), at);
        if (!replay_.expect(step)) {
            if (const auto* known = std::exchange(replay_.inquired_, nullptr); known != nullptr)
                std::ranges::copy(std::span(known->bytes).first(std::min(into.size(), known->bytes.size())),
                                  into.begin());
            return {DmaStatus::ok, at};
        }
        const auto late = replay_.late_;
        const auto* answer = replay_.answer(function_, Signal::no_answer, Step::What::data, "a read");
        if (answer == nullptr)
            return {DmaStatus::ok, at};
        const auto is_timeout = answer->what == Step::What::signal;
        const port::DmaResult result{is_timeout ? DmaStatus::timeout : answer->status, answer->at + late};
        const auto count = std::min(into.size(), answer->bytes.size());
        std::ranges::copy(std::span(answer->bytes).first(count), into.begin());
        replay_.steps_.take();
        return result;
    }
    port::DmaResult write(abi::BusAddress address, std::span<const std::byte> from, Time at, port::Purpose) override {
        note_issued(at);
        Step step = access(Step::What::write, address.value, from.size(), at);
        step.bytes.assign(from.begin(), from.end());
        if (!replay_.expect(step))
            return {DmaStatus::ok, at};
        const auto late = replay_.late_;
        const auto* answer = replay_.answer(function_, Signal::written, Step::What::signal, "a write");
        if (answer == nullptr)
            return {DmaStatus::ok, at};
        const port::DmaResult result{static_cast<DmaStatus>(answer->told.number & 3),
                                     Time(static_cast<std::int64_t>(answer->told.value)) + late};
        replay_.steps_.take();
        return result;
    }
    port::Loan lend(abi::BusAddress, std::size_t, Time at, port::Purpose) override {
        return {nullptr, {DmaStatus::ok, at}}; // as while it was recorded
    }
    Time next_read(Time now) override {
        const auto* step = replay_.has_stopped() ? nullptr : replay_.peek();
        if (step == nullptr || !step->is(Direction::inbound, Signal::cannot_read) || step->place != function_)
            return now;
        const Time at(static_cast<std::int64_t>(step->told.value));
        replay_.steps_.take();
        return std::max(now, at + replay_.late_);
    }

private:
    Step access(Step::What what, std::uint64_t address, std::size_t length, Time at) const {
        Step step;
        step.what = what;
        step.direction = Direction::outbound;
        step.at = at;
        step.place = function_;
        step.address = address;
        step.length = length;
        return step;
    }
    Replay& replay_;
    std::size_t function_;
};

class Replay::Clock final : public port::Clock {
public:
    explicit Clock(Replay& replay) : replay_(replay) {}
    Time now() const override {
        if (!replay_.has_stopped())
            replay_.peek(); // which passes over what the recording says of the time
        return replay_.now();
    }
    void wake_at(Time at) override {
        replay_.wake_ = std::min(replay_.wake_, at);
        if (replay_.mode_ == Mode::strict)
            replay_.expect(
                replay_.outbound(Signal::wake_at, replay_.now(), {.value = static_cast<std::uint64_t>(at.count())}));
    }

private:
    Replay& replay_;
};

class Replay::Interrupts final : public port::Interrupts {
public:
    Interrupts(Replay& replay, std::size_t function) : replay_(replay), function_(function) {}
    void raise(std::uint16_t vector, Time at) override {
        replay_.expect(replay_.outbound(Signal::interrupt, at, {.number = vector}, function_));
    }

private:
    Replay& replay_;
    std::size_t function_;
};

class Replay::Wire final : public port::Wire {
public:
    Wire(Replay& replay, std::uint16_t number) : replay_(replay), number_(number) {}
    bool can_send(Time) override {
        const auto* step = replay_.has_stopped() ? nullptr : replay_.peek();
        if (step == nullptr || !step->is(Direction::inbound, Signal::cannot_send) || step->told.port != number_)
            return true;
        replay_.steps_.take();
        return false;
    }
    port::Packet& next() override {
        packet_.clear();
        return packet_;
    }
    Time send(Time at) override {
        Step step;
        step.what = Step::What::frame;
        step.direction = Direction::outbound;
        step.at = at;
        step.place = number_;
        if (packet_.image.empty())
            wire::build(packet_, step.bytes);
        else
            step.bytes = packet_.image;
        if (!replay_.expect(step))
            return at;
        const auto late = replay_.late_;
        const auto out = told(Signal::sent, "a frame");
        return out ? Time(static_cast<std::int64_t>(*out)) + late : at;
    }
    bool set_on(bool is_on, Time at) override {
        const auto step = replay_.outbound(Signal::turn, at, {.port = number_, .value = is_on});
        return replay_.expect(step) ? told(Signal::turned, "turning the link").value_or(0) != 0 : is_on;
    }
    port::Traffic sent() const override {
        const auto packets = told(Signal::traffic, "the traffic"), bytes = told(Signal::traffic_bytes, "the traffic");
        return {packets.value_or(0), bytes.value_or(0)};
    }
    port::Hindered hindered() const override {
        const auto discarded = told(Signal::discarded, "what was discarded"), waited = told(Signal::waited, "waiting");
        return {discarded.value_or(0), Time(static_cast<std::int64_t>(waited.value_or(0)))};
    }

private:
    std::optional<std::uint64_t> told(Signal signal, const char* question) const {
        const auto* answer = replay_.answer(0, signal, Step::What::signal, question);
        if (answer == nullptr)
            return std::nullopt;
        const auto value = answer->told.value;
        replay_.steps_.take();
        return value;
    }
    Replay& replay_;
    std::uint16_t number_;
    port::Packet packet_;
};

Replay::Replay(Reader& reader, const DeviceInterfaces& interfaces, Mode mode, LinkSizes sizes)
    : steps_(reader, interfaces), mode_(mode), sizes_(sizes), interfaces_(interfaces),
      clock_(std::make_unique<Clock>(*this)), ports_((dmas_.push_back(std::make_unique<Dma>(*this, 0)),
                                                      interrupts_.push_back(std::make_unique<Interrupts>(*this, 0)),
                                                      pcie::DevicePorts{*dmas_[0], *clock_, *interrupts_[0]})) {
    for (std::uint16_t number = 0; number < interfaces.ports.size(); ++number) {
        wires_.push_back(std::make_unique<Wire>(*this, number));
        wire_pointers_.push_back(wires_.back().get());
    }
    for (std::size_t number = 0; number < interfaces.functions.size(); ++number) {
        if (number != 0) {
            dmas_.push_back(std::make_unique<Dma>(*this, number));
            interrupts_.push_back(std::make_unique<Interrupts>(*this, number));
        }
        functions_.push_back({*dmas_.back(), *interrupts_.back()});
    }
    ports_.wires = wire_pointers_;
    ports_.functions = functions_;
}

Replay::~Replay() = default;

} // namespace platform::record
