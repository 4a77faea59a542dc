// A receive work request as the data path sees it, and how it is decoded (PRM "Receive WQE").
#pragma once

#include "abi/types.h"
#include "model/hca/queue/work_request.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace model::hca::queue {

/// Where a message that arrives is to go, and how far it has come.
struct ReceiveRequest {
    static constexpr std::size_t max_segments = 32;

    std::uint16_t index = 0;
    std::uint8_t count = 0;   ///< segments
    std::uint8_t segment = 0; ///< position
    std::uint32_t offset = 0; ///< in that segment
    abi::Pd pd;               ///< that the keys belong to
    std::array<DataSegment, max_segments> segments;

    /// Puts the position to the start of the message.
    void rewind() { segment = 0, offset = 0; }
    /// Takes the segments from the bytes of a WQE, and rewinds.
    void decode(std::span<const std::byte> wqe);
    /// Bytes that the segments hold.
    std::uint64_t room() const {
        std::uint64_t sum = 0;
        for (const auto& one : std::span(segments).first(count))
            sum += one.length;
        return sum;
    }
};

} // namespace model::hca::queue
