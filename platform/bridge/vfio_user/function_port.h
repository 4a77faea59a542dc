// One endpoint function as a vfio-user client has it: its configuration space and BARs through the PCIe link, the
// client's memory for its DMA, eventfds for its MSI-X vectors. Behaves to the client as the kernel's VFIO does: the
// client keeps the MSI-X table, BARs survive a function-level reset, and a function whose client has gone is reset.
//
// What the client writes is done by a process of the function's own, in order: it may have to wait for memory that is
// reached by messages, and nobody but this function waits then.
#pragma once

#include "abi/pcie/capability.h"
#include "model/pcie/function_module.h"
#include "model/tlm/initiator.h"
#include "platform/bridge/vfio_user/device.h"
#include "platform/bridge/vfio_user/doorbell_poller.h"
#include "platform/bridge/vfio_user/event_signal.h"
#include "platform/bridge/vfio_user/guest_memory.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <expected>
#include <span>
#include <string>
#include <systemc>
#include <vector>

namespace platform::bridge::vfio_user {

/// Memory of the client without a file: a message each way. Returns when the client has answered, or with `timeout`
/// when it has not for too long; waits in the process that calls, while everything else goes on.
class MessageDma {
public:
    virtual ~MessageDma() = default;
    /// What is waited for is not wanted any more.
    virtual void abandon() = 0;
    virtual model::port::DmaStatus read(std::uint64_t address, std::span<std::byte> into) = 0;
    virtual model::port::DmaStatus write(std::uint64_t address, std::span<const std::byte> from) = 0;
};

/// Pages of a BAR whose stores the device's doorbell records tell of.
struct PolledPages {
    std::uint32_t bar = 0;
    std::uint64_t doorbells = 0;      ///< where in the BAR registers end, and nothing but doorbells begins
    std::uint64_t begin = 0, end = 0; ///< of the pages
};

class FunctionPort final : public Device, private model::tlm::Fabric {
public:
    /// `port` is the link's upper end. All outlive it.
    FunctionPort(std::string name, model::pcie::EndpointFunction& function, model::tlm::PciePort& port,
                 FileMappings& files);

    const std::string& name() const { return name_; }
    const model::pcie::EndpointFunction& endpoint() const { return endpoint_; }
    const GuestMemory& memory() const { return memory_; }

    /// While a client is connected; nullptr otherwise.
    void set_messages(MessageDma* messages) { messages_ = messages; }
    MessageDma* messages() const { return messages_; }
    /// As Dma's, for a range without a file.
    model::port::DmaStatus read_by_messages(std::uint64_t address, std::span<std::byte> into);
    model::port::DmaStatus write_by_messages(std::uint64_t address, std::span<const std::byte> from);
    /// A reset has been asked for and is not done yet: the card sends nothing until then. Somebody may already take its
    /// end for granted.
    bool is_resetting() const { return resets_ != 0; }
    /// Somebody waits for the client's memory.
    bool is_waiting() const { return waiting_ != 0; }

    /// Where the vectors' messages go, with the vector's number as data.
    static constexpr model::pcie::Range interrupts{abi::pcie::interrupts_begin, abi::pcie::interrupts_end};
    /// Such a message has arrived.
    void signal(std::uint32_t vector);
    std::uint64_t signals() const { return signals_; }

    /// Lets clients map these pages, whose doorbells are found by records from then on; before the simulation starts.
    /// The device is to be given the watch that is returned. An error says why the pages cannot be had.
    std::expected<model::port::DoorbellWatch*, std::string> poll_doorbells(const PolledPages& pages);
    const DoorbellPoller& poller() const { return poller_; }
    /// A client has the pages: somebody has to call poll() again and again.
    bool is_polling() const { return poller_.is_on() && poller_.count() != 0; }
    /// Stores to doorbells that came by messages.
    std::uint64_t doorbell_stores() const { return doorbell_stores_; }
    /// Looks at some records, and does what their doorbells ask for. Whether there were any.
    bool poll();

    /// Paths through this function's BARs have changed.
    void forget(model::pcie::Range range) { processor_.forget(range); }

    // Device
    std::uint64_t region_size(std::uint32_t region) const override;
    int region_file(std::uint32_t region) const override;
    std::vector<Area> region_areas(std::uint32_t region) const override;
    void region_given(std::uint32_t region) override;
    std::uint32_t irq_count(protocol::IrqType type) const override;
    void read(std::uint32_t region, std::uint64_t offset, std::span<std::byte> into) override;
    void write(std::uint32_t region, std::uint64_t offset, std::span<const std::byte> from) override;
    void reset() override;
    void work() override;
    std::size_t backlog() const override { return backlog_bytes_; }
    int map(const DmaMapRequest& map, Descriptor file) override;
    int unmap(const DmaUnmapRequest& unmap) override;
    int set_irqs(const IrqSetRequest& set, std::vector<Descriptor> files) override;
    void disconnect() override;

private:
    struct Irq {
        Descriptor event;
        bool is_masked = false;
    };
    struct Put { ///< a write, or a reset
        std::uint32_t region = 0;
        std::uint64_t offset = 0;
        std::vector<std::byte> data;
        bool is_reset = false;
    };
    void put(Put put);
    auto ringing() {
        return [this](std::uint64_t offset, std::span<const std::byte> store) {
            put({pages_.bar, offset, {store.begin(), store.end()}, false});
        };
    }
    bool has_pages(std::uint32_t region) const { return pages_file_ && region == pages_.bar; }
    bool is_doorbell(std::uint32_t region, std::uint64_t offset) const {
        return has_pages(region) && offset >= pages_.doorbells;
    }
    void make_pages();
    void work_off();
    std::vector<Irq>& irqs(std::uint32_t type) { return irqs_[type]; }

    // Fabric: the client's accesses to registers
    void enter(::tlm::tlm_generic_payload& payload, model::tlm::Extension& request, sc_core::sc_time& delay) override {
        port_.send(payload, request, delay);
    }
    bool enter_direct(::tlm::tlm_generic_payload& payload, model::tlm::Extension& request,
                      ::tlm::tlm_dmi& dmi) override {
        return port_.send_direct(payload, request, dmi);
    }
    void refused(model::port::DmaStatus) override {}

    void configure(::tlm::tlm_command command, std::uint16_t offset, std::span<std::byte> data);
    void write_region(std::uint32_t region, std::uint64_t offset, std::span<const std::byte> from);
    void write_config(std::uint64_t offset, std::span<const std::byte> from);
    bool touches_msix(std::uint32_t region, std::uint64_t offset, std::uint64_t length) const;
    void steer(std::uint16_t vector);
    void steer_all();

    std::string name_;
    model::pcie::EndpointFunction& endpoint_;
    model::tlm::PciePort& port_;
    model::tlm::Initiator processor_;
    model::tlm::Request config_request_;
    GuestMemory memory_;
    PolledPages pages_;
    Descriptor pages_file_; ///< as long as the BAR; empty where its pages are registers
    DoorbellPoller poller_{memory_};
    std::uint64_t doorbell_stores_ = 0;
    MessageDma* messages_ = nullptr;
    std::array<std::vector<Irq>, protocol::irq_type_count> irqs_;
    EventSignal signal_;
    std::uint64_t signals_ = 0;
    std::deque<Put> backlog_; ///< the first one is being done
    std::size_t backlog_bytes_ = 0;
    sc_core::sc_event put_;
    unsigned waiting_ = 0;
    unsigned resets_ = 0; ///< in the backlog
};

} // namespace platform::bridge::vfio_user
