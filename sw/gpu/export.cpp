// Buffers of the GPU as dma-bufs. An importer on the bus gets VRAM through the BAR; one that cannot do peer to peer
// gets system memory, to which the buffer moves (as amdgpu does). Physical lists only of pinned buffers in VRAM: nobody
// is told when such an address goes stale.
#include "sw/gpu/buffer.h"
#include "sw/memory/attachment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace sw::gpu {

using memory::Attachment;
using memory::Lock;
using memory::MappingOffer;
using memory::MappingType;

Result<std::vector<memory::BusRange>> BufferManager::bus_ranges(const BufferObject& object) const {
    const auto base = transport_->bar_address(bar_);
    if (base == 0)
        return failure(ENODEV, fmt::format("VRAM: BAR {} has no bus address", bar_));
    std::vector<memory::BusRange> ranges;
    for (const auto& range : object.place->vram)
        ranges.push_back({base + range.offset, range.size});
    return ranges;
}

Result<void> BufferManager::pin(BufferObject& object, Attachment& attachment, const Lock& lock) {
    if (is_dead_)
        return failure(ENODEV, "the GPU is gone");
    // In VRAM only if all its importers reach it there, the older ones too.
    const auto exported = object.exported.lock();
    const bool all_reach = exported && std::ranges::all_of(exported->attachments(), [](const Attachment* importer) {
                               return importer->peer2peer() || importer->type() == MappingType::physical_list;
                           });
    const auto is_physical = attachment.type() == MappingType::physical_list;
    const auto wanted = is_physical || all_reach ? Placement::vram : Placement::system;
    if (object.place->placement != wanted) {
        if (object.pins != 0)
            return failure(EINVAL, fmt::format("it is pinned in {} already, and wanted in {}",
                                               name(object.place->placement), name(wanted)));
        const auto moved = move(object, lock, wanted);
        const bool may_stay = wanted == Placement::vram && !is_physical; // reached in either place
        if (!moved && !(may_stay && moved.error().code == ENOMEM))
            return std::unexpected(moved.error());
    }
    ++object.pins;
    return {};
}

Result<memory::ScatterList> BufferManager::map(BufferObject& object, Attachment& attachment, const Lock& lock) {
    if (is_dead_)
        return failure(ENODEV, "the GPU is gone");
    if (object.place->placement == Placement::vram && !attachment.peer2peer()) {
        if (object.pins != 0)
            return failure(EBUSY, "it is pinned in VRAM, where this importer does not reach");
        if (const auto moved = move(object, lock, Placement::system); !moved)
            return std::unexpected(moved.error());
    }
    object.last_use = ++clock_;
    if (object.place->placement == Placement::system) {
        const auto address = attachment.device().map_memory(object.place->system.memory());
        if (!address)
            return std::unexpected(address.error());
        system_mappings_.emplace_back(&attachment, *address);
        return memory::ScatterList{{*address, object.size}};
    }
    const auto ranges = bus_ranges(object);
    if (!ranges)
        return std::unexpected(ranges.error());
    return memory::map_peers(attachment.device(), *ranges);
}

/// The buffer may lie elsewhere by now, so the mapping itself says how it is unmapped.
void BufferManager::unmap(Attachment& attachment, const memory::ScatterList& list) {
    const auto in_memory = std::ranges::find(system_mappings_, std::pair{&attachment, list.front().bus});
    if (in_memory == system_mappings_.end())
        return memory::unmap_peers(attachment.device(), list);
    attachment.device().unmap_memory(list.front().bus, list.front().size);
    system_mappings_.erase(in_memory);
}

Result<memory::PhysicalList> BufferManager::physical(const BufferObject& object) const {
    if (is_dead_)
        return failure(ENODEV, "the GPU is gone");
    if (object.pins == 0)
        return failure(EINVAL, "a physical list only of a pinned buffer: nobody would be told of a move");
    if (object.place->placement != Placement::vram)
        return failure(EINVAL, "a physical list only of VRAM: system memory is mapped without an exporter");
    return bus_ranges(object);
}

memory::Exporter BufferManager::exporter_of(const std::shared_ptr<BufferObject>& object) {
    memory::Exporter exporter{.name = "GPU"};
    exporter.attach = [this](Attachment&) -> Result<void> {
        if (is_dead_)
            return failure(ENODEV, "attach: the GPU is gone");
        return {};
    };
    exporter.offers = [this, own = object.get()] {
        std::vector<MappingOffer> offers;
        if (offers_physical_ && own->place->placement == Placement::vram)
            offers.push_back({MappingType::physical_list});
        offers.push_back({MappingType::scatter_list});
        return offers;
    };
    exporter.pin = [this, own = object.get()](Attachment& a, const Lock& lock) { return pin(*own, a, lock); };
    exporter.unpin = [own = object.get()](Attachment&, const Lock&) { --own->pins; };
    exporter.map = [this, own = object.get()](Attachment& a, const Lock& lock) { return map(*own, a, lock); };
    exporter.unmap = [this](Attachment& a, const memory::ScatterList& list) { unmap(a, list); };
    exporter.map_physical = [this, own = object.get()](Attachment&, const Lock&) { return physical(*own); };
    exporter.unmap_physical = [](Attachment&, const memory::PhysicalList&) {};
    exporter.release = [own = object]() mutable {
        own.reset();
    }; // the buffer, and with it the manager, lives until then
    return exporter;
}

Result<memory::DmaBufHandle> BufferManager::export_buffer(const std::shared_ptr<BufferObject>& object) {
    if (is_dead_)
        return failure(ENODEV, "export VRAM: the GPU is gone");
    if (object->place->placement == Placement::vram && transport_->bar_address(bar_) == 0)
        return failure(ENODEV, fmt::format("export VRAM: BAR {} has no bus address", bar_));
    // As amdgpu with AMDGPU_GEM_CREATE_UNCACHED: page table entries that are there already stay what they are.
    object->is_uncached |= makes_uncached_;
    if (auto before = object->exported.lock(); before && !before->is_revoked())
        return before;
    // An export that was taken back stays so. While one of its importers is not done, there is no new export.
    if (const auto before = object->exported.lock(); before && before->mapping_count() != 0)
        return failure(EBUSY, "export VRAM: an importer of what was taken back still has it mapped");
    auto made = memory::DmaBuf::make(exporter_of(object), object->size, object->reservation);
    if (made) {
        object->exported = *made;
        object->is_taken_back = false;
    }
    return made;
}

} // namespace sw::gpu
