#include "testbench/load/memory.h"

#include "testbench/harness/must.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace load {

using harness::must;

Memory::Memory(const RegionSource& source, std::uint32_t regions, std::uint64_t region_bytes, std::uint64_t page_bytes,
               std::uint64_t stride)
    : card_(source.gpu != nullptr ? source.gpu_card : nullptr), stride_(stride),
      slots_per_region_(std::max<std::uint64_t>(1, region_bytes / stride)) {
    const auto bytes = std::max(region_bytes, stride);
    const sw::verbs::RegionOptions options{.access = sw::verbs::all_access,
                                           .log_page_size = static_cast<unsigned>(std::countr_zero(page_bytes))};
    for (std::uint32_t i = 0; i < regions; ++i) {
        if (source.gpu == nullptr) {
            // Larger pages are for memory that begins at one.
            auto host = must(source.context.allocate(
                bytes, std::min(page_bytes, std::max<std::uint64_t>(4096, std::bit_ceil(bytes)))));
            auto region = must(source.context.reg_mr(source.pd, host.memory(), 0, bytes, options));
            parts_.push_back({.host = std::move(host), .vram = {}, .region = std::move(region)});
            parts_.back().bytes = parts_.back().host.bytes();
            continue;
        }
        auto vram = must(source.gpu->allocate(bytes));
        if (vram.ranges().size() != 1)
            throw std::runtime_error(fmt::format("VRAM of {} has no {} bytes in one piece", card_->name, bytes));
        auto region =
            must(source.context.reg_dmabuf_mr(source.pd, must(source.gpu->export_buffer(vram)), 0, bytes, options));
        const auto offset = vram.ranges().front().offset;
        parts_.push_back({.host = {}, .vram = std::move(vram), .region = std::move(region)});
        parts_.back().bytes = card_->vram().bytes().subspan(offset, bytes);
        parts_.back().vram_offset = offset;
    }
}

} // namespace load
