// A ring of a copy engine as its driver has it: registers set up, packets written where the ring lies, the doorbell
// rung.
#pragma once

#include "abi/gpu/sdma.h"
#include "testbench/harness/gpu_bench.h"

#include <span>
#include <vector>

namespace harness {

namespace sdma = abi::gpu::sdma;

/// Packets, one behind another.
class SdmaPackets {
public:
    template <class Packet> SdmaPackets& add(sdma::Opcode op, std::uint32_t kind, auto&& fill) {
        const auto begin = bytes.size();
        bytes.resize(begin + Packet::size);
        abi::View<sdma::Header>(std::span(bytes).subspan(begin, 4)).set<"op">(op).template set<"sub_op">(kind);
        fill(abi::View<Packet>(std::span(bytes).subspan(begin)));
        return *this;
    }
    SdmaPackets& copy(std::uint64_t from, std::uint64_t to, std::uint32_t length) {
        return add<sdma::CopyLinear>(sdma::Opcode::copy, sdma::copy_linear, [&](auto packet) {
            packet.template set<"count">(length - 1).template set<"src_addr">(from).template set<"dst_addr">(to);
        });
    }
    struct End {
        std::uint64_t address;
        bool is_system;
        GpuBench::Mtype mtype = GpuBench::Mtype::uc;
    };
    SdmaPackets& copy_physical(End from, End to, std::uint32_t length) {
        return add<sdma::CopyPhysical>(sdma::Opcode::copy, sdma::copy_linear_physical, [&](auto packet) {
            packet.template set<"count">(length - 1)
                .template set<"src_addr">(from.address)
                .template set<"src_sys">(from.is_system)
                .template set<"src_mtype">(static_cast<std::uint32_t>(from.mtype))
                .template set<"dst_addr">(to.address)
                .template set<"dst_sys">(to.is_system)
                .template set<"dst_mtype">(static_cast<std::uint32_t>(to.mtype));
        });
    }
    SdmaPackets& fill(std::uint64_t to, std::uint32_t pattern, std::uint32_t length) {
        return add<sdma::ConstantFill>(sdma::Opcode::constant_fill, 0, [&](auto packet) {
            packet.template set<"dst_addr">(to).template set<"src_data">(pattern).template set<"count">(length - 1);
        });
    }
    SdmaPackets& fence(std::uint64_t to, std::uint32_t value) {
        return add<sdma::Fence>(sdma::Opcode::fence, 0, [&](auto packet) {
            packet.template set<"mtype">(3u).template set<"addr">(to).template set<"data">(value);
        });
    }
    SdmaPackets& trap() {
        return add<sdma::Trap>(sdma::Opcode::trap, 0, [](auto) {});
    }
    SdmaPackets& rinse() {
        return add<sdma::GcrRequest>(sdma::Opcode::gcr_request, 0,
                                     [](auto packet) { packet.template set<"gcr_control_15_0">(3u << 14); });
    }
    SdmaPackets& nop(std::uint32_t behind = 0) {
        add<sdma::Nop>(sdma::Opcode::nop, 0, [&](auto packet) { packet.template set<"count">(behind); });
        bytes.resize(bytes.size() + behind * 4, std::byte{0xff});
        return *this;
    }
    std::vector<std::byte> bytes;
};

/// A queue of engine `engine` on a bench. The ring lies in VRAM.
class SdmaRing {
public:
    static constexpr std::uint64_t ring_at = 2 << 20;
    static constexpr std::uint32_t log_dwords = 8;
    static constexpr std::uint64_t ring_bytes = 4u << log_dwords;

    SdmaRing(GpuBench& bench, unsigned engine = 0, unsigned queue = 0, unsigned vmid = GpuBench::vmid)
        : bench_(bench), engine_(engine), queue_(queue), offset_(ring_at + (engine * 8 + queue) * ring_bytes),
          doorbell_(0x100 + 8 * (engine * 8 + queue)) {
        // By a virtual address, as the packets have it.
        const auto base = vmid == 0 ? offset_ : GpuBench::vram_uc + offset_;
        if (vmid != 0)
            bench.tables.map(base, offset_, 4096, false, GpuBench::Mtype::uc);
        set(sdma::QueueRegister::rb_base, static_cast<std::uint32_t>(base >> 8));
        set(sdma::QueueRegister::rb_base_hi, static_cast<std::uint32_t>(base >> 40));
        set(sdma::QueueRegister::doorbell_offset, static_cast<std::uint32_t>(doorbell_));
        set(sdma::QueueRegister::doorbell, static_cast<std::uint32_t>(sdma::Doorbell{}.set<"enable">(true).value()));
        set(sdma::QueueRegister::rb_cntl,
            static_cast<std::uint32_t>(
                sdma::RingControl{}.set<"rb_enable">(true).set<"rb_size">(log_dwords).set<"rb_vmid">(vmid).value()));
    }
    void set(sdma::QueueRegister which, std::uint32_t value) {
        bench_.poke(sdma::queue_register(engine_, queue_, which), value);
    }
    std::uint32_t get(sdma::QueueRegister which) { return bench_.peek(sdma::queue_register(engine_, queue_, which)); }

    /// Through the BAR, and then on from the host data path.
    void write(const SdmaPackets& packets) {
        for (const auto byte : packets.bytes)
            bench_.gpu.bar_write(model::gpu::Gpu::vram_bar, offset_ + write_++ % ring_bytes, std::span(&byte, 1),
                                 bench_.now());
        bench_.poke(abi::gpu::remap_page + abi::gpu::hdp_mem_flush, 0);
    }
    void ring() { ring(write_); }
    void ring(std::uint64_t value) {
        bench_.gpu.bar_write(model::gpu::Gpu::doorbell_bar, doorbell_, std::as_bytes(std::span(&value, 1)),
                             bench_.now());
    }
    /// All of it, and time for it.
    void execute(const SdmaPackets& packets) {
        write(packets);
        ring();
        bench_.pass(1ms);
    }
    std::uint64_t written() const { return write_; }

private:
    GpuBench& bench_;
    unsigned engine_, queue_;
    std::uint64_t offset_, doorbell_, write_ = 0;
};

} // namespace harness
