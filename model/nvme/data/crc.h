// The checksums of NVMe: guards of blocks are made by them, and what the drive keeps in files or in lent memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace model::nvme {

/// CRC-16 of T10 (polynomial 8BB7h), CRC-32C and CRC-64 of NVMe, as the guards of the three formats are made.
/// `crc` continues the result of bytes that come before.
std::uint16_t crc16_t10(std::span<const std::byte> bytes, std::uint16_t crc = 0);
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t crc = 0);
std::uint64_t crc64_nvme(std::span<const std::byte> bytes, std::uint64_t crc = 0);

} // namespace model::nvme
