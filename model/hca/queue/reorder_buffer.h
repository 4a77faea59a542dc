// Packets of a connection that have come before others that are missing (selective repeat): kept, so that only what is
// missing has to come again. A place for each of the next sequence numbers.
#pragma once

#include "abi/types.h"
#include "model/port/packet.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace model::hca::queue {

class ReorderBuffer {
public:
    /// packets   from the one that is expected on, that one included. There are places for the next power of two: it
    ///           divides the sequence numbers, so that two packets of a window have two places also where they wrap.
    explicit ReorderBuffer(std::uint32_t packets) : slots_(std::bit_ceil(packets)) {}

    /// Copies a packet, payload included, that is fewer than `packets` behind the expected one. One that is there
    /// already stays.
    void hold(const port::Packet& packet) {
        auto& slot = slot_of(packet.rdma().psn);
        if (slot.is_held && slot.packet.rdma().psn == packet.rdma().psn)
            return;
        count_ += !slot.is_held;
        slot.is_held = true;
        slot.packet = packet;
        slot.packet.payload.own(); // what its sender has lent may be needed back before its turn comes
    }
    /// nullptr: it has not come.
    port::Packet* find(abi::Psn psn) {
        auto& slot = slot_of(psn);
        return slot.is_held && slot.packet.rdma().psn == psn ? &slot.packet : nullptr;
    }
    void drop(abi::Psn psn) {
        auto& slot = slot_of(psn);
        count_ -= slot.is_held;
        slot.is_held = false;
        slot.packet.payload.clear();
    }
    /// The first one held behind `psn`; those before it, whose turn is past, go.
    std::optional<abi::Psn> first_after(abi::Psn psn) {
        std::optional<abi::Psn> first;
        if (count_ == 0) [[likely]]
            return first;
        for (auto& slot : slots_) {
            if (!slot.is_held)
                continue;
            const auto held = slot.packet.rdma().psn;
            if (held.is_before(psn))
                drop(held);
            else if (!first || held.is_before(*first))
                first = held;
        }
        return first;
    }

private:
    struct Slot {
        bool is_held = false;
        port::Packet packet;
    };
    Slot& slot_of(abi::Psn psn) { return slots_[psn.value % slots_.size()]; }

    std::vector<Slot> slots_;
    std::size_t count_ = 0;
};

} // namespace model::hca::queue
