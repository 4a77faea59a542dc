#include "model/gpu/sdma/cached_memory.h"

#include <algorithm>

namespace model::gpu::sdma {

using memory::Below;

std::optional<Place> CachedMemory::find(unsigned vmid, std::uint64_t address, bool is_write, unsigned client,
                                        port::Time at) {
    auto& spaces = block_.spaces();
    if (vmid == 0 && !abi::gpu::ContextControl{spaces.context(0).control}.get<"enable_context">()) {
        leave_pages();
        return Place{.physical = memory::Physical::vram(address)};
    }
    block_.caches().advance(at);
    const auto kind = is_write ? translation::Kind::write : translation::Kind::read;
    const auto page = spaces.translate(vmid, address, kind, at, client);
    if (!page)
        return std::nullopt;
    return Place{.physical = page->physical, .mtype = page->mtype, .left = page->left, .is_prt = page->is_prt};
}

Below::Answer CachedMemory::read(const Place& from, std::span<std::byte> into, port::Purpose purpose, port::Time at) {
    if (from.is_prt) {
        std::ranges::fill(into, std::byte{});
        return {.done = at};
    }
    block_.caches().advance(at);
    const auto answer = block_.caches().read_by_client(from.physical, into, from.mtype, purpose, at);
    block_.arm();
    return answer;
}

Below::Answer CachedMemory::write(const Place& to, std::span<const std::byte> from, port::Purpose purpose,
                                  port::Time at) {
    if (to.is_prt)
        return {.done = at};
    block_.caches().advance(at);
    const auto answer = block_.caches().write_by_client(to.physical, from, to.mtype, purpose, at);
    block_.arm();
    return answer;
}

} // namespace model::gpu::sdma
