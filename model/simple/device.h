// The simple HCA as a device: registers and doorbells in its BAR, packets at its port, and the units between them. A
// second architecture beside model/hca, deliberately simple; its programming manual is README.md.
#pragma once

#include "abi/simple/registers.h"
#include "model/pcie/device.h"
#include "model/pcie/endpoint_space.h"
#include "model/simple/agenda.h"
#include "model/simple/commands.h"
#include "model/simple/config.h"
#include "model/simple/counters.h"
#include "model/simple/objects.h"
#include "model/simple/ready_list.h"
#include "model/simple/requester.h"
#include "model/simple/responder.h"
#include "model/simple/transmitter.h"
#include "model/time/server.h"
#include "traces/events.h"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace model::simple {

class Device final : public pcie::Device, public port::Receiver {
public:
    /// Has one network port.
    Device(const SimpleConfig& config, const pcie::DevicePorts& ports, traces::Events events);
    static pcie::FunctionConfig function_config(const SimpleConfig& config);

    const Counters& counters() const { return counters_; }
    const Objects& objects() const { return objects_; }

    // Device
    port::DmaResult bar_read(unsigned bar, std::uint64_t offset, std::span<std::byte> into, port::Time at) override;
    void bar_write(unsigned bar, std::uint64_t offset, std::span<const std::byte> from, port::Time at) override;
    std::span<std::byte> direct(unsigned, std::uint64_t) override { return {}; }
    void reset(port::Time at) override;
    void wake(port::Time now) override;
    void accounts(std::vector<time::Account>& rows) const override;
    port::Receiver* receiver(unsigned number) override { return number == 0 ? this : nullptr; }

    // Receiver
    void receive(port::Packet& packet, port::Time at) override;
    void received_all(port::Time at) override;
    void ready(port::Time at) override;

private:
    void write_register(std::uint64_t offset, std::span<const std::byte> from, port::Time at);
    void ring(std::uint64_t offset, std::uint32_t value, port::Time at);
    void ring_send(QueuePair& qp, std::uint32_t producer, port::Time at);
    void ring_receive(QueuePair& qp, std::uint32_t producer, port::Time at);
    void fail_doorbell(QueuePair& qp, port::Time at);
    bool is_for_this_port(const port::Packet& packet, port::Time at);
    void drop(const port::Packet& packet, traces::Reason reason, port::Time at);
    /// Lets queue pairs have their turns, as long as the sending unit and the cable take more.
    void pump(port::Time now);
    void give_turn(QueuePair& qp, port::Time now);

    SimpleConfig config_;
    port::Clock& clock_;
    port::Wire& wire_;
    traces::Events events_;
    Counters counters_;
    HostMemory memory_;
    Objects objects_;
    Agenda agenda_;
    ReadyList ready_;
    Completions completions_;
    Transmitter transmitter_;
    Requester requester_;
    Responder responder_;
    Commands commands_;
    time::Server receiving_;
    abi::Block<abi::simple::Registers> registers_;
    std::array<std::byte, abi::simple::arguments_bytes> arguments_{};
    Answered answered_{}; ///< of the last command
    bool is_pumping_ = false;
};

} // namespace model::simple
