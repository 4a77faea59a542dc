#include "model/gpu/cache/cache.h"

#include <bit>

namespace model::gpu::cache {

const char* find_fault(const Geometry& geometry) {
    if (!std::has_single_bit(geometry.line) || geometry.line > ByteMask::bytes)
        return "the line of a cache is a power of two, 128 bytes or less";
    if (geometry.ways == 0 || geometry.bytes < std::uint64_t{geometry.line} * geometry.ways)
        return "a cache has at least one set, and a set at least one way";
    return nullptr;
}

Cache::Cache(const Geometry& geometry) : geometry_(geometry), sets_(geometry.sets()) {
    assert(find_fault(geometry) == nullptr);
}

Line* Cache::peek(std::uint64_t address) {
    const auto set = set_of(address);
    if (sets_[set] == nullptr)
        return nullptr;
    const auto first = address & ~std::uint64_t{geometry_.line - 1};
    for (auto& line : ways_of(set))
        if (line.address == first && !line.is_free())
            return &line;
    return nullptr;
}

Line* Cache::find(std::uint64_t address) {
    auto* line = peek(address);
    if (line != nullptr && line->used != 0) // a streaming line stays the first to leave
        line->used = ++uses_;
    return line;
}

Line& Cache::victim(std::uint64_t address) {
    assert(peek(address) == nullptr && "a line is held once");
    const auto set = set_of(address);
    if (sets_[set] == nullptr) {
        sets_[set] = std::make_unique<Line[]>(geometry_.ways);
        touched_.insert(std::ranges::lower_bound(touched_, set), set);
    }
    const auto ways = ways_of(set);
    const auto free = std::ranges::find_if(ways, &Line::is_free);
    return free != ways.end() ? *free : *std::ranges::min_element(ways, {}, &Line::used);
}

void Cache::drop_all() {
    each([](Line& line) { drop(line); });
}

} // namespace model::gpu::cache
