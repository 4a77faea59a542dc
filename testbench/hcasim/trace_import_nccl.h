// `hcasim trace import --nccl`: what a program has asked NCCL for becomes a list for traffic.replay.
#pragma once

#include <string>

namespace hcasim {

struct NcclImport {
    std::string log{}, ranks{}, out{};
    double gbps = 100, hop_ns = 5000, gap_ns = 0;
};

/// Writes the list and says what is in it. Returns the program's status.
int import_nccl(const NcclImport& options);

} // namespace hcasim
