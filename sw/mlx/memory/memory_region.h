// A memory region: memory that the device may reach by key, from host memory or from a dma-buf (PRM "Memory key",
// CREATE_MKEY; ibv_reg_mr, ibv_reg_dmabuf_mr). Chooses the page size, hands the page list over, and takes the key away
// again. A region of a dma-buf is either pinned for its life, or revocable: when the exporter takes its memory back, a
// UMR sets the key free before the exporter is told that it is done. Or it is there on demand: when the exporter moves
// it, a UMR takes its pages away, and the next access brings them (sw/mlx/memory/pager). Copies nothing.
#pragma once

#include "abi/types.h"
#include "sw/base/result.h"
#include "sw/memory/dmabuf.h"
#include "sw/memory/pageable.h"
#include "sw/memory/umem.h"
#include "sw/memory/umem_dmabuf.h"
#include "sw/mlx/device/device.h"
#include "sw/mlx/memory/access.h"
#include "sw/transport/transport.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace sw::mlx {

/// What a region of a dma-buf promises its exporter.
enum class DmaBufMode : std::uint8_t {
    pinned,    ///< it stays until the region goes; the exporter cannot take it back
    revocable, ///< it stays until the exporter takes it back
    on_demand, ///< the exporter moves it as it likes; the device waits for its pages (DeviceOptions::page_faults)
};

struct RegionOptions {
    Access access = Access::local_write;
    std::optional<abi::Iova>
        iova{};              ///< where the region begins in work requests; else its bus address, or one of our own
    bool zero_based = false; ///< it begins at 0
    std::optional<unsigned> log_page_size{}; ///< no larger than this
    DmaBufMode mode = DmaBufMode::pinned;
    bool takes_umr = false; ///< rights and protection domain can be changed later; revocable regions always do
};

class MemoryRegion {
public:
    /// Part of host memory: `length` bytes at `offset`.
    static Result<MemoryRegion> from_host(Device& device, abi::Pd pd, const transport::DmaMemory& memory,
                                          std::uint64_t offset, std::uint64_t length,
                                          const RegionOptions& options = {});
    /// Part of a program's pageable memory, which outlives the region: no page is held, the device waits for those it
    /// needs (DeviceOptions::page_faults; else EOPNOTSUPP). EINVAL for a part that is empty or leaves the memory.
    static Result<MemoryRegion> from_pageable(Device& device, abi::Pd pd, memory::PageableMemory& memory,
                                              std::uint64_t offset, std::uint64_t length,
                                              const RegionOptions& options = {});
    /// Part of a dma-buf. EINVAL for a part that is empty, wraps around or leaves the buffer, and where iova and offset
    /// differ within a page; EBADF without a buffer; ENODEV when the exporter took it back or is gone.
    static Result<MemoryRegion> from_export(Device& device, abi::Pd pd, memory::DmaBufHandle handle,
                                            std::uint64_t offset, std::uint64_t length,
                                            const RegionOptions& options = {});
    /// All of the bus: addresses in work requests are bus addresses (PRM "Memory key", length64). For the driver's own
    /// use.
    static Result<MemoryRegion> physical(Device& device, abi::Pd pd, Access access);

    MemoryRegion(MemoryRegion&& other) noexcept;
    MemoryRegion& operator=(MemoryRegion&& other) noexcept;
    ~MemoryRegion();
    /// Takes the key away from the device, then releases the memory. EBUSY while another thread is inside the region
    /// (destroying or reregistering it).
    Result<void> destroy();

    /// Other rights and protection domain for the same key, by a UMR (ibv_rereg_mr with IBV_REREG_MR_CHANGE_PD and
    /// _ACCESS). EOPNOTSUPP for a key that takes no UMR, EINVAL once revoked, EBUSY as destroy().
    Result<void> rereg_access(abi::Pd pd, Access access);
    /// Other memory (IBV_REREG_MR_CHANGE_TRANSLATION). The region of a dma-buf is replaced by another one, as in the
    /// kernel: it has a new key afterwards. On failure it stays what it was.
    Result<void> rereg_export(memory::DmaBufHandle handle, std::uint64_t offset, std::uint64_t length,
                              const RegionOptions& options);

    /// The exporter took the memory back: every use of the key is refused, and its number stays taken until destroy().
    bool is_revoked() const {
        return export_ && (export_->umem->is_revoked() || export_->umem->attachment().buffer()->is_revoked());
    }

    /// On demand: brings all pages before somebody needs them (ibv_advise_mr). EINVAL for a region of another kind.
    Result<void> prefetch();

    std::uint32_t lkey() const { return key_.value; }
    std::uint32_t rkey() const { return key_.value; }
    abi::Key key() const { return key_; }
    abi::Iova iova() const { return iova_; }
    std::uint64_t length() const { return length_; }
    unsigned log_page_size() const { return log_page_size_; }
    std::size_t page_count() const { return page_count_; }

private:
    MemoryRegion() = default;
    /// What CREATE_MKEY is told.
    struct Shape {
        abi::Iova iova;
        std::uint64_t length = 0;
        unsigned log_page_size = 12;
        std::span<const std::uint64_t> pages;
        bool pages_have_rights = false; ///< in bits 0 and 1; UMRs may write all of them
    };
    static Result<MemoryRegion> create_key(Device& device, abi::Pd pd, const Shape& shape,
                                           const RegionOptions& options);
    /// Rights that the device and IBA 10.6.3.1 allow; else EINVAL or EOPNOTSUPP.
    static Result<void> check_access(const Capabilities& capabilities, Access access);
    static Result<MemoryRegion> create(Device& device, abi::Pd pd, const memory::Umem& umem, abi::Iova iova,
                                       const RegionOptions& options);
    static Result<MemoryRegion> create_at_iova(Device& device, abi::Pd pd, const memory::Umem& umem,
                                               const RegionOptions& options);
    /// Whether the device and its driver can bring pages; and the queue for UMRs, which will be wanted.
    static Result<void> check_paging(Device& device);
    static Result<MemoryRegion> from_export_on_demand(Device& device, abi::Pd pd, memory::DmaBufHandle handle,
                                                      memory::Part part, const RegionOptions& options);
    Result<void> destroy_key();

    /// The dma-buf behind a region, in a place of its own: its exporter calls back while the region may have been
    /// moved.
    struct Export {
        std::unique_ptr<memory::UmemDmaBuf> umem;
        Device* device = nullptr;
        abi::Key key{};
        bool has_key = false;
        bool is_on_demand = false;
        /// The revoke callback: the key is of no use to anybody when it returns.
        Result<void> free_key() const;
        /// On demand: maps the buffer where it is now and gives the key its pages.
        Result<void> bring() const;
        /// The buffer is about to move: the key has no pages when it returns, and the mapping is given back.
        void take_away(const memory::Lock& lock) const;
    };

    /// Pageable memory behind a region, in a place of its own as well: threads that bring its pages share it.
    struct Paged {
        Device* device = nullptr;
        memory::PageableMemory* memory = nullptr;
        memory::PageableMemory::Ticket ticket{};
        abi::Key key{};
        abi::Iova iova{};
        std::uint64_t first_page = 0;       ///< of the region in the memory
        std::vector<std::uint64_t> entries; ///< what the key has, in whole units of a UMR
        std::size_t page_count = 0;         ///< of them the region's
        bool is_changing = false;           ///< a thread is about to change them, or the key
        bool has_key = false;
        Result<void> bring(std::uint64_t address, std::uint64_t length);
        Result<void> take_away(std::uint64_t first, std::uint64_t count);
        /// Waits until nobody changes the key's pages, and keeps it so.
        Result<void> hold();

    private:
        Result<void> wait_until_stable(std::uint64_t first, std::uint64_t end) const;
        Result<void> write(std::uint64_t first, std::uint64_t end);
    };
    /// A thread is inside the region; the next one is told.
    class Inside {
    public:
        explicit Inside(bool& is_busy) : is_busy_(is_busy ? nullptr : &is_busy) {
            if (is_busy_)
                *is_busy_ = true;
        }
        Inside(const Inside&) = delete;
        Inside& operator=(const Inside&) = delete;
        ~Inside() {
            if (is_busy_)
                *is_busy_ = false;
        }
        explicit operator bool() const { return is_busy_ != nullptr; }

    private:
        bool* is_busy_;
    };
    bool is_on_demand() const { return paged_ || (export_ && export_->is_on_demand); }

    Device* device_ = nullptr; // set while the key exists
    std::shared_ptr<Export> export_;
    std::shared_ptr<Paged> paged_;
    abi::Key key_{};
    abi::Pd pd_{};
    bool takes_umr_ = false;
    bool is_busy_ = false;
    abi::Iova iova_{};
    bool owns_iova_ = false;
    std::uint64_t length_ = 0;
    unsigned log_page_size_ = 0;
    std::size_t page_count_ = 0;
};

} // namespace sw::mlx
