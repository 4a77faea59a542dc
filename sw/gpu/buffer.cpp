#include "sw/gpu/buffer.h"

#include "sw/memory/attachment.h"
#include "sw/transport/poll.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

namespace sw::gpu {

using memory::Lock;

std::string_view name(Placement placement) { return placement == Placement::vram ? "VRAM" : "system memory"; }

Place::~Place() {
    manager->note_free(*this);
    manager->allocator().release(vram);
}

BufferObject::BufferObject(std::shared_ptr<BufferManager> owner, PlaceHandle at, std::uint64_t bytes)
    : manager(std::move(owner)), place(std::move(at)), size(bytes) {
    manager->objects_.push_back(this);
}

BufferObject::~BufferObject() { manager->objects_.remove(this); }

/// A copy under way: what it reads and writes stays until it ends.
struct BufferManager::Copy {
    std::shared_ptr<BufferManager> manager;
    PlaceHandle from, to;
    std::uint64_t size = 0;
    std::vector<memory::FenceHandle> before; ///< users of the old place
    std::uint64_t done = 0;
    std::uint64_t handed_over = 0;        ///< to the engine
    std::optional<std::uint32_t> fence{}; ///< of what it was given last

    std::optional<int> step() {
        if (manager->is_dead())
            return ENODEV;
        for (const auto& user : before)
            if (!user->is_signaled())
                return std::nullopt;
        return manager->ring_ ? step_by_engine() : step_by_processor();
    }

private:
    bool is_from_vram() const { return from->placement == Placement::vram; }
    /// What is behind each other in VRAM from byte `position` of the buffer on.
    VramRange find(std::uint64_t position) const {
        for (const auto& range : is_from_vram() ? from->vram : to->vram) {
            if (position < range.size)
                return {range.offset + position, range.size - position};
            position -= range.size;
        }
        return {};
    }
    std::optional<int> step_by_processor() {
        const auto range = find(done);
        const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(piece_bytes, range.size));
        auto& transport = *manager->transport_;
        if (is_from_vram())
            transport.bar_read(manager->bar_, range.offset, to->system.bytes().subspan(done, bytes));
        else
            transport.bar_write(manager->bar_, range.offset, from->system.bytes().subspan(done, bytes));
        done += bytes;
        return done == size ? std::optional(0) : std::nullopt;
    }
    std::optional<int> step_by_engine() {
        constexpr std::size_t at_once = 256; ///< pieces, so that several copies have room in the ring
        if (fence) {
            const auto passed = manager->ring_->has_passed(*fence);
            if (!passed)
                return passed.error().code;
            if (!*passed)
                return std::nullopt;
            done = handed_over;
            fence.reset();
        }
        if (done == size)
            return 0;
        std::vector<CopyRing::Piece> pieces;
        const auto& memory = is_from_vram() ? to->system : from->system;
        for (auto end = done; end < size && pieces.size() < at_once; handed_over = end) {
            const auto range = find(end);
            const CopyRing::End in_vram{.address = range.offset},
                in_memory{.is_system = true, .address = memory.bus() + end};
            const auto bytes = std::min(range.size, size - end);
            pieces.push_back(is_from_vram() ? CopyRing::Piece{in_vram, in_memory, bytes}
                                            : CopyRing::Piece{in_memory, in_vram, bytes});
            end += bytes;
        }
        fence = manager->ring_->submit(pieces);
        return std::nullopt;
    }
};

/// Tells the machine who owns a buffer's place, where it asks.
void BufferManager::note_owner(const BufferObject& object) {
    listener_ = is_dead_ ? nullptr : transport_->ownership_listener();
    if (listener_ == nullptr)
        return;
    bar_base_ = transport_->bar_address(bar_);
    const auto who = fmt::format("buffer {} of the GPU, generation {}", object.number, object.generation);
    const auto& place = *object.place;
    for (const auto& range : place.vram)
        listener_->own(bar_base_ + range.offset, range.size, who);
    if (place.placement == Placement::system)
        listener_->own_memory(place.system.data(), place.system.size(), who);
}

void BufferManager::note_free(const Place& place) {
    if (listener_ != nullptr && !is_dead_) // a buffer may outlive its GPU, and the transport that leads to it
        for (const auto& range : place.vram)
            listener_->disown(bar_base_ + range.offset, range.size);
}

Result<PlaceHandle> BufferManager::find_place(std::uint64_t bytes, Placement placement) {
    if (placement == Placement::system) {
        auto memory = memory::Buffer::allocate(*transport_, bytes, allocator_.block_bytes());
        if (!memory)
            return std::unexpected(std::move(memory.error()));
        return std::make_shared<Place>(shared_from_this(), std::move(*memory));
    }
    for (;;) {
        auto ranges = allocator_.allocate(bytes);
        if (ranges)
            return std::make_shared<Place>(shared_from_this(), std::move(*ranges));
        if (ranges.error().code != ENOMEM || bytes > allocator_.total_bytes())
            return std::unexpected(std::move(ranges.error()));
        const auto evicted = evict_one();
        if (!evicted)
            return std::unexpected(evicted.error());
        if (!*evicted)
            return std::unexpected(std::move(ranges.error()));
    }
}

/// Moves the least recently used buffer that may go to system memory and waits for the end of the copy, which is when
/// its blocks are free. False when there is none.
Result<bool> BufferManager::evict_one() {
    BufferObject* victim = nullptr;
    for (auto* object : objects_)
        if (object->place->placement == Placement::vram && object->pins == 0 && !object->reservation->is_locked() &&
            (victim == nullptr || object->last_use < victim->last_use))
            victim = object;
    if (victim == nullptr)
        return false;
    const auto reservation = victim->reservation; // the buffer may go while we wait
    auto lock = reservation->try_lock();
    const auto moving = move(*victim, lock, Placement::system);
    if (!moving)
        return std::unexpected(moving.error());
    lock.unlock();
    ++evictions_;
    const auto fence = *moving;
    if (!transport::poll_until(*transport_, memory::fence_patience, [&] { return fence->is_signaled(); }))
        return failure(ETIMEDOUT, fmt::format("evict a buffer: the {} has not ended", fence->what()));
    return true;
}

Result<std::shared_ptr<BufferObject>> BufferManager::allocate(std::uint64_t bytes) {
    if (is_dead_)
        return failure(ENODEV, "allocate VRAM: the GPU is gone");
    auto place = find_place(bytes, Placement::vram);
    if (!place)
        return std::unexpected(std::move(place.error()));
    std::uint64_t size = 0;
    for (const auto& range : (*place)->vram)
        size += range.size;
    auto object = std::make_shared<BufferObject>(shared_from_this(), std::move(*place), size);
    object->last_use = ++clock_;
    object->number = ++made_;
    note_owner(*object);
    return object;
}

Result<memory::FenceHandle> BufferManager::move(BufferObject& object, const Lock& lock, Placement to) {
    const auto operation = fmt::format("move a buffer of {:#x} bytes to {}", object.size, name(to));
    if (auto held = object.reservation->require(lock, operation); !held)
        return std::unexpected(std::move(held.error()));
    if (is_dead_)
        return failure(ENODEV, operation + ": the GPU is gone");
    if (object.place->placement == to) {
        if (object.moving)
            return object.moving;
        auto done = std::make_shared<memory::Fence>(operation);
        (void)done->signal();
        return done;
    }
    if (object.pins != 0)
        return failure(EBUSY, fmt::format("{}: it is pinned {} times", operation, object.pins));
    if (object.moving) // this copy reads what that one writes
        if (!transport::poll_until(*transport_, memory::fence_patience, [&] { return object.moving->is_signaled(); }))
            return failure(ETIMEDOUT, fmt::format("{}: the {} has not ended", operation, object.moving->what()));
    auto place = find_place(object.size, to);
    if (!place)
        return failure(place.error().code, operation + ": " + place.error().what);
    // Importers are told first. Their old mappings stay for now, and must be given back soon (Linux,
    // dma_buf_attach_ops, move_notify). Work of theirs at the old place has a fence, for which the copy waits. The old
    // place is released when the copy has ended, whether or not a mapping is left.
    if (const auto exported = object.exported.lock())
        if (auto told = exported->notify_move(lock); !told)
            return std::unexpected(std::move(told.error()));
    auto copy = std::make_shared<Copy>(shared_from_this(), object.place, *place, object.size,
                                       object.reservation->pending(memory::Usage::bookkeep));
    object.place = std::move(*place);
    note_owner(object);
    object.moving = std::make_shared<memory::Fence>(operation, [copy = std::move(copy)] { return copy->step(); });
    ++moves_;
    if (auto added = object.reservation->add_fence(lock, object.moving, memory::Usage::kernel); !added)
        return std::unexpected(std::move(added.error()));
    return object.moving;
}

Result<void> BufferManager::revoke(BufferObject& object) {
    const auto exported = object.exported.lock();
    if (!exported)
        return {};
    auto revoked = exported->revoke(*transport_);
    if (revoked && !std::exchange(object.is_taken_back, true)) {
        ++object.generation;
        note_owner(object);
    }
    return revoked;
}

Result<void> BufferManager::access(BufferObject& object, std::uint64_t offset, std::size_t size,
                                   const std::function<void(std::uint64_t, std::size_t, std::size_t)>& in_vram,
                                   const std::function<void(std::span<std::byte>)>& in_memory) {
    if (is_dead_)
        return failure(ENODEV, "VRAM copy: the GPU is gone");
    object.last_use = ++clock_;
    if (object.moving &&
        !transport::poll_until(*transport_, memory::fence_patience, [&] { return object.moving->is_signaled(); }))
        return failure(ETIMEDOUT, fmt::format("VRAM copy: the {} has not ended", object.moving->what()));
    const auto place = object.place; // a copy takes time, in which others may move the buffer
    if (place->placement == Placement::system) {
        in_memory(place->system.bytes().subspan(offset, size));
        return {};
    }
    std::size_t position = 0;
    for (const auto& range : place->vram) {
        if (offset >= range.size) {
            offset -= range.size;
            continue;
        }
        const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(range.size - offset, size - position));
        if (bytes == 0)
            break;
        in_vram(range.offset + offset, position, bytes);
        position += bytes;
        offset = 0;
    }
    return {};
}

Result<void> BufferManager::rinse() {
    if (!ring_)
        return {};
    std::optional<std::uint32_t> fence;
    Result<bool> passed = false;
    bool is_again = false;
    const auto is_over = [&] {
        if (!fence)
            fence = ring_->submit({}); // with no piece a batch is a rinse and a fence; the ring may be full
        passed = fence ? ring_->has_passed(*fence) : false;
        if (!passed && !std::exchange(is_again, true)) { // an engine that had halted before, or was reset, goes on anew
            fence.reset();
            return false;
        }
        return !passed || *passed;
    };
    if (!transport::poll_until(*transport_, std::chrono::seconds{1}, is_over))
        return failure(ETIMEDOUT, "rinse: the copy engine does not come to it");
    return passed ? Result<void>{} : std::unexpected(passed.error());
}

Result<void> BufferManager::die() {
    if (std::exchange(is_dead_, true))
        return {};
    if (ring_) // it copies to memory that is given back now
        engine_bytes_ += ring_->bytes_submitted();
    ring_.reset();
    Result<void> first;
    std::vector<memory::DmaBufHandle> exports; // taking one back may let others go
    for (const auto* object : objects_)
        if (auto exported = object->exported.lock())
            exports.push_back(std::move(exported));
    for (const auto& exported : exports)
        if (auto gone = exported->revoke(*transport_, true); !gone && first)
            first = std::move(gone);
    for (auto* object : objects_) {
        if (object->moving && !object->moving->has_ended())
            (void)object->moving->signal(ENODEV);
        const auto exported = object->exported.lock();
        if (!exported || exported->mapping_count() == 0) // else a device may still reach it
            object->place->system = {};
    }
    return first;
}

} // namespace sw::gpu
