// Memory of a program whose pages the system takes away and brings back as it likes (Linux mm; mmu_interval_notifier).
// Each page is in a frame that devices can reach, or its contents are stored elsewhere. A driver that gives a device
// the address of a frame registers a listener: it is called before the frame is taken away, and when it returns no
// device reaches the frame any more.
#pragma once

#include "sw/base/result.h"
#include "sw/memory/buffer.h"
#include "sw/transport/transport.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace sw::memory {

class PageableMemory {
public:
    static constexpr std::uint64_t page_bytes = 4096;
    /// Pages [first, first + count) go. With an Error a device may still reach them, and they stay.
    using Listener = std::function<Result<void>(std::uint64_t first, std::uint64_t count)>;

    /// Zeroed memory of at least `bytes`, rounded up to whole pages; no page has a frame yet.
    PageableMemory(transport::Transport& device, std::uint64_t bytes);
    PageableMemory(const PageableMemory&) = delete;
    PageableMemory& operator=(const PageableMemory&) = delete;

    std::uint64_t size() const { return pages_.size() * page_bytes; }

    /// Accesses of the program: missing pages are brought. EINVAL beyond the end.
    Result<void> read(std::uint64_t offset, std::span<std::byte> into);
    Result<void> write(std::uint64_t offset, std::span<const std::byte> from);

    /// Bus address of the page's frame, made when there is none. EINVAL beyond the end, ENOMEM without memory, EAGAIN
    /// while it goes.
    Result<std::uint64_t> bring(std::uint64_t page);
    /// Whether the page is about to be taken away: then a device must not be given its address any more.
    bool is_leaving(std::uint64_t page) const { return page < pages_.size() && pages_[page].is_leaving; }
    bool is_present(std::uint64_t page) const { return page < pages_.size() && pages_[page].frame.has_value(); }

    /// Takes pages away; their contents are kept. EINVAL beyond the end, or what a listener says.
    Result<void> evict(std::uint64_t first, std::uint64_t count);

    struct Subscription {
        Listener listener;
        bool is_over = false;
    };
    using Ticket = std::shared_ptr<Subscription>;
    Ticket listen(Listener listener);
    /// Returns when nobody is inside the listener any more; not to be called from there.
    void stop_listening(const Ticket& ticket);

private:
    struct Page {
        std::optional<Buffer> frame{};
        std::vector<std::byte> aside{}; ///< contents without a frame; empty: zeros
        bool is_leaving = false;
    };
    template <class F> Result<void> each(std::uint64_t offset, std::uint64_t length, F&& f);

    transport::Transport& device_;
    std::vector<Page> pages_;
    std::vector<Ticket> listeners_;
    unsigned telling_ = 0; ///< threads that tell listeners
};

} // namespace sw::memory
