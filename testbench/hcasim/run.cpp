#include "testbench/hcasim/run.h"

#include "platform/observe/counters.h"
#include "platform/observe/digest.h"
#include "platform/observe/life.h"
#include "platform/topology/read.h"
#include "testbench/hcasim/observers.h"
#include "testbench/hcasim/payload.h"
#include "testbench/hcasim/report.h"
#include "testbench/hcasim/units.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>

namespace hcasim {
namespace {

constexpr int verified = 0, not_verified = 1, refused = 2;

int refuse(std::string_view why) {
    std::fflush(stdout);
    fmt::print(stderr, "hcasim: {}\n", why);
    return refused;
}

/// A phase has one line: rewritten on a terminal, otherwise written when it is over, and now and then when that takes long.
class Progress {
public:
    void operator()(std::string_view what, std::uint64_t done, std::uint64_t total) {
        const auto percent = total == 0 ? 100 : done * 100 / total;
        const bool is_over = done >= total;
        if (!is_over && what == what_ && percent == percent_)
            return;
        const auto now = std::chrono::steady_clock::now();
        if (!is_over && !is_terminal_ && now - last_ < patience)
            return;
        last_ = now;
        fmt::print("{}  {:<30} {:>3} %  {} of {}{}", is_terminal_ ? "\r" : "", what, percent, print_bytes(done),
                   print_bytes(total), is_over || !is_terminal_ ? "\n" : "");
        std::fflush(stdout);
        what_ = what;
        percent_ = percent;
    }

private:
    static constexpr std::chrono::seconds patience{5};
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
    bool is_terminal_ = isatty(STDOUT_FILENO) == 1;
    std::string what_;
    std::uint64_t percent_ = 101;
};

struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

/// Whole or not at all, as far as the caller is told.
bool write(File file, std::string_view text) {
    const bool is_written = std::fwrite(text.data(), 1, text.size(), file.get()) == text.size();
    return std::fclose(file.release()) == 0 && is_written;
}

std::string unknown_scenario(const platform::topology::Config& config, std::span<const scenario::Scenario> all) {
    std::string names;
    for (const auto& one : all)
        names += fmt::format("{}{}", names.empty() ? "" : " ", one.name);
    return fmt::format("{}: unknown scenario '{}', there are: {}", config.file, config.scenario.name, names);
}

} // namespace

int run(const RunOptions& options, std::span<const scenario::Scenario> scenarios) {
    const auto config = platform::topology::read_config(options.config, options.overrides);
    if (!config)
        return refuse(config.error());
    const auto chosen = std::ranges::find(scenarios, config->scenario.name, &scenario::Scenario::name);
    if (chosen == scenarios.end())
        return refuse(unknown_scenario(*config, scenarios));
    const auto named = options.payload.value_or(config->scenario.payload);
    if (!chosen->moves_payload && !named.empty())
        return refuse(fmt::format("payload {}: scenario '{}' moves bytes of its own; leave --payload and scenario.payload out", named, chosen->name));
    std::optional<Payload> payload;
    if (chosen->moves_payload) {
        auto opened = Payload::open(named);
        if (!opened)
            return refuse(opened.error());
        payload = std::move(*opened);
    }

    const auto observers = Observers::create(options.observe);
    if (!observers)
        return refuse(observers.error());
    auto& observed = **observers;
    const auto& sources = observed.sources();
    platform::observe::Digest digest;
    platform::observe::Counters counters;
    platform::observe::Life life(sources);
    observed.add(digest);
    observed.add(counters);
    observed.add(life);

    File json(options.json.empty() ? nullptr : std::fopen(options.json.c_str(), "wb"));
    if (!options.json.empty() && !json)
        return refuse(fmt::format("{}: cannot be created: {}", options.json, std::strerror(errno)));

    fmt::print("{}: {}\n\n{}\n{}", config->scenario.name, chosen->summary, print_topology(*config),
               payload ? fmt::format("moving {}, {}\n", payload->name(), print_bytes(payload->bytes().size())) : "");
    std::fflush(stdout);

    auto result = chosen->run({*config, payload ? payload->bytes() : std::span<const std::byte>{}, observed.sources(), observed.sink(), observed.capture(), Progress{}});
    if (!result)
        return refuse(result.error());
    result->event_digest = digest.text();
    fmt::print("\nthe life of the first WRITE\n{}\n{}", print_life(life, sources), print_result(*result));
    std::fflush(stdout);

    if (const auto closed = observed.close(); !closed)
        return refuse(closed.error());
    if (json && !write(std::move(json), print_json(*result, counters, *config)))
        return refuse(fmt::format("{}: cannot be written: {}", options.json, std::strerror(errno)));
    return result->verified ? verified : not_verified;
}

} // namespace hcasim
