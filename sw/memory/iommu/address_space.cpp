#include "sw/memory/iommu/address_space.h"

#include "sw/memory/iommu/unit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

namespace sw::memory::iommu {

Result<std::unique_ptr<AddressSpace>> AddressSpace::create(Unit& unit) {
    auto table = PageTable::create(unit.machine(), unit.format());
    if (!table)
        return std::unexpected(std::move(table.error()));
    const auto domain = unit.take_domain();
    if (!domain)
        return std::unexpected(domain.error());
    return std::unique_ptr<AddressSpace>(new AddressSpace(unit, std::move(*table), *domain));
}

AddressSpace::~AddressSpace() { unit_.release_domain(domain_); }

Result<void> AddressSpace::check(std::uint64_t iova, std::uint64_t physical, std::uint64_t bytes) const {
    const auto refuse = [&](int code, std::string_view why) {
        return failure(code, fmt::format("map {:#x} bytes at {:#x} to {:#x}: {}", bytes, iova, physical, why));
    };
    if (bytes == 0 || (iova | physical | bytes) % page_bytes != 0)
        return refuse(EINVAL, "addresses and length are multiples of 4 KiB, and some");
    if (bytes - 1 > ~iova || bytes - 1 > ~physical)
        return refuse(EOVERFLOW, "the range wraps");
    const auto last = iova + (bytes - 1);
    if (const auto bits = table_.format().address_bits(); bits < 64 && last >> bits != 0)
        return refuse(EOVERFLOW,
                      fmt::format("tables of {} levels reach {} bits of address", table_.format().levels, bits));
    if (iova < interrupts.end && last >= interrupts.begin)
        return refuse(EADDRINUSE, "interrupt messages have addresses there");
    if (!is_free(iova, bytes))
        return refuse(EADDRINUSE, "the range touches an area that is mapped");
    return {};
}

bool AddressSpace::is_free(std::uint64_t iova, std::uint64_t bytes) const {
    const auto next = areas_.upper_bound(iova);
    if (next != areas_.end() && next->first - iova < bytes)
        return false;
    if (next == areas_.begin())
        return true;
    const auto& [start, length] = *std::prev(next);
    return iova - start >= length;
}

Result<void> AddressSpace::map_at(std::uint64_t iova, std::uint64_t physical, std::uint64_t bytes, Rights rights) {
    if (auto checked = check(iova, physical, bytes); !checked)
        return checked;
    if (auto mapped = map_checked(iova, physical, bytes, rights); !mapped)
        return mapped;
    places_.reserve(iova, iova + bytes);
    return {};
}

Result<abi::Iova> AddressSpace::map(std::uint64_t physical, std::uint64_t bytes, std::uint64_t alignment,
                                    Rights rights) {
    // Large pages want iova and physical address to agree below their size.
    constexpr std::uint64_t large = 1ull << 21, largest = 1ull << 30;
    const auto page = bytes >= largest ? largest : bytes >= large ? large : page_bytes;
    const auto place = places_.allocate(bytes, std::max(alignment, page), physical);
    if (!place)
        return std::unexpected(place.error());
    auto mapped = check(place->value, physical, bytes);
    if (mapped)
        mapped = map_checked(place->value, physical, bytes, rights);
    if (!mapped) {
        places_.release(*place);
        return std::unexpected(std::move(mapped.error()));
    }
    return *place;
}

Result<std::uint64_t> AddressSpace::map_list(std::span<const BusRange> pieces, std::optional<std::uint64_t> iova,
                                             Rights rights) {
    std::uint64_t bytes = 0;
    for (const auto& piece : pieces) {
        if (piece.size > ~bytes)
            return failure(EOVERFLOW, "map a list: its length wraps");
        bytes += piece.size;
    }
    std::optional<abi::Iova> place;
    if (!iova) {
        const auto own = places_.allocate(bytes, page_bytes, 0);
        if (!own)
            return std::unexpected(own.error());
        place = *own;
    }
    const auto start = iova ? *iova : place->value;
    auto mapped = check(start, 0, bytes);
    for (const auto& piece : pieces)
        if (mapped && (piece.size == 0 || (piece.bus | piece.size) % page_bytes != 0 || piece.size - 1 > ~piece.bus))
            mapped = failure(EINVAL, fmt::format("map a list at {:#x}: [{:#x}, +{:#x}) is not whole pages", start,
                                                 piece.bus, piece.size));
    if (mapped)
        mapped = map_pieces(start, pieces, rights);
    if (!mapped) {
        if (place)
            places_.release(*place);
        return std::unexpected(std::move(mapped.error()));
    }
    if (iova)
        places_.reserve(start, start + bytes);
    return start;
}

Result<void> AddressSpace::map_checked(std::uint64_t iova, std::uint64_t physical, std::uint64_t bytes, Rights rights) {
    const BusRange whole{physical, bytes};
    return map_pieces(iova, {&whole, 1}, rights);
}

Result<void> AddressSpace::map_pieces(std::uint64_t iova, std::span<const BusRange> pieces, Rights rights) {
    std::vector<Buffer> empty; // until the unit cannot hold their addresses any more
    std::uint64_t bytes = 0;
    for (const auto& piece : pieces) {
        if (auto mapped = table_.map(iova + bytes, piece.bus, piece.size, rights, empty); !mapped) {
            if (bytes != 0)
                table_.unmap(iova, bytes, empty);
            [[maybe_unused]] const auto done = unit_.invalidate(*this, iova, bytes + piece.size, false);
            return mapped;
        }
        bytes += piece.size;
    }
    areas_.emplace(iova, bytes);
    if (auto* listener = unit_.machine().ownership_listener())
        for (auto at = iova; const auto& piece : pieces) {
            listener->map(domain_, at, piece.bus, piece.size);
            at += piece.size;
        }
    // Only a unit in caching mode has cached that there was nothing.
    return unit_.capability().get<"cm">() ? unit_.invalidate(*this, iova, bytes, false) : Result<void>{};
}

Result<void> AddressSpace::unmap(std::uint64_t iova, std::uint64_t bytes) {
    const auto refuse = [&](std::string_view why) {
        return failure(ENOENT, fmt::format("unmap {:#x} bytes at {:#x}: {}", bytes, iova, why));
    };
    const auto begin = areas_.lower_bound(iova);
    const auto end = std::find_if(begin, areas_.end(), [&](const auto& area) { return area.first - iova >= bytes; });
    if (begin != areas_.begin() && iova - std::prev(begin)->first < std::prev(begin)->second)
        return refuse("the range begins inside of an area; areas are unmapped whole");
    if (begin == end)
        return refuse("nothing is mapped there");
    const auto& [last, length] = *std::prev(end);
    if (last - iova + length > bytes)
        return refuse("the range ends inside of an area; areas are unmapped whole");
    Result<void> result;
    for (auto at = begin; at != end; at = areas_.erase(at)) {
        std::vector<Buffer> empty; // until the unit cannot hold their addresses any more
        table_.unmap(at->first, at->second, empty);
        if (auto* listener = unit_.machine().ownership_listener())
            listener->unmap(domain_, at->first, at->second);
        if (auto done = unit_.invalidate(*this, at->first, at->second, empty.empty()); !done)
            result = std::move(done);
        places_.release(abi::Iova{std::max(at->first, automatic.begin)});
    }
    return result;
}

} // namespace sw::memory::iommu
