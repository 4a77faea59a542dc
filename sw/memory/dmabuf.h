// Memory of one device that other devices use, with the rules of the Linux dma-buf framework (Documentation
// "Buffer Sharing and Synchronization"; the invalidation of importers as of 7.0). The exporter hands out a buffer and
// may move it or take it back. An importer attaches, agrees on a form of mapping, pins the buffer or promises to follow
// its moves, maps it, and later gives the mapping back unchanged. Knows no device: exporters and importers are sets of
// functions.
#pragma once

#include "sw/base/result.h"
#include "sw/memory/bus_range.h"
#include "sw/memory/reservation.h"
#include "sw/transport/transport.h"

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sw::memory {

class Attachment;
class DmaBuf;
/// One reference, as an open file holds it. The exporter is told when the last one ends.
using DmaBufHandle = std::shared_ptr<DmaBuf>;

/// What an importer gets for its mapping.
enum class MappingType : std::uint8_t {
    scatter_list,  ///< addresses as the importer's device uses them
    physical_list, ///< physical addresses (PAL), for whoever translates them itself: an IOMMU's driver
};
std::string_view name(MappingType type);

/// A form of mapping that one side can do. Peer to peer: the exporter needs it, or the importer accepts it.
struct MappingOffer {
    MappingType type = MappingType::scatter_list;
    bool peer_to_peer = false;
};

/// Buffers and the pieces of a mapping are whole pages of this size.
inline constexpr std::uint64_t dma_page = 4096;
/// Pieces in the order of the buffer's bytes.
using ScatterList = std::vector<BusRange>;
using PhysicalList = std::vector<BusRange>;

/// What an exporter can do. map, unmap and release are mandatory; pin and unpin come together or not at all: with them
/// the exporter is dynamic, without them its buffers never move.
struct Exporter {
    std::string name; ///< for messages
    std::function<Result<void>(Attachment&)> attach{};
    std::function<void(Attachment&)> detach{};
    /// In the exporter's order of preference, which decides. Without it: a scatter list.
    std::function<std::vector<MappingOffer>()> offers{};
    // The reservation lock is held in these. Pins are counted by the exporter.
    std::function<Result<void>(Attachment&, const Lock&)> pin{};
    std::function<void(Attachment&, const Lock&)> unpin{};
    std::function<Result<ScatterList>(Attachment&, const Lock&)> map{};
    std::function<void(Attachment&, const ScatterList&)> unmap{};
    std::function<Result<PhysicalList>(Attachment&, const Lock&)> map_physical{};
    std::function<void(Attachment&, const PhysicalList&)> unmap_physical{};
    std::function<void()> release{}; ///< the last reference went
};

/// What an importer can do.
struct Importer {
    std::string name; ///< for messages
    bool allow_peer2peer = false;
    /// The buffer moves or is taken back: mappings must be given back at once, and new ones will lead elsewhere. Called
    /// with the lock held. An importer without this function must pin before it maps; one that has it promises to
    /// return in bounded time, which makes it revocable.
    std::function<void(const Lock&)> move_notify{};
    /// What it can use, in any order. Empty: a scatter list, peer to peer as `allow_peer2peer` says.
    std::vector<MappingOffer> accepts{};
};

class DmaBuf : public std::enable_shared_from_this<DmaBuf> {
    struct Key {};

public:
    /// Wraps a buffer of `size` bytes. EINVAL when a mandatory function is missing. Without `reservation` it gets its
    /// own.
    static Result<DmaBufHandle> make(Exporter exporter, std::uint64_t size,
                                     std::shared_ptr<Reservation> reservation = {});
    DmaBuf(Key, Exporter exporter, std::uint64_t size, std::shared_ptr<Reservation> reservation);
    DmaBuf(const DmaBuf&) = delete;
    DmaBuf& operator=(const DmaBuf&) = delete;
    ~DmaBuf();

    /// Adds a device. The form of mapping is the first of the exporter's list that is in `importer.accepts`; EINVAL
    /// when there is none. The lock must not be held. With `dynamic` false the importer is of the old kind: it does not
    /// pin, is not told of moves, and its one mapping is made here. ENODEV when the buffer was taken back. The
    /// attachment holds a reference.
    Result<std::unique_ptr<Attachment>> attach(transport::Transport& device, Importer importer, bool dynamic = true);

    /// Calls move_notify of every importer that has one. The exporter calls this before a move, with the lock held.
    Result<void> notify_move(const Lock& lock);
    /// Takes the buffer back for good: no attach, pin or map from now on (ENODEV); importers are told; fences are
    /// waited for; then their mappings must be gone. EBUSY, and nothing is done, when an importer
    /// that cannot be told has it pinned or mapped, unless `forced`. EBUSY too when a mapping is left at the end: then
    /// the memory must not be used again.
    Result<void> revoke(transport::Transport& machine, bool forced = false);
    bool is_revoked() const { return is_revoked_; }

    std::uint64_t size() const { return size_; }
    Reservation& reservation() { return *reservation_; }
    bool is_dynamic() const { return static_cast<bool>(exporter_.pin); }
    const std::string& exporter_name() const { return exporter_.name; }
    std::size_t mapping_count() const;
    const std::list<Attachment*>& attachments() const { return attachments_; }

private:
    friend class Attachment;
    std::optional<MappingType> negotiate(const Importer& importer) const;

    Exporter exporter_;
    std::uint64_t size_;
    std::shared_ptr<Reservation> reservation_;
    std::list<Attachment*> attachments_; // oldest first
    bool is_revoked_ = false;
};

/// Makes ranges of a peer reachable for `device`, all or none. Exporters of BARs map with this.
Result<ScatterList> map_peers(transport::Transport& device, const std::vector<BusRange>& ranges);
void unmap_peers(transport::Transport& device, const ScatterList& list);

/// A buffer of whole pages that never moves: the exporter is not dynamic. `keeps_alive` is destroyed with the last
/// reference. Returns nothing for ranges that are not whole pages.
DmaBufHandle export_fixed(ScatterList ranges, std::shared_ptr<const void> keeps_alive = {});

} // namespace sw::memory
