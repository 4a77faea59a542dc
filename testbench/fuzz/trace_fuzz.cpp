// A trace that anybody may have made. First byte: bit 0, whether to write the digests and lengths of the blocks anew (a
// fuzzer cannot guess a digest, and behind it lies most of the reader); bits 7..4, how many bytes the source gives at a
// time. Whatever it is, it is read to an end or to a fault that has a place, in bounded memory; what is read without a
// fault and written again is read as the same; and whoever looks at records (the rules, the decoder) stands what they
// say.
#include "testbench/fuzz/require.h"
#include "traces/codec/event_record.h"
#include "traces/codec/reader.h"
#include "traces/codec/writer.h"
#include "traces/monitor/monitor.h"
#include "traces/tool/decoder.h"

#include <algorithm>

using namespace traces::codec;
using abi::Endian;

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

/// Makes each sync block true of what stands before it, and each entry's digest that of its bytes.
void repair(std::vector<std::byte>& bytes) {
    RunningDigest digest;
    std::vector<std::uint64_t> counts;
    std::uint64_t records = 0, number = 0;
    for (std::size_t at = 0; bytes.size() - at >= pcapng::least_block_bytes;) {
        const auto rest = std::span(bytes).subspan(at);
        const abi::View<pcapng::BlockHeader> header(rest);
        const std::size_t length = header.get<"length">();
        if (length % 4 != 0 || length < pcapng::least_block_bytes || length > rest.size())
            return;
        const auto block = rest.first(length);
        abi::store<std::uint32_t, Endian::little>(block.data() + length - 4, static_cast<std::uint32_t>(length));
        ++number;
        const auto type = header.get<"type">();
        if (type == pcapng::interface_type)
            counts.push_back(0);
        if (type == pcapng::enhanced_packet_type && length >= pcapng::EnhancedPacket::size) {
            ++records;
            const auto interface = abi::View<pcapng::EnhancedPacket>(block).get<"interface">();
            if (interface < counts.size())
                ++counts[interface];
        }
        const bool is_ours = (type == pcapng::custom_type || type == pcapng::uncopied_custom_type) &&
                             length >= TraceBlock::size + pcapng::trailer_bytes;
        if (is_ours) {
            const abi::View<TraceBlock> view(block);
            const auto kind = static_cast<BlockKind>(view.get<"kind">());
            const auto data = block.subspan(TraceBlock::size, length - TraceBlock::size - pcapng::trailer_bytes);
            const auto size = std::min<std::size_t>(view.get<"length">(), data.size());
            if (kind == BlockKind::entry && size > EntryBlock::size)
                abi::View<EntryBlock>(data).set<"digest">(digest_of(data.first(size).subspan(EntryBlock::size)));
            if ((kind == BlockKind::sync || kind == BlockKind::end) && size == SyncBlock::size + 8 * counts.size()) {
                abi::View<SyncBlock>(data)
                    .set<"records">(records)
                    .set<"block">(number)
                    .set<"offset">(at)
                    .set<"digest">(digest.value())
                    .set<"interfaces">(static_cast<std::uint32_t>(counts.size()));
                for (std::size_t i = 0; i < counts.size(); ++i)
                    abi::store<std::uint64_t, Endian::little>(data.data() + SyncBlock::size + 8 * i, counts[i]);
            }
        }
        digest.add(block);
        at += length;
    }
}

struct Outcome {
    std::uint64_t records = 0;
    Digest digest{}; ///< of all that the records said
    bool is_whole = false;
};

/// Reads to the end or to a fault, and writes what it reads.
Outcome read(Bytes& source, Bytes* copy) {
    Reader reader(source);
    Outcome outcome;
    RunningDigest digest;
    if (const auto opened = reader.open(); !opened) {
        require(!opened.error().text().empty(), "a fault without a text");
        return outcome;
    }
    std::optional<Writer> writer;
    std::optional<traces::monitor::Monitor> monitor;
    std::optional<traces::tool::Decoder> decoder;
    if (copy != nullptr) {
        writer.emplace(*copy, reader.head(), Writer::Options{.level = 1, .batch_bytes = 4096});
        monitor.emplace(reader.head());
        decoder.emplace(reader.head());
    }
    for (;;) {
        const auto record = reader.next();
        if (!record) {
            const auto again = reader.next();
            require(!again && again.error().text() == record.error().text(), "a fault that does not stay");
            break;
        }
        if (*record == nullptr) {
            outcome.is_whole = true;
            break;
        }
        const auto& one = **record;
        require(one.number == ++outcome.records, "records are not numbered one by one");
        require(one.interface < reader.head().interfaces.size() && one.mark.cause < one.number, "a record of nothing");
        require(one.payload.size() <= 4096 && one.head.size() <= most_record_bytes, "a record that is too long");
        if (one.mark.kind == RecordKind::event)
            static_cast<void>(read_event(one.head, one.time_ps));
        digest.add(one.head);
        digest.add(one.payload);
        const auto time = static_cast<std::uint64_t>(one.time_ps) ^ one.mark.gate << 1 ^ one.mark.cause;
        digest.add(std::as_bytes(std::span(&time, 1)));
        if (monitor)
            monitor->on(one);
        if (decoder)
            static_cast<void>(decoder->take(one));
        if (writer) {
            auto mark = one.mark;
            mark.flags &= static_cast<std::uint8_t>(~by_reference);
            const auto reference =
                one.payload.size() > PayloadReference::size ? writer->refer(one.payload) : std::optional<Reference>();
            if (reference)
                writer->write(one.interface, one.time_ps, mark, one.head, *reference);
            else
                writer->write(one.interface, one.time_ps, mark, one.head, one.payload);
        }
    }
    if (monitor)
        monitor->on_end(outcome.is_whole);
    if (writer)
        require(writer->close().has_value(), "what was read cannot be written");
    outcome.digest = digest.value();
    return outcome;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0)
        return 0;
    Bytes source, copy;
    const auto given = std::as_bytes(std::span(data + 1, size - 1));
    source.bytes.assign(given.begin(), given.end());
    if ((data[0] >> 4) != 0)
        source.most = data[0] >> 4;
    if ((data[0] & 1) != 0)
        repair(source.bytes);

    const auto first = read(source, &copy);
    if (!copy.bytes.empty()) {
        const auto second = read(copy, nullptr);
        require(second.is_whole && second.records == first.records && second.digest == first.digest,
                "what was written again differs from what was read");
    }
    return 0;
}
