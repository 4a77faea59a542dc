// What is known of each block of a namespace, in a file beside its medium: which are allocated, which are marked as
// uncorrectable. A page with a header, then a bit for each block, twice, each time in whole pages. A change is written
// in place with the command that makes it, so a killed process loses none; it is durable at the next sync().
#pragma once

#include "abi/layout.h"
#include "model/nvme/blocks/block_map.h"

#include <cstdint>
#include <string>

namespace model::nvme {

// clang-format off
inline constexpr std::uint64_t marks_magic = 0x736b'7261'6d61'6368; // "hcamarks"
inline constexpr std::uint32_t marks_version = 1;
using MarksHeader = abi::LittleLayout<"nvme_marks_header", 48,
    abi::U64<"magic",      0>,
    abi::U32<"version",    8>,
    abi::U64<"blocks",    16>,
    abi::U64<"generation",24>,             // of the namespace
    abi::U64<"checksum",  40>>;            // CRC-64 of NVMe over what stands before
// clang-format on

class MarkFile {
public:
    enum class Plane : std::uint8_t { allocated = 0, uncorrectable = 1 };

    /// Opens or makes the file. Throws std::system_error or std::runtime_error with its name.
    explicit MarkFile(const std::string& path);
    ~MarkFile();
    MarkFile(const MarkFile&) = delete;
    MarkFile& operator=(const MarkFile&) = delete;

    /// It has just been made: nothing is known.
    bool is_new() const { return is_new_; }
    /// Fills both maps, which have `blocks` blocks. Throws where the file is not that of this namespace.
    void load(std::uint64_t blocks, std::uint64_t generation, BlockMap& allocated, BlockMap& uncorrectable) const;
    /// Begins anew with nothing marked. What it says is durable.
    bool begin(std::uint64_t blocks, std::uint64_t generation);
    /// The bits of these blocks are those of the map.
    bool store(Plane plane, const BlockMap& map, std::uint64_t first, std::uint64_t count);
    bool is_dirty() const { return is_dirty_; }
    bool sync();

private:
    std::uint64_t plane_bytes() const;
    std::uint64_t plane_offset(Plane plane) const;
    void load_plane(Plane plane, BlockMap& map) const;
    [[noreturn]] void refuse(const std::string& what) const;

    std::string path_;
    int file_ = -1;
    bool is_new_ = false, is_dirty_ = false;
    bool has_lost_writes_ = false; ///< as FileMedium has it: after a failed fdatasync() nothing is called durable
    mutable std::uint64_t blocks_ = 0;
};

} // namespace model::nvme
