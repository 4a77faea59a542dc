// The collective operations in a log of NCCL, or of RCCL, as NCCL_DEBUG=INFO with NCCL_DEBUG_SUBSYS=INIT,COLL writes
// it: which ranks did what with how many bytes, in the order of the log. Reads text; knows no platform.
//
// A communicator is known by the lines of its initialization ("comm 0x... rank 3 nranks 8 ... commId 0x..."). Of an
// operation that all of its ranks have logged, the lines of one rank count. Without such lines the log is taken for
// that of one process, whose communicators have the same ranks as the largest one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace workload {

enum class NcclOperation : std::uint8_t { all_reduce, all_gather, reduce_scatter, broadcast, reduce, all_to_all, send };

struct NcclCall {
    NcclOperation operation{};
    /// count * size of the data type, as NCCL counts: all of an all-reduce, broadcast or reduce; what each rank gives
    /// to an all-gather, or to each other in an all-to-all, or gets of a reduce-scatter.
    std::uint64_t bytes = 0;
    std::uint32_t root = 0;             ///< place in `ranks`: of a broadcast and of a reduce; of a send who gets it
    std::uint32_t from = 0;             ///< place of a send's sender
    std::vector<std::uint32_t> ranks{}; ///< of the largest communicator, in the order of the communicator's own
    std::size_t line = 0;               ///< from 1
};

struct NcclLog {
    std::uint32_t ranks = 0; ///< of the largest communicator
    std::vector<NcclCall> calls{};
};

/// The error has file and line: "nccl.log:12: datatype 99 is none that is known". A log without an operation is one,
/// too.
std::expected<NcclLog, std::string> read_nccl_log(std::string_view text, std::string_view file);

} // namespace workload
