// What a user knows of the part of a drive that it has for itself: which version of each block it has written last, and
// which blocks have commands under way. A drive carries commands out in any order, so that none begins where another
// one would decide what it finds. Blocks that nobody has written are zero.
#pragma once

#include "testbench/workload/drive_plan.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace workload {

struct BlockRange {
    std::uint64_t first = 0; ///< of the part
    std::uint32_t count = 0;
    std::uint32_t bytes() const { return count * drive_block_bytes; }
    bool operator==(const BlockRange&) const = default;
};

class DrivePart {
public:
    /// `number`: no other part of a run has it.
    DrivePart(std::uint64_t number, std::uint64_t blocks) : number_(number), blocks_(blocks) {}

    std::uint64_t blocks() const { return blocks_.size(); }
    /// No Write is under way there, and for a Write no Read either.
    bool is_free(const BlockRange& range, bool is_write) const;
    bool has_written(std::uint64_t block) const { return blocks_[block].version != 0; }
    /// A command that is_free() begins. A Write makes new versions.
    void begin(const BlockRange& range, bool is_write);
    void end(const BlockRange& range, bool is_write);

    /// What the blocks hold, or will hold when the Write that has begun is done: `into` has their bytes.
    void fill(const BlockRange& range, std::span<std::byte> into) const;
    struct Foreign {
        std::uint64_t block = 0; ///< of the part
        std::size_t offset = 0;  ///< in it
    };
    /// The first byte that is none of them; nothing: all are.
    std::optional<Foreign> find_foreign(const BlockRange& range, std::span<const std::byte> bytes) const;

private:
    struct Block {
        std::uint32_t version = 0; ///< 0: never written
        std::uint16_t reads = 0;   ///< under way
        bool is_written = false;   ///< a Write is under way
    };
    std::uint64_t content(std::uint64_t block) const;

    std::uint64_t number_;
    std::vector<Block> blocks_;
};

} // namespace workload
