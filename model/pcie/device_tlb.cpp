#include "model/pcie/device_tlb.h"

namespace model::pcie {

std::optional<DeviceTlb::Entry> DeviceTlb::find(std::uint32_t pasid, std::uint64_t address, bool is_write) {
    for (std::size_t size = 0; size < shifts.size(); ++size) {
        const auto* entry = entries_.find(key_of(pasid, address, size));
        if (entry != nullptr && (is_write ? entry->is_writable : entry->is_readable))
            return *entry;
    }
    return {};
}

void DeviceTlb::insert(std::uint32_t pasid, std::uint64_t address, const Entry& entry) {
    // A range between two sizes is kept as pages of the lower one.
    std::size_t size = shifts.size();
    while (--size != 0 && shifts[size] > entry.shift) {
    }
    auto kept = entry;
    kept.shift = shifts[size];
    kept.address += address & ((std::uint64_t{1} << entry.shift) - 1) & ~((std::uint64_t{1} << kept.shift) - 1);
    entries_.insert(key_of(pasid, address, size), kept);
}

void DeviceTlb::invalidate(std::uint32_t pasid, bool is_global, std::uint64_t begin, std::uint64_t bytes) {
    const auto last = bytes != 0 ? begin + (bytes - 1) : ~std::uint64_t{0};
    const auto first = bytes != 0 ? begin : 0;
    entries_.invalidate([&](const iommu::CacheKey& key, const Entry&) {
        const auto size = key.owner >> 62;
        const auto owner = key.owner & ~(std::uint64_t{3} << 62);
        const bool is_owned = is_global ? owner != std::uint64_t{~0u} + 1 : owner == std::uint64_t{pasid} + 1;
        return is_owned && key.page >= first >> shifts[size] && key.page <= last >> shifts[size];
    });
}

} // namespace model::pcie
