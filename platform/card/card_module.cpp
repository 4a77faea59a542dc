#include "platform/card/card_module.h"

#include <cassert>
#include <stdexcept>
#include <string>

namespace platform::card {

namespace {
model::pcie::FunctionConfig in_slot(const SlotConfig& slot, model::pcie::FunctionConfig function) {
    function.link = slot.link;
    function.ats = slot.ats;
    return function;
}
model::tlm::Calls calls_in(const SlotConfig& slot) {
    return slot.neighbours != nullptr ? model::tlm::Calls::may_wait : model::tlm::Calls::at_once;
}
} // namespace

/// What the endpoint calls for one function: the device, in turn with its other callers.
class CardModule::Front final : public model::pcie::Function {
public:
    explicit Front(CardModule& card) : card_(card) {}
    /// There is nothing to call before this.
    void stand_before(Function& function) { function_ = &function; }

    model::port::DmaResult bar_read(unsigned bar, std::uint64_t offset, std::span<std::byte> into,
                                    model::port::Time at) override {
        // Waits for what was posted before, but not for its turn: it changes nothing that a chain of calls relies on,
        // and whoever reads may be the one who has what the device waits for.
        if (card_.posted_ != nullptr && !card_.posted_->push()) [[unlikely]]
            return {model::port::DmaStatus::timeout, card_.present(at)};
        return function_->bar_read(bar, offset, into, card_.present(at));
    }
    void bar_write(unsigned bar, std::uint64_t offset, std::span<const std::byte> from, model::port::Time at) override {
        if (must_post()) [[unlikely]]
            return card_.posted_->post(this, from.size(),
                                       [this, bar, offset, bytes = std::vector(from.begin(), from.end()), at] {
                                           write(bar, offset, bytes, at);
                                       });
        write(bar, offset, from, at);
    }
    std::span<std::byte> direct(unsigned bar, std::uint64_t offset) override { return function_->direct(bar, offset); }
    bool shows_at_arrival(unsigned bar) const override { return function_->shows_at_arrival(bar); }
    int file(unsigned bar) const override { return function_->file(bar); }
    std::size_t peek(unsigned bar, std::uint64_t offset, std::span<std::byte> into) override {
        return function_->peek(bar, offset, into);
    }
    std::size_t poke(unsigned bar, std::uint64_t offset, std::span<const std::byte> from) override {
        return function_->poke(bar, offset, from);
    }
    model::port::RegisterSpaces* spaces() override { return function_->spaces(); }
    void page_answered(std::uint16_t group, std::uint8_t code, model::port::Time at) override {
        if (must_post()) [[unlikely]]
            return card_.posted_->post(this, 0, [this, group, code, at] { take_answer(group, code, at); });
        take_answer(group, code, at);
    }
    void reset(model::port::Time at) override {
        if (card_.posted_ != nullptr) [[unlikely]]
            card_.posted_->drop(this);
        const model::tlm::Turn::Hold hold(card_.turn_);
        function_->reset(card_.present(at));
    }

private:
    bool must_post() const { return card_.posted_ != nullptr && !card_.posted_->may_enter(); }
    void write(unsigned bar, std::uint64_t offset, std::span<const std::byte> from, model::port::Time at) {
        const model::tlm::Turn::Hold hold(card_.turn_);
        function_->bar_write(bar, offset, from, card_.present(at));
        card_.flush();
    }
    void take_answer(std::uint16_t group, std::uint8_t code, model::port::Time at) {
        const model::tlm::Turn::Hold hold(card_.turn_);
        function_->page_answered(group, code, card_.present(at));
        card_.flush();
    }

    CardModule& card_;
    Function* function_ = nullptr;
};

/// Packets of one cable, where they take turns with other calls or may lead to packets on another cable.
class CardModule::Entrance final : public model::port::Receiver {
public:
    Entrance(CardModule& card, model::port::Receiver& receiver) : card_(card), receiver_(receiver) {}

    void receive(model::port::Packet& packet, model::port::Time at) override {
        const auto hold = card_.begin();
        receiver_.receive(packet, card_.present(at));
    }
    void received_all(model::port::Time at) override {
        const model::tlm::Turn::Hold hold(card_.turn_); // goes on with what the last packet has begun
        receiver_.received_all(card_.present(at));
        flush_others();
    }
    bool can_receive(model::port::Time at) override { return receiver_.can_receive(at); }
    bool takes_trains() const override { return receiver_.takes_trains(); }
    void ready(model::port::Time at) override {
        const auto hold = card_.begin();
        receiver_.ready(card_.present(at));
        flush_others();
    }
    void link_changed(bool is_up, model::port::Time at) override {
        const auto hold = card_.begin();
        receiver_.link_changed(is_up, card_.present(at));
    }

private:
    /// The cable that calls goes on by itself.
    void flush_others() {
        if (card_.plugs_.size() > 1)
            card_.flush();
    }

    CardModule& card_;
    model::port::Receiver& receiver_;
};

CardModule::CardModule(sc_core::sc_module_name name, const DeviceConfig& device, const SlotConfig& slot,
                       std::span<const Plug> plugs, const CardEvents& events)
    : CardModule(name, device.functions(), slot, plugs, events, [&](const model::pcie::DevicePorts& ports) {
          try {
              return device.make(ports, {.name = static_cast<const char*>(name), .events = events.device});
          } catch (const std::invalid_argument& refused) { // which names what it refuses, and not whose it is
              throw std::invalid_argument(std::string(this->name()) + ": " + refused.what());
          }
      }) {}

CardModule::CardModule(sc_core::sc_module_name name, const std::vector<model::pcie::FunctionConfig>& functions,
                       const SlotConfig& slot, std::span<const Plug> plugs, const CardEvents& events,
                       const MakeDevice& make)
    : sc_module(name), endpoint("pcie", parts(functions, slot)), turn_(calls_in(slot)),
      plugs_(plugs.begin(), plugs.end()), clock_([this](model::port::Time now) { wake(now); }, calls_in(slot)) {
    if (slot.neighbours != nullptr)
        posted_ = std::make_unique<model::tlm::PostedRequests>(*slot.neighbours, turn_);
    endpoint.set_events(events.bus);
    for (const auto& [cable, end] : plugs_)
        wires_.push_back(&cable.link().end(end));
    for (unsigned number = 0; number < endpoint.function_count(); ++number)
        function_ports_.push_back({endpoint.function(number).dma(), endpoint.function(number).interrupts()});
    make_device(events.boundary, make);
    for (unsigned number = 0; number < fronts_.size(); ++number) {
        auto* function = device_->function(number);
        assert(function != nullptr && "a device has the functions that its configuration names");
        fronts_[number]->stand_before(*function);
    }
    plug_in();
}

CardModule::~CardModule() = default;

std::vector<model::pcie::FunctionPart> CardModule::parts(const std::vector<model::pcie::FunctionConfig>& functions,
                                                         const SlotConfig& slot) {
    std::vector<model::pcie::FunctionPart> parts;
    for (const auto& function : functions) {
        fronts_.push_back(std::make_unique<Front>(*this));
        parts.push_back({in_slot(slot, function), *fronts_.back()});
    }
    return parts;
}

void CardModule::make_device(record::Boundary* boundary, const MakeDevice& make) {
    const model::pcie::DevicePorts ports{.dma = function_ports_.front().dma,
                                         .clock = clock_,
                                         .interrupts = function_ports_.front().interrupts,
                                         .wires = wires_,
                                         .functions = function_ports_};
    if (boundary == nullptr) {
        device_ = make(ports);
        return;
    }
    auto recorded =
        record::RecordedDevice::make(*boundary, ports, make, [this](unsigned function, unsigned bar) -> std::uint64_t {
            const auto& aperture = endpoint.function(function).space().meaning().bars[bar];
            // A client behind a socket may use a BAR that it has given no address.
            const bool has_address = aperture.size != 0 && aperture.base != 0;
            return has_address ? aperture.base : record::unknown_bar_address(function, bar);
        });
    recorded_ = recorded.get();
    device_ = std::move(recorded);
}

/// From now on the device receives what comes by its cables.
void CardModule::plug_in() {
    const bool takes_turns = turn_.can_delay() || plugs_.size() > 1;
    for (unsigned number = 0; number < plugs_.size(); ++number) {
        auto* receiver = device_->receiver(number);
        assert(receiver != nullptr && "a cable leads to a network port of the device");
        if (takes_turns) {
            entrances_.push_back(std::make_unique<Entrance>(*this, *receiver));
            receiver = entrances_.back().get();
        }
        plugs_[number].cable.link().attach(plugs_[number].end, *receiver);
    }
}

void CardModule::wake(model::port::Time now) {
    const auto hold = begin();
    device_->wake(present(now));
    flush();
}

/// Delivers what was sent when time plays no part.
void CardModule::flush() {
    do
        for (const auto& plug : plugs_)
            plug.cable.flush();
    while (device_->settle());
}

} // namespace platform::card
