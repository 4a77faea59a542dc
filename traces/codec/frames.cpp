#include "traces/codec/frames.h"

#include <fmt/format.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <array>
#include <new>
#include <utility>

namespace traces::codec {
namespace {

constexpr std::size_t buffer_bytes = 128 << 10;

/// How the files of other programs begin, for whom a hint is worth more than "foreign".
struct Beginning {
    std::array<unsigned char, 4> bytes;
    std::size_t length;
    std::string_view program;
};
constexpr std::array others{Beginning{{0x1f, 0x8b}, 2, "gzip"}, Beginning{{0x04, 0x22, 0x4d, 0x18}, 4, "lz4"},
                            Beginning{{0xfd, 0x37, 0x7a, 0x58}, 4, "xz"}, Beginning{{0x42, 0x5a, 0x68}, 3, "bzip2"}};

bool begins_with(std::span<const std::byte> bytes, const Beginning& beginning) {
    return std::ranges::equal(bytes.first(std::min(bytes.size(), beginning.length)),
                              std::as_bytes(std::span(beginning.bytes)).first(beginning.length));
}

bool is_zstd(std::span<const std::byte> bytes) {
    if (bytes.size() < 4)
        return false;
    unsigned number = 0;
    for (std::size_t i = 4; i-- > 0;)
        number = number << 8 | std::to_integer<unsigned>(bytes[i]);
    return number == ZSTD_MAGICNUMBER || (number & ZSTD_MAGIC_SKIPPABLE_MASK) == ZSTD_MAGIC_SKIPPABLE_START;
}

} // namespace

// --- writing ---

FrameWriter::FrameWriter(Destination& destination, int level) : destination_(destination) {
    if (level == plain)
        return;
    context_.reset(ZSTD_createCCtx());
    if (context_ == nullptr)
        throw std::bad_alloc();
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, level);
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
}

void FrameWriter::Free::operator()(ZSTD_CCtx_s* context) const { ZSTD_freeCCtx(context); }

Destination::Outcome FrameWriter::put(std::span<const std::byte> batch, Frame frame) {
    if (context_ == nullptr)
        return destination_.write(batch);
    ZSTD_inBuffer in{batch.data(), batch.size(), 0};
    const auto until = frame == Frame::ends ? ZSTD_e_end : ZSTD_e_flush;
    compressed_.resize(std::max(compressed_.size(), ZSTD_compressBound(batch.size())));
    for (std::size_t left = 1; left != 0;) {
        ZSTD_outBuffer out{compressed_.data(), compressed_.size(), 0};
        left = ZSTD_compressStream2(context_.get(), &out, &in, until);
        if (ZSTD_isError(left))
            return std::unexpected(fmt::format("cannot be compressed: {}", ZSTD_getErrorName(left)));
        if (auto written = destination_.write(std::span(compressed_).first(out.pos)); !written)
            return written;
    }
    return {};
}

// --- reading ---

FrameReader::FrameReader(Source& source) : source_(source), input_(buffer_bytes) {}

void FrameReader::Free::operator()(ZSTD_DCtx_s* context) const { ZSTD_freeDCtx(context); }

std::size_t FrameReader::read(std::span<std::byte> into) {
    std::size_t count = 0;
    while (count < into.size()) {
        if (expanded_.empty() && !refill())
            break;
        const auto part = expanded_.first(std::min(expanded_.size(), into.size() - count));
        std::ranges::copy(part, into.begin() + static_cast<std::ptrdiff_t>(count));
        expanded_ = expanded_.subspan(part.size());
        count += part.size();
        given_ += part.size();
    }
    return count;
}

FrameReader::Place FrameReader::place() {
    if (expanded_.empty())
        refill();
    return {.file_offset = is_compressed_ ? expanded_offset_ : given_, .offset = given_};
}

/// More bytes to give. False: there are none, or fault_ says why.
bool FrameReader::refill() {
    if (fault_ || (!has_begun_ && !begin()))
        return false;
    if (is_compressed_)
        return expand();
    if (unread_.empty() && !refill_input())
        return false;
    expanded_ = std::exchange(unread_, {});
    consumed_ += expanded_.size();
    return true;
}

bool FrameReader::refill_input() {
    const auto count = source_.read(input_);
    if (!count)
        return fail(FaultKind::unreadable, count.error());
    unread_ = std::span(input_).first(*count);
    return *count != 0;
}

/// Looks at the first bytes: which kind of file is it?
bool FrameReader::begin() {
    has_begun_ = true;
    std::size_t size = 0;
    while (size < 4) { // a pipe may give them one by one
        const auto count = source_.read(std::span(input_).subspan(size));
        if (!count)
            return fail(FaultKind::unreadable, count.error());
        if (*count == 0)
            break;
        size += *count;
    }
    unread_ = std::span(input_).first(size);
    if (size == 0)
        return fail(FaultKind::truncated, "the file is empty");
    if (const auto* other = std::ranges::find_if(others, [&](const auto& row) { return begins_with(unread_, row); });
        other != others.end() && size >= other->length)
        return fail(FaultKind::foreign, fmt::format("compressed by {}: decompress it first", other->program));
    is_compressed_ = is_zstd(unread_);
    if (!is_compressed_)
        return true;
    context_.reset(ZSTD_createDCtx());
    if (context_ == nullptr)
        throw std::bad_alloc();
    ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, most_window_log);
    output_.resize(buffer_bytes);
    return true;
}

/// Decompresses until there is something to give.
bool FrameReader::expand() {
    for (;;) {
        if (unread_.empty() && !refill_input() && fault_)
            return false;
        const bool is_at_end = unread_.empty();
        expanded_offset_ = consumed_;
        if (is_at_end && !is_within_frame_)
            return false;
        ZSTD_inBuffer in{unread_.data(), unread_.size(), 0};
        ZSTD_outBuffer out{output_.data(), output_.size(), 0};
        const auto left = ZSTD_decompressStream(context_.get(), &out, &in);
        consumed_ += in.pos;
        unread_ = unread_.subspan(in.pos);
        if (ZSTD_isError(left)) {
            const bool is_excessive = ZSTD_getErrorCode(left) == ZSTD_error_frameParameter_windowTooLarge;
            return is_excessive ? fail(FaultKind::excessive, "a frame refers further back than 8 MiB")
                                : fail(FaultKind::corrupt,
                                       fmt::format("a frame cannot be decompressed: {}", ZSTD_getErrorName(left)));
        }
        is_within_frame_ = left != 0;
        expanded_ = std::span(output_).first(out.pos);
        const auto total = given_ + out.pos;
        if (total > free_growth_bytes && total - free_growth_bytes > consumed_ * most_growth) {
            expanded_ = {};
            return fail(FaultKind::excessive, fmt::format("{} bytes of the file have grown to {}", consumed_, total));
        }
        if (out.pos != 0)
            return true;
        if (is_at_end)
            return fail(FaultKind::truncated,
                        fmt::format("the file ends after {} bytes, within a compressed frame", consumed_));
    }
}

bool FrameReader::fail(FaultKind kind, std::string reason) {
    fault_ = Fault{.kind = kind,
                   .file_offset = is_compressed_ ? expanded_offset_ : given_,
                   .offset = given_,
                   .reason = std::move(reason)};
    return false;
}

} // namespace traces::codec
