#include "testbench/scenario/race_memory.h"

#include "sw/transport/poll.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>

namespace scenario::race {

using harness::must;

Memory::Memory(harness::Side& owner, MemoryKind kind, std::uint64_t offset, std::uint64_t size, unsigned importers)
    : owner_(owner), offset_(offset), size_(size) {
    const auto bytes = size_ + 2 * offset_;
    std::vector<std::span<std::byte>> places;
    if (kind == MemoryKind::host) {
        host_ = must(owner_.hca_function->allocate(bytes));
        all_ = host_->bytes();
        places.push_back(all_);
    } else {
        buffer_ = must(owner_.gpu->allocate(bytes));
        all_ = owner_.gpu_card.vram().bytes();
        for (const auto& range : buffer_->ranges())
            places.push_back(all_.subspan(range.offset, range.size));
    }
    const auto mode = kind == MemoryKind::on_demand ? sw::mlx::DmaBufMode::on_demand : sw::mlx::DmaBufMode::revocable;
    for (unsigned i = 0; i < importers; ++i)
        regions_.push_back(
            host_ ? must(owner_.context->reg_mr(owner_.pd, *host_, offset_, size_, {.access = sw::mlx::all_access}))
                  : must(owner_.context->reg_dmabuf_mr(owner_.pd, must(owner_.gpu->export_buffer(*buffer_)), offset_,
                                                       size_, {.access = sw::mlx::all_access, .mode = mode})));
    set_pieces(places);
}

Memory::~Memory() {
    regions_.clear();
    if (host_)
        owner_.hca_function->release(*host_);
    if (next_)
        owner_.functions->unit()->machine().release(*next_);
}

void Memory::set_pieces(std::span<const std::span<std::byte>> places) {
    std::uint64_t position = 0;
    for (const auto place : places) {
        const auto begin = std::max(position, offset_), end = std::min(position + place.size(), offset_ + size_);
        if (begin < end)
            pieces_.push_back(place.subspan(begin - position, end - begin));
        position += place.size();
    }
}

std::vector<std::byte> Memory::held() const {
    std::vector<std::byte> bytes(size_);
    each_byte([&](std::uint64_t i, std::byte byte) { bytes[i] = byte; });
    return bytes;
}

void Memory::release() {
    const auto before = *host_;
    host_.reset();
    owner_.hca_function->release(before);
    // The next owner has nothing to do with the device.
    next_ = must(owner_.functions->unit()->machine().allocate(before.size));
    if (next_->data != before.data)
        throw std::runtime_error("the next owner has other pages");
}

void Memory::migrate() {
    const auto moving = must(owner_.gpu->migrate(*buffer_, sw::gpu::Placement::system));
    if (!sw::transport::poll_until(*owner_.gpu_function, std::chrono::seconds{1},
                                   [&] { return moving->is_signaled(); }))
        throw std::runtime_error("the move does not end");
}

std::vector<std::byte> Memory::moved() {
    std::vector<std::byte> bytes(size_);
    must(owner_.gpu->download(*buffer_, offset_, bytes));
    return bytes;
}

} // namespace scenario::race
