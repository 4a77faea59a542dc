// What a drive has to store data in: formats of logical blocks, namespaces it begins with, capacity.
#pragma once

#include "model/nvme/media/medium.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace model::nvme {

/// How the guard of protection information is made (NVM command set 1.0 "Protection Information Formats").
enum class Guard : std::uint8_t { crc16 = 0, crc32 = 1, crc64 = 2 };

struct BlockFormat {
    std::uint8_t data_shift = 9;
    std::uint16_t metadata_bytes = 0;
    Guard guard = Guard::crc16;
    std::uint8_t relative_performance = 0; ///< 0 is the best
    std::uint32_t data_bytes() const { return 1u << data_shift; }
};

/// What is the same for protection information of each type but that which is checked.
enum class Protection : std::uint8_t { none = 0, type1 = 1, type2 = 2, type3 = 3 };

struct NamespaceConfig {
    std::uint64_t bytes = 64 << 20; ///< of data and metadata; rounded down to whole blocks
    std::uint8_t format = 0;        ///< index into `formats`
    bool is_extended = false;       ///< metadata goes with the data
    Protection protection = Protection::none;
    bool is_protection_first = false;
    std::string file;   ///< sparse file; empty: RAM
    std::string faults; ///< a script of what fails (media/fault_script.h); empty: nothing
    bool is_attached = true;
};

struct SpaceConfig {
    std::vector<BlockFormat> formats{{.data_shift = 9},
                                     {.data_shift = 12},
                                     {.data_shift = 9, .metadata_bytes = 8},
                                     {.data_shift = 12, .metadata_bytes = 8},
                                     {.data_shift = 12, .metadata_bytes = 64}};
    std::uint32_t max_namespaces = 16;   ///< NN
    std::uint64_t capacity = 1ull << 30; ///< TNVMCAP; at least what the first namespaces have
    std::uint64_t identity = 0;          ///< unique to the drive: NGUID, EUI-64 and UUID are made of it
    std::vector<NamespaceConfig> namespaces{NamespaceConfig{}};
    /// Limits of one Copy command: blocks of a range, of all ranges, and ranges.
    std::uint16_t copy_range_blocks = 128;
    std::uint32_t copy_blocks = 128;
    std::uint8_t copy_ranges = 16;
    /// Makes the medium of a namespace; empty: RAM, or the namespace's file. A test puts a faulty one there.
    std::function<std::unique_ptr<Medium>(std::uint32_t nsid, const NamespaceConfig& config)> make_medium;
};

} // namespace model::nvme
