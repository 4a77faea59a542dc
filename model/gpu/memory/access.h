// What a wave may ask of memory: loads, stores, atomics and fences by GPU virtual address, each with the modifiers of
// its instruction, answered with the bytes, a time, and where the bytes came from. Programs and waves are written
// against this interface and know nothing of caches, page tables or PCIe.
#pragma once

#include "model/gpu/memory/watchers.h"
#include "model/port/time.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace model::gpu::memory {

/// Cache bits of a memory instruction (RDNA3 ISA 4.1). None of them bypasses GL2.
struct Modifiers {
    bool glc = false; ///< load: GL0 and GL1 miss and evict; atomic: returns the old value
    bool slc = false; ///< GL2 streams: the line is the first to be evicted
    bool dlc = false; ///< MALL does not allocate

    constexpr bool operator==(const Modifiers&) const = default;
};

/// What the compiler emits for common accesses (LLVM AMDGPUUsage, "Memory Model GFX10-GFX11").
inline constexpr Modifiers plain{};
inline constexpr Modifiers volatile_load{.glc = true, .dlc = true};
inline constexpr Modifiers volatile_store{.dlc = true};
inline constexpr Modifiers relaxed_atomic_load{.glc = true};
inline constexpr Modifiers all_bits{.glc = true, .slc = true, .dlc = true};

/// Memory type of a page, as it stands in its PTE.
enum class Mtype : std::uint8_t { nc = 0, wc = 1, cc = 2, uc = 3 };

enum class Scope : std::uint8_t { workgroup, agent, system };
enum class Order : std::uint8_t { acquire, release, acquire_release };

enum class AtomicOp : std::uint8_t { swap, compare_swap, add, subtract, bit_and, bit_or, bit_xor, minimum, maximum };

/// Who gave the bytes of a load, or took those of a store.
enum class Level : std::uint8_t {
    none,    ///< nobody: the access failed, or it is to a partially resident page without memory
    gl0,     ///< vector cache of the CU
    scalar,  ///< scalar data cache of the WGP
    gl1,     ///< cache of the shader array
    gl2,     ///< cache of the graphics block
    unnamed, ///< the buffer that mechanism M3 supposes; no document knows it
    mall,    ///< memory side cache
    vram,
    bus, ///< PCIe: memory of the host, or a BAR of a peer
};
constexpr std::string_view name(Level level) {
    constexpr std::string_view names[] = {"none", "GL0", "K$", "GL1", "GL2", "unnamed buffer", "MALL", "VRAM", "PCIe"};
    return names[static_cast<std::size_t>(level)];
}

enum class Status : std::uint8_t {
    ok,
    page_fault, ///< no page, or no right: the wave is killed, and the first fault is on record
    bus_error,  ///< the completion of a read said so, or nobody executes the atomic: the bytes are all ones
    gpu_reset,  ///< the GPU has been reset since this view was made: nothing was done
};

/// Who changed memory without the caches being told.
enum class Writer : std::uint8_t { nobody, inbound, gpu };

struct Outcome {
    Status status = Status::ok;
    /// Load and returning atomic: the bytes are there. Store: acknowledged (vscnt), by GL2 for NC, by memory for UC,
    /// at the boundary to PCIe for a posted write.
    port::Time done{};
    Level level = Level::none;  ///< of the piece that came from furthest away
    Mtype mtype = Mtype::nc;    ///< of the page, as latched in its PTE
    std::uint64_t physical = 0; ///< address of the first byte, with the bit of those on the bus
    // A load that a cache answered, and memory had other bytes:
    bool is_stale = false;
    Level stale_level = Level::none;
    std::uint64_t stale_address = 0;      ///< physical address of the line
    port::Time filled{};                  ///< since when the cache has held it
    Writer overtaken_by = Writer::nobody; ///< who wrote memory behind it, as far as it is remembered
    port::Time overtaken_at{};

    constexpr bool is_ok() const { return status == Status::ok; }
};

/// Memory as one wave sees it, from its CU and in its address space. Accesses take effect in the order of the calls,
/// except where the profile holds them back; `at` says when the instruction issues.
class MemoryView {
public:
    virtual ~MemoryView() = default;

    /// Any length and alignment.
    virtual Outcome load(std::uint64_t address, std::span<std::byte> into, Modifiers modifiers, port::Time at) = 0;
    /// Through the scalar cache (s_load).
    virtual Outcome scalar_load(std::uint64_t address, std::span<std::byte> into, Modifiers modifiers,
                                port::Time at) = 0;
    virtual Outcome store(std::uint64_t address, std::span<const std::byte> from, Modifiers modifiers,
                          port::Time at) = 0;
    /// On 4 or 8 bytes, naturally aligned; `old` gets the value before. `compare` is of compare_swap alone.
    virtual Outcome atomic(AtomicOp op, std::uint64_t address, unsigned bytes, std::uint64_t operand,
                           std::uint64_t compare, std::uint64_t& old, Modifiers modifiers, port::Time at) = 0;
    /// What the compiler makes of a fence: a release waits for the stores of the wave (vscnt 0), an acquire invalidates
    /// GL1, then GL0. GL2 is neither written back nor invalidated. Returns when it is done.
    virtual port::Time fence(Order order, Scope scope, port::Time at) = 0;

    virtual port::Time invalidate_gl0(port::Time at) = 0;    ///< buffer_gl0_inv
    virtual port::Time invalidate_gl1(port::Time at) = 0;    ///< buffer_gl1_inv
    virtual port::Time invalidate_scalar(port::Time at) = 0; ///< s_dcache_inv

    /// The command processor starts a dispatch: invalidates GL0, GL1 and the scalar caches; system scope: rinses GL2.
    virtual port::Time begin_kernel(Scope acquire, port::Time at) = 0;
    /// And ends one: waits for all stores; system scope: GL2 is written back.
    virtual port::Time end_kernel(Scope release, port::Time at) = 0;
    /// A load has just found these bytes. Has the watcher told when another one like it may find others. No: memory
    /// cannot say when that is, or it may be so already.
    virtual bool watch(const Outcome&, std::span<const std::byte>, Watcher&) { return false; }
    /// No: the GPU has been reset since.
    virtual bool is_valid() const = 0;
};

} // namespace model::gpu::memory
