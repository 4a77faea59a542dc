#include "sw/memory/dmabuf.h"

#include "sw/memory/attachment.h"
#include "sw/transport/poll.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace sw::memory {

namespace {

std::vector<MappingOffer> accepted_by(const Importer& importer) {
    if (!importer.accepts.empty())
        return importer.accepts;
    return {{MappingType::scatter_list, importer.allow_peer2peer}};
}

std::string text(const std::vector<MappingOffer>& offers) {
    std::string list;
    for (const auto& offer : offers)
        list += fmt::format("{}{}{}", list.empty() ? "" : ", ", name(offer.type),
                            offer.peer_to_peer ? " peer to peer" : "");
    return list.empty() ? "nothing" : list;
}

} // namespace

std::string_view name(MappingType type) {
    return type == MappingType::scatter_list ? "scatter list" : "physical address list";
}

Result<DmaBufHandle> DmaBuf::make(Exporter exporter, std::uint64_t size, std::shared_ptr<Reservation> reservation) {
    const auto refuse = [&](std::string_view why) {
        return failure(EINVAL, fmt::format("{}: export a buffer: {}", exporter.name, why));
    };
    if (!exporter.map || !exporter.unmap || !exporter.release)
        return refuse("map, unmap and release are mandatory");
    if (static_cast<bool>(exporter.pin) != static_cast<bool>(exporter.unpin))
        return refuse("pin and unpin come together");
    if (static_cast<bool>(exporter.map_physical) != static_cast<bool>(exporter.unmap_physical))
        return refuse("mapping and unmapping of physical lists come together");
    if (size == 0 || size % dma_page != 0)
        return refuse(fmt::format("{:#x} bytes are not whole pages", size));
    if (!reservation)
        reservation = std::make_shared<Reservation>();
    return std::make_shared<DmaBuf>(Key{}, std::move(exporter), size, std::move(reservation));
}

DmaBuf::DmaBuf(Key, Exporter exporter, std::uint64_t size, std::shared_ptr<Reservation> reservation)
    : exporter_(std::move(exporter)), size_(size), reservation_(std::move(reservation)) {}

DmaBuf::~DmaBuf() { exporter_.release(); } // no attachment is left: each held a reference

/// The exporter's list is walked in order, so the exporter says what is best.
std::optional<MappingType> DmaBuf::negotiate(const Importer& importer) const {
    const auto accepts = accepted_by(importer);
    const auto offers = exporter_.offers ? exporter_.offers() : std::vector<MappingOffer>{{}};
    for (const auto& offer : offers)
        for (const auto& accepted : accepts)
            if (offer.type == accepted.type && (!offer.peer_to_peer || accepted.peer_to_peer))
                return offer.type;
    return std::nullopt;
}

Result<std::unique_ptr<Attachment>> DmaBuf::attach(transport::Transport& device, Importer importer, bool dynamic) {
    const auto refuse = [&](int code, std::string_view why) {
        return failure(code, fmt::format("{}: attach to a buffer of {}: {}", importer.name, exporter_.name, why));
    };
    if (is_revoked_)
        return refuse(ENODEV, "it was taken back, for good");
    if (!dynamic && importer.move_notify)
        return refuse(EINVAL, "an importer that is told of moves is a dynamic one");
    const auto type = negotiate(importer);
    if (!type)
        return refuse(EINVAL, fmt::format("no common mapping type: it offers {}, the importer accepts {}",
                                          text(exporter_.offers ? exporter_.offers() : std::vector<MappingOffer>{{}}),
                                          text(accepted_by(importer))));
    std::unique_ptr<Attachment> attachment(
        new Attachment(shared_from_this(), device, std::move(importer), dynamic, *type));
    if (exporter_.attach)
        if (auto accepted = exporter_.attach(*attachment); !accepted)
            return std::unexpected(std::move(accepted.error()));
    auto lock = reservation_->lock(device);
    if (!lock) {
        if (exporter_.detach)
            exporter_.detach(*attachment);
        return failure(lock.error().code, attachment->text("attach") + lock.error().what);
    }
    attachments_.push_back(attachment.get());
    attachment->is_attached_ = true;
    // Only one of the two can follow moves: then nothing moves, and there is one mapping from here to the end.
    if (dynamic != is_dynamic() && *type == MappingType::scatter_list)
        if (auto mapped = attachment->map_for_good(*lock); !mapped) {
            lock->unlock(); // for the destructor, which detaches
            return std::unexpected(std::move(mapped.error()));
        }
    return attachment;
}

Result<void> DmaBuf::notify_move(const Lock& lock) {
    if (auto held = reservation_->require(lock, fmt::format("{}: tell importers of a move", exporter_.name)); !held)
        return held;
    for (auto* attachment : attachments_) // none comes or goes without the lock
        if (attachment->importer_.move_notify)
            attachment->importer_.move_notify(lock);
    return {};
}

std::size_t DmaBuf::mapping_count() const {
    std::size_t count = 0;
    for (const auto* attachment : attachments_)
        count += attachment->mappings_.size();
    return count;
}

Result<void> DmaBuf::revoke(transport::Transport& machine, bool forced) {
    const auto self = shared_from_this(); // an importer may let go of the last reference
    const auto refuse = [&](int code, std::string_view why) {
        return failure(code, fmt::format("{}: take a buffer back: {}", exporter_.name, why));
    };
    auto lock = reservation_->lock(machine);
    if (!lock)
        return refuse(lock.error().code, lock.error().what);
    const auto stuck = std::ranges::find_if(
        attachments_, [](const Attachment* a) { return !a->is_revocable() && (a->pins() != 0 || a->is_mapped()); });
    const auto is_stuck = stuck != attachments_.end();
    const auto who = is_stuck ? (*stuck)->importer_name() : std::string();
    if (is_stuck && !forced)
        return refuse(EBUSY, who + " has it pinned or mapped and cannot be told (no move_notify)");
    if (!is_revoked_) {
        is_revoked_ = true; // before the importers are told: none maps it again
        if (auto told = notify_move(*lock); !told)
            return told;
    }
    const auto waited = reservation_->wait(machine, Usage::bookkeep);
    lock->unlock();
    if (!waited)
        return refuse(waited.error().code, waited.error().what);
    if (is_stuck)
        return refuse(EBUSY, who + " still has it mapped and cannot be told: its memory must stay");
    if (!transport::poll_until(machine, unmap_patience, [&] { return mapping_count() == 0; }))
        return refuse(EBUSY, "an importer was told and has not given its mapping back: its memory must stay");
    return {};
}

DmaBufHandle export_fixed(ScatterList ranges, std::shared_ptr<const void> keeps_alive) {
    std::uint64_t size = 0;
    for (const auto& range : ranges)
        size += range.size;
    Exporter exporter{.name = "fixed memory"};
    exporter.offers = [] { return std::vector<MappingOffer>{{MappingType::scatter_list, true}}; };
    exporter.map = [ranges = std::move(ranges)](Attachment& attachment, const Lock&) -> Result<ScatterList> {
        return map_peers(attachment.device(), ranges);
    };
    exporter.unmap = [](Attachment& attachment, const ScatterList& list) { unmap_peers(attachment.device(), list); };
    exporter.release = [keeps_alive = std::move(keeps_alive)] {};
    auto made = DmaBuf::make(std::move(exporter), size);
    return made ? std::move(*made) : nullptr;
}

Result<ScatterList> map_peers(transport::Transport& device, const std::vector<BusRange>& ranges) {
    ScatterList list;
    for (const auto& range : ranges) {
        const auto address = device.map_peer(range.bus, range.size);
        if (!address) {
            unmap_peers(device, list);
            return failure(address.error().code,
                           fmt::format("map {:#x}+{:#x}: {}", range.bus, range.size, address.error().what));
        }
        list.push_back({*address, range.size});
    }
    return list;
}

void unmap_peers(transport::Transport& device, const ScatterList& list) {
    for (const auto& range : list)
        device.unmap_peer(range.bus, range.size);
}

} // namespace sw::memory
