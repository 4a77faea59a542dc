// Reads WQEs and CQEs that the drivers of an mlx5 adapter have printed: libmlx5 with MLX5_DEBUG, mlx5_ib by its dynamic
// debug and in its reports of error completions. What else stands in such a log is passed over.
#pragma once

#include "traces/codec/fault.h"
#include "traces/codec/stream.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace platform::importer {

/// A structure as it lay in memory.
struct Dump {
    enum class Kind : std::uint8_t { send_wqe, cqe };
    Kind kind = Kind::send_wqe;
    std::uint64_t line = 0;                 ///< of its head, from 1
    std::optional<std::uint64_t> address{}; ///< of a WQE, in the process that posted it
    std::uint32_t cqn = 0;                  ///< of a CQE; 0: the log does not say
    std::vector<std::byte> bytes;           ///< a multiple of 16, of a CQE 64
};

/// More than these no log of interest has; they are held in memory.
inline constexpr std::size_t most_dumps = 1 << 20, most_dump_bytes = 64 << 20;

/// All dumps of a log, in its order. The fault has the line, and its offset: a dump that ends early or is no such
/// structure (corrupt), a text without any (foreign).
///
/// Understood are "dump wqe at ADDRESS" (libmlx5, mlx5_ib), "dump WQE index N" (mlx5_ib), "dump cqe for cqn N"
/// (libmlx5), "got completion with error" (libmlx5) and "dump error cqe" (mlx5_ib), each with the lines behind it: four
/// dwords a line, or sixteen bytes behind an offset; in front of either may stand what a log puts there.
traces::codec::Read<std::vector<Dump>> read_dumps(traces::codec::Source& text);

} // namespace platform::importer
