#include "testbench/scenario/dmabuf_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace scenario {

namespace {

constexpr std::string_view name_of(Owner owner) {
    switch (owner) {
    case Owner::nobody: return "what lay there before";
    case Owner::sender: return "what was sent";
    case Owner::next: return "the next owner's";
    }
    return "";
}

} // namespace

std::byte content(std::size_t step, Owner owner, std::uint64_t i) {
    constexpr unsigned owners = 4, values = 256 / owners;
    return static_cast<std::byte>((i * 13 + i / 4096 + step * 29) % values * owners + static_cast<unsigned>(owner) + 1);
}

Bytes contents(std::size_t step, Owner owner, std::uint64_t bytes) {
    Bytes made(bytes);
    for (std::uint64_t i = 0; i < bytes; ++i)
        made[i] = content(step, owner, i);
    return made;
}

std::uint64_t count(std::span<const std::byte> bytes, std::size_t step, Owner owner) {
    std::uint64_t found = 0;
    for (std::uint64_t i = 0; i < bytes.size(); ++i)
        found += bytes[i] == content(step, owner, i);
    return found;
}

std::string find_foreign(std::span<const std::byte> bytes, std::size_t step, std::span<const Owner> owners) {
    for (std::uint64_t i = 0; i < bytes.size(); ++i) {
        const auto is_of = [&](Owner owner) { return bytes[i] == content(step, owner, i); };
        if (std::ranges::any_of(owners, is_of))
            continue;
        for (const auto owner : {Owner::nobody, Owner::sender, Owner::next})
            if (is_of(owner))
                return fmt::format("byte {} is {:#04x}, {}", i, std::to_integer<unsigned>(bytes[i]), name_of(owner));
        return fmt::format("byte {} is {:#04x}, which nobody wrote", i, std::to_integer<unsigned>(bytes[i]));
    }
    return {};
}

sw::Result<ExportedPart> ExportedPart::make(Endpoint& endpoint, std::uint64_t bytes, sw::mlx::DmaBufMode mode) {
    ExportedPart part(endpoint, bytes);
    auto buffer = endpoint.gpu().allocate(bytes + 2 * offset);
    if (!buffer)
        return std::unexpected(std::move(buffer.error()));
    part.buffer_ = std::move(*buffer);
    part.places_ = part.buffer_->ranges();
    auto handle = endpoint.gpu().export_buffer(*part.buffer_);
    if (!handle)
        return std::unexpected(std::move(handle.error()));
    auto region = endpoint.context().reg_dmabuf_mr(endpoint.pd(), std::move(*handle), offset, bytes,
                                                   {.access = sw::mlx::all_access, .mode = mode});
    if (!region)
        return std::unexpected(std::move(region.error()));
    part.region_ = std::move(*region);
    return part;
}

template <class F> void ExportedPart::for_each_piece(F&& f) const {
    std::uint64_t position = 0; // in the buffer
    for (const auto& range : places_) {
        const auto begin = std::max(position, offset), end = std::min(position + range.size, offset + bytes_);
        if (begin < end)
            f(begin - offset, range.offset + (begin - position), end - begin);
        position += range.size;
    }
}

void ExportedPart::put(std::size_t step, Owner owner) {
    for_each_piece([&](std::uint64_t position, std::uint64_t at, std::uint64_t bytes) {
        const auto into = endpoint_->machine().vram(at).first(bytes);
        for (std::uint64_t i = 0; i < bytes; ++i)
            into[i] = content(step, owner, position + i);
        if (endpoint_->machine().filled)
            endpoint_->machine().filled(at, bytes);
    });
}

Bytes ExportedPart::held() const {
    if (buffer_->placement() == sw::gpu::Placement::vram)
        return left();
    Bytes found(bytes_);
    if (!endpoint_->gpu().download(*buffer_, offset, found))
        found.clear();
    return found;
}

Bytes ExportedPart::left() const {
    Bytes found(bytes_);
    for_each_piece([&](std::uint64_t position, std::uint64_t at, std::uint64_t bytes) {
        std::ranges::copy(endpoint_->machine().vram(at).first(bytes),
                          found.begin() + static_cast<std::ptrdiff_t>(position));
    });
    return found;
}

void ExportedPart::note_surroundings() {
    constexpr std::uint64_t beside = 64 << 10;
    surroundings_.clear();
    auto ranges = places_;
    std::ranges::sort(ranges, {}, &sw::gpu::VramRange::offset);
    const auto all = endpoint_->gpu().vram_bytes();
    std::uint64_t noted = 0; // nothing twice
    for (const auto& range : ranges) {
        const auto begin = std::max(noted, range.offset - std::min(range.offset, beside)),
                   end = std::min(all, range.offset + range.size + beside);
        if (begin >= end)
            continue;
        const auto bytes = endpoint_->machine().vram(begin).first(end - begin);
        surroundings_.push_back({begin, {bytes.begin(), bytes.end()}});
        noted = end;
    }
}

std::optional<std::uint64_t> ExportedPart::find_change() const {
    auto expected = surroundings_;
    for_each_piece([&](std::uint64_t, std::uint64_t at, std::uint64_t bytes) { // the part itself may change
        for (auto& [begin, noted] : expected) {
            const auto first = std::max(at, begin), last = std::min(at + bytes, begin + noted.size());
            if (first < last)
                std::ranges::copy(endpoint_->machine().vram(first).first(last - first),
                                  noted.begin() + static_cast<std::ptrdiff_t>(first - begin));
        }
    });
    for (const auto& [begin, noted] : expected)
        if (const auto [was, is] = std::ranges::mismatch(noted, endpoint_->machine().vram(begin).first(noted.size()));
            was != noted.end())
            return begin + static_cast<std::uint64_t>(was - noted.begin());
    return {};
}

} // namespace scenario
