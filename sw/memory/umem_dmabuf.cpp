#include "sw/memory/umem_dmabuf.h"

#include <fmt/format.h>

#include <cerrno>
#include <utility>

namespace sw::memory {

namespace {

constexpr std::uint64_t page_mask = dma_page - 1;

/// The rules in the kernel's order: no wrap, inside the buffer, not empty.
Result<void> check(const DmaBufHandle& buffer, Part part) {
    const auto refuse = [&](int code, std::string_view why) {
        return failure(code, fmt::format("register a dma-buf: [{:#x}, +{:#x}): {}", part.offset, part.length, why));
    };
    if (part.offset + part.length < part.offset)
        return refuse(EINVAL, "offset and length wrap around");
    if (!buffer)
        return refuse(EBADF, "there is no buffer");
    if (part.offset + part.length > buffer->size())
        return refuse(EINVAL, fmt::format("it leaves a buffer of {:#x} bytes", buffer->size()));
    if (part.length == 0)
        return refuse(EINVAL, "it is empty");
    return {};
}

} // namespace

Result<std::unique_ptr<UmemDmaBuf>> UmemDmaBuf::attach(transport::Transport& device, DmaBufHandle buffer, Part part,
                                                       std::function<void(UmemDmaBuf&, const Lock&)> move_notify) {
    if (auto allowed = check(buffer, part); !allowed)
        return std::unexpected(std::move(allowed.error()));
    std::unique_ptr<UmemDmaBuf> umem(new UmemDmaBuf(part));
    Importer importer{.name = "HCA", .allow_peer2peer = true};
    if (move_notify)
        importer.move_notify = [own = umem.get(), notify = std::move(move_notify)](const Lock& lock) {
            notify(*own, lock);
        };
    auto attachment = buffer->attach(device, std::move(importer));
    if (!attachment)
        return std::unexpected(std::move(attachment.error()));
    umem->attachment_ = std::move(*attachment);
    return umem;
}

Result<std::unique_ptr<UmemDmaBuf>> UmemDmaBuf::get(transport::Transport& device, DmaBufHandle buffer, Part part,
                                                    std::function<void(UmemDmaBuf&, const Lock&)> move_notify) {
    if (!move_notify)
        return failure(EINVAL, "register a dma-buf: without a pin it moves, and nobody would be told (no move_notify)");
    return attach(device, std::move(buffer), part, std::move(move_notify));
}

Result<std::unique_ptr<UmemDmaBuf>> UmemDmaBuf::get_pinned(transport::Transport& device, DmaBufHandle buffer,
                                                           Part part) {
    auto umem = attach(device, std::move(buffer), part, {});
    if (!umem)
        return umem;
    auto lock = (*umem)->reservation().lock(device);
    if (!lock)
        return std::unexpected(std::move(lock.error()));
    auto ready = (*umem)->pin_and_map(*lock);
    lock->unlock();
    if (!ready)
        return std::unexpected(std::move(ready.error()));
    return umem;
}

Result<UmemDmaBuf::Locked> UmemDmaBuf::get_revocable(transport::Transport& device, DmaBufHandle buffer, Part part) {
    // A pin may move the buffer to a place that we reach. Linux takes that move for a revocation, and the registration
    // fails; but before the first pin there is nothing to take back.
    auto umem = attach(device, std::move(buffer), part, [](UmemDmaBuf& own, const Lock& lock) {
        if (own.is_pinned_)
            (void)own.revoke_locked(lock);
    });
    if (!umem)
        return std::unexpected(std::move(umem.error()));
    auto lock = (*umem)->reservation().lock(device);
    if (!lock)
        return std::unexpected(std::move(lock.error()));
    if (auto ready = (*umem)->pin_and_map(*lock); !ready) {
        lock->unlock();
        return std::unexpected(std::move(ready.error()));
    }
    return Locked{std::move(*umem), std::move(*lock)};
}

Result<void> UmemDmaBuf::pin_and_map(const Lock& lock) {
    if (auto pinned = attachment_->pin(lock); !pinned)
        return pinned;
    is_pinned_ = true;
    return map(lock);
}

UmemDmaBuf::~UmemDmaBuf() {
    if (!attachment_)
        return;
    (void)revoke();
    (void)attachment_->detach();
}

Result<void> UmemDmaBuf::set_revoke(const Lock& lock, Revoke revoke) {
    if (auto held = reservation().require(lock, "register a dma-buf: set the revoke callback"); !held)
        return held;
    revoke_ = std::move(revoke);
    return {};
}

Result<void> UmemDmaBuf::map(const Lock& lock) {
    if (auto held = reservation().require(lock, "register a dma-buf: map"); !held)
        return held;
    if (is_revoked_)
        return failure(EINVAL, "register a dma-buf: map: it was revoked, and that is for good");
    if (!list_) {
        const auto list = attachment_->map(lock);
        if (!list)
            return std::unexpected(list.error());
        list_ = *list;
        trim();
    }
    // The addresses are valid now; the contents may not have arrived yet.
    return reservation().wait(attachment_->device(), Usage::kernel);
}

/// Cuts the list down to the pages of the part, in place.
void UmemDmaBuf::trim() {
    const auto begin = part_.offset & ~page_mask;
    const auto end = ((part_.offset + part_.length - 1) | page_mask) + 1; // the buffer is whole pages: no wrap
    std::uint64_t at = 0;
    for (std::size_t i = 0; i < list_->size(); ++i) {
        auto& piece = (*list_)[i];
        const auto piece_end = at + piece.size;
        if (at <= begin && begin < piece_end) {
            first_ = i;
            first_cut_ = begin - at;
            piece.bus += first_cut_;
            piece.size -= first_cut_;
        }
        if (at < end && end <= piece_end) {
            last_ = i;
            last_cut_ = piece_end - end;
            piece.size -= last_cut_;
            return;
        }
        at = piece_end;
    }
}

void UmemDmaBuf::restore() {
    auto& first = (*list_)[first_];
    first.bus -= first_cut_;
    first.size += first_cut_;
    (*list_)[last_].size += last_cut_;
    first_cut_ = last_cut_ = 0;
}

Umem UmemDmaBuf::umem() const {
    if (!list_)
        return {};
    // Within its pages the part may begin and end anywhere.
    std::vector<BusRange> ranges(list_->begin() + static_cast<std::ptrdiff_t>(first_),
                                 list_->begin() + static_cast<std::ptrdiff_t>(last_) + 1);
    const auto head = part_.offset & page_mask;
    const auto tail = (dma_page - ((part_.offset + part_.length) & page_mask)) & page_mask;
    ranges.front().bus += head;
    ranges.front().size -= head;
    ranges.back().size -= tail;
    return Umem::from_ranges(ranges);
}

Result<void> UmemDmaBuf::unmap(const Lock& lock) {
    if (auto held = reservation().require(lock, "register a dma-buf: unmap"); !held)
        return held;
    if (!list_)
        return {};
    restore();
    return attachment_->unmap(lock, std::exchange(list_, nullptr));
}

Result<void> UmemDmaBuf::revoke_locked(const Lock& lock) {
    if (is_revoked_)
        return {};
    is_revoked_ = true;
    if (const auto end_use = std::exchange(revoke_, {}))
        if (auto ended = end_use(); !ended)
            return ended; // the device may still reach the memory: it stays mapped and pinned, and the exporter sees
                          // that
    if (auto unmapped = unmap(lock); !unmapped)
        return unmapped;
    if (std::exchange(is_pinned_, false))
        return attachment_->unpin(lock);
    return {};
}

Result<void> UmemDmaBuf::revoke() {
    auto lock = reservation().lock(attachment_->device());
    if (!lock)
        return std::unexpected(std::move(lock.error()));
    return revoke_locked(*lock);
}

} // namespace sw::memory
