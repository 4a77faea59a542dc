// The transport of a driver whose function is served by another process over a local socket (vfio-user): registers by
// messages or by a mapping where the server gives one, DMA memory as files that the server maps, MSI-X as event files.
// We are the machine's firmware too: BARs get their addresses here, and peers reach each other by them.
#pragma once

#include "sw/transport/bus_map.h"
#include "sw/transport/dma_pool.h"
#include "sw/transport/interrupts.h"
#include "sw/transport/transport.h"
#include "sw/transport/vfio_user/commands.h"
#include "sw/transport/vfio_user/connection.h"

#include "abi/pcie/config_space.h"

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sw::transport::vfio_user {

class SocketTransport final : public Transport {
public:
    /// Connects to the server's socket and brings the function to a fresh state with addresses for its BARs. `bus` is
    /// shared by the functions of one machine and outlives them.
    static Result<std::unique_ptr<SocketTransport>> connect(const std::string& path, BusMap& bus, Options options = {});
    static Result<std::unique_ptr<SocketTransport>> open(Socket socket, std::string name, BusMap& bus,
                                                         Options options = {});
    ~SocketTransport() override;
    SocketTransport(const SocketTransport&) = delete;
    SocketTransport& operator=(const SocketTransport&) = delete;

    /// As power off and on; the BARs have their addresses again afterwards. DMA memory stays.
    Result<void> reset();
    /// Whether the server is there; and if not, why.
    bool is_alive() const { return connection_->is_alive(); }
    const Error& fault() const { return connection_->fault(); }

    std::uint32_t config_read(std::uint16_t offset, unsigned bytes) override;
    void config_write(std::uint16_t offset, unsigned bytes, std::uint32_t value) override;
    std::uint64_t bar_size(unsigned bar) override { return bar < bars_.size() ? bars_[bar].size : 0; }
    std::uint64_t bar_address(unsigned bar) override { return bar < bars_.size() ? bars_[bar].address : 0; }
    void mmio_read(unsigned bar, std::uint64_t offset, std::span<std::byte> into) override;
    void mmio_write(unsigned bar, std::uint64_t offset, std::span<const std::byte> from) override;
    void bar_read(unsigned bar, std::uint64_t offset, std::span<std::byte> into) override;
    void bar_write(unsigned bar, std::uint64_t offset, std::span<const std::byte> from) override;

    Result<DmaMemory> allocate(std::size_t bytes, std::size_t alignment = 4096) override;
    void release(const DmaMemory& memory) override { pool_->release(memory); }
    /// A peer's BAR is reached at its bus address: the server routes by it.
    Result<std::uint64_t> map_peer(std::uint64_t bus, std::size_t bytes) override;
    void unmap_peer(std::uint64_t, std::size_t) override {}
    /// Each connection has told its server of its own memory: that of another one is refused.
    Result<std::uint64_t> map_memory(const DmaMemory& memory) override;

    Result<void> enable_interrupts(unsigned count) override;
    void disable_interrupts() override;
    bool wait_interrupt(unsigned vector, std::chrono::nanoseconds timeout) override;

    void relax() override;
    std::chrono::nanoseconds now() override { return std::chrono::steady_clock::now().time_since_epoch(); }

private:
    struct Bar {
        std::uint64_t size = 0, address = 0;
        bool is_64bit = false;
        struct Part {
            std::uint64_t offset;
            Mapping memory;
        };
        std::vector<Part> memory{}; ///< what of it is mapped
    };

    SocketTransport(std::unique_ptr<Connection> connection, BusMap& bus, Options options);
    Result<void> bring_up();
    Result<void> find_bars();
    Result<void> write_addresses();
    Result<std::unique_ptr<DmaChunk>> make_chunk(std::uint64_t bus, std::size_t size);
    /// The mapped bytes of an access; empty when it goes by message.
    std::span<std::byte> mapped(unsigned bar, std::uint64_t offset, std::size_t size) const;
    bool has_range(unsigned bar, std::uint64_t offset, std::size_t size) const;
    void set_msix(bool is_enabled);

    Options options_;
    std::unique_ptr<Connection> connection_;
    BusMap& bus_;
    memory::IovaSpace addresses_{BusMap::memory_begin, BusMap::memory_end};
    std::unique_ptr<DmaPool> pool_;
    std::array<Bar, abi::pcie::type0_bars> bars_;
    bool can_reset_ = false;
    std::optional<Interrupts> interrupts_;
    Rest rest_;
};

} // namespace sw::transport::vfio_user
