#include "testbench/hcasim/trace_import_nccl.h"

#include "platform/topology/names.h"
#include "testbench/hcasim/trace_files.h"
#include "testbench/load/text_file.h"
#include "testbench/program/console.h"
#include "testbench/program/status.h"
#include "testbench/program/units.h"
#include "testbench/workload/nccl_messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <expected>
#include <span>
#include <vector>

namespace hcasim {
namespace {

using model::port::Time;

/// "A..D, E.hca1" as names, in the order of ranks; a name may be there more than once.
std::expected<std::vector<std::string>, std::string> names_of(std::string_view text) {
    std::vector<std::string> found;
    for (const auto word : platform::topology::words_of(text)) {
        const auto names = platform::topology::expand_each(word);
        if (!names)
            return std::unexpected(fmt::format("--ranks: {}", names.error()));
        found.insert(found.end(), names->begin(), names->end());
    }
    return found;
}

Time nanoseconds(double count) { return Time{std::llround(count * 1000)}; }

} // namespace

int import_nccl(const NcclImport& options) {
    if (const auto apart = is_apart_from(options.log, "--out", options.out); !apart)
        return refuse(apart.error());
    const auto names = names_of(options.ranks);
    if (!names)
        return refuse(names.error());
    const auto text = load::read_text_file(options.log);
    if (!text)
        return refuse(text.error());
    const auto log = workload::read_nccl_log(*text, options.log);
    if (!log)
        return refuse(log.error());
    std::string list = fmt::format("# {} operations of {} ranks, of {}\n# nanosecond, from, to, verb, bytes\n",
                                   log->calls.size(), log->ranks, options.log);
    std::uint64_t messages = 0, bytes = 0;
    const workload::NcclPace pace{options.gbps, nanoseconds(options.hop_ns), nanoseconds(options.gap_ns)};
    const auto take = [&](Time at, std::uint32_t from, std::uint32_t to, std::uint64_t size) {
        fmt::format_to(std::back_inserter(list), "{}.{:03} {} {} write {}\n", at.count() / 1000, at.count() % 1000,
                       (*names)[from], (*names)[to], size);
        ++messages, bytes += size;
    };
    if (const auto done = workload::expand_nccl(*log, *names, pace, take); !done)
        return refuse(fmt::format("{}: {}", options.log, done.error()));
    if (messages == 0)
        return refuse(fmt::format("{}: nothing of it leaves a host, by these --ranks", options.log));
    auto result = TraceResult::create(options.out);
    if (!result)
        return refuse(result.error());
    static_cast<void>(result->write(std::as_bytes(std::span(list)))); // finish() tells
    if (const auto finished = result->finish(); !finished) {
        complain(fmt::format("hcasim: {}\n", finished.error()));
        return status::output_lost;
    }
    auto out = TraceResult::standard_output();
    const auto said =
        fmt::format("{} operations of {} ranks: {} messages, {}; run it by --set traffic.replay={}\n",
                    print_count(log->calls.size()), log->ranks, print_count(messages), print_bytes(bytes), options.out);
    static_cast<void>(out.write(std::as_bytes(std::span(said))));
    return out.finish() ? status::good : status::output_lost;
}

} // namespace hcasim
