// One record of a trace, as it stands in an enhanced packet block: its mark, and the bytes of a TLP, a frame, an event.
#pragma once

#include "traces/codec/dictionary.h"
#include "traces/codec/fault.h"
#include "traces/codec/trace.h"

#include <expected>
#include <span>
#include <string>
#include <vector>

namespace traces::codec {

/// Why a block is refused; where it lies is known to whoever has read it.
struct Refusal {
    FaultKind kind;
    std::string reason;
};

/// Reads the block `content` (without its trailer) into `record`, whose number is given. A frame of which a part is by
/// reference is put together in `frame`.
std::expected<void, Refusal> read_packet(std::span<const std::byte> content, std::span<const Interface> interfaces,
                                         const Dictionary& dictionary, Record& record, std::vector<std::byte>& frame);

/// Whether records of this kind belong on an interface of that kind.
bool fits(InterfaceKind interface, RecordKind record);

} // namespace traces::codec
