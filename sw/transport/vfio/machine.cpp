#include "sw/transport/vfio/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

namespace sw::transport::vfio {

namespace {

constexpr std::uint64_t page = DmaPool::page, large_page = 2 << 20;

/// Pinned memory of ours; the device may use it until this goes.
class PinnedChunk final : public DmaChunk {
public:
    PinnedChunk(AddressSpace& space, std::uint64_t address, Mapping mapping)
        : space_(space), address_(address), mapping_(std::move(mapping)) {}
    ~PinnedChunk() override { space_.unmap(address_, mapping_.bytes().size()); }
    std::span<std::byte> bytes() const override { return mapping_.bytes(); }

private:
    AddressSpace& space_;
    std::uint64_t address_;
    Mapping mapping_;
};

struct Pages {
    std::uint64_t begin, size;
};
/// The whole pages that hold [address, +size).
Pages pages_of(std::uint64_t address, std::uint64_t size) {
    const auto begin = address / page * page;
    return {begin, (address + size - begin + page - 1) / page * page};
}

} // namespace

Result<File> Machine::open(const FunctionFiles& function) {
    const std::lock_guard lock(mutex_);
    if (!space_) {
        auto created = AddressSpace::create(function, interface_);
        if (!created)
            return std::unexpected(created.error());
        space_ = std::move(*created);
    }
    return space_->open(function);
}

// --- memory ---

Result<std::unique_ptr<DmaChunk>> Machine::make_chunk(std::uint64_t address, std::size_t size) {
    auto mapping = Mapping::create(size, PROT_READ | PROT_WRITE, -1, 0);
    if (!mapping)
        return system_failure(fmt::format("{} bytes of memory", size));
    // A child would get copies of pages that the device keeps writing to.
    (void)::madvise(mapping.bytes().data(), size, MADV_DONTFORK);
    if (auto mapped = space_->map(address, mapping.bytes()); !mapped)
        return std::unexpected(mapped.error());
    return std::make_unique<PinnedChunk>(*space_, address, std::move(mapping));
}

Result<DmaMemory> Machine::allocate(std::size_t bytes, std::size_t alignment) {
    const std::lock_guard lock(mutex_);
    return pool_.allocate(bytes, alignment);
}

void Machine::release(const DmaMemory& memory) {
    const std::lock_guard lock(mutex_);
    pool_.release(memory);
}

// --- peers ---

void Machine::add_bar(std::uint64_t bus, std::span<std::byte> memory) {
    const std::lock_guard lock(mutex_);
    bars_.emplace(bus, memory);
}

void Machine::remove_bar(std::uint64_t bus) {
    const std::lock_guard lock(mutex_);
    bars_.erase(bus);
}

Result<std::uint64_t> Machine::map_bar(std::uint64_t bus, std::size_t size) {
    const std::lock_guard lock(mutex_);
    const auto after = bars_.upper_bound(bus);
    const auto bar = after == bars_.begin() ? bars_.end() : std::prev(after);
    if (bar == bars_.end() || bus - bar->first > bar->second.size() || size > bar->second.size() - (bus - bar->first))
        return failure(
            EINVAL, fmt::format("map {:#x}+{:#x} for a peer: no function that this program has opened has it in a BAR "
                                "that can be mapped",
                                bus, size));
    const auto pages = pages_of(bus - bar->first, size);
    // Where both agree in their low bits the IOMMU can use large pages.
    const auto address = addresses_.allocate(pages.size, large_page, (bar->first + pages.begin) % large_page);
    if (!address)
        return std::unexpected(address.error());
    if (auto mapped = space_->map(address->value, bar->second.subspan(pages.begin, pages.size)); !mapped) {
        addresses_.release(*address);
        return failure(mapped.error().code, "a peer's BAR: " + mapped.error().what);
    }
    return address->value + (bus - bar->first - pages.begin);
}

void Machine::unmap_bar(std::uint64_t address, std::size_t size) {
    const std::lock_guard lock(mutex_);
    const auto pages = pages_of(address, size);
    space_->unmap(pages.begin, pages.size);
    addresses_.release(abi::Iova{pages.begin});
}

} // namespace sw::transport::vfio
