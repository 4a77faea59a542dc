#include "sw/memory/attachment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <utility>

namespace sw::memory {

std::string Attachment::text(std::string_view operation) const {
    return fmt::format("{}: {} a buffer of {}: ", importer_.name, operation, buffer_->exporter_name());
}

Attachment::~Attachment() {
    if (!is_attached_)
        return;
    auto lock = buffer_->reservation().lock(device_);
    assert(lock && "an attachment goes while its user holds the lock");
    if (lock)
        undo(*lock);
}

/// What is left of mappings and pins, then the attachment itself.
void Attachment::undo(const Lock& lock) {
    const auto& exporter = buffer_->exporter_;
    for (const auto& mapping : mappings_)
        type_ == MappingType::scatter_list ? exporter.unmap(*this, mapping.given)
                                           : exporter.unmap_physical(*this, mapping.given);
    mappings_.clear();
    cached_ = nullptr;
    for (; pins_ != 0; --pins_)
        if (exporter.unpin)
            exporter.unpin(*this, lock);
    buffer_->attachments_.remove(this);
    is_attached_ = false;
    if (exporter.detach)
        exporter.detach(*this);
}

Result<void> Attachment::detach() {
    if (pins_ > (cached_ && buffer_->is_dynamic() ? 1u : 0u))
        return failure(EBUSY, text("detach from") + fmt::format("{} pins are left", pins_));
    if (mappings_.size() > (cached_ ? 1u : 0u))
        return failure(EBUSY, text("detach from") + "a mapping is left: unmap, then detach");
    auto lock = buffer_->reservation().lock(device_);
    if (!lock)
        return failure(lock.error().code, text("detach from") + lock.error().what);
    undo(*lock);
    return {};
}

Result<void> Attachment::check_usable(const Lock& lock, std::string_view operation) const {
    if (auto held = buffer_->reservation().require(lock, text(operation)); !held)
        return held;
    if (!is_attached_)
        return failure(EINVAL, text(operation) + "it is detached");
    if (buffer_->is_revoked())
        return failure(ENODEV, text(operation) + "it was taken back, for good");
    return {};
}

Result<void> Attachment::pin(const Lock& lock) {
    if (auto usable = check_usable(lock, "pin"); !usable)
        return usable;
    if (!is_dynamic_)
        return failure(EINVAL, text("pin") + "only dynamic importers pin, the others are pinned by attaching");
    if (const auto& exporter = buffer_->exporter_; exporter.pin) // one that never moves its buffers has nothing to do
        if (auto pinned = exporter.pin(*this, lock); !pinned)
            return failure(pinned.error().code, text("pin") + pinned.error().what);
    ++pins_;
    return {};
}

Result<void> Attachment::unpin(const Lock& lock) {
    if (auto held = buffer_->reservation().require(lock, text("unpin")); !held)
        return held;
    if (pins_ == 0 || !is_dynamic_)
        return failure(EINVAL, text("unpin") + "it has no pin of this attachment; pins are counted");
    --pins_;
    if (const auto& exporter = buffer_->exporter_; exporter.unpin)
        exporter.unpin(*this, lock);
    return {};
}

Result<ScatterList*> Attachment::make_mapping(const Lock& lock) {
    auto list = buffer_->exporter_.map(*this, lock);
    if (!list)
        return failure(list.error().code, text("map") + list.error().what);
    std::uint64_t total = 0;
    bool is_aligned = true;
    for (const auto& range : *list) {
        is_aligned = is_aligned && range.bus % dma_page == 0 && range.size % dma_page == 0 && range.size != 0;
        total += range.size;
    }
    if (!is_aligned || total != buffer_->size()) {
        buffer_->exporter_.unmap(*this, *list);
        return failure(EIO,
                       text("map") + fmt::format("the exporter's list of {:#x} bytes {} (addresses and lengths of a "
                                                 "mapping are whole pages and cover the buffer)",
                                                 total, is_aligned ? "is not the buffer" : "is not page-aligned"));
    }
    mappings_.push_back({*list, *list});
    return &mappings_.back().list;
}

Result<void> Attachment::map_for_good(const Lock& lock) {
    const auto& exporter = buffer_->exporter_;
    if (exporter.pin) {
        if (auto pinned = exporter.pin(*this, lock); !pinned)
            return failure(pinned.error().code, text("pin") + pinned.error().what);
        ++pins_;
    }
    const auto mapped = make_mapping(lock);
    if (!mapped)
        return std::unexpected(mapped.error());
    cached_ = *mapped;
    return {};
}

Result<ScatterList*> Attachment::map(const Lock& lock) {
    if (auto usable = check_usable(lock, "map"); !usable)
        return std::unexpected(usable.error());
    if (type_ != MappingType::scatter_list)
        return failure(EINVAL, text("map") + fmt::format("a {} was agreed on", name(type_)));
    if (cached_)
        return cached_;
    if (buffer_->is_dynamic() && !importer_.move_notify && pins_ == 0)
        return failure(EINVAL, text("map") + "an importer that cannot be told of moves (no move_notify) pins first");
    return make_mapping(lock);
}

Result<void> Attachment::unmap(const Lock& lock, ScatterList* list) {
    if (auto held = buffer_->reservation().require(lock, text("unmap")); !held)
        return held;
    if (list != nullptr && list == cached_)
        return {}; // it goes with the attachment
    const auto mapping = std::ranges::find_if(mappings_, [&](const Mapping& m) { return &m.list == list; });
    if (mapping == mappings_.end() || type_ != MappingType::scatter_list)
        return failure(EINVAL, text("unmap") + "this list is not mapped");
    const auto is_unchanged = mapping->list == mapping->given;
    buffer_->exporter_.unmap(*this, mapping->given);
    mappings_.erase(mapping);
    if (!is_unchanged)
        return failure(EINVAL, text("unmap") +
                                   "the list came back changed: what was trimmed at mapping is restored before "
                                   "unmapping");
    return {};
}

Result<const PhysicalList*> Attachment::map_physical(const Lock& lock) {
    if (auto usable = check_usable(lock, "map"); !usable)
        return std::unexpected(usable.error());
    if (type_ != MappingType::physical_list)
        return failure(EINVAL, text("map") + fmt::format("a {} was agreed on", name(type_)));
    auto list = buffer_->exporter_.map_physical(*this, lock);
    if (!list)
        return failure(list.error().code, text("map") + list.error().what);
    mappings_.push_back({{}, std::move(*list)});
    return &mappings_.back().given;
}

Result<void> Attachment::unmap_physical(const Lock& lock, const PhysicalList* list) {
    if (auto held = buffer_->reservation().require(lock, text("unmap")); !held)
        return held;
    const auto mapping = std::ranges::find_if(mappings_, [&](const Mapping& m) { return &m.given == list; });
    if (mapping == mappings_.end() || type_ != MappingType::physical_list)
        return failure(EINVAL, text("unmap") + "this list is not mapped");
    buffer_->exporter_.unmap_physical(*this, mapping->given);
    mappings_.erase(mapping);
    return {};
}

} // namespace sw::memory
