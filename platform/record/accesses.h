// Accesses as TLPs and back. A device reads and writes any number of bytes; on the bus that is one or more requests,
// each within a part of the address space that its size divides, with byte enables where it does not fill its dwords
// (PCIe 6.0 §2.2.5, §2.2.7). A read has as many completions as requests here.
#pragma once

#include "abi/pcie/tlp.h"
#include "model/pcie/tlp_cost.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace platform::record {

/// One request of an access: the bytes it means, and the dwords that carry them.
struct Piece {
    std::uint64_t address = 0;
    std::uint32_t length = 0;
    std::uint64_t first_dword() const { return address & ~std::uint64_t{3}; }
    /// Bytes that its dwords have: in front of the address, and in all.
    std::uint32_t lead() const { return static_cast<std::uint32_t>(address & 3); }
    std::uint32_t padded() const { return std::max(4u, (lead() + length + 3) & ~3u); }
    bool operator==(const Piece&) const = default;
};

/// Bytes of a TLP in a recording: whoever holds the device knows no link behind it (traces/FORMAT.md).
inline constexpr std::uint32_t most_recorded_payload = 4096;

/// Calls visit(piece) for each request of an access; one of no bytes has one request, too.
/// most   a power of two up to 4096
template <class Visit>
void for_each_piece(std::uint64_t address, std::uint64_t length, std::uint32_t most, Visit&& visit) {
    do {
        const auto piece = std::min<std::uint64_t>(length, most - address % most);
        visit(Piece{address, static_cast<std::uint32_t>(piece)});
        address += piece;
        length -= piece;
    } while (length != 0);
}

/// How the link of the device cuts its accesses. A recording has them whole, as they pass the device's ports; so it
/// plays on another link as it did, but for the TLPs there.
struct LinkSizes {
    model::pcie::TlpSizes recorded, played;
    bool has_changed() const { return recorded != played; }
};
/// What a device sends: requests, or the completions of a read of its own memory.
enum class TlpSort : std::uint8_t { write, read_request, completion };
/// The first TLP of an access that is shorter or longer on the other link.
struct OtherTlp {
    std::uint64_t address;
    std::uint32_t recorded, played; ///< bytes
};
std::optional<OtherTlp> first_other_tlp(TlpSort sort, std::uint64_t address, std::uint64_t length,
                                        const LinkSizes& sizes);

/// A header, which is three or four dwords long.
class Header {
public:
    std::span<const std::byte> bytes() const { return std::span(bytes_).first(length_); }

private:
    friend Header memory_request(bool is_write, Piece piece, std::uint16_t requester, std::uint8_t tag);
    friend Header completion(abi::pcie::CompletionStatus status, Piece piece, std::uint16_t requester,
                             std::uint8_t tag);
    std::array<std::byte, abi::pcie::MemoryRequest64::size> bytes_{};
    std::size_t length_ = 0;
};
Header memory_request(bool is_write, Piece piece, std::uint16_t requester, std::uint8_t tag);
/// The answer to a read of `piece`; with its bytes where the status is success.
Header completion(abi::pcie::CompletionStatus status, Piece piece, std::uint16_t requester, std::uint8_t tag);

struct MemoryRequest {
    bool is_write = false;
    Piece piece;
};
/// Nothing: the TLP is another one.
std::optional<MemoryRequest> read_memory_request(std::span<const std::byte> head);

struct ReadCompletion {
    abi::pcie::CompletionStatus status;
    std::uint32_t lead, length; ///< of its bytes: in front of them, and the bytes that were asked for
};
std::optional<ReadCompletion> read_completion(std::span<const std::byte> head);

} // namespace platform::record
