// What of a drive outlives the process, beside the bytes of its media: which namespaces there are and how their blocks
// look, features that were saved, a sanitize operation, what the drive has counted in its life, self-tests. As a file
// has it: 64 bytes of a header, a record of counters, the results of self-tests as the log page has them, a record for
// each feature, a record for each namespace, little endian; a checksum is over all of it.
#pragma once

#include "abi/layout.h"
#include "abi/nvme/log.h"
#include "model/nvme/blocks/shape.h"

#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <vector>

namespace model::nvme {

/// Where the bytes of a namespace are.
enum class Origin : std::uint8_t {
    memory = 0,     ///< gone with the process: what comes back is empty
    configured = 1, ///< the file that the configuration names
    made = 2,       ///< a file of the drive's own, for a namespace that a host has created
};

struct KeptNamespace {
    std::uint32_t nsid = 0;
    std::uint64_t generation = 0, bytes = 0;
    Shape shape;
    Origin origin = Origin::memory;
    bool is_attached = false;
    bool is_erasing = false; ///< a Format was under way, which gives it this shape
    WriteProtection write_protection = WriteProtection::none;
    std::uint32_t error_recovery = 0; ///< saved
};

struct KeptFeature {
    std::uint32_t feature = 0, selector = 0, value = 0;
    bool operator==(const KeptFeature&) const = default;
};

struct KeptSanitize {
    std::uint32_t state = 0; ///< as the log page has it
    std::uint32_t command = 0, pattern = 0;
};

/// What the SMART log counts over the life of a drive. It is in memory at any time, and is written with the rest.
struct KeptCounters {
    std::uint64_t power_cycles = 0, unsafe_shutdowns = 0;
    std::uint64_t power_on_ms = 0;
    std::uint64_t reads = 0, writes = 0, bytes_read = 0, bytes_written = 0;
    std::uint64_t media_errors = 0, errors = 0;
    bool is_shut_down = true; ///< the host has announced that the power goes, and nothing has begun since

    /// The power is on again. Where it went unannounced, that was an unsafe shutdown.
    void begin_cycle() {
        ++power_cycles;
        unsafe_shutdowns += is_shut_down ? 0 : 1;
        is_shut_down = false;
    }
};

/// A self-test under way; code 0: none.
struct KeptTest {
    std::uint32_t code = 0, nsid = 0;
};

struct KeptState {
    std::uint64_t generation = 0; ///< of the namespace that was made last
    std::uint32_t configured = 0; ///< namespaces that the configuration had
    KeptSanitize sanitize;
    KeptCounters counters;
    KeptTest test;
    std::vector<abi::Block<abi::nvme::SelfTestResult>> self_tests; ///< results, the newest first
    std::vector<KeptFeature> features;
    std::vector<KeptNamespace> namespaces; ///< ascending
};

inline constexpr std::uint64_t state_magic = 0x656d'766e'6163'6800; // "\0hcanvme"
/// Version 1, which is read, too, had neither counters nor self-tests.
inline constexpr std::uint32_t state_version = 2;
inline constexpr std::size_t most_state_bytes = 1 << 20;

// clang-format off
using StateHeader = abi::LittleLayout<"nvme_state_header", 64,
    abi::U64<"magic",      0>,
    abi::U32<"version",    8>,
    abi::U32<"length",    12>,             // bytes of the file
    abi::U64<"checksum",  16>,             // CRC-64 of NVMe over the file, with zeroes here
    abi::U64<"generation",24>,
    abi::U32<"configured",32>,
    abi::U32<"features",  36>,             // records
    abi::U32<"namespaces",40>,             // records
    abi::U32<"sanitize",  44>,
    abi::U32<"sanitize_command", 48>,      // dword 10 of the command
    abi::U32<"sanitize_pattern", 52>,
    abi::U32<"self_tests", 56>>;           // results
using CounterRecord = abi::LittleLayout<"nvme_counter_record", 88,
    abi::U64<"power_cycles",      0>,
    abi::U64<"unsafe_shutdowns",  8>,
    abi::U64<"power_on_ms",      16>,
    abi::U64<"reads",            24>,      // commands
    abi::U64<"writes",           32>,
    abi::U64<"bytes_read",       40>,
    abi::U64<"bytes_written",    48>,
    abi::U64<"media_errors",     56>,
    abi::U64<"errors",           64>,      // of the error log
    abi::Bits<"shut_down",       72, 0, 0, bool>,
    abi::U32<"test_code",        76>,      // of a self-test under way
    abi::U32<"test_nsid",        80>>;
using FeatureRecord = abi::LittleLayout<"nvme_feature_record", 16,
    abi::U32<"feature",    0>,
    abi::U32<"selector",   4>,
    abi::U32<"value",      8>>;
using NamespaceRecord = abi::LittleLayout<"nvme_namespace_record", 48,
    abi::U32<"nsid",       0>,
    abi::U32<"error_recovery", 4>,
    abi::U64<"generation", 8>,
    abi::U64<"bytes",     16>,             // of data and metadata
    abi::U8 <"format",    24>,             // index
    abi::U8 <"data_shift",25>,             // of that format; it must still be so
    abi::U16<"metadata_bytes", 26>,
    abi::U8 <"guard",     28>,
    abi::U8 <"protection",29>,
    abi::U8 <"origin",    30>,
    abi::U8 <"write_protection", 31>,
    abi::Bits<"extended",   32, 0, 0, bool>,
    abi::Bits<"first",      32, 1, 1, bool>, // protection information
    abi::Bits<"attached",   32, 2, 2, bool>,
    abi::Bits<"erasing",    32, 3, 3, bool>>;
// clang-format on

std::vector<std::byte> encode(const KeptState& state);
/// Or what is wrong with the bytes, in words.
std::expected<KeptState, std::string> decode(std::span<const std::byte> bytes, const SpaceConfig& config);

} // namespace model::nvme
