// What a function's driver keeps where in memory: rings, doorbell records, the command queue. Areas come with the
// commands that create an object, and go with the object.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace traces::tool {

enum class AreaKind : std::uint8_t {
    event_queue,
    completion_queue,
    send_queue,
    receive_queue,
    queue_record,
    cq_record
};

struct Area {
    AreaKind kind = AreaKind::event_queue;
    std::uint32_t number = 0;  ///< of the object
    std::uint32_t stride = 64; ///< of its entries
    std::uint64_t offset = 0;  ///< of the address that was asked for, from the beginning of the ring
    std::uint64_t left = 0;    ///< bytes of this piece from there on
};

/// Pages as a command has them: their addresses, and where in the first one the object begins.
struct Pages {
    std::vector<std::uint64_t> addresses;
    unsigned log_bytes = 12;
    std::uint64_t first_byte = 0;
};

class Areas {
public:
    /// The bytes [offset, offset + bytes) of `pages` are this. What was known of their addresses is forgotten.
    void add(AreaKind kind, std::uint32_t number, std::uint32_t stride, const Pages& pages, std::uint64_t offset,
             std::uint64_t bytes);
    void remove(AreaKind kind, std::uint32_t number);
    void clear() { pieces_.clear(), begins_.clear(); }
    std::optional<Area> at(std::uint64_t address) const;
    /// Pieces that were looked at so far: what adding and removing has cost.
    std::uint64_t looked_at() const { return looked_at_; }

private:
    struct Piece {
        std::uint64_t end, ring_offset;
        std::uint32_t number, stride;
        AreaKind kind;
    };
    using Pieces = std::map<std::uint64_t, Piece>;
    void put(std::uint64_t begin, Piece piece);
    Pieces::iterator forget(Pieces::iterator at);
    Pieces pieces_; ///< by their beginning; none overlaps another
    std::map<std::pair<AreaKind, std::uint32_t>, std::set<std::uint64_t>> begins_; ///< of each object's pieces
    std::uint64_t looked_at_ = 0;
};

} // namespace traces::tool
