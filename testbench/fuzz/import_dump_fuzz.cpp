// A log that anybody may have printed. First byte: how many bytes the source gives at a time, 0: all. Whatever it is,
// it is refused with a place in it, or read; what was read is refused as a whole, or makes a trace that can be read to
// its end, as long as it has to be.
#include "platform/importer/dump_trace.h"
#include "testbench/fuzz/require.h"
#include "traces/codec/reader.h"

#include <algorithm>

using namespace platform::importer;
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
    if (size == 0)
        return 0;
    Bytes log, trace;
    const auto given = std::as_bytes(std::span(data + 1, size - 1));
    log.bytes.assign(given.begin(), given.end());
    if (data[0] != 0)
        log.most = data[0];
    const auto dumps = read_dumps(log);
    if (!dumps) {
        require(dumps.error().file_offset <= given.size() && !dumps.error().text().empty(), "a fault that is nowhere");
        return 0;
    }
    DumpCounts counts;
    std::uint64_t written = 0;
    {
        Writer writer(trace, dump_head("fuzz", "log"), {.level = FrameWriter::plain});
        const auto imported = write_dumps(*dumps, writer);
        if (!imported) {
            require(!imported.error().empty(), "a refusal without a reason");
            return 0;
        }
        counts = *imported;
        written = writer.records();
        require(writer.close().has_value(), "memory is full");
    }
    require(counts.wqes + counts.cqes == dumps->size(), "a dump has got lost");
    Reader reader(trace);
    require(reader.open().has_value(), "a head that cannot be read");
    for (std::uint64_t records = 0;; ++records) {
        const auto record = reader.next();
        require(record.has_value(), "a trace that cannot be read");
        if (*record == nullptr) {
            require(records == written, "records have got lost");
            return 0;
        }
    }
}
