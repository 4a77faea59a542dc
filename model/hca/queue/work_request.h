// A send work request as the data path sees it, decoded from a WQE.
#pragma once

#include "abi/prm/wqe.h"
#include "abi/types.h"
#include "model/hca/queue/address_path.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace model::hca::queue {

/// One scatter/gather element, or a piece of inline data (key unused, `inline_at` set).
struct DataSegment {
    abi::Key key{};
    std::uint32_t length = 0;
    std::uint64_t address = 0;
    std::uint32_t inline_at = 0; ///< where in WorkRequest::raw; 0: elsewhere

    bool is_inline() const { return inline_at != 0; } // never 0: a WQE begins with its control segment
};

/// Bytes of a data segment, as its byte count says them: 0 means 2^31 (PRM "WQE, data segment").
constexpr std::uint32_t length_of(std::uint32_t byte_count) { return byte_count == 0 ? 1u << 31 : byte_count; }

/// Why a WQE cannot be executed; the requester turns it into a CQE syndrome.
enum class WqeFault : std::uint8_t {
    none,
    bus_error,        ///< the WQE could not be read
    wrong_queue_pair, ///< ctrl names another QP
    wrong_index,      ///< ctrl names another WQE index
    bad_size,         ///< ds is 0, beyond 63, beyond the advertised limit, or does not hold the opcode's segments
    bad_opcode,       ///< not an operation of this transport
    bad_segment,      ///< inline data leaves the WQE, or stands where an answer is to go
};

/// Where a datagram goes.
struct Datagram {
    abi::Qpn destination;
    std::uint32_t q_key = 0;
    AddressPath path;
};

struct WorkRequest {
    static constexpr std::size_t max_bytes = 1024; ///< 63 segments of 16 bytes fit
    static constexpr std::size_t max_segments = 62;

    WqeFault fault = WqeFault::none;
    std::uint16_t index = 0; ///< in WQEBBs
    std::uint8_t wqebbs = 1;
    std::uint8_t segments_16 = 0; ///< ds: size in units of 16 bytes
    abi::prm::WqeOpcode opcode{};
    abi::prm::CompletionEvent completion = abi::prm::CompletionEvent::on_error;
    abi::prm::FenceMode fence{};
    bool solicited = false;
    std::uint32_t immediate = 0;
    std::uint64_t remote_address = 0;
    abi::Key rkey{};
    std::uint64_t swap_or_add = 0, compare = 0;
    Datagram datagram;         ///< queue pairs of a datagram service
    std::uint32_t xrc_srq = 0; ///< XRC: the peer's shared receive queue
    std::uint32_t length = 0;  ///< bytes of the message
    std::uint8_t segment_count = 0;
    std::array<DataSegment, max_segments> segments;
    std::array<std::byte, max_bytes> raw;

    std::span<const DataSegment> data() const { return {segments.data(), segment_count}; }
    /// The bytes of a piece of inline data.
    std::span<const std::byte> bytes_of(const DataSegment& segment) const {
        return std::span(raw).subspan(segment.inline_at, segment.length);
    }
};

} // namespace model::hca::queue
