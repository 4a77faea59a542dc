// Records a device at its ports. RecordedPorts stands between it and the outside, RecordedDevice between the outside
// and it; what passes either is in the journal, and nothing else about the device changes. Bytes that memory would lend
// are copied, so that the record has what the device has used; BARs that memory could answer for are accessed through
// the device, so that no store is missed.
#pragma once

#include "model/pcie/device.h"
#include "platform/record/journal.h"

#include <functional>
#include <memory>
#include <vector>

namespace platform::record {

/// Where a device's traffic goes in the trace: an interface for each function, and one for each network port; any of
/// them may be not_recorded.
struct DeviceInterfaces {
    struct Port {
        std::uint32_t interface;
        model::port::Encapsulation encapsulation;
    };
    std::vector<std::uint32_t> functions;
    std::vector<Port> ports;
};

/// One boundary: its links, and what the device knows of the time.
class Boundary {
public:
    Boundary(Journal& journal, const DeviceInterfaces& interfaces);
    Journal& journal() { return journal_; }
    LinkLog& link(std::size_t function) { return links_.at(function); }
    const DeviceInterfaces& interfaces() const { return interfaces_; }

    /// A call of the device begins, and its record says this time.
    void now_is(model::port::Time now) { known_now_ = now; }
    /// The device has looked at its clock.
    void has_seen(model::port::Time now);
    model::port::Time known_now() const { return known_now_; }
    /// A frame as it is on the wire.
    RecordNumber frame(std::size_t port, traces::codec::Direction direction, const model::port::Packet& packet,
                       model::port::Time at);

    /// A call of the device begins; returns its place among those that are under way. One that waits may be overtaken
    /// by others, which end before it does. When they do not, the device cannot be played again, and the journal says
    /// so.
    unsigned enter() { return ++depth_; }
    void leave(unsigned place);

    /// settle() is called again and again, mostly for nothing: it is recorded when something happens in its course.
    void expect(std::function<void()> record) { expected_ = std::move(record); }
    void happens() {
        if (expected_) [[unlikely]]
            std::exchange(expected_, nullptr)();
    }

private:
    Journal& journal_;
    DeviceInterfaces interfaces_;
    std::vector<LinkLog> links_;
    model::port::Time known_now_{};
    unsigned depth_ = 0;
    std::function<void()> expected_;
    std::vector<std::byte> image_;
};

class RecordedPorts {
public:
    RecordedPorts(Boundary& boundary, const model::pcie::DevicePorts& outside);
    ~RecordedPorts();
    /// For the device; valid as long as this.
    const model::pcie::DevicePorts& ports() const { return ports_; }

private:
    class Dma;
    class Clock;
    class Interrupts;
    class Wire;
    std::vector<std::unique_ptr<Dma>> dmas_;
    std::vector<std::unique_ptr<Interrupts>> interrupts_;
    std::vector<std::unique_ptr<Wire>> wires_;
    std::unique_ptr<Clock> clock_;
    std::vector<model::port::Wire*> wire_pointers_;
    std::vector<model::pcie::FunctionPorts> functions_;
    model::pcie::DevicePorts ports_;
};

/// The bus address at which BAR `bar` of a function begins, as far as anybody knows.
using BarAddress = std::function<std::uint64_t(unsigned function, unsigned bar)>;
/// Where nobody does: far from each other.
std::uint64_t unknown_bar_address(unsigned function, unsigned bar);

class RecordedDevice final : public model::pcie::Device {
public:
    using Time = model::port::Time;

    RecordedDevice(Boundary& boundary, model::pcie::Device& device, BarAddress addresses = unknown_bar_address);
    ~RecordedDevice() override;

    using Make = std::function<std::unique_ptr<model::pcie::Device>(const model::pcie::DevicePorts& ports)>;
    /// Lets `make` make the device on recorded ports, and owns both: what a card takes in the place of its device.
    static std::unique_ptr<RecordedDevice> make(Boundary& boundary, const model::pcie::DevicePorts& outside,
                                                const Make& make, BarAddress addresses = unknown_bar_address);
    /// The device that is recorded. What is done to it directly is in no recording, unless somebody says so.
    model::pcie::Device& device() { return device_; }
    /// A testbench has put these bytes into the memory behind a BAR, beside the bus.
    void note_injected(unsigned bar, std::uint64_t offset, std::span<const std::byte> bytes);

    // Device
    model::pcie::Function* function(unsigned number) override;
    void wake(Time now) override;
    bool settle() override;
    void accounts(std::vector<model::time::Account>& rows) const override { device_.accounts(rows); }
    bool is_quiet() const override { return device_.is_quiet(); }
    model::port::Receiver* receiver(unsigned number) override;

    // Function 0
    model::port::DmaResult bar_read(unsigned bar, std::uint64_t offset, std::span<std::byte> into, Time at) override;
    void bar_write(unsigned bar, std::uint64_t offset, std::span<const std::byte> from, Time at) override;
    std::span<std::byte> direct(unsigned, std::uint64_t) override { return {}; }
    std::size_t peek(unsigned bar, std::uint64_t offset, std::span<std::byte> into) override;
    std::size_t poke(unsigned bar, std::uint64_t offset, std::span<const std::byte> from) override;
    model::port::RegisterSpaces* spaces() override;
    void page_answered(std::uint16_t group, std::uint8_t code, Time at) override;
    void reset(Time at) override;

private:
    class Front;
    class Ear;

    std::unique_ptr<RecordedPorts> own_ports_; ///< where make() has made it
    std::unique_ptr<model::pcie::Device> own_device_;
    Boundary& boundary_;
    model::pcie::Device& device_;
    BarAddress addresses_;
    std::vector<std::unique_ptr<Front>> fronts_;
    std::vector<std::unique_ptr<Ear>> ears_;
};

} // namespace platform::record
