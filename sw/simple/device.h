// The simple HCA as its driver has it: registers, the command mailbox, doorbells, and which queue pair has which number
// (model/simple/README.md). One thread at a time uses a device and everything made with it.
#pragma once

#include "abi/layout.h"
#include "abi/simple/command.h"
#include "abi/simple/registers.h"
#include "sw/base/result.h"
#include "sw/transport/mmio.h"
#include "sw/transport/transport.h"

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace sw::simple {

class QueuePair;

class Device {
public:
    static constexpr unsigned bar = 0;

    /// ENODEV where the function is another device, or speaks another version of this interface.
    static Result<std::unique_ptr<Device>> open(transport::Transport& transport);
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;
    ~Device();

    transport::Transport& transport() { return transport_; }
    const abi::Block<abi::simple::Registers>& registers() const { return registers_; }
    void set_gid(const std::array<std::byte, 16>& gid);

    /// Runs a command and gives its result. The error names the command and its status.
    template <class Arguments> Result<std::uint32_t> run(abi::simple::Command command, Arguments arguments) {
        return run_bytes(command, arguments.bytes);
    }
    void ring_send(std::uint32_t qpn, std::uint32_t producer);
    void ring_receive(std::uint32_t qpn, std::uint32_t producer);

    /// nullptr: there is none of that number.
    QueuePair* find(std::uint32_t qpn) const { return qpn < queue_pairs_.size() ? queue_pairs_[qpn] : nullptr; }
    void enter(std::uint32_t qpn, QueuePair* queue_pair) { queue_pairs_.at(qpn) = queue_pair; }

private:
    explicit Device(transport::Transport& transport) : transport_(transport), base_(transport, bar, 0) {}
    Result<void> bring_up();
    Result<std::uint32_t> run_bytes(abi::simple::Command command, std::span<const std::byte> arguments);

    transport::Transport& transport_;
    transport::Registers<abi::simple::Registers> base_;
    abi::Block<abi::simple::Registers> registers_; ///< as they were when it was opened
    std::vector<QueuePair*> queue_pairs_;          ///< by number
};

} // namespace sw::simple
