// The buffers of a GPU and their manager: allocates VRAM in blocks, moves buffers between VRAM and system memory behind
// a fence, evicts buffers that nobody has pinned when VRAM is full, and releases the old place only when the copy has
// ended. A copy engine copies where the GPU has one; else the processor does, through the BAR, one piece at each poll
// of the fence.
#pragma once

#include "sw/base/result.h"
#include "sw/gpu/copy_ring.h"
#include "sw/gpu/vram.h"
#include "sw/memory/buffer.h"
#include "sw/memory/dmabuf.h"
#include "sw/memory/fence.h"
#include "sw/memory/reservation.h"
#include "sw/transport/transport.h"

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace sw::gpu {

enum class Placement : std::uint8_t { vram, system };
std::string_view name(Placement placement);

class BufferManager;

/// Where a buffer lies, given back when nobody needs it any more: neither the buffer nor a copy from or to it.
struct Place {
    Place(std::shared_ptr<BufferManager> owner, std::vector<VramRange> ranges)
        : manager(std::move(owner)), placement(Placement::vram), vram(std::move(ranges)) {}
    Place(std::shared_ptr<BufferManager> owner, memory::Buffer memory)
        : manager(std::move(owner)), placement(Placement::system), system(std::move(memory)) {}
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place();

    std::shared_ptr<BufferManager> manager;
    Placement placement;
    std::vector<VramRange> vram{};
    memory::Buffer system{};
};
using PlaceHandle = std::shared_ptr<Place>;

struct BufferObject {
    BufferObject(std::shared_ptr<BufferManager> owner, PlaceHandle at, std::uint64_t bytes);
    BufferObject(const BufferObject&) = delete;
    BufferObject& operator=(const BufferObject&) = delete;
    ~BufferObject();

    std::shared_ptr<BufferManager> manager;
    PlaceHandle place;  ///< where it lies, or will lie when `moving` has ended
    std::uint64_t size; ///< whole blocks
    unsigned pins = 0;
    std::uint64_t last_use = 0; ///< the least recently used is evicted first
    std::shared_ptr<memory::Reservation> reservation = std::make_shared<memory::Reservation>();
    memory::FenceHandle moving{}; ///< of the last move
    std::weak_ptr<memory::DmaBuf> exported{};
    std::uint64_t number = 0;   ///< of the buffers of this GPU
    unsigned generation = 1;    ///< the next one begins when the export was taken back
    bool is_taken_back = false; ///< the last export
    bool is_uncached = false;   ///< page table entries of it that are written from now on are UC
};

class BufferManager : public std::enable_shared_from_this<BufferManager> {
public:
    static constexpr std::size_t piece_bytes = 64 * 1024; ///< copied between two looks at a fence

    BufferManager(transport::Transport& transport, unsigned bar, std::uint64_t size, VramLayout layout)
        : transport_(&transport), bar_(bar), allocator_(size, layout) {}
    /// From now on moves are the engine's work.
    void use(std::unique_ptr<CopyRing> ring) { ring_ = std::move(ring); }
    BufferManager(const BufferManager&) = delete;
    BufferManager& operator=(const BufferManager&) = delete;

    /// A buffer in VRAM; others are moved out for it when nothing is free. ENOMEM when that does not help, ENODEV when
    /// the GPU is gone.
    Result<std::shared_ptr<BufferObject>> allocate(std::uint64_t bytes);
    /// Begins a move. Importers are told, and the buffer has its new place at once. The fence, which is also a fence of
    /// the buffer, says when the bytes are there. EBUSY while it is pinned, ENOMEM without room at the new place.
    Result<memory::FenceHandle> move(BufferObject& object, const memory::Lock& lock, Placement to);
    /// The dma-buf of a buffer: the same one as long as it lives and was not taken back.
    Result<memory::DmaBufHandle> export_buffer(const std::shared_ptr<BufferObject>& object);
    /// Takes the export back; from then on the memory belongs to the next generation of the buffer.
    Result<void> revoke(BufferObject& object);
    /// Calls `in_vram(BAR offset, position, bytes)` or `in_memory(span)` for the pieces of [offset, +size), after
    /// a move of the buffer has ended.
    Result<void> access(BufferObject& object, std::uint64_t offset, std::size_t size,
                        const std::function<void(std::uint64_t, std::size_t, std::size_t)>& in_vram,
                        const std::function<void(std::span<std::byte>)>& in_memory);
    /// See Gpu::rinse(). ETIMEDOUT, EIO: the engine does not do it.
    Result<void> rinse();
    /// The GPU is removed: every export is taken back, also from importers that cannot be told (EBUSY when one of these
    /// still has a mapping), and later calls fail.
    Result<void> die();
    bool is_dead() const { return is_dead_; }

    transport::Transport& transport() { return *transport_; }
    VramAllocator& allocator() { return allocator_; }
    std::uint64_t evictions() const { return evictions_; }
    std::uint64_t moves() const { return moves_; }
    /// Bytes that were given to a copy engine to move.
    std::uint64_t engine_bytes() const { return engine_bytes_ + (ring_ ? ring_->bytes_submitted() : 0); }
    /// Whether buffers in VRAM are offered as lists of physical addresses.
    void offer_physical(bool offers) { offers_physical_ = offers; }
    void make_exports_uncached(bool makes) { makes_uncached_ = makes; }

private:
    friend struct BufferObject;
    friend struct Place;
    struct Copy;
    Result<PlaceHandle> find_place(std::uint64_t bytes, Placement placement);
    Result<bool> evict_one();
    void note_owner(const BufferObject& object);
    void note_free(const Place& place);
    memory::Exporter exporter_of(const std::shared_ptr<BufferObject>& object);
    Result<void> pin(BufferObject& object, memory::Attachment& attachment, const memory::Lock& lock);
    Result<memory::ScatterList> map(BufferObject& object, memory::Attachment& attachment, const memory::Lock& lock);
    void unmap(memory::Attachment& attachment, const memory::ScatterList& list);
    Result<memory::PhysicalList> physical(const BufferObject& object) const;
    Result<std::vector<memory::BusRange>> bus_ranges(const BufferObject& object) const;

    transport::Transport* transport_;
    unsigned bar_;
    transport::OwnershipListener* listener_ = nullptr; ///< who was told of the buffer's place; nullptr: nobody asks
    std::uint64_t bar_base_ = 0;                       ///< address of VRAM at that time
    VramAllocator allocator_;
    std::unique_ptr<CopyRing> ring_{};                                           ///< none: the processor copies
    std::list<BufferObject*> objects_;                                           ///< that live, oldest first
    std::vector<std::pair<memory::Attachment*, std::uint64_t>> system_mappings_; ///< and the address each was given
    std::uint64_t clock_ = 0, made_ = 0;
    std::uint64_t evictions_ = 0, moves_ = 0, engine_bytes_ = 0;
    bool is_dead_ = false;
    bool offers_physical_ = true;
    bool makes_uncached_ = false; ///< an export does
};

} // namespace sw::gpu
