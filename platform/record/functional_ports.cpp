// The outside of a device that is played functionally: memory by its addresses, a clock that goes from one thing to
// the next, and a cable that is as fast as the recorded one was.
#include "platform/record/functional_replay.h"

#include "model/wire/builder.h"

#include <algorithm>

namespace platform::record {

using namespace traces::codec;
using namespace model;
using port::DmaStatus;
using port::Time;

namespace {
constexpr Time most_early = std::chrono::microseconds(10);
constexpr std::size_t most_early_calls = 8;
} // namespace

class FunctionalReplay::Dma final : public port::Dma {
public:
    Dma(FunctionalReplay& replay, std::size_t function) : replay_(replay), function_(function) {}

    port::DmaResult read(abi::BusAddress address, std::span<std::byte> into, Time at, port::Purpose) override {
        std::ranges::fill(into, std::byte{});
        auto& script = replay_.script_;
        if (replay_.has_stopped())
            return {DmaStatus::ok, at};
        // It may read a little sooner than it did. What it did read then is what is there, not what was there before.
        while (script.end() < at - replay_.late_ + most_early && script.calls_ahead() < most_early_calls &&
               script.read_ahead()) {
        }
        const auto look = [&] {
            return script.memory().read(address.value, into, replay_.applied_, script.next_record());
        };
        auto answer = look();
        while (!answer.is_known && answer.status == DmaStatus::ok && script.read_ahead())
            answer = look();
        if (!answer.is_known && answer.status == DmaStatus::ok) {
            const auto step = access(Step::What::read, address.value, into.size(), at);
            script.expectations().differ({.kind = Divergence::Kind::extra,
                                          .record = script.expectations().earliest(),
                                          .expected = "no read there: the recording has not all of its bytes",
                                          .actual = describe(step),
                                          .actual_step = step});
        }
        if (answer.status == DmaStatus::ok)
            replay_.deeds_.has_read(function_, address.value, into);
        return {answer.status, at + answer.took};
    }
    port::DmaResult write(abi::BusAddress address, std::span<const std::byte> from, Time at, port::Purpose) override {
        note_issued(at);
        auto step = access(Step::What::write, address.value, from.size(), at);
        step.bytes.assign(from.begin(), from.end());
        const auto match = replay_.take(std::move(step));
        const auto answer = match ? match->answer : Expectations::Answer{};
        if (answer.status == DmaStatus::ok)
            replay_.script_.memory().write(address.value, from, match ? match->record : replay_.script_.next_record());
        return {answer.status, at + answer.took};
    }
    port::Loan lend(abi::BusAddress, std::size_t, Time at, port::Purpose) override {
        return {nullptr, {DmaStatus::ok, at}}; // as while it was recorded
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
    FunctionalReplay& replay_;
    std::size_t function_;
};

class FunctionalReplay::Clock final : public port::Clock {
public:
    explicit Clock(FunctionalReplay& replay) : replay_(replay) {}
    Time now() const override { return replay_.now_; }
    void wake_at(Time at) override { replay_.wake_ = std::min(replay_.wake_, at); }

private:
    FunctionalReplay& replay_;
};

class FunctionalReplay::Interrupts final : public port::Interrupts {
public:
    Interrupts(FunctionalReplay& replay, std::size_t function) : replay_(replay), function_(function) {}
    void raise(std::uint16_t vector, Time at) override {
        Step step;
        step.signal = Signal::interrupt;
        step.at = at;
        step.place = function_;
        step.told.number = vector;
        replay_.take(std::move(step));
    }

private:
    FunctionalReplay& replay_;
    std::size_t function_;
};

class FunctionalReplay::Wire final : public port::Wire {
public:
    Wire(FunctionalReplay& replay, std::uint16_t number) : replay_(replay), number_(number) {}
    /// A port books its transmitter some way ahead, and no further.
    bool can_send(Time now) override {
        if (busy_until_ < now + horizon)
            return true;
        replay_.rooms_[number_] = busy_until_ - horizon + Time{1};
        return false;
    }
    port::Packet& next() override {
        packet_.clear();
        return packet_;
    }
    Time send(Time at) override {
        Step step;
        step.what = Step::What::frame;
        step.at = at;
        step.place = number_;
        if (packet_.image.empty())
            wire::build(packet_, step.bytes);
        else
            step.bytes = packet_.image;
        const auto bytes = std::max<std::int64_t>(1, static_cast<std::int64_t>(step.bytes.size()));
        auto took = Time{ps_per_byte_ * bytes};
        if (const auto match = replay_.take(std::move(step))) {
            took = match->answer.took;
            ps_per_byte_ = took.count() / bytes;
        }
        return busy_until_ = std::max(at, busy_until_) + took;
    }
    bool set_on(bool is_on, Time at) override {
        Step step;
        step.signal = Signal::turn;
        step.at = at;
        step.told = {.port = number_, .number = 0, .value = is_on};
        replay_.take(std::move(step));
        return replay_.script_.wire_answer(number_, Signal::turned, is_on) != 0;
    }
    /// What the cable counts is the outside's, as far as the recording says.
    port::Traffic sent() const override {
        auto& script = replay_.script_;
        const auto packets = script.wire_answer(number_, Signal::traffic, 0);
        return {packets, script.wire_answer(number_, Signal::traffic_bytes, 0)};
    }
    port::Hindered hindered() const override {
        auto& script = replay_.script_;
        const auto discarded = script.wire_answer(number_, Signal::discarded, 0);
        return {discarded, Time(static_cast<std::int64_t>(script.wire_answer(number_, Signal::waited, 0)))};
    }

private:
    static constexpr Time horizon = std::chrono::microseconds(2);
    FunctionalReplay& replay_;
    std::uint16_t number_;
    port::Packet packet_;
    Time busy_until_{};
    std::int64_t ps_per_byte_ = 0; ///< of the last frame that the recording has
};

FunctionalReplay::FunctionalReplay(Reader& reader, const DeviceInterfaces& interfaces)
    : interfaces_(interfaces), script_(reader, interfaces), deeds_(interfaces),
      rooms_(interfaces.ports.size(), port::never), clock_(std::make_unique<Clock>(*this)),
      ports_((dmas_.push_back(std::make_unique<Dma>(*this, 0)),
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

FunctionalReplay::~FunctionalReplay() = default;

} // namespace platform::record
