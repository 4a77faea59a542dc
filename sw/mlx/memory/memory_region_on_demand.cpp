// Regions whose memory comes and goes under a key that stays (PRM "Page fault"; Linux
// drivers/infiniband/hw/mlx5/odp.c): the device waits for the pages it needs, a UMR brings them, and another one takes
// them away before their owner moves them.
#include "sw/mlx/memory/memory_region.h"
#include "sw/mlx/memory/pager.h"
#include "sw/mlx/memory/umr.h"
#include "sw/transport/poll.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace sw::mlx {

namespace {

constexpr unsigned log_dma_page = 12;
constexpr std::uint64_t page_bytes = memory::dma_page;
constexpr std::uint64_t entry_rights = 3; ///< present for reading and writing (PRM "Memory key", pg_access)
static_assert(page_bytes == memory::PageableMemory::page_bytes);

constexpr std::uint64_t whole_units(std::uint64_t entries) {
    return (entries + UmrQueue::entries_per_unit - 1) / UmrQueue::entries_per_unit * UmrQueue::entries_per_unit;
}

/// Where a region begins in work requests: where its user wants it, or at an address of our own.
struct Place {
    abi::Iova iova;
    bool is_own = false; ///< to be released
};
Result<Place> choose_place(Device& device, const RegionOptions& options, std::uint64_t offset, std::uint64_t length) {
    if (options.zero_based || options.iova)
        return Place{options.zero_based ? abi::Iova{0} : *options.iova};
    // Pages have 4 KiB and come and go one by one, so iova and memory need the same offset within 4 KiB only.
    const auto own = device.iova_space().allocate(length, page_bytes, offset & (page_bytes - 1));
    if (!own)
        return std::unexpected(own.error());
    return Place{*own, true};
}

} // namespace

Result<void> MemoryRegion::check_paging(Device& device) {
    if (!device.pager())
        return failure(EOPNOTSUPP, "register memory on demand: the device cannot wait for pages (pg), or it was opened "
                                   "without page_faults");
    if (auto queue = device.umr(); !queue)
        return std::unexpected(std::move(queue.error()));
    return {};
}

// --- of a dma-buf ---

Result<MemoryRegion> MemoryRegion::from_export_on_demand(Device& device, abi::Pd pd, memory::DmaBufHandle handle,
                                                         memory::Part part, const RegionOptions& options) {
    if (auto possible = check_paging(device); !possible)
        return std::unexpected(std::move(possible.error()));
    auto state = std::make_shared<Export>();
    state->device = &device;
    state->is_on_demand = true;
    auto umem = memory::UmemDmaBuf::get(
        device.transport(), std::move(handle), part,
        [state = state.get()](memory::UmemDmaBuf&, const memory::Lock& lock) { state->take_away(lock); });
    if (!umem)
        return std::unexpected(std::move(umem.error()));
    state->umem = std::move(*umem);

    const auto place = choose_place(device, options, part.offset, part.length);
    if (!place)
        return std::unexpected(place.error());
    const auto in_page = part.offset & (memory::dma_page - 1);
    const std::vector<std::uint64_t> absent((in_page + part.length + memory::dma_page - 1) / memory::dma_page);
    auto region = create_key(
        device, pd, {.iova = place->iova, .length = part.length, .pages = absent, .pages_have_rights = true}, options);
    if (!region) {
        if (place->is_own)
            device.iova_space().release(place->iova);
        return region;
    }
    region->owns_iova_ = place->is_own;
    state->key = region->key_;
    state->has_key = true;
    device.pager()->insert(region->key_, [state](std::uint64_t, std::uint64_t) { return state->bring(); });
    region->export_ = std::move(state);
    if (auto first = region->export_->bring(); !first)
        return std::unexpected(std::move(first.error()));
    return region;
}

Result<void> MemoryRegion::Export::bring() const {
    auto lock = umem->reservation().lock(device->transport());
    if (!lock)
        return std::unexpected(std::move(lock.error()));
    if (!has_key)
        return failure(ENOENT, fmt::format("bring pages of key {:#x}: it is deregistered", key.value));
    if (auto mapped = umem->map(*lock); !mapped)
        return mapped;
    const auto queue = device->umr();
    if (!queue)
        return std::unexpected(queue.error());
    auto entries = umem->umem().pages(log_dma_page);
    for (auto& entry : entries)
        entry |= entry_rights;
    entries.resize(whole_units(entries.size()));
    return (*queue)->write_pages(key, 0, entries);
}

void MemoryRegion::Export::take_away(const memory::Lock& lock) const {
    if (!umem || !umem->is_mapped())
        return;
    if (has_key && device->health().look_now_and_then()) { // else nobody can reach it
        const auto queue = device->umr();
        if (!queue || !(*queue)->clear_pages(key, 0, whole_units(umem->umem().pages(log_dma_page).size())))
            return; // the mapping stays, and the exporter sees that it does
    }
    (void)umem->unmap(lock);
}

// --- of a program ---

Result<MemoryRegion> MemoryRegion::from_pageable(Device& device, abi::Pd pd, memory::PageableMemory& memory,
                                                 std::uint64_t offset, std::uint64_t length,
                                                 const RegionOptions& options) {
    if (length == 0 || length > memory.size() || offset > memory.size() - length)
        return failure(EINVAL, fmt::format("register memory on demand: [{:#x}, +{:#x}) of {:#x} bytes", offset, length,
                                           memory.size()));
    if (auto possible = check_paging(device); !possible)
        return std::unexpected(std::move(possible.error()));
    if (auto allowed = check_access(device.capabilities(), options.access); !allowed)
        return std::unexpected(std::move(allowed.error()));
    const auto in_page = offset & (page_bytes - 1);
    const auto place = choose_place(device, options, offset, length);
    if (!place)
        return std::unexpected(place.error());
    if (((place->iova.value ^ offset) & (page_bytes - 1)) != 0)
        return failure(EINVAL,
                       fmt::format("register memory on demand: iova {:#x} and offset {:#x} differ within a page",
                                   place->iova.value, offset));
    auto paged = std::make_shared<Paged>();
    paged->device = &device;
    paged->memory = &memory;
    paged->iova = place->iova;
    paged->first_page = offset / page_bytes;
    paged->page_count = (in_page + length + page_bytes - 1) / page_bytes;
    paged->entries.resize(whole_units(paged->page_count));
    auto umr = options;
    umr.takes_umr = true;
    auto region = create_key(device, pd,
                             {.iova = place->iova,
                              .length = length,
                              .pages = std::span(paged->entries).first(paged->page_count),
                              .pages_have_rights = true},
                             umr);
    if (!region) {
        if (place->is_own)
            device.iova_space().release(place->iova);
        return region;
    }
    region->owns_iova_ = place->is_own;
    paged->key = region->key_;
    paged->has_key = true;
    device.pager()->insert(
        region->key_, [paged](std::uint64_t address, std::uint64_t bytes) { return paged->bring(address, bytes); });
    paged->ticket =
        memory.listen([paged](std::uint64_t first, std::uint64_t count) { return paged->take_away(first, count); });
    region->paged_ = std::move(paged);
    return region;
}

Result<void> MemoryRegion::Paged::hold() {
    if (!transport::poll_until(device->transport(), device_patience, [&] { return !is_changing; }))
        return failure(ETIMEDOUT, fmt::format("key {:#x}: its pages do not come to rest", key.value));
    is_changing = true;
    return {};
}

/// Tells the device about entries [first, end), in whole units.
Result<void> MemoryRegion::Paged::write(std::uint64_t first, std::uint64_t end) {
    const auto queue = device->umr();
    if (!queue)
        return std::unexpected(queue.error());
    first = first / UmrQueue::entries_per_unit * UmrQueue::entries_per_unit;
    return (*queue)->write_pages(key, first, std::span(entries).subspan(first, whole_units(end) - first));
}

/// Waits until none of these pages is about to go and nobody changes the entries.
Result<void> MemoryRegion::Paged::wait_until_stable(std::uint64_t first, std::uint64_t end) const {
    const auto is_stable = [&] {
        for (auto page = first; page != end; ++page)
            if (memory->is_leaving(first_page + page))
                return false;
        return !is_changing;
    };
    if (!transport::poll_until(device->transport(), device_patience, is_stable))
        return failure(ETIMEDOUT, fmt::format("bring pages of key {:#x}: they keep changing", key.value));
    return {};
}

Result<void> MemoryRegion::Paged::bring(std::uint64_t address, std::uint64_t length) {
    const auto begin = iova.value & ~(page_bytes - 1), bytes = page_count * page_bytes;
    if (length == 0 || address < begin || length > bytes || address - begin > bytes - length)
        return failure(EFAULT, fmt::format("bring [{:#x}, +{:#x}) of key {:#x}: it leaves the region", address, length,
                                           key.value));
    const auto first = (address - begin) / page_bytes, end = (address - begin + length - 1) / page_bytes + 1;
    if (auto stable = wait_until_stable(first, end); !stable)
        return stable;
    if (!has_key)
        return failure(ENOENT, fmt::format("bring pages of key {:#x}: it is deregistered", key.value));
    // A thread that wants to take one of these pages away waits meanwhile, and then takes it from the key as well.
    is_changing = true;
    Result<void> result;
    for (auto page = first; result && page != end; ++page) {
        if (const auto frame = memory->bring(first_page + page))
            entries[page] = *frame | entry_rights;
        else
            result = std::unexpected(frame.error());
    }
    if (result)
        result = write(first, end);
    is_changing = false;
    return result;
}

Result<void> MemoryRegion::Paged::take_away(std::uint64_t first, std::uint64_t count) {
    const auto begin = std::max(first, first_page), end = std::min(first + count, first_page + page_count);
    if (begin >= end)
        return {};
    if (auto held = hold(); !held)
        return held;
    Result<void> result;
    const auto range = std::span(entries).subspan(begin - first_page, end - begin);
    const std::vector<std::uint64_t> before(range.begin(), range.end());
    const bool is_known = std::ranges::any_of(range, [](std::uint64_t entry) { return entry != 0; });
    std::ranges::fill(range, 0);
    if (is_known && has_key && device->health().look_now_and_then()) // a device in another state does no DMA
        result = write(begin - first_page, end - first_page);
    if (!result)
        std::ranges::copy(before, range.begin());
    is_changing = false;
    return result;
}

// --- of both ---

Result<void> MemoryRegion::prefetch() {
    if (!is_on_demand())
        return failure(EINVAL, fmt::format("prefetch key {:#x}: its pages are always there", key_.value));
    const Inside inside(is_busy_);
    if (!inside)
        return failure(EBUSY, fmt::format("prefetch key {:#x}: another thread is inside the region", key_.value));
    return paged_ ? paged_->bring(iova_.value, length_) : export_->bring();
}

} // namespace sw::mlx
