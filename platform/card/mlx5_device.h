// A ConnectX-class HCA as one piece of plain C++: the silicon, the image in it, and the way inside the port by which it
// sends to itself. It sees the outside through ports only, and is the same thing on a platform, in a test and under a
// fuzzer. BAR 0 holds the initialization segment and, from the first UAR page on, the doorbells; the MSI-X structures
// in the same BAR are the PCIe endpoint's.
#pragma once

#include "firmware/device.h"
#include "model/hca/config.h"
#include "model/hca/hca.h"
#include "model/net/link.h"
#include "model/pcie/device.h"
#include "model/pcie/endpoint_space.h"
#include "model/port/alarm.h"
#include "model/port/wire.h"
#include "traces/events.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace platform::card {

class Mlx5Device final : public model::pcie::Device, public model::port::Receiver {
public:
    /// Has one network port.
    Mlx5Device(const model::hca::HcaConfig& config, const model::pcie::DevicePorts& ports, traces::Events events);

    /// What the function tells the bus of itself, apart from what its slot decides.
    static model::pcie::FunctionConfig function_config(const model::hca::HcaConfig& config);

    model::hca::Hca& hca() { return hca_; }
    const model::hca::Hca& hca() const { return hca_; }
    firmware::Device& firmware() { return firmware_; }

    // Device
    model::port::DmaResult bar_read(unsigned bar, std::uint64_t offset, std::span<std::byte> into,
                                    model::port::Time at) override;
    void bar_write(unsigned bar, std::uint64_t offset, std::span<const std::byte> from, model::port::Time at) override;
    std::span<std::byte> direct(unsigned, std::uint64_t) override { return {}; }
    model::port::RegisterSpaces* spaces() override { return &firmware_.spaces(); }
    void reset(model::port::Time at) override;
    void wake(model::port::Time now) override;
    bool settle() override;
    void accounts(std::vector<model::time::Account>& rows) const override { hca_.accounts(rows); }
    bool is_quiet() const override { return inside_.under_way(0) + inside_.under_way(1) == 0; }
    model::port::Receiver* receiver(unsigned number) override { return number == 0 ? this : nullptr; }

    // Receiver: packets of the cable
    void receive(model::port::Packet& packet, model::port::Time at) override { hca_.receive(packet, at); }
    void received_all(model::port::Time at) override;
    bool takes_trains() const override { return hca_.takes_trains(); }
    void ready(model::port::Time at) override;
    void link_changed(bool is_up, model::port::Time at) override { hca_.link_changed(is_up, at); }

private:
    /// Packets that the port sent to itself. Whoever delivers them may have waited for the outside since they left, and
    /// nothing enters the core earlier than now.
    class Turned final : public model::port::Receiver {
    public:
        explicit Turned(Mlx5Device& device) : device_(device) {}
        void receive(model::port::Packet& packet, model::port::Time at) override {
            device_.hca_.receive_turned(packet, present(at));
        }
        void received_all(model::port::Time at) override { device_.hca_.received_all(present(at)); }
        bool takes_trains() const override { return device_.hca_.takes_trains(); }
        void ready(model::port::Time at) override { device_.hca_.ready(present(at)); }

    private:
        model::port::Time present(model::port::Time at) const { return std::max(at, device_.alarm_.now()); }
        Mlx5Device& device_;
    };

    std::uint64_t uar_begin_;
    model::port::Alarm alarm_; ///< of inside_: a wake delivers early what arrives soon, so each must be its own
    model::net::Link inside_;  ///< the port sends at end 0; both ends are the port
    model::hca::Hca hca_;
    firmware::Device firmware_;
    Turned turned_{*this};
};

} // namespace platform::card
