// A part of a dma-buf as memory of a registration (Linux drivers/infiniband/core/umem_dmabuf.c). Checks offset and
// length, attaches, pins where asked, maps, trims the first and the last piece of the mapping to the part's pages, and
// restores both before it gives the mapping back. Once revoked it never maps again. Knows no HCA: the user of
// the addresses gives a callback that ends the use.
#pragma once

#include "sw/base/result.h"
#include "sw/memory/attachment.h"
#include "sw/memory/dmabuf.h"
#include "sw/memory/umem.h"

#include <cstdint>
#include <functional>
#include <memory>

namespace sw::memory {

/// Which bytes of the buffer.
struct Part {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
};

class UmemDmaBuf {
public:
    /// Ends every use of the addresses before it returns. On an Error it could not, and the mapping stays.
    using Revoke = std::function<Result<void>()>;

    /// Neither pinned nor mapped: for who maps on demand. `move_notify` ends the use and unmaps.
    /// EINVAL for an empty part, one that wraps around, one that leaves the buffer, or without `move_notify`; EBADF
    /// without a buffer.
    static Result<std::unique_ptr<UmemDmaBuf>> get(transport::Transport& device, DmaBufHandle buffer, Part part,
                                                   std::function<void(UmemDmaBuf&, const Lock&)> move_notify);
    /// Pinned and mapped to its end; the exporter cannot take it back.
    static Result<std::unique_ptr<UmemDmaBuf>> get_pinned(transport::Transport& device, DmaBufHandle buffer, Part part);
    /// Pinned and mapped until the exporter takes it back. Comes with the lock: the user makes its key, calls
    /// set_revoke() and then gives the lock back, so that no revocation falls between.
    struct Locked;
    static Result<Locked> get_revocable(transport::Transport& device, DmaBufHandle buffer, Part part);

    UmemDmaBuf(const UmemDmaBuf&) = delete;
    UmemDmaBuf& operator=(const UmemDmaBuf&) = delete;
    /// Revokes, detaches and releases the buffer. Nobody may hold the lock and wait for this.
    ~UmemDmaBuf();

    /// Called once at most: at the first revocation, or when the object goes.
    Result<void> set_revoke(const Lock& lock, Revoke revoke);
    /// Maps unless that was done, then waits until the contents are there. EINVAL once revoked.
    Result<void> map(const Lock& lock);
    /// Restores the list and gives it back. Without a mapping there is nothing to do.
    Result<void> unmap(const Lock& lock);
    /// Ends the use from this side, for good.
    Result<void> revoke();

    /// Where the part lies; empty unless mapped.
    Umem umem() const;
    Part part() const { return part_; }
    bool is_mapped() const { return list_ != nullptr; }
    bool is_revoked() const { return is_revoked_; }
    Attachment& attachment() { return *attachment_; }
    Reservation& reservation() { return attachment_->buffer()->reservation(); }

private:
    explicit UmemDmaBuf(Part part) : part_(part) {}
    static Result<std::unique_ptr<UmemDmaBuf>> attach(transport::Transport& device, DmaBufHandle buffer, Part part,
                                                      std::function<void(UmemDmaBuf&, const Lock&)> move_notify);
    Result<void> pin_and_map(const Lock& lock);
    Result<void> revoke_locked(const Lock& lock);
    void trim();
    void restore();

    Part part_;
    std::unique_ptr<Attachment> attachment_;
    ScatterList* list_ = nullptr;                ///< the mapping, trimmed
    std::size_t first_ = 0, last_ = 0;           ///< pieces that hold the part
    std::uint64_t first_cut_ = 0, last_cut_ = 0; ///< bytes taken off the first one's head and the last one's tail
    bool is_pinned_ = false;
    bool is_revoked_ = false;
    Revoke revoke_;
};

struct UmemDmaBuf::Locked {
    std::unique_ptr<UmemDmaBuf> umem;
    Lock lock; ///< goes first: the umem's end wants it free
};

} // namespace sw::memory
