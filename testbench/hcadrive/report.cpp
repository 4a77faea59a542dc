#include "testbench/hcadrive/report.h"

#include "platform/observe/files/json.h"
#include "testbench/hcasim/table.h"
#include "testbench/program/units.h"

#include <fmt/format.h>

namespace hcadrive {

using hcasim::print_bytes;
using hcasim::print_count;

std::string print_result(const scenario::Result& result) {
    std::vector<std::vector<std::string>> rows{{"transfer", "bytes", "messages", "wall", "rate", "SHA-256"}};
    for (const auto& t : result.transfers)
        rows.push_back(
            {t.name, print_count(t.bytes), print_count(t.messages), fmt::format("{:.3f} s", t.wall_seconds),
             t.wall_seconds > 0
                 ? print_bytes(static_cast<std::uint64_t>(static_cast<double>(t.bytes) / t.wall_seconds)) + "/s"
                 : "-",
             t.verified                ? "equal"
             : t.sha256_target.empty() ? "not reached"
                                       : "DIFFERENT"});
    auto text = rows.size() > 1 ? hcasim::print_table(rows) + "\n" : std::string();
    text += hcasim::print_table({{"payload", print_count(result.payload_bytes) + " bytes"},
                                 {"completions", print_count(result.completions_ok)},
                                 {"wall time", fmt::format("{:.3f} s", result.wall_seconds)}});
    return text + fmt::format("\n  SHA-256 source  {}\n  SHA-256 target  {}\n  {}\n", result.sha256_source,
                              result.sha256_target, result.verified ? "verified" : "NOT VERIFIED: " + result.failure);
}

std::string print_json(const scenario::Result& result) {
    platform::observe::files::JsonObject json(2);
    json.add("scenario", result.scenario)
        .add("verified", result.verified)
        .add("failure", result.failure)
        .add("payload_bytes", result.payload_bytes)
        .add("sha256_source", result.sha256_source)
        .add("sha256_target", result.sha256_target)
        .add("completions_ok", result.completions_ok)
        .add("wall_seconds", result.wall_seconds);
    json.begin_list("transfers");
    for (const auto& t : result.transfers)
        json.begin_item()
            .add("name", t.name)
            .add("verified", t.verified)
            .add("sha256_target", t.sha256_target)
            .add("bytes", t.bytes)
            .add("messages", t.messages)
            .add("wall_seconds", t.wall_seconds)
            .end();
    json.end().end();
    return std::string(json.text()) + "\n";
}

} // namespace hcadrive
