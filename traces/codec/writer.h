// Writes a trace: the head at once, records in batches, each with a sync block behind it and flushed. What was flushed
// can be read whatever happens to the program afterwards. Holds the batches that may be on their way and the
// dictionary's window, no more: whoever records waits for the destination.
#pragma once

#include "traces/codec/batch_queue.h"
#include "traces/codec/blocks.h"
#include "traces/codec/dictionary.h"
#include "traces/codec/layouts.h"
#include "traces/codec/record_sink.h"
#include "traces/codec/trace.h"

namespace traces::codec {

class Writer final : public RecordSink {
public:
    struct Options {
        int level = 1; ///< of zstd; FrameWriter::plain: not compressed
        std::size_t batch_bytes = 1 << 20;
        std::size_t most_waiting = 0; ///< batches that a thread of its own compresses and writes; 0: there is none
    };
    /// Writes the head, and flushes it: a program that dies early leaves a trace, too.
    Writer(Destination& destination, const Head& head, Options options);

    /// Returns the record's number; 0 when it is lost (is_good()).
    ///
    /// interface  index in Head::interfaces
    /// head       of a TLP, prefixes and header; else all of the record
    /// payload    of a TLP, as many bytes as its header announces
    std::uint64_t write(std::uint32_t interface, std::int64_t time_ps, const Mark& mark,
                        std::span<const std::byte> head, std::span<const std::byte> payload = {});
    /// A TLP whose payload is a piece of something referred to just before, longer than the reference itself.
    std::uint64_t write(std::uint32_t interface, std::int64_t time_ps, const Mark& mark,
                        std::span<const std::byte> head, const Reference& payload);
    /// Makes sure that records may refer to these bytes, at most most_entry_bytes: they are written unless the window
    /// has them. Nothing where the dictionary cannot take them: then write() gets the bytes themselves.
    std::optional<Reference> refer(std::span<const std::byte> bytes);

    // RecordSink: refers to what is shared, where that is shorter
    std::uint64_t put(const Record& record) override;
    void share(std::span<const std::byte> whole) override;

    /// Everything so far is in the destination, and can be read.
    Destination::Outcome flush();
    /// flush(), and says that this is the end.
    Destination::Outcome close();

    /// False after a failure; the first one stays. What comes afterwards is only counted.
    bool is_good() const { return outcome_.has_value(); }
    std::uint64_t records() const { return records_; }                     ///< with those that wait in the batch
    std::uint64_t kept_records() const { return batches_.kept_records(); } ///< that are in the destination
    std::uint64_t lost_records() const { return lost_; }                   ///< after a failure
    std::uint64_t written_bytes() const { return base_; }                  ///< before compression
    std::size_t batched_bytes() const { return batch_.size(); }

private:
    void write_head(const Head& head);
    template <class Fill> void trace_block(BlockKind kind, std::uint8_t flags, Fill&& fill);
    void text_blocks(BlockKind kind, std::string_view text);
    void sync(BlockKind kind);
    void pass_on();
    void put_batch(FrameWriter::Frame frame);
    void look_at_outcome();
    /// Of a frame, the part that is in the dictionary instead of the record.
    struct Elsewhere {
        Reference reference;
        std::span<const std::byte> tail; ///< what follows behind it
    };
    std::uint64_t packet(std::uint32_t interface, std::int64_t time_ps, Mark mark, std::span<const std::byte> head,
                         std::span<const std::byte> rest, std::size_t original, const Elsewhere* elsewhere = nullptr);

    BatchQueue batches_;
    Options options_;
    Dictionary dictionary_;
    Destination::Outcome outcome_;
    std::vector<std::byte> batch_;
    std::vector<InterfaceKind> kinds_;
    std::vector<std::uint64_t> counts_; ///< records by interface
    std::uint64_t records_ = 0, lost_ = 0, blocks_ = 0;
    std::uint64_t base_ = 0; ///< offset of the batch's first byte, before compression
    std::size_t sync_ = 0;   ///< in the batch, of its sync block
    bool is_closed_ = false;
    /// What was referred to a moment ago, by a sample of its bytes: it mostly comes again at the next boundary, and is
    /// compared then, not hashed again.
    struct Recent {
        std::uint64_t sample = 0;
        Digest digest{};
    };
    std::array<Recent, 256> recent_{};
    std::span<const std::byte> shared_;
    std::optional<Reference> shared_reference_;
};

} // namespace traces::codec
