// What a copy engine (SDMA 6) of a GFX11 GPU is told: packets of its rings, and the registers of rings and engines, in
// bytes of the register BAR. Little endian; a ring is made of dwords. Figures: Linux amdgpu, sdma_v6_0_0_pkt_open.h,
// gc_11_0_0_offset.h and gc_11_0_0_sh_mask.h; what a driver does with them: sdma_v6_0.c. Witness:
// testbench/witness/sdma_layouts.py (the first of these headers, and the offsets and masks of the others).
#pragma once

#include "abi/gpu/registers.h"
#include "abi/layout.h"
#include "abi/named_enum.h"

#include <cstdint>

namespace abi::gpu::sdma {

// clang-format off
#define ABI_GPU_SDMA_OPCODES(X)                                                  \
    X(nop,            0, "NOP")                                                  \
    X(copy,           1, "COPY")                                                 \
    X(write,          2, "WRITE")                                                \
    X(fence,          5, "FENCE")                                                \
    X(trap,           6, "TRAP")                                                 \
    X(constant_fill, 11, "CONST_FILL")                                           \
    X(gcr_request,   17, "GCR_REQ")
ABI_NAMED_ENUM(Opcode, std::uint8_t, ABI_GPU_SDMA_OPCODES)
#undef ABI_GPU_SDMA_OPCODES

/// Kinds of COPY; addresses of a linear one are virtual.
inline constexpr std::uint32_t copy_linear = 0, copy_linear_physical = 8;

/// The first dword of each packet.
using Header = LittleLayout<"sdma_header", 4,
    Bits<"op",            0x00,  7,  0, Opcode>,
    Bits<"sub_op",        0x00, 15,  8>>;

using Nop = LittleLayout<"sdma_nop", 4,
    Bits<"count",         0x00, 29, 16>>;        // dwords behind it that are skipped

using CopyLinear = LittleLayout<"sdma_copy_linear", 28,
    Bits<"count",         0x04, 29,  0>,         // bytes, zero-based
    U64 <"src_addr",      0x0c>,
    U64 <"dst_addr",      0x14>>;

using CopyPhysical = LittleLayout<"sdma_copy_physical_linear", 28,
    Bits<"count",         0x04, 21,  0>,         // bytes, zero-based
    Bits<"addr_pair_num", 0x04, 31, 24>,         // more pairs of addresses: none here
    Bits<"dst_mtype",     0x08,  5,  3>,
    Bits<"src_mtype",     0x08, 13, 11>,
    Bits<"dst_sys",       0x08, 20, 20, bool>,   // a DMA address; otherwise an offset in VRAM
    Bits<"dst_snoop",     0x08, 22, 22, bool>,
    Bits<"src_sys",       0x08, 28, 28, bool>,
    Bits<"src_snoop",     0x08, 30, 30, bool>,
    U64 <"src_addr",      0x0c>,
    U64 <"dst_addr",      0x14>>;

/// Dwords follow, as many as it says.
using Write = LittleLayout<"sdma_write_untiled", 16,
    U64 <"dst_addr",      0x04>,
    Bits<"count",         0x0c, 19,  0>>;        // dwords, zero-based

using Fence = LittleLayout<"sdma_fence", 16,
    Bits<"mtype",         0x00, 18, 16>,
    Bits<"sys",           0x00, 20, 20, bool>,
    Bits<"snp",           0x00, 22, 22, bool>,
    Bits<"gpa",           0x00, 23, 23, bool>,   // physical, and "sys" says of what
    U64 <"addr",          0x04>,
    U32 <"data",          0x0c>>;

using Trap = LittleLayout<"sdma_trap", 8,
    Bits<"int_context",   0x04, 27,  0>>;

using ConstantFill = LittleLayout<"sdma_constant_fill", 20,
    Bits<"fillsize",      0x00, 31, 30>,
    U64 <"dst_addr",      0x04>,
    U32 <"src_data",      0x0c>,
    Bits<"count",         0x10, 29,  0>>;        // bytes, zero-based

/// What the caches are to do, for the whole of memory where base and limit are zero.
using GcrRequest = LittleLayout<"sdma_gcr_req", 20,
    Bits<"base_va_31_7",      0x04, 31,  7>,
    Bits<"base_va_47_32",     0x08, 15,  0>,
    Bits<"gcr_control_15_0",  0x08, 31, 16>,
    Bits<"gcr_control_18_16", 0x0c,  2,  0>,
    Bits<"limit_va_31_7",     0x0c, 31,  7>,
    Bits<"limit_va_47_32",    0x10, 15,  0>,
    Bits<"vmid",              0x10, 27, 24>>;

/// Registers of a queue, by dword from the first one of its engine's queue 0.
enum class QueueRegister : std::uint32_t {
    rb_cntl         = 0x80,
    rb_base         = 0x81,                      // of an address, bits from 8 on
    rb_base_hi      = 0x82,
    rb_rptr         = 0x83,                      // bytes, as the write pointer; neither starts anew with a lap
    rb_rptr_hi      = 0x84,
    rb_wptr         = 0x85,
    rb_wptr_hi      = 0x86,
    rb_rptr_addr_hi = 0x88,
    rb_rptr_addr_lo = 0x89,
    doorbell        = 0x92,
    doorbell_offset = 0xab,
};
// clang-format on

inline constexpr unsigned engines = 2, queues = 8;
inline constexpr std::uint32_t queue_dwords = 0x58, engine_dwords = 0x600;

constexpr std::uint32_t queue_register(unsigned engine, unsigned queue, QueueRegister which) {
    return graphics_register(engine * engine_dwords + queue * queue_dwords + static_cast<std::uint32_t>(which));
}
/// SDMAn_F32_CNTL: the second segment of the block, whose base the address in the header's comment gives.
constexpr std::uint32_t control_register(unsigned engine) { return (0xa000 + 0x589a + engine * 0x20) * 4; }
/// SDMAn_STATUS_REG.
constexpr std::uint32_t status_register(unsigned engine) { return graphics_register(engine * engine_dwords + 0x25); }

using RingControl =
    iommu::Entry<"sdma_rb_cntl", 4, iommu::Flag<"rb_enable", 0, rw>, iommu::Field<"rb_size", 5, 1, rw>, // log2, dwords
                 iommu::Flag<"rptr_writeback_enable", 12, rw>, iommu::Flag<"rb_priv", 23, rw>,
                 iommu::Field<"rb_vmid", 27, 24, rw>>;
using Doorbell = iommu::Entry<"sdma_doorbell", 4, iommu::Flag<"enable", 28, rw>, iommu::Flag<"captured", 30, ro>>;
/// Where in the doorbell BAR the queue's 8 bytes are.
using DoorbellOffset = iommu::Entry<"sdma_doorbell_offset", 4, iommu::Address<"offset", 27, 2, rw>>;
using EngineControl = iommu::Entry<"sdma_f32_cntl", 4, iommu::Flag<"halt", 0, rw>>;
using EngineStatus = iommu::Entry<"sdma_status", 4, iommu::Flag<"idle", 0, ro>, iommu::Flag<"rb_empty", 2, ro>>;

/// Clients on which faults of the engines are booked.
constexpr unsigned client(unsigned engine) { return 13 + engine; }

} // namespace abi::gpu::sdma
