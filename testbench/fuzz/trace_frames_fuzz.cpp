// Bytes that may be zstd frames. First byte: bit 0, whether to compress the rest first, so that the fuzzer gets past
// the checksum; bit 1, whether to damage one byte of it then; bits 7..4, how many bytes the source gives at a time.
// They are decompressed to an end or to a fault; memory and growth are bounded, and what we compressed comes back as it
// was.
#include "testbench/fuzz/require.h"
#include "traces/codec/frames.h"

#include <algorithm>
#include <array>

using namespace traces::codec;

namespace {

using fuzz::require;

struct Bytes final : Source, Destination {
    std::vector<std::byte> bytes;
    std::size_t at = 0, most = SIZE_MAX;
    std::expected<std::size_t, std::string> read(std::span<std::byte> into) override {
        const auto part = std::span(bytes).subspan(at, std::min({into.size(), bytes.size() - at, most}));
        std::ranges::copy(part, into.begin());
        at += part.size();
        return part.size();
    }
    Outcome write(std::span<const std::byte> more) override {
        bytes.insert(bytes.end(), more.begin(), more.end());
        return {};
    }
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 3)
        return 0;
    const bool is_ours = (data[0] & 1) != 0, is_damaged = is_ours && (data[0] & 2) != 0;
    const auto given = std::as_bytes(std::span(data + 3, size - 3));
    Bytes source;
    if (is_ours) {
        FrameWriter writer(source, 1 + (data[0] >> 2 & 3));
        const auto half = given.size() / 2;
        const auto first = (data[1] & 1) != 0 ? FrameWriter::Frame::goes_on : FrameWriter::Frame::ends;
        require(writer.put(given.first(half), first).has_value() && writer.put(given.subspan(half)).has_value(),
                "a batch cannot be compressed");
    } else {
        source.bytes.assign(given.begin(), given.end());
    }
    if (is_damaged)
        source.bytes[(data[1] << 8 | data[2]) % source.bytes.size()] ^= std::byte{0x10};
    if ((data[0] >> 4) != 0)
        source.most = data[0] >> 4;

    FrameReader reader(source);
    static std::array<std::byte, 65536> chunk;
    std::vector<std::byte> out;
    std::uint64_t total = 0;
    for (std::size_t got = chunk.size(); got == chunk.size();) {
        const auto place = reader.place();
        require(place.offset == total && place.file_offset <= std::max<std::uint64_t>(total, source.bytes.size()),
                "a place that is nowhere");
        got = reader.read(chunk);
        total += got;
        if (is_ours && !is_damaged)
            out.insert(out.end(), chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(got));
    }
    require(total <= free_growth_bytes + (128 << 10) + source.bytes.size() * most_growth, "it has grown too much");
    if (reader.fault())
        require(!reader.fault()->text().empty() && reader.read(chunk) == 0, "a fault that does not stay");
    if (is_ours && !is_damaged)
        require(!reader.fault() && std::ranges::equal(out, given), "what was compressed does not come back");
    return 0;
}
