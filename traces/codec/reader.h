// Reads a trace record by record, with memory that does not grow with the file: a block, the dictionary's window, the
// decompression's window. Refuses what no writer of this format writes, and says where it stands; what was read before
// stays good.
#pragma once

#include "traces/codec/blocks.h"
#include "traces/codec/dictionary.h"
#include "traces/codec/layouts.h"
#include "traces/codec/trace.h"

namespace traces::codec {

class Reader {
public:
    explicit Reader(Source& source) : frames_(source), blocks_(frames_), dictionary_(0) {}
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

    /// Reads what stands in front of the first record. Called once, before next().
    Read<void> open();
    const Head& head() const { return head_; }

    /// The next record; nullptr at the end of the trace. After a fault the same one again.
    Read<const Record*> next();

    std::uint64_t records() const { return records_; } ///< read so far
    /// As far as sync blocks have confirmed them. Those behind come from a batch whose digest was not reached.
    std::uint64_t confirmed_records() const { return confirmed_; }
    std::uint64_t blocks() const { return blocks_.count(); }

private:
    using Step = Read<bool>; ///< whether it was what the caller waits for

    Step step();
    Step trace_block(const RawBlock& block);
    Read<void> section(const RawBlock& block);
    Read<void> identity(std::span<const std::byte> data, std::uint8_t flags);
    Read<void> configuration(std::span<const std::byte> data, std::uint8_t flags);
    Read<void> source_name(std::span<const std::byte> data);
    Read<void> interface(const RawBlock& block);
    Read<void> entry(std::span<const std::byte> data);
    Read<void> sync(std::span<const std::byte> data);
    std::unexpected<Fault> refuse(FaultKind kind, std::string reason) const;
    std::unexpected<Fault> corrupt(std::string reason) const { return refuse(FaultKind::corrupt, std::move(reason)); }

    FrameReader frames_;
    BlockReader blocks_;
    Dictionary dictionary_;
    RunningDigest digest_;
    Head head_;
    Record record_;
    RawBlock block_; ///< the one in work
    std::vector<std::byte> frame_;
    std::optional<Fault> fault_;
    std::vector<std::uint64_t> counts_;
    std::uint64_t records_ = 0, confirmed_ = 0;
    bool has_identity_ = false, expects_configuration_ = true, has_head_ = false, has_end_ = false;
};

} // namespace traces::codec
