// How the blocks of a namespace look, and whether they may be written: what a namespace has, and what is kept of it.
#pragma once

#include "model/nvme/blocks/config.h"

#include <cstdint>

namespace model::nvme {

/// Feature 84h "Namespace Write Protection Config". The last two are those of files of an earlier version only.
enum class WriteProtection : std::uint8_t { none = 0, on = 1, until_power_cycle = 2, permanent = 3 };

/// How the blocks of a namespace look.
struct Shape {
    BlockFormat format;
    std::uint8_t format_index = 0;
    bool is_extended = false;
    Protection protection = Protection::none;
    bool is_protection_first = false;

    std::uint32_t data_bytes() const { return format.data_bytes(); }
    std::uint32_t metadata_bytes() const { return format.metadata_bytes; }
    std::uint32_t stored_bytes() const { return data_bytes() + metadata_bytes(); }
    bool is_protected() const { return protection != Protection::none; }
    /// Bytes of protection information in the metadata.
    std::uint32_t tuple_bytes() const { return format.guard == Guard::crc16 ? 8 : 16; }
    /// Where in the metadata of a block it stands.
    std::uint32_t tuple_offset() const { return is_protection_first ? 0 : metadata_bytes() - tuple_bytes(); }
};

} // namespace model::nvme
