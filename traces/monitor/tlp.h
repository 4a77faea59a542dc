// TLPs of a recorded link, read: which bytes a memory request means, and which request a completion answers. Takes any
// bytes; what is no such TLP gives nothing.
#pragma once

#include "abi/pcie/tlp.h"

#include <cstdint>
#include <optional>
#include <span>

namespace traces::monitor {

struct MemoryTlp {
    bool is_write = false;
    std::uint64_t address = 0; ///< of the first byte that is enabled
    std::uint32_t length = 0;  ///< from there to the last one that is
    std::uint16_t requester = 0;
    std::uint8_t tag = 0;
};
std::optional<MemoryTlp> read_memory_tlp(std::span<const std::byte> head);

struct CompletionTlp {
    abi::pcie::CompletionStatus status{};
    std::uint16_t requester = 0;
    std::uint8_t tag = 0;
};
std::optional<CompletionTlp> read_completion_tlp(std::span<const std::byte> head);

/// The bytes of `payload`, dwords as on the link, that an access of `length` bytes at `address` means.
std::span<const std::byte> enabled(std::span<const std::byte> payload, std::uint64_t address, std::uint32_t length);

} // namespace traces::monitor
