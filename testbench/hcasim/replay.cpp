#include "testbench/hcasim/replay.h"

#include "platform/observe/files/json.h"
#include "platform/observe/files/output.h"
#include "testbench/hcasim/files.h"
#include "testbench/hcasim/replay_pool.h"
#include "testbench/hcasim/replay_text.h"
#include "testbench/program/console.h"
#include "testbench/program/status.h"
#include "testbench/program/version.h"
#include "traces/codec/file.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <numeric>
#include <thread>

namespace hcasim {

namespace codec = traces::codec;
using platform::observe::files::Output;
using Clock = std::chrono::steady_clock;

namespace {

/// One device of one recording.
struct Job {
    std::string trace;
    std::uint64_t trace_bytes = 0;
    RecordedPart part;
    std::vector<platform::topology::KeyDifference> differences;
};
struct Refused {
    std::string trace, why{};
    int status = status::refused;
};

/// Tells now and then how much of a file was read.
class CountedSource final : public codec::Source {
public:
    CountedSource(codec::Source& inner, const ReplayPool::Progress& progress) : inner_(inner), progress_(progress) {}
    std::expected<std::size_t, std::string> read(std::span<std::byte> into) override {
        constexpr std::uint64_t step = 4 << 20;
        auto count = inner_.read(into);
        if (count) {
            bytes_ += *count;
            if (bytes_ >= told_ + step)
                progress_(told_ = bytes_);
        }
        return count;
    }

private:
    codec::Source& inner_;
    const ReplayPool::Progress& progress_;
    std::uint64_t bytes_ = 0, told_ = 0;
};

/// What can be played of a file.
std::expected<std::vector<Job>, Refused> read_jobs(const std::string& trace, const ReplayOptions& options) {
    const auto refused = [&](std::string why, int status = status::refused) {
        return std::unexpected(Refused{trace, std::move(why), status});
    };
    struct stat about{};
    if (stat(trace.c_str(), &about) != 0)
        return refused(fmt::format("{}: cannot be read: {}", trace, std::strerror(errno)));
    if (!S_ISREG(about.st_mode))
        return refused(fmt::format("{}: is no file; a recording is read more than once", trace));
    auto source = codec::FileSource::open(trace);
    if (!source)
        return refused(source.error());
    codec::Reader reader(*source);
    if (const auto opened = reader.open(); !opened)
        return refused(fmt::format("{}: {}; no record of it could be read", trace, opened.error().text()),
                       status::damaged);
    auto bench = read_bench(reader.head(), trace, options.overrides, options.parts);
    const auto own = fmt::format("{} ({})", version(), revision()); // as record.cpp writes it
    if (!bench)
        return refused(bench.error() + (has_configuration(reader.head()) && reader.head().identity.revision != own
                                            ? fmt::format("\n  recorded by revision {}; this is {}",
                                                          reader.head().identity.revision, own)
                                            : std::string()));
    for (const auto& sentence : bench->not_played)
        complain(fmt::format("{}: {}", trace, sentence));
    std::vector<Job> jobs;
    for (auto& part : bench->parts)
        jobs.push_back({trace, static_cast<std::uint64_t>(about.st_size), std::move(part), bench->differences});
    return jobs;
}

std::string command_line(const Job& job, const ReplayOptions& options) {
    auto line = fmt::format("hcasim replay {} --{}", shell_word(job.trace), name(options.mode));
    for (const auto& override_text : options.overrides)
        line += fmt::format(" --set {}", shell_word(override_text));
    return line + fmt::format(" --at {}", shell_word(job.part.path));
}

DeviceReplay described(const Job& job, const ReplayOptions& options) {
    return {.trace = job.trace,
            .part = job.part.path,
            .mode = options.mode,
            .again = command_line(job, options),
            .differences = job.differences};
}

/// In the process that plays it.
PoolResult play(const Job& job, const ReplayOptions& options, const MakeRecorded& make,
                const ReplayPool::Progress& progress) {
    auto played = described(job, options);
    const auto begin = Clock::now();
    if (auto file = codec::FileSource::open(job.trace); !file) {
        played.complaint = file.error();
    } else {
        CountedSource source(*file, progress);
        codec::Reader reader(source);
        if (const auto opened = reader.open(); !opened) {
            played.complaint = opened.error().text(); // it was another file a moment ago
        } else {
            auto result = play(reader, job.part, options.mode, make);
            played.records = result.records;
            played.confirmed = std::min(reader.confirmed_records(), result.records);
            played.calls = result.calls;
            played.fault = std::move(result.fault);
            if (result.divergence) {
                const auto open = [&]() -> std::expected<std::unique_ptr<codec::Source>, std::string> {
                    auto again = codec::FileSource::open(job.trace);
                    if (!again)
                        return std::unexpected(again.error());
                    return std::make_unique<codec::FileSource>(std::move(*again));
                };
                played.divergence = make_report(open, job.part, *result.divergence);
            }
        }
    }
    played.wall_seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    return {.status = status_of(played), .text = print_text(played), .json = print_json(played)};
}

std::string print_json(const ReplayOptions& options, int status, const std::vector<PoolResult>& results,
                       const std::vector<Refused>& refused) {
    platform::observe::files::JsonObject json(2);
    json.add("version", version())
        .add("revision", revision())
        .add("mode", name(options.mode))
        .add("status", status)
        .begin_list("replays");
    for (const auto& result : results)
        json.add_json_item(result.json);
    json.end().begin_list("refused");
    for (const auto& one : refused)
        json.begin_item().add("trace", one.trace).add("why", one.why).end();
    json.end().end();
    return std::string(json.text()) + "\n";
}

unsigned jobs_of(const ReplayOptions& options) {
    return options.jobs != 0 ? options.jobs : std::max(1u, std::thread::hardware_concurrency());
}

/// Plays all, and shows each as soon as those before it were shown.
std::vector<PoolResult> play_all(const std::vector<Job>& jobs, const ReplayOptions& options, const MakeRecorded& make,
                                 Console& console) {
    constexpr std::chrono::seconds patience{2}; ///< before anybody wonders
    std::vector<PoolResult> results(jobs.size());
    std::vector<bool> is_done(jobs.size());
    std::size_t shown = 0;
    const auto total = std::transform_reduce(jobs.begin(), jobs.end(), std::uint64_t{}, std::plus<>(),
                                             [](const Job& job) { return job.trace_bytes; });
    Console progress(stderr, Console::Speech::all);
    const auto begin = Clock::now();
    ReplayPool(jobs_of(options))
        .run(
            jobs.size(), [&](std::size_t number, const auto& told) { return play(jobs[number], options, make, told); },
            [&](std::size_t number, PoolResult result) {
                if (!result.ended.empty()) {
                    auto ended = described(jobs[number], options);
                    ended.complaint = fmt::format("not played to its end: the process that played it {}", result.ended);
                    result = {.status = status_of(ended), .text = print_text(ended), .json = print_json(ended)};
                }
                results[number] = std::move(result);
                is_done[number] = true;
                for (; shown != jobs.size() && is_done[shown]; ++shown)
                    console.say(results[shown].text);
            },
            [&](std::uint64_t bytes) {
                if (Clock::now() - begin > patience && shown != jobs.size())
                    progress.progress("replay", std::min(bytes, total), total);
            });
    return results;
}

} // namespace

int replay(const ReplayOptions& options, const MakeRecorded& make) {
    std::vector<NamedFile> files{{.what = "--json", .path = options.json}};
    for (const auto& trace : options.traces)
        files.push_back({.what = "the recording", .path = trace, .use = NamedFile::Use::input});
    if (const auto apart = are_apart(files); !apart)
        return refuse(apart.error());
    std::optional<Output> output;
    if (!options.json.empty()) {
        auto created = Output::create(options.json);
        if (!created)
            return refuse(created.error());
        output.emplace(std::move(*created));
    }
    std::vector<Job> jobs;
    std::vector<Refused> refused;
    int status = status::good;
    for (const auto& trace : options.traces) {
        auto found = read_jobs(trace, options);
        if (found) {
            std::ranges::move(*found, std::back_inserter(jobs));
            continue;
        }
        refuse(found.error().why);
        status = gravest(status, found.error().status);
        refused.push_back(std::move(found.error()));
    }
    const bool is_json_shown = output && platform::observe::files::is_standard_output(options.json);
    Console console(is_json_shown ? stderr : stdout, Console::Speech::all);
    const auto results = play_all(jobs, options, make, console);
    for (const auto& result : results)
        status = gravest(status, result.status);
    if (output) {
        output->write(print_json(options, status, results, refused));
        if (const auto finished = output->finish(); !finished) {
            refuse(finished.error());
            return status::output_lost;
        }
    }
    return console.is_good() ? status : status::output_lost;
}

} // namespace hcasim
