#include "platform/record/recorded_device.h"

#include "traces/codec/layouts.h"

#include <array>
#include <cassert>

namespace platform::record {

using namespace traces::codec;
using namespace model;
using port::Time;

namespace {

constexpr unsigned most_bars = 6;

/// One call of the device at a time of its own.
struct Inbound {
    Boundary& boundary;
    Journal::Call call;
    unsigned place;
    /// Whatever it happens in the course of is in the journal before it.
    Inbound(Boundary& a_boundary, Time at)
        : boundary((a_boundary.happens(), a_boundary)), call(a_boundary.journal()), place(a_boundary.enter()) {
        boundary.now_is(at);
    }
    ~Inbound() { boundary.leave(place); }
    Inbound(const Inbound&) = delete;
    Inbound& operator=(const Inbound&) = delete;
};

} // namespace

std::uint64_t unknown_bar_address(unsigned function, unsigned bar) {
    return std::uint64_t{function * most_bars + bar + 1} << 48;
}

/// What software sees of one function.
class RecordedDevice::Front final : public pcie::Function, public port::RegisterSpaces {
public:
    Front(Boundary& boundary, const BarAddress& addresses, unsigned number, pcie::Function& function)
        : boundary_(boundary), addresses_(addresses), number_(number), function_(function),
          link_(boundary.link(number)) {}

    port::DmaResult bar_read(unsigned bar, std::uint64_t offset, std::span<std::byte> into, Time at) override {
        Inbound inbound(boundary_, at);
        const auto address = address_of(bar, at) + offset;
        const auto asked = link_.read(Direction::inbound, address, into.size(), at);
        inbound.call.is(asked.record);
        const auto result = function_.bar_read(bar, offset, into, at);
        link_.answer(Direction::outbound, address, into, result, asked);
        return result;
    }
    void bar_write(unsigned bar, std::uint64_t offset, std::span<const std::byte> from, Time at) override {
        Inbound inbound(boundary_, at);
        const auto address = address_of(bar, at) + offset;
        inbound.call.is(link_.write(Direction::inbound, address, from, at));
        function_.bar_write(bar, offset, from, at);
    }
    std::span<std::byte> direct(unsigned, std::uint64_t) override { return {}; }
    std::size_t peek(unsigned bar, std::uint64_t offset, std::span<std::byte> into) override {
        return function_.peek(bar, offset, into);
    }
    std::size_t poke(unsigned bar, std::uint64_t offset, std::span<const std::byte> from) override {
        return function_.poke(bar, offset, from);
    }
    port::RegisterSpaces* spaces() override {
        inner_spaces_ = function_.spaces();
        return inner_spaces_ == nullptr ? nullptr : this;
    }
    void page_answered(std::uint16_t group, std::uint8_t code, Time at) override {
        Inbound inbound(boundary_, at);
        inbound.call.is(link_.signal(Direction::inbound, Signal::page_answer, at, {.number = group, .value = code}));
        function_.page_answered(group, code, at);
    }
    void reset(Time at) override {
        Inbound inbound(boundary_, at);
        inbound.call.is(link_.signal(Direction::inbound, Signal::reset, at, {}));
        function_.reset(at);
    }

    void note_injected(unsigned bar, std::uint64_t offset, std::span<const std::byte> bytes) {
        const auto at = boundary_.known_now();
        Inbound inbound(boundary_, at);
        link_.write(Direction::inbound, address_of(bar, at) + offset, bytes, at, injected);
    }

    // RegisterSpaces
    std::uint32_t size(Space space) const override { return inner_spaces_->size(space); }
    std::optional<std::uint32_t> read(Space space, std::uint32_t address, Time at) override {
        Inbound inbound(boundary_, at);
        inbound.call.is(link_.signal(Direction::inbound, Signal::space_read, at,
                                     {.number = static_cast<std::uint32_t>(space), .value = address}));
        const auto value = inner_spaces_->read(space, address, at);
        link_.signal(Direction::outbound, Signal::space_value, at,
                     {.number = value.has_value(), .value = value.value_or(0)});
        return value;
    }
    bool write(Space space, std::uint32_t address, std::uint32_t value) override {
        const auto at = boundary_.known_now(); // it is told no time
        Inbound inbound(boundary_, at);
        inbound.call.is(
            link_.signal(Direction::inbound, Signal::space_write, at,
                         {.number = static_cast<std::uint32_t>(space), .value = std::uint64_t{value} << 32 | address}));
        const bool is_there = inner_spaces_->write(space, address, value);
        link_.signal(Direction::outbound, Signal::space_value, at, {.number = is_there});
        return is_there;
    }
    std::optional<std::uint32_t> next(Space space, std::uint32_t address) const override {
        return inner_spaces_->next(space, address);
    }

private:
    /// When one BAR has moved, so may have others, and an address be in the place of another one's.
    std::uint64_t address_of(unsigned bar, Time at) {
        const auto address = addresses_(number_, bar);
        if (told_.at(bar) == address) [[likely]]
            return address;
        for (unsigned each = 0; each < most_bars; ++each) {
            auto& told = told_[each];
            const auto now = each == bar ? address : addresses_(number_, each);
            if ((told || each == bar) && told != now)
                link_.signal(Direction::inbound, Signal::bar_address, at, {.number = each, .value = *(told = now)});
        }
        return address;
    }

    Boundary& boundary_;
    const BarAddress& addresses_;
    unsigned number_;
    pcie::Function& function_;
    LinkLog& link_;
    port::RegisterSpaces* inner_spaces_ = nullptr;
    std::array<std::optional<std::uint64_t>, most_bars> told_{};
};

/// What the cable sees of one network port.
class RecordedDevice::Ear final : public port::Receiver {
public:
    Ear(Boundary& boundary, std::uint16_t number, port::Receiver& receiver)
        : boundary_(boundary), number_(number), receiver_(receiver) {}

    void receive(port::Packet& packet, Time at) override {
        Inbound inbound(boundary_, at);
        inbound.call.is(boundary_.frame(number_, Direction::inbound, packet, at));
        receiver_.receive(packet, at);
    }
    void received_all(Time at) override {
        Inbound inbound(boundary_, at);
        inbound.call.is(tell(Signal::batch_end, at, 0));
        receiver_.received_all(at);
    }
    bool can_receive(Time now) override {
        const bool can = receiver_.can_receive(now);
        if (!can) {
            Inbound inbound(boundary_, now);
            tell(Signal::cannot_take, now, 0);
        }
        return can;
    }
    void link_changed(bool is_up, Time at) override {
        Inbound inbound(boundary_, at);
        inbound.call.is(tell(Signal::link, at, is_up));
        receiver_.link_changed(is_up, at);
    }
    void ready(Time at) override {
        Inbound inbound(boundary_, at);
        inbound.call.is(tell(Signal::room, at, 0));
        receiver_.ready(at);
    }

private:
    RecordNumber tell(Signal signal, Time at, std::uint64_t value) {
        return boundary_.link(0).signal(Direction::inbound, signal, at, {.port = number_, .value = value});
    }
    Boundary& boundary_;
    std::uint16_t number_;
    port::Receiver& receiver_;
};

RecordedDevice::RecordedDevice(Boundary& boundary, pcie::Device& device, BarAddress addresses)
    : boundary_(boundary), device_(device), addresses_(std::move(addresses)) {
    fronts_.push_back(std::make_unique<Front>(boundary, addresses_, 0, device));
    for (std::uint16_t number = 0; number < boundary.interfaces().ports.size(); ++number) {
        auto* receiver = device.receiver(number);
        ears_.push_back(receiver == nullptr ? nullptr : std::make_unique<Ear>(boundary, number, *receiver));
    }
}

RecordedDevice::~RecordedDevice() = default;

std::unique_ptr<RecordedDevice> RecordedDevice::make(Boundary& boundary, const pcie::DevicePorts& outside,
                                                     const Make& make, BarAddress addresses) {
    auto ports = std::make_unique<RecordedPorts>(boundary, outside);
    auto device = make(ports->ports());
    auto recorded = std::make_unique<RecordedDevice>(boundary, *device, std::move(addresses));
    recorded->own_ports_ = std::move(ports);
    recorded->own_device_ = std::move(device);
    return recorded;
}

pcie::Function* RecordedDevice::function(unsigned number) {
    if (number == 0)
        return this;
    auto* function = device_.function(number);
    if (function == nullptr)
        return nullptr;
    assert(number < boundary_.interfaces().functions.size() && "each function has an interface in the trace");
    fronts_.resize(std::max<std::size_t>(fronts_.size(), number + 1));
    if (fronts_[number] == nullptr)
        fronts_[number] = std::make_unique<Front>(boundary_, addresses_, number, *function);
    return fronts_[number].get();
}

void RecordedDevice::wake(Time now) {
    Inbound inbound(boundary_, now);
    inbound.call.is(boundary_.link(0).signal(Direction::inbound, Signal::wake, now, {}));
    device_.wake(now);
}

bool RecordedDevice::settle() {
    const auto now = boundary_.known_now();
    std::optional<Inbound> call;
    boundary_.expect([&] {
        call.emplace(boundary_, now);
        call->call.is(boundary_.link(0).signal(Direction::inbound, Signal::settle, now, {}));
    });
    const bool has_settled = device_.settle();
    if (has_settled)
        boundary_.happens();
    boundary_.expect(nullptr);
    if (call)
        boundary_.link(0).signal(Direction::outbound, Signal::settled, now, {.value = has_settled});
    return has_settled;
}

port::Receiver* RecordedDevice::receiver(unsigned number) {
    return number < ears_.size() ? ears_[number].get() : nullptr;
}

port::DmaResult RecordedDevice::bar_read(unsigned bar, std::uint64_t offset, std::span<std::byte> into, Time at) {
    return fronts_[0]->bar_read(bar, offset, into, at);
}
void RecordedDevice::bar_write(unsigned bar, std::uint64_t offset, std::span<const std::byte> from, Time at) {
    fronts_[0]->bar_write(bar, offset, from, at);
}
std::size_t RecordedDevice::peek(unsigned bar, std::uint64_t offset, std::span<std::byte> into) {
    return device_.peek(bar, offset, into);
}
std::size_t RecordedDevice::poke(unsigned bar, std::uint64_t offset, std::span<const std::byte> from) {
    return device_.poke(bar, offset, from);
}
port::RegisterSpaces* RecordedDevice::spaces() { return fronts_[0]->spaces(); }
void RecordedDevice::page_answered(std::uint16_t group, std::uint8_t code, Time at) {
    fronts_[0]->page_answered(group, code, at);
}
void RecordedDevice::reset(Time at) { fronts_[0]->reset(at); }
void RecordedDevice::note_injected(unsigned bar, std::uint64_t offset, std::span<const std::byte> bytes) {
    fronts_[0]->note_injected(bar, offset, bytes);
}

} // namespace platform::record
