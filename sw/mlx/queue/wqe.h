// Work queue entries written into the ring: a work request becomes segments of 16 bytes, in the order the device reads
// them (PRM "WQE format"). Stores straight into the ring and wraps at its end; rings no doorbell and checks no state.
#pragma once

#include "abi/layout.h"
#include "abi/prm/mkey.h"
#include "abi/prm/wqe.h"
#include "abi/types.h"
#include "sw/mlx/queue/work_request.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace sw::mlx {

/// How an operation looks as a WQE.
struct SendShape {
    abi::prm::WqeOpcode opcode{};
    bool has_remote = false; ///< remote address segment
    bool has_atomic = false; ///< operands
    bool has_data = false;   ///< gather or scatter list
    bool can_inline = false; ///< the data goes out, so it may travel in the WQE
};
inline constexpr std::array<SendShape, 8> send_shapes = [] {
    using O = abi::prm::WqeOpcode;
    std::array<SendShape, 8> table{};
    const auto at = [&](SendOperation operation) -> SendShape& { return table[static_cast<std::size_t>(operation)]; };
    at(SendOperation::nop) = {.opcode = O::nop};
    at(SendOperation::send) = {.opcode = O::send, .has_data = true, .can_inline = true};
    at(SendOperation::send_imm) = {.opcode = O::send_imm, .has_data = true, .can_inline = true};
    at(SendOperation::write) = {.opcode = O::rdma_write, .has_remote = true, .has_data = true, .can_inline = true};
    at(SendOperation::write_imm) = {
        .opcode = O::rdma_write_imm, .has_remote = true, .has_data = true, .can_inline = true};
    at(SendOperation::read) = {.opcode = O::rdma_read, .has_remote = true, .has_data = true};
    at(SendOperation::compare_swap) = {
        .opcode = O::atomic_cs, .has_remote = true, .has_atomic = true, .has_data = true};
    at(SendOperation::fetch_add) = {.opcode = O::atomic_fa, .has_remote = true, .has_atomic = true, .has_data = true};
    return table;
}();

/// A send queue's ring: `blocks` (a power of two) basic blocks of 64 bytes.
struct SendRing {
    std::byte* base = nullptr;
    std::uint32_t blocks = 0;
    std::byte* block(std::uint32_t counter) const { return base + (counter & (blocks - 1)) * abi::prm::wqe_bb_bytes; }
    std::byte* end() const { return base + blocks * abi::prm::wqe_bb_bytes; }
};

/// Sum of the elements of a request.
inline std::uint64_t total_length(const SendRequest& request) {
    std::uint64_t total = 0;
    for (std::uint32_t i = 0; i < request.sge_count; ++i)
        total += request.sge[i].length;
    return total;
}

/// Size of the WQE of `request` in units of 16 bytes. Empty elements take no room: a byte count of 0 would mean 2^31.
inline std::uint32_t segments_of(const SendRequest& request) {
    const auto& shape = send_shapes[static_cast<std::size_t>(request.operation)];
    std::uint32_t units = 1u + shape.has_remote + shape.has_atomic;
    if (!shape.has_data)
        return units;
    if (request.flags & send_flag::inline_data) {
        const auto length = static_cast<std::uint32_t>(total_length(request));
        return length ? units + (static_cast<std::uint32_t>(abi::prm::WqeInline::size) + length + 15) / 16 : units;
    }
    for (std::uint32_t i = 0; i < request.sge_count; ++i)
        units += request.sge[i].length != 0;
    return units;
}

constexpr std::uint32_t blocks_of(std::uint32_t units) { return (units + 3) / 4; }

/// Writes segments one behind the other, from the end of the ring on at its start.
class SegmentWriter {
public:
    SegmentWriter(const SendRing& ring, std::byte* at) : ring_(ring), at_(at) {}

    template <class L> void put(const abi::Block<L>& segment) {
        static_assert(L::size == abi::prm::wqe_ds_bytes);
        std::memcpy(at_, segment.bytes.data(), L::size);
        advance(L::size);
    }
    void put_data(const Sge& sge) {
        abi::Block<abi::prm::WqeData> data;
        data.view().set<"byte_count">(sge.length).set<"lkey">(sge.lkey).set<"addr">(sge.address);
        put(data);
    }
    /// Segments that somebody else has put together.
    void put_bytes(std::span<const std::byte> segments) { copy(segments.data(), segments.size()); }
    /// All elements as one inline segment; its payload may wrap as any segment does.
    void put_inline(const SendRequest& request) {
        abi::Block<abi::prm::WqeInline> head;
        head.view().set<"inline">(1).set<"byte_count">(static_cast<std::uint32_t>(total_length(request)));
        copy(head.bytes.data(), head.bytes.size());
        for (std::uint32_t i = 0; i < request.sge_count; ++i)
            // In an inline element the address is the processor's, as verbs has it.
            // NOLINTNEXTLINE(performance-no-int-to-ptr)
            copy(reinterpret_cast<const std::byte*>(request.sge[i].address), request.sge[i].length);
    }

private:
    void copy(const std::byte* from, std::size_t bytes) {
        while (bytes) {
            const auto piece = std::min(bytes, static_cast<std::size_t>(ring_.end() - at_));
            std::memcpy(at_, from, piece);
            advance(piece);
            from += piece;
            bytes -= piece;
        }
    }
    void advance(std::size_t bytes) {
        at_ += bytes;
        if (at_ == ring_.end())
            at_ = ring_.base;
    }

    SendRing ring_;
    std::byte* at_;
};

/// Writes the WQE of `request` at block `counter` of the ring; `units` is segments_of(request). There must be room.
inline void write_send(const SendRing& ring, std::uint32_t counter, abi::Qpn qpn, const SendRequest& request,
                       std::uint32_t units, bool is_signaled) {
    using namespace abi::prm;
    const auto& shape = send_shapes[static_cast<std::size_t>(request.operation)];
    auto fence = FenceMode::none;
    if (request.flags & (send_flag::fence | send_flag::small_fence)) [[unlikely]]
        fence = request.flags & send_flag::fence ? FenceMode::small_and_fence : FenceMode::initiator_small;
    SegmentWriter writer(ring, ring.block(counter));
    abi::Block<WqeCtrl> ctrl;
    ctrl.view()
        .set<"opcode">(shape.opcode)
        .set<"wqe_index">(counter)
        .set<"qpn">(qpn.value)
        .set<"ds">(units)
        .set<"fm">(fence)
        .set<"ce">(is_signaled ? CompletionEvent::always : CompletionEvent::on_error)
        .set<"se">((request.flags & send_flag::solicited) != 0)
        .set<"imm">(request.immediate);
    writer.put(ctrl);
    if (shape.has_remote) {
        abi::Block<WqeRaddr> remote;
        remote.view().set<"raddr">(request.remote_address).set<"rkey">(request.rkey);
        writer.put(remote);
    }
    if (shape.has_atomic) [[unlikely]] {
        abi::Block<WqeAtomic> atomic;
        atomic.view().set<"swap_add">(request.swap_or_add).set<"compare">(request.compare);
        writer.put(atomic);
    }
    if (!shape.has_data)
        return;
    if (request.flags & send_flag::inline_data) {
        if (total_length(request))
            writer.put_inline(request);
        return;
    }
    for (std::uint32_t i = 0; i < request.sge_count; ++i)
        if (request.sge[i].length != 0)
            writer.put_data(request.sge[i]);
}

/// Writes a receive WQE of `stride` bytes: the elements, then a terminator when there is room for more (PRM "Receive
/// WQE").
inline void write_receive(std::byte* wqe, std::uint32_t stride, const ReceiveRequest& request) {
    using abi::prm::WqeData;
    std::uint32_t used = 0;
    const auto put = [&](std::uint32_t length, std::uint32_t lkey, std::uint64_t address) {
        abi::Block<WqeData> data;
        data.view().set<"byte_count">(length).set<"lkey">(lkey).set<"addr">(address);
        std::memcpy(wqe + used, data.bytes.data(), WqeData::size);
        used += WqeData::size;
    };
    for (std::uint32_t i = 0; i < request.sge_count; ++i)
        if (request.sge[i].length != 0)
            put(request.sge[i].length, request.sge[i].lkey, request.sge[i].address);
    if (used < stride)
        put(0, abi::prm::invalid_lkey, 0);
}

} // namespace sw::mlx
