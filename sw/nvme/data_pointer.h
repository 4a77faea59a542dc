// Where the data of a command lie, as the controller wants it: PRP entries and lists, or an SGL (NVMe base 2.0
// "Physical Region Page Entry and List", "Scatter Gather List"). Takes ranges of bus addresses and memory for lists;
// touches no data.
#pragma once

#include "abi/nvme/command.h"
#include "abi/nvme/registers.h"
#include "sw/base/result.h"
#include "sw/transport/transport.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace sw::nvme {

inline constexpr std::uint64_t page_bytes =
    abi::nvme::least_page_bytes; ///< the memory page size that we choose (CC.MPS 0)

/// A range that the controller can reach: of the host's memory or of any BAR.
struct Segment {
    std::uint64_t bus = 0, bytes = 0;
};

enum class Scheme : std::uint8_t { prp, sgl };

/// Pages for lists that a transfer of `bytes` may need, whichever scheme it has: its first and last page may be parts.
constexpr std::size_t list_bytes(std::uint64_t bytes) {
    const auto entries = bytes / page_bytes + 1;
    const auto a_page = page_bytes / 8 - 1; // the last one leads to the next list
    return static_cast<std::size_t>((entries + a_page - 1) / a_page * page_bytes);
}

/// Writes the data pointer of `command`. EINVAL: the scheme cannot say this. `lists` is page aligned; ENOBUFS: it is
/// too small.
Result<void> point_to(abi::View<abi::nvme::Command> command, Scheme scheme, std::span<const Segment> data,
                      const transport::DmaMemory& lists);

} // namespace sw::nvme
