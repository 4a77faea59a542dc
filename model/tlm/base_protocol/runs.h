// What a transaction of the base protocol asks for, as runs of consecutive bytes. Byte enables and the streaming width
// of a generic payload have no counterpart in a memory request of PCIe, so each run becomes a request of its own.
// TLM-2.0 "Generic payload": command, data length, byte enable and streaming width attributes.
#pragma once

#include "model/tlm/extension.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tlm>

namespace model::tlm::base_protocol {

/// The error response for attributes that nobody could act upon, or TLM_OK_RESPONSE. Of a transaction that is neither
/// read nor write only the command is looked at.
::tlm::tlm_response_status find_fault(const ::tlm::tlm_generic_payload& payload);

/// The first byte of the data array in [begin, end) that is enabled (or is not); `end` where there is none.
std::size_t find_enabled(const ::tlm::tlm_generic_payload& payload, std::size_t begin, std::size_t end,
                         bool is_enabled);

/// Calls visit(address, bytes) for each run, in the order of the data array, while it answers true. The payload is
/// free of faults. With a streaming width below the data length each beat begins at the same address again.
template <class Visit> void for_each_run(::tlm::tlm_generic_payload& payload, Visit&& visit) {
    const auto data = bytes_of(payload);
    const auto width = std::min<std::size_t>(payload.get_streaming_width(), data.size());
    for (std::size_t beat = 0; beat < data.size(); beat += width) {
        const auto end = std::min(beat + width, data.size());
        for (auto at = find_enabled(payload, beat, end, true); at < end; at = find_enabled(payload, at, end, true)) {
            const auto stop = find_enabled(payload, at, end, false);
            if (!visit(payload.get_address() + (at - beat), data.subspan(at, stop - at)))
                return;
            at = stop;
        }
    }
}

} // namespace model::tlm::base_protocol
