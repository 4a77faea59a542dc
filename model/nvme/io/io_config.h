// What the I/O commands of a controller may ask for. Identify says the same: the rows name its fields.
#pragma once

#include <cstdint>

namespace model::nvme {

struct IoConfig {
    std::uint64_t max_transfer_bytes = 1 << 20;                                             ///< MDTS; 0: no limit
    bool has_compare = true, has_write_uncorrectable = true, has_dataset_management = true; ///< ONCS
    bool has_write_zeroes = true, has_verify = true, has_copy = true;
    bool has_fused = true;                           ///< FUSES bit 0
    bool has_cache = true;                           ///< VWC: a completed write may be lost with the power
    std::uint64_t max_verify_bytes = 0;              ///< VSL; 0: no limit
    std::uint64_t max_write_zeroes_bytes = 0;        ///< WZSL; 0: no limit
    std::uint64_t max_write_uncorrectable_bytes = 0; ///< WUSL; 0: no limit
    std::uint32_t max_ranges = 256;                  ///< DMRL of Dataset Management
    std::uint64_t max_range_blocks = 0;              ///< DMRSL; 0: no limit
    std::uint64_t max_deallocated_blocks = 0;        ///< DMSL; 0: no limit
};

} // namespace model::nvme
