// Doorbell records (PRM "Doorbell record"): the counters that software keeps in host memory, read when they are needed.
// How far software has got stands in the record and not in the doorbell, so doorbells may be lost, merged or late.
#pragma once

#include "abi/layout.h"
#include "abi/prm/doorbell.h"
#include "model/port/dma.h"

#include <array>
#include <optional>

namespace model::hca::doorbell {

/// Which counter of a record, by its place in the record of a queue pair or of a completion queue.
enum class Record : std::uint8_t {
    receive = abi::prm::QpDoorbellRecord::field<"rcv_counter">::offset,
    send = abi::prm::QpDoorbellRecord::field<"send_counter">::offset,
    consumer = abi::prm::CqDoorbellRecord::field<"update_ci">::offset,
};

struct RecordRead {
    std::uint32_t value = 0;
    port::Time at{}; ///< when the value had arrived
};

/// The 32-bit counter at `record`, or nothing when the memory does not answer.
inline std::optional<RecordRead> read_record(port::Dma& dma, abi::BusAddress record, Record which, port::Time at) {
    std::array<std::byte, 4> bytes;
    const auto result = dma.read(record + static_cast<std::uint64_t>(which), bytes, at);
    if (!result.is_ok())
        return std::nullopt;
    return RecordRead{abi::load<std::uint32_t, abi::Endian::big>(bytes.data()), result.done};
}

} // namespace model::hca::doorbell
