#include "testbench/hcasim/compare.h"

#include "platform/observe/files/output.h"
#include "testbench/hcasim/baseline.h"
#include "testbench/hcasim/compare_report.h"
#include "testbench/hcasim/files.h"
#include "testbench/program/console.h"
#include "testbench/program/status.h"
#include "testbench/result/comparison.h"
#include "testbench/result/result_file.h"
#include "traces/codec/file.h"
#include "traces/codec/pcapng.h"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>

namespace hcasim {
namespace {

using platform::observe::files::Output;
template <class T> using Read = std::expected<T, std::string>;

/// The whole file, as far as one can be a result.
Read<std::string> read_text(const std::string& path) {
    auto source = traces::codec::FileSource::open(path);
    if (!source)
        return std::unexpected(source.error());
    std::string text;
    std::array<std::byte, 65536> piece{};
    while (text.size() <= json::most_bytes) {
        const auto got = source->read(piece);
        if (!got)
            return std::unexpected(got.error());
        if (*got == 0)
            break;
        text.append(reinterpret_cast<const char*>(piece.data()), *got);
    }
    return text;
}

/// A pcapng file, or a zstd frame: recordings are told by their bytes, not by their names.
bool is_recording(std::string_view text) {
    if (text.size() < 4)
        return false;
    const auto word = abi::load<std::uint32_t, abi::Endian::little>(reinterpret_cast<const std::byte*>(text.data()));
    return word == traces::codec::pcapng::section_header_type || word == ZSTD_MAGICNUMBER;
}

Read<ComparedFile> read(const std::string& path) {
    const auto text = read_text(path);
    if (!text)
        return std::unexpected(text.error());
    if (is_recording(*text))
        return std::unexpected(fmt::format(
            "{}: is a recording; `hcasim trace diff A B` compares two of these, `hcasim compare` results", path));
    return read_compared(*text, path);
}

Read<std::vector<ResultFile>> read_results(std::span<const std::string> paths) {
    std::vector<ResultFile> results;
    for (const auto& path : paths) {
        auto file = read(path);
        if (!file)
            return std::unexpected(file.error());
        if (file->is_baseline)
            return std::unexpected(fmt::format("{}: is a baseline, which is to be the first of the files", path));
        results.push_back(std::move(file->results.front()));
    }
    return results;
}

Read<void> are_named_apart(const std::vector<ResultFile>& results) {
    for (auto one = results.begin(); one != results.end(); ++one)
        if (const auto other = std::ranges::find(results.begin(), one, one->name, &ResultFile::name); other != one)
            return std::unexpected(fmt::format("{} and {}: a baseline would know both as '{}'; rename one", other->file,
                                               one->file, one->name));
    return {};
}

/// What is to be compared with what, and which there is nothing for.
struct Pairs {
    std::vector<ResultFile> before, after; ///< by their places
    std::vector<RunComparison> alone;
};

RunComparison left_alone(const ResultFile& one, std::string why) {
    RunComparison comparison;
    comparison.name = one.name;
    comparison.scenario = one.scenario;
    comparison.before_file = one.file;
    comparison.why_not = std::move(why);
    return comparison;
}

/// Results by the names that the baseline has for them.
Read<Pairs> pair_up(std::vector<ResultFile> baseline, std::vector<ResultFile> fresh, const std::string& file,
                    bool may_be_new) {
    Pairs pairs;
    for (auto& result : fresh) {
        const auto found = std::ranges::find(baseline, result.name, &ResultFile::name);
        if (found == baseline.end()) {
            if (!may_be_new)
                return std::unexpected(fmt::format("{}: has no run '{}', for {}; `hcasim compare --update {} {}` takes "
                                                   "it in",
                                                   file, result.name, result.file, file, result.file));
            pairs.alone.push_back(left_alone(result, "new in the baseline"));
            continue;
        }
        pairs.before.push_back(std::move(*found));
        pairs.after.push_back(std::move(result));
        baseline.erase(found);
    }
    for (const auto& one : baseline)
        pairs.alone.push_back(left_alone(one, may_be_new ? "left as it is" : "no result of it was given"));
    return pairs;
}

Read<void> may_be_compared(const Pairs& pairs, std::span<const Tolerance> tolerances) {
    std::vector<const ResultFile*> all;
    for (std::size_t i = 0; i < pairs.before.size(); ++i) {
        const auto &before = pairs.before[i], &after = pairs.after[i];
        if (before.scenario != after.scenario)
            return std::unexpected(fmt::format("{}: is of scenario '{}', {} of '{}': these have nothing to compare",
                                               before.file, before.scenario, after.file, after.scenario));
        all.insert(all.end(), {&before, &after});
    }
    return all_apply(tolerances, all);
}

std::vector<RunComparison> compare_all(const Pairs& pairs, std::span<const Tolerance> tolerances) {
    std::vector<RunComparison> comparisons;
    for (std::size_t i = 0; i < pairs.before.size(); ++i)
        comparisons.push_back(compare(pairs.before[i], pairs.after[i], tolerances));
    comparisons.insert(comparisons.end(), pairs.alone.begin(), pairs.alone.end());
    return comparisons;
}

/// "A.json (hcasim 0.1, 8a33789)"; a baseline has no revision.
std::string print_origin(const ResultFile& result) {
    return result.revision.empty() ? result.file
                                   : fmt::format("{} (hcasim {}, {})", result.file, result.version, result.revision);
}

int say(const CompareOptions& options, const Pairs& pairs, const std::vector<RunComparison>& comparisons) {
    Console console(!options.junit.empty() && platform::observe::files::is_standard_output(options.junit) ? stderr
                                                                                                          : stdout,
                    Console::Speech::all);
    const Look look{.width = console.width(), .has_colour = console.has_colour()};
    for (std::size_t i = 0; i < comparisons.size(); ++i) {
        if (i < pairs.before.size())
            console.say(fmt::format("before: {}\nafter:  {}\n", printable(print_origin(pairs.before[i])),
                                    printable(print_origin(pairs.after[i]))));
        console.say(print_comparison(comparisons[i], look, options.shows_all) + "\n");
    }
    return console.is_good() ? status::good : status::output_lost;
}

/// The whole file or nothing; the reason is on standard error.
bool write(const std::string& path, std::string_view text) {
    auto output = Output::create(path);
    if (!output) {
        refuse(output.error());
        return false;
    }
    output->write(text);
    if (const auto finished = output->finish(); !finished) {
        refuse(finished.error());
        return false;
    }
    return true;
}

Read<void> are_files_apart(const CompareOptions& options) {
    std::vector<NamedFile> files;
    for (const auto& path : options.files)
        files.push_back({.what = "the result", .path = path, .use = NamedFile::Use::input});
    if (options.updates)
        files.front() = {.what = "the baseline", .path = options.files.front(), .use = NamedFile::Use::output};
    files.push_back({.what = "--junit", .path = options.junit, .use = NamedFile::Use::output});
    return are_apart(files);
}

/// What the files hold.
struct Input {
    bool has_baseline = false;
    std::vector<ResultFile> before, after; ///< before: the baseline, or the first result
};

Read<Input> read_input(const CompareOptions& options) {
    const auto& path = options.files.front();
    ComparedFile first{.is_baseline = true, .results = {}}; // a new one
    if (!options.updates || std::filesystem::exists(path)) {
        auto file = read(path);
        if (!file)
            return std::unexpected(file.error());
        first = std::move(*file);
    }
    if (options.updates && !first.is_baseline)
        return std::unexpected(fmt::format("{}: is a result and no baseline: it is not overwritten", path));
    auto after = read_results(std::span(options.files).subspan(1));
    if (!after)
        return std::unexpected(after.error());
    if (!first.is_baseline && after->size() != 1)
        return std::unexpected(fmt::format("{}: is a result, which is compared with one other; several are compared "
                                           "with a baseline: hcasim compare --update BASELINE {} ...",
                                           path, path));
    return Input{.has_baseline = first.is_baseline, .before = std::move(first.results), .after = std::move(*after)};
}

Read<Pairs> pairs_of(const Input& input, const CompareOptions& options) {
    if (!input.has_baseline)
        return Pairs{.before = input.before, .after = input.after, .alone = {}};
    if (const auto apart = are_named_apart(input.after); !apart)
        return std::unexpected(apart.error());
    return pair_up(input.before, input.after, options.files.front(), options.updates);
}

Read<void> may_be_kept(const std::vector<ResultFile>& results) {
    for (const auto& result : results)
        if (!result.stopped.empty())
            return std::unexpected(
                fmt::format("{}: {}: a run that was stopped is no baseline", result.file, result.stopped));
    return {};
}

} // namespace

int compare(const CompareOptions& options) {
    std::vector<Tolerance> tolerances;
    for (const auto& text : options.tolerances) {
        const auto tolerance = read_tolerance(text);
        if (!tolerance)
            return refuse(tolerance.error());
        tolerances.push_back(*tolerance);
    }
    if (const auto apart = are_files_apart(options); !apart)
        return refuse(apart.error());
    auto input = read_input(options);
    if (!input)
        return refuse(input.error());
    const auto pairs = pairs_of(*input, options);
    if (!pairs)
        return refuse(pairs.error());
    if (const auto may = may_be_compared(*pairs, tolerances); !may)
        return refuse(may.error());
    if (const auto may = may_be_kept(input->after); options.updates && !may)
        return refuse(may.error());
    const auto comparisons = compare_all(*pairs, tolerances);
    if (say(options, *pairs, comparisons) != status::good)
        return status::output_lost;
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    if (!options.junit.empty() &&
        !write(options.junit, print_junit(comparisons, std::chrono::duration_cast<std::chrono::seconds>(now).count())))
        return status::output_lost;
    if (options.updates)
        return write(options.files.front(), print_baseline(merge(std::move(input->before), std::move(input->after))))
                   ? status::good
                   : status::output_lost;
    return std::ranges::any_of(comparisons, [](const auto& one) { return one.differences != 0; }) ? status::failed
                                                                                                  : status::good;
}

} // namespace hcasim
