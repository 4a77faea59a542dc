#include "traces/tool/areas.h"

#include <algorithm>

namespace traces::tool {

void Areas::add(AreaKind kind, std::uint32_t number, std::uint32_t stride, const Pages& pages, std::uint64_t offset,
                std::uint64_t bytes) {
    const auto page = std::uint64_t{1} << pages.log_bytes;
    for (std::uint64_t done = 0; done < bytes;) {
        const auto at = pages.first_byte + offset + done;
        const auto index = at / page;
        if (index >= pages.addresses.size())
            return;
        const auto begin = pages.addresses[index] + at % page;
        const auto part = std::min(bytes - done, page - at % page);
        if (begin + part < begin)
            return;
        put(begin, {begin + part, done, number, stride, kind});
        done += part;
    }
}

void Areas::put(std::uint64_t begin, Piece piece) {
    auto next = pieces_.lower_bound(begin);
    if (next != pieces_.begin()) {
        const auto before = std::prev(next);
        if (before->second.end > begin)
            next = before;
    }
    while (next != pieces_.end() && next->first < piece.end) // memory that has got another purpose
        next = forget(next);
    ++looked_at_;
    pieces_.emplace(begin, piece);
    begins_[{piece.kind, piece.number}].insert(begin);
}

Areas::Pieces::iterator Areas::forget(Pieces::iterator at) {
    ++looked_at_;
    const auto of = begins_.find({at->second.kind, at->second.number});
    of->second.erase(at->first);
    if (of->second.empty())
        begins_.erase(of);
    return pieces_.erase(at);
}

void Areas::remove(AreaKind kind, std::uint32_t number) {
    const auto of = begins_.find({kind, number});
    if (of == begins_.end())
        return;
    for (const auto begin : of->second)
        pieces_.erase(begin);
    looked_at_ += of->second.size();
    begins_.erase(of);
}

std::optional<Area> Areas::at(std::uint64_t address) const {
    auto after = pieces_.upper_bound(address);
    if (after == pieces_.begin())
        return std::nullopt;
    const auto& [begin, piece] = *std::prev(after);
    if (address >= piece.end)
        return std::nullopt;
    return Area{piece.kind, piece.number, piece.stride, piece.ring_offset + (address - begin), piece.end - address};
}

} // namespace traces::tool
