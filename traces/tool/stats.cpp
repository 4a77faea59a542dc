#include "traces/tool/stats.h"

#include "traces/tool/describe.h"
#include "traces/tool/names.h"
#include "traces/tool/tally.h"

#include <fmt/format.h>

namespace traces::tool {

using namespace codec;

namespace {

std::string text_of(const Traffic& traffic) {
    auto text = fmt::format("{:>10} {:>14} B", traffic.count, traffic.bytes);
    // A rate between the first and the last one: of a single one there is none.
    if (traffic.last_ps > traffic.first_ps) {
        const auto seconds = static_cast<double>(traffic.last_ps - traffic.first_ps) * 1e-12;
        text += fmt::format(" {:>12.3f} Gbit/s {:>14.0f} /s", static_cast<double>(traffic.bytes) * 8e-9 / seconds,
                            static_cast<double>(traffic.count) / seconds);
    }
    return text;
}

void print(const Tally& tally, Output& output) {
    const auto& all = tally.all();
    output.line(fmt::format("{} records, {} bytes, {} to {}", all.count, all.bytes, time_text(all.first_ps),
                            time_text(all.last_ps)));
    const auto table = [&](std::string_view title, const Tally::Table& rows) {
        if (rows.empty())
            return;
        output.line(title);
        for (const auto& [what, traffic] : rows)
            output.line(fmt::format("  {:<56} {}", what, text_of(traffic)));
    };
    table("kinds", tally.kinds());
    table("links", tally.links());
    table("queues", tally.queues());
    table("opcodes", tally.opcodes());
    if (!tally.times().empty())
        output.line(fmt::format("{:<58} {:>10} {:>12} {:>12} {:>12} {:>12} {:>12}", "times in ns", "count", "p50",
                                "p90", "p99", "p99.9", "max"));
    for (const auto& [what, times] : tally.times()) {
        const auto ns = [](std::int64_t ps) { return static_cast<double>(ps) / 1000; };
        output.line(fmt::format("  {:<56} {:>10} {:>12.3f} {:>12.3f} {:>12.3f} {:>12.3f} {:>12.3f}", what,
                                times.count(), ns(times.percentile(50)), ns(times.percentile(90)),
                                ns(times.percentile(99)), ns(times.percentile(99.9)), ns(times.most())));
    }
}

} // namespace

Outcome stats(Source& trace, const Filter& filter, Destination& destination) {
    Reader reader(trace);
    Output output(destination);
    if (const auto opened = reader.open(); !opened)
        return finish(reader, opened.error(), output);
    if (const auto named = has_name(reader.head(), filter.function); !named)
        return {.complaint = "--function: " + named.error()};
    Tally tally(reader.head());
    auto fault = walk(reader, [&](const Record& record, const Seen& seen, const Decoder&) {
        tally.add(record, seen, filter.passes(record, seen, reader.head()));
        return !filter.is_over(record);
    });
    print(tally, output);
    auto outcome = finish(reader, std::move(fault), output);
    outcome.told = tally.all().count;
    return outcome;
}

} // namespace traces::tool
