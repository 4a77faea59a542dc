// The outside, as a recorded device sees it.
#include "platform/record/recorded_device.h"

#include "abi/wire/infiniband.h"
#include "model/wire/builder.h"

namespace platform::record {

using namespace traces::codec;
using namespace model;
using port::Time;

namespace {
/// What a shorter packet carries stays in its frame, where everybody sees it.
constexpr std::size_t least_shared_bytes = 256;
} // namespace

Boundary::Boundary(Journal& journal, const DeviceInterfaces& interfaces) : journal_(journal), interfaces_(interfaces) {
    for (const auto interface : interfaces.functions)
        links_.emplace_back(journal, interface);
}

void Boundary::has_seen(Time now) {
    if (now == known_now_) [[likely]]
        return;
    happens();
    known_now_ = now;
    links_.front().signal(Direction::inbound, Signal::time, now, {.value = static_cast<std::uint64_t>(now.count())});
}

void Boundary::leave(unsigned place) {
    if (place != depth_) [[unlikely]]
        links_.front().signal(Direction::inbound, Signal::tangled, known_now_, {});
    --depth_;
}

RecordNumber Boundary::frame(std::size_t port, Direction direction, const port::Packet& packet, Time at) {
    const auto interface = interfaces_.ports.at(port).interface;
    if (interface == not_recorded)
        return 0;
    if (packet.image.empty())
        wire::build(packet, image_);
    else
        image_ = packet.image;
    // What a packet carries is in memory at either end, and so in the recording, where memory is recorded: once.
    const auto carried = packet.is_plain_frame() ? 0 : packet.payload.size();
    const bool is_infiniband = interfaces_.ports[port].encapsulation == model::port::Encapsulation::infiniband;
    const auto behind = (abi::wire::icrc_bytes + (-carried & 3)) + (is_infiniband ? abi::wire::vcrc_bytes : 0);
    const bool is_shared = carried >= least_shared_bytes && carried + behind <= image_.size();
    if (is_shared)
        journal_.share(std::span(image_).last(carried + behind).first(carried));
    const auto number = journal_.put(interface, RecordKind::frame, direction, at, image_);
    if (is_shared)
        journal_.share({});
    return number;
}

class RecordedPorts::Dma final : public port::Dma {
public:
    Dma(Boundary& boundary, LinkLog& link, port::Dma& outside) : boundary_(boundary), link_(link), outside_(outside) {}

    port::DmaResult read(abi::BusAddress address, std::span<std::byte> into, Time at, port::Purpose purpose) override {
        boundary_.happens();
        const auto asked = link_.read(Direction::outbound, address.value, into.size(), at);
        const auto result = outside_.read(address, into, at, purpose);
        link_.answer(Direction::inbound, address.value, into, result, asked);
        return result;
    }
    port::DmaResult write(abi::BusAddress address, std::span<const std::byte> from, Time at,
                          port::Purpose purpose) override {
        boundary_.happens();
        note_issued(at);
        link_.write(Direction::outbound, address.value, from, at);
        const auto result = outside_.write(address, from, at, purpose);
        link_.signal(Direction::inbound, Signal::written, at,
                     {.number = static_cast<std::uint32_t>(result.status),
                      .value = static_cast<std::uint64_t>(result.done.count())});
        return result;
    }
    port::Loan lend(abi::BusAddress, std::size_t, Time at, port::Purpose) override {
        return {nullptr, {port::DmaStatus::ok, at}};
    }
    Time next_read(Time now) override {
        const auto at = outside_.next_read(now);
        if (at > now) {
            boundary_.happens();
            link_.signal(Direction::inbound, Signal::cannot_read, now,
                         {.value = static_cast<std::uint64_t>(at.count())});
        }
        return at;
    }

private:
    Boundary& boundary_;
    LinkLog& link_;
    port::Dma& outside_;
};

class RecordedPorts::Clock final : public port::Clock {
public:
    Clock(Boundary& boundary, port::Clock& outside) : boundary_(boundary), outside_(outside) {}
    Time now() const override {
        const auto now = outside_.now();
        boundary_.has_seen(now);
        return now;
    }
    void wake_at(Time at) override {
        boundary_.happens();
        boundary_.link(0).signal(Direction::outbound, Signal::wake_at, boundary_.known_now(),
                                 {.value = static_cast<std::uint64_t>(at.count())});
        outside_.wake_at(at);
    }

private:
    Boundary& boundary_;
    port::Clock& outside_;
};

class RecordedPorts::Interrupts final : public port::Interrupts {
public:
    Interrupts(Boundary& boundary, LinkLog& link, port::Interrupts& outside)
        : boundary_(boundary), link_(link), outside_(outside) {}
    void raise(std::uint16_t vector, Time at) override {
        boundary_.happens();
        link_.signal(Direction::outbound, Signal::interrupt, at, {.number = vector});
        outside_.raise(vector, at);
    }

private:
    Boundary& boundary_;
    LinkLog& link_;
    port::Interrupts& outside_;
};

class RecordedPorts::Wire final : public port::Wire {
public:
    Wire(Boundary& boundary, std::uint16_t number, port::Wire& outside)
        : boundary_(boundary), number_(number), outside_(outside) {}
    bool can_send(Time now) override {
        const bool can = outside_.can_send(now);
        if (!can) {
            boundary_.happens();
            tell(Signal::cannot_send, now, 0);
        }
        return can;
    }
    port::Packet& next() override { return *(packet_ = &outside_.next()); }
    Time send(Time at) override {
        boundary_.happens();
        boundary_.frame(number_, Direction::outbound, *packet_, at);
        const auto out = outside_.send(at);
        tell(Signal::sent, at, static_cast<std::uint64_t>(out.count()));
        return out;
    }
    bool set_on(bool is_on, Time at) override {
        boundary_.happens();
        boundary_.link(0).signal(Direction::outbound, Signal::turn, at, {.port = number_, .value = is_on});
        const bool is_up = outside_.set_on(is_on, at);
        tell(Signal::turned, at, is_up);
        return is_up;
    }
    port::Traffic sent() const override {
        const auto traffic = outside_.sent();
        boundary_.happens();
        tell(Signal::traffic, boundary_.known_now(), traffic.packets);
        tell(Signal::traffic_bytes, boundary_.known_now(), traffic.bytes);
        return traffic;
    }
    port::Hindered hindered() const override {
        const auto hindered = outside_.hindered();
        boundary_.happens();
        tell(Signal::discarded, boundary_.known_now(), hindered.discarded);
        tell(Signal::waited, boundary_.known_now(), static_cast<std::uint64_t>(hindered.waited.count()));
        return hindered;
    }

private:
    void tell(Signal signal, Time at, std::uint64_t value) const {
        boundary_.link(0).signal(Direction::inbound, signal, at, {.port = number_, .value = value});
    }
    Boundary& boundary_;
    std::uint16_t number_;
    port::Wire& outside_;
    port::Packet* packet_ = nullptr;
};

RecordedPorts::RecordedPorts(Boundary& boundary, const pcie::DevicePorts& outside)
    : clock_(std::make_unique<Clock>(boundary, outside.clock)),
      ports_((dmas_.push_back(std::make_unique<Dma>(boundary, boundary.link(0), outside.dma)),
              interrupts_.push_back(std::make_unique<Interrupts>(boundary, boundary.link(0), outside.interrupts)),
              pcie::DevicePorts{*dmas_[0], *clock_, *interrupts_[0]})) {
    for (std::uint16_t number = 0; number < outside.wires.size(); ++number) {
        wires_.push_back(std::make_unique<Wire>(boundary, number, *outside.wires[number]));
        wire_pointers_.push_back(wires_.back().get());
    }
    for (std::size_t number = 0; number < outside.functions.size(); ++number) {
        if (number != 0) { // function 0 has the device's
            const auto& function = outside.functions[number];
            auto& link = boundary.link(number);
            dmas_.push_back(std::make_unique<Dma>(boundary, link, function.dma));
            interrupts_.push_back(std::make_unique<Interrupts>(boundary, link, function.interrupts));
        }
        functions_.push_back({*dmas_.back(), *interrupts_.back()});
    }
    ports_.wires = wire_pointers_;
    ports_.functions = functions_;
}

RecordedPorts::~RecordedPorts() = default;

} // namespace platform::record
