// Virtual memory of a GPU for one process, as its driver keeps it: page tables in VRAM that the processor writes
// through the BAR, the registers of a context, and the invalidations that make a change known (Linux amdgpu,
// amdgpu_vm_pt.c, gmc_v11_0.c). Buffers of the GPU and dma-bufs of other devices are mapped, each with the memory type
// that its table entries get now and keep.
#pragma once

#include "abi/gpu/page_table.h"
#include "abi/gpu/registers.h"
#include "sw/base/result.h"
#include "sw/gpu/gpu.h"
#include "sw/memory/attachment.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace sw::gpu {

class AddressSpace {
public:
    struct Options {
        unsigned vmid = 8; ///< contexts below are the kernel's
        unsigned register_bar = 5;
        /// Buffers of other devices are imported, too. Stock amdgpu asks the exporter for facts that only it has, and
        /// refuses them.
        bool accepts_foreign = false;
    };
    /// The GPU outlives it.
    static Result<std::unique_ptr<AddressSpace>> create(Gpu& gpu, const Options& options);
    AddressSpace(const AddressSpace&) = delete;
    AddressSpace& operator=(const AddressSpace&) = delete;
    /// The context is off, and what was imported is given back.
    ~AddressSpace();

    /// A buffer in VRAM, which stays there while it is mapped. Returns its address. Entries of a buffer that is
    /// uncached become UC.
    Result<std::uint64_t> map(const VramBuffer& buffer, abi::gpu::Mtype mtype, bool is_writeable = true);
    /// Memory of another device, or registers. EINVAL: its exporter is no GPU, and foreign ones are not accepted. When
    /// the exporter takes it back, the pages are gone before that returns.
    Result<std::uint64_t> import(const memory::DmaBufHandle& buffer, abi::gpu::Mtype mtype);
    /// Memory of the host that this GPU reaches at `bus`, by its transport; whole pages.
    Result<std::uint64_t> map_host(std::uint64_t bus, std::uint64_t bytes, abi::gpu::Mtype mtype);
    // What takes something away returns when nobody reaches by it any more, and what was stored by it is in memory.
    // ENOENT: nothing is mapped there.
    Result<void> unmap(std::uint64_t address);
    /// Who writes there faults from now on.
    Result<void> protect(std::uint64_t address);
    /// The address leads there from now on, to be read and written. The bytes are the caller's affair, who has kept
    /// them from changing. EINVAL: it is not as large.
    Result<void> move(std::uint64_t address, const VramBuffer& to);
    Result<void> move_to_host(std::uint64_t address, std::uint64_t bus);

    /// What has to be done for that, in this order.
    enum class Step : std::uint8_t { entries, host_path, invalidation, acknowledgement, rinse };
    /// A mistake on purpose, for tests: from now on the step is left out.
    void plant_omission(Step step) { omitted_ = step; }

    /// The table entry of an address as it stands in memory; nothing where there is none that is valid.
    std::optional<abi::gpu::Pte> entry(std::uint64_t address);
    unsigned vmid() const { return options_.vmid; }

    /// A request to an invalidation engine of the graphics hub; returns when it is acknowledged. ETIMEDOUT.
    Result<void> invalidate(unsigned engine, abi::gpu::InvalidateRequest request);
    /// What the host has written is in VRAM, not on its way.
    void flush_host_path();

private:
    struct Piece {
        std::uint64_t physical = 0, bytes = 0;
    };
    struct Kind {
        bool is_system = false, is_writeable = true;
        abi::gpu::Mtype mtype{};
    };
    struct Area {
        std::uint64_t bytes = 0;
        std::vector<Piece> pieces{};
        Kind kind{};
        std::optional<Pin> pin{};
        std::unique_ptr<memory::Attachment> import{};
        memory::ScatterList* list = nullptr; ///< of the import
    };
    AddressSpace(Gpu& gpu, const Options& options) : gpu_(gpu), options_(options) {}
    Result<void> begin();
    Result<std::uint64_t> take_table();
    Result<std::uint64_t> place(std::vector<Piece> pieces, const Kind& kind, Area area);
    Result<void> set(std::uint64_t address, abi::gpu::Pte entry);
    /// Entries of the pages from `address` on; of a buffer with its pin.
    Result<void> lead(std::uint64_t address, std::span<const Piece> pieces, const Kind& kind,
                      const std::optional<Pin>& pin);
    Result<std::vector<Piece>> pieces_of(const VramBuffer& buffer, std::optional<Pin>& pin);
    Result<void> move(std::uint64_t address, std::vector<Piece> pieces, bool is_system, std::optional<Pin> pin);
    Result<void> change(std::uint64_t address, const Area& area, const std::optional<Pin>& pin);
    Result<void> take_out(std::uint64_t address, const Area& area);
    Result<Area*> find(std::uint64_t address);
    /// Entries were changed: written for good, and forgotten by the translation caches.
    Result<void> make_known();
    /// The same; besides, nothing that came by the old ones rests in a cache.
    Result<void> let_go();
    Result<void> is_taken_back(std::uint64_t address, const memory::Lock& lock);
    std::uint64_t read_entry(std::uint64_t at);
    void write_entry(std::uint64_t at, std::uint64_t value);
    void set_context(bool is_on);
    std::uint32_t read(std::uint32_t offset);
    void write(std::uint32_t offset, std::uint32_t value);

    Gpu& gpu_;
    Options options_;
    std::vector<VramBuffer> tables_;
    std::vector<Pin> table_pins_;
    std::uint64_t next_table_ = 0, tables_end_ = 0; ///< in VRAM
    std::uint64_t root_ = 0;
    std::uint64_t next_address_ = std::uint64_t{1} << 40;
    std::map<std::uint64_t, Area> areas_;
    std::map<std::pair<unsigned, std::uint64_t>, std::uint64_t>
        table_of_; ///< by level and what of an address it covers
    bool is_on_ = false;
    std::optional<Step> omitted_;
};

} // namespace sw::gpu
