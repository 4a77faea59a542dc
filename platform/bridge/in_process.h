// The transport of a driver that runs as a thread (SC_THREAD) of a simulated host: configuration and MMIO through the
// root complex, DMA memory from the host's DRAM, MSI-X programmed as an operating system does it. Waiting lets
// simulated time pass; nothing here crosses an OS thread.
#pragma once

#include "abi/pcie/config_space.h"
#include "model/tlm/alarm.h"
#include "platform/host/host.h"
#include "sw/transport/transport.h"

#include <systemc>

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace platform::bridge {

class InProcessTransport final : public sw::transport::Transport, private sw::transport::OwnershipListener {
public:
    /// `bdf` as the host's enumeration gives it. Construct it when the simulation runs.
    InProcessTransport(host::Host& host, abi::pcie::Bdf bdf);
    /// The host's remapping unit, which is no function: its registers are BAR 0, and it has neither configuration space
    /// nor MSI-X.
    explicit InProcessTransport(host::Host& host);
    ~InProcessTransport() override;
    InProcessTransport(const InProcessTransport&) = delete;
    InProcessTransport& operator=(const InProcessTransport&) = delete;

    std::uint32_t config_read(std::uint16_t offset, unsigned bytes) override;
    void config_write(std::uint16_t offset, unsigned bytes, std::uint32_t value) override;
    std::uint64_t bar_size(unsigned bar) override;
    std::uint64_t bar_address(unsigned bar) override;
    void mmio_read(unsigned bar, std::uint64_t offset, std::span<std::byte> into) override;
    void mmio_write(unsigned bar, std::uint64_t offset, std::span<const std::byte> from) override;
    void bar_read(unsigned bar, std::uint64_t offset, std::span<std::byte> into) override;
    void bar_write(unsigned bar, std::uint64_t offset, std::span<const std::byte> from) override;

    sw::Result<sw::transport::DmaMemory> allocate(std::size_t bytes, std::size_t alignment = 4096) override;
    void release(const sw::transport::DmaMemory& memory) override;
    /// Without an IOMMU a peer's bus address is what the device uses.
    sw::Result<std::uint64_t> map_peer(std::uint64_t bus, std::size_t bytes) override;
    void unmap_peer(std::uint64_t, std::size_t) override {}

    sw::Result<void> enable_interrupts(unsigned count) override;
    void disable_interrupts() override;
    bool wait_interrupt(unsigned vector, std::chrono::nanoseconds timeout) override;

    void relax() override;
    /// The same for a program that has something to do at that time, whatever it sees.
    void relax_until(model::port::Time time);
    /// Time that is spent passes when the processor next looks at the device or tells it something.
    void spend(sw::transport::Work work, std::size_t count) override;
    std::chrono::nanoseconds now() override;
    sw::transport::OwnershipListener* ownership_listener() override {
        return host_.ownership() != nullptr ? this : nullptr;
    }

private:
    // OwnershipListener, for the host's detector of stale mappings
    void own(std::uint64_t bus, std::uint64_t bytes, std::string_view who) override;
    void own_memory(const std::byte* data, std::uint64_t bytes, std::string_view who) override;
    void disown(std::uint64_t bus, std::uint64_t bytes) override;
    void map(std::uint16_t domain, std::uint64_t iova, std::uint64_t physical, std::uint64_t bytes) override;
    void unmap(std::uint16_t domain, std::uint64_t iova, std::uint64_t bytes) override;
    void attach(std::uint16_t requester, std::uint16_t domain) override;
    void detach(std::uint16_t requester) override;

    std::string describe_memory() const;
    const host::BarFound* bar(unsigned number) const;
    /// The BAR, where it is mapped write-combining and has that range; else nullptr.
    const host::BarFound* combining_bar(unsigned number, std::uint64_t offset, std::size_t length) const;
    void set_msix(bool is_enabled, bool is_masked);
    void write_entry(unsigned vector, std::uint32_t data, bool is_masked);
    void wait_until(model::port::Time done);
    void pay_for_store();
    void nap(model::port::Time longest);
    /// Lets the time pass that the calling processor has spent.
    void settle();
    model::port::Time& owed() { return processor_now().owed; }

    host::Host& host_;
    model::pcie::RootComplexModule& root_complex_;
    model::tlm::Initiator& processor_;
    abi::pcie::Bdf bdf_;
    std::array<host::BarFound, abi::pcie::type0_bars> bars_{};
    std::vector<std::uint32_t> vectors_; ///< numbers of the host's interrupts, by MSI-X vector
    std::uint16_t msix_capability_ = 0;
    std::uint64_t seen_writes_ = 0;
    mutable std::uint64_t allocations_ = 0;
    /// A processor that runs drivers. Each thread of the simulation is one.
    struct Processor {
        sc_core::sc_process_handle thread;
        model::port::Time owed{}; ///< what it has spent and not yet let pass
        model::tlm::Alarm alarm;
    };
    Processor& processor_now();
    std::deque<Processor> processors_;
    Processor* last_processor_ = nullptr; ///< that was asked for last
    unsigned idle_ = 0;                   ///< relax() calls in a row that saw nothing
    struct Look {
        unsigned bar = 0;
        std::uint64_t offset = 0;
        std::size_t bytes = 0;
        bool operator==(const Look&) const = default;
    };
    Look last_look_{};       ///< at memory of the device
    bool polls_bar_ = false; ///< it was the same one twice, and relax() has not been called since
};

} // namespace platform::bridge
