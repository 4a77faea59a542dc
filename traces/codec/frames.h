// Compression: a trace may be a sequence of zstd frames (RFC 8878). The writer flushes each batch of blocks, so that
// what was written before a crash can be read. The reader needs the same memory for any file, and refuses one that
// grows as no trace does.
#pragma once

#include "traces/codec/fault.h"
#include "traces/codec/stream.h"

#include <memory>
#include <optional>
#include <vector>

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace traces::codec {

/// How far back a frame may refer: 8 MiB, which `zstd -19` stays within.
inline constexpr int most_window_log = 23;
/// Beyond the first 64 MiB a file may not grow to more than 4096 times its size. No trace does: what a block may hold
/// is bounded, and it has numbers that the block before has not (traces/FORMAT.md).
inline constexpr std::uint64_t free_growth_bytes = 64 << 20, most_growth = 4096;

/// Puts batches of bytes into a destination, compressed or as they are.
class FrameWriter {
public:
    static constexpr int plain = 0;
    /// level   of zstd, from 1 on; `plain`: no compression
    FrameWriter(Destination& destination, int level);
    enum class Frame : std::uint8_t { goes_on, ends };
    /// All that was put so far can be decompressed. The last batch ends a frame; without that the file seems cut off.
    Destination::Outcome put(std::span<const std::byte> batch, Frame frame = Frame::ends);
    Destination::Outcome keep() { return destination_.keep(); }

private:
    struct Free {
        void operator()(ZSTD_CCtx_s* context) const;
    };
    Destination& destination_;
    std::unique_ptr<ZSTD_CCtx_s, Free> context_;
    std::vector<std::byte> compressed_;
};

/// The bytes of a source, decompressed where they are compressed.
class FrameReader {
public:
    explicit FrameReader(Source& source);

    /// Fills `into`, or as much of it as there is. Less than asked for: the end, or fault().
    std::size_t read(std::span<std::byte> into);
    const std::optional<Fault>& fault() const { return fault_; }

    struct Place {
        std::uint64_t file_offset, offset;
    };
    /// Of the next byte. Of a compressed file, how far that was read for it: at most 128 KiB from its place.
    Place place();

private:
    struct Free {
        void operator()(ZSTD_DCtx_s* context) const;
    };
    bool refill();
    bool refill_input();
    bool begin();
    bool expand();
    bool fail(FaultKind kind, std::string reason);

    Source& source_;
    std::unique_ptr<ZSTD_DCtx_s, Free> context_;
    std::optional<Fault> fault_;
    std::vector<std::byte> input_, output_;
    std::span<const std::byte> unread_;   ///< of the input
    std::span<const std::byte> expanded_; ///< what read() gives next
    std::uint64_t consumed_ = 0;          ///< bytes of the file that were decompressed or given out
    std::uint64_t expanded_offset_ = 0;   ///< the same when the last decompression began
    std::uint64_t given_ = 0;             ///< bytes that read() has given
    bool has_begun_ = false, is_compressed_ = false, is_within_frame_ = false;
};

} // namespace traces::codec
