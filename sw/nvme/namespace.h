// Commands of a namespace (NVM command set 1.0): made here, carried out by a queue pair. Blocks are counted as the
// namespace is formatted; bytes lie wherever the caller says that the controller reaches them.
#pragma once

#include "abi/nvme/command.h"
#include "sw/base/result.h"
#include "sw/nvme/controller.h"
#include "sw/nvme/queue_pair.h"

#include <cstdint>
#include <span>

namespace sw::nvme {

/// Blocks that follow each other, by number.
struct Blocks {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
};

class Namespace {
public:
    using Command = QueuePair::Command;

    /// Identifies it. ENODEV: it is not attached; ENOTSUP: its format is with metadata.
    static Result<Namespace> open(Controller& controller, std::uint32_t number);
    /// The same from what Identify has returned for it, by whatever way.
    static Result<Namespace> of(std::uint32_t number, std::span<const std::byte> identified);

    std::uint32_t number() const { return number_; }
    std::uint64_t blocks() const { return blocks_; }
    std::uint32_t block_bytes() const { return block_bytes_; }

    // One command each; counts are not zero and not more than fit.
    Command read(Blocks blocks) const { return transfer(abi::nvme::IoOpcode::read, blocks); }
    /// `is_durable`: the blocks are on the medium when it ends (FUA).
    Command write(Blocks blocks, bool is_durable = false) const;
    Command flush() const;
    Command write_zeroes(Blocks blocks) const { return transfer(abi::nvme::IoOpcode::write_zeroes, blocks); }
    Command compare(Blocks blocks) const { return transfer(abi::nvme::IoOpcode::compare, blocks); }
    /// Blocks of the command.
    static std::uint64_t most_blocks() { return 0x10000; }

    // Carried out by a queue that has nothing else under way, in as many commands as needed; the first one that fails
    // ends it: EIO with what the controller said.
    Result<void> read(QueuePair& queue, std::uint64_t block, std::span<const Segment> data,
                      Scheme scheme = Scheme::prp) const;
    Result<void> write(QueuePair& queue, std::uint64_t block, std::span<const Segment> data,
                       Scheme scheme = Scheme::prp) const;
    Result<void> flush(QueuePair& queue) const;
    /// The controller may forget what these blocks hold.
    Result<void> deallocate(QueuePair& queue, Blocks blocks) const;

private:
    explicit Namespace(std::uint32_t number) : number_(number) {}
    Command transfer(abi::nvme::IoOpcode opcode, Blocks blocks) const;
    Result<void> transfer(QueuePair& queue, abi::nvme::IoOpcode opcode, std::uint64_t block,
                          std::span<const Segment> data, Scheme scheme) const;

    std::uint32_t number_;
    std::uint64_t blocks_ = 0;
    std::uint32_t block_bytes_ = 0;
};

} // namespace sw::nvme
