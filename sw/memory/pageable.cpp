#include "sw/memory/pageable.h"

#include "sw/transport/poll.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

namespace sw::memory {

namespace {

constexpr std::chrono::nanoseconds patience = std::chrono::seconds{10};

Error outside(std::string_view what, std::uint64_t offset, std::uint64_t length, std::uint64_t size) {
    return failure(EINVAL,
                   fmt::format("{} [{:#x}, +{:#x}) of pageable memory: it has {:#x} bytes", what, offset, length, size))
        .error();
}

} // namespace

PageableMemory::PageableMemory(transport::Transport& device, std::uint64_t bytes)
    : device_(device), pages_((bytes + page_bytes - 1) / page_bytes) {}

Result<std::uint64_t> PageableMemory::bring(std::uint64_t page) {
    if (page >= pages_.size())
        return std::unexpected(outside("bring", page * page_bytes, page_bytes, size()));
    auto& wanted = pages_[page];
    if (wanted.is_leaving)
        return failure(EAGAIN, fmt::format("bring page {:#x} of pageable memory: it is about to go", page));
    if (!wanted.frame) {
        auto frame = Buffer::allocate(device_, page_bytes);
        if (!frame)
            return std::unexpected(std::move(frame.error()));
        std::ranges::copy(wanted.aside, frame->data());
        wanted.aside.clear();
        wanted.frame = std::move(*frame);
    }
    return wanted.frame->bus();
}

Result<void> PageableMemory::evict(std::uint64_t first, std::uint64_t count) {
    if (count > pages_.size() || first > pages_.size() - count)
        return std::unexpected(outside("evict", first * page_bytes, count * page_bytes, size()));
    const auto range = std::span(pages_).subspan(first, count);
    const auto is_free = [&] { return std::ranges::none_of(range, &Page::is_leaving); };
    if (!transport::poll_until(device_, patience, is_free)) // another thread takes one of them away
        return failure(ETIMEDOUT, "evict: pages of the range do not come to rest");
    for (auto& page : range)
        page.is_leaving = true;
    Result<void> told;
    ++telling_;
    const auto listeners = listeners_; // some may come and go meanwhile
    for (const auto& one : listeners)
        if (told && !one->is_over)
            told = one->listener(first, count);
    --telling_;
    for (auto& page : range) {
        if (told && page.frame) {
            page.aside.assign(page.frame->data(), page.frame->data() + page_bytes);
            page.frame.reset();
        }
        page.is_leaving = false;
    }
    return told;
}

PageableMemory::Ticket PageableMemory::listen(Listener listener) {
    return listeners_.emplace_back(std::make_shared<Subscription>(std::move(listener)));
}

void PageableMemory::stop_listening(const Ticket& ticket) {
    ticket->is_over = true;
    std::erase(listeners_, ticket);
    (void)transport::poll_until(device_, patience, [&] { return telling_ == 0; });
}

/// Calls `f(bytes of a frame, position)` for the pieces of a range.
template <class F> Result<void> PageableMemory::each(std::uint64_t offset, std::uint64_t length, F&& f) {
    if (length > size() || offset > size() - length)
        return std::unexpected(outside("access", offset, length, size()));
    for (std::uint64_t done = 0; done != length;) {
        const auto at = offset + done;
        const auto page = at / page_bytes;
        if (!transport::poll_until(device_, patience, [&] { return !pages_[page].is_leaving; }))
            return failure(ETIMEDOUT, fmt::format("page {:#x} of pageable memory does not come to rest", page));
        if (const auto brought = bring(page); !brought)
            return std::unexpected(brought.error());
        const auto piece = std::min(length - done, page_bytes - at % page_bytes);
        f(pages_[page].frame->bytes().subspan(at % page_bytes, piece), done);
        done += piece;
    }
    return {};
}

Result<void> PageableMemory::read(std::uint64_t offset, std::span<std::byte> into) {
    return each(offset, into.size(), [&](std::span<std::byte> frame, std::uint64_t at) {
        std::ranges::copy(frame, into.subspan(at).begin());
    });
}

Result<void> PageableMemory::write(std::uint64_t offset, std::span<const std::byte> from) {
    return each(offset, from.size(), [&](std::span<std::byte> frame, std::uint64_t at) {
        std::ranges::copy(from.subspan(at, frame.size()), frame.begin());
    });
}

} // namespace sw::memory
