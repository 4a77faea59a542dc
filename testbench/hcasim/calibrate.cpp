#include "testbench/hcasim/calibrate.h"

#include "platform/observe/files/output.h"
#include "testbench/calibrate/judge.h"
#include "testbench/hcasim/calibrate_report.h"
#include "testbench/hcasim/explore_processes.h"
#include "testbench/program/console.h"
#include "testbench/program/status.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <expected>
#include <filesystem>
#include <regex>
#include <set>
#include <thread>

namespace hcasim {

using calibrate::Figure;
using calibrate::Profile;
using calibrate::Row;
using platform::observe::files::Output;

namespace {

constexpr const char* folder = "platform/profiles";

/// The error is one line.
std::expected<std::vector<Profile>, std::string> find_profiles(const CalibrateOptions& options) {
    auto files = options.profiles;
    if (files.empty()) {
        std::error_code trouble;
        for (const auto& entry : std::filesystem::directory_iterator(folder, trouble))
            if (entry.path().extension() == ".toml")
                files.push_back(entry.path().string());
        std::ranges::sort(files);
    }
    if (files.empty())
        return std::unexpected(fmt::format("there are no profiles in {}, which is looked for where hcasim is started: "
                                           "name one",
                                           folder));
    std::set<std::string_view> known;
    for (const auto& row : calibrate::rows())
        known.insert(row.profiles.begin(), row.profiles.end());
    std::vector<Profile> profiles;
    for (const auto& file : files) {
        Profile profile{.path = file, .name = std::filesystem::path(file).stem(), .overrides = options.overrides};
        if (!known.contains(profile.name))
            return std::unexpected(fmt::format("{}: rows are found by the name of the file, there are some of: {}",
                                               file, fmt::join(known, " ")));
        profiles.push_back(std::move(profile));
    }
    return profiles;
}

std::expected<std::vector<const Row*>, std::string> choose_rows(const std::string& wanted) {
    std::vector<const Row*> chosen;
    try {
        const std::regex pattern(wanted);
        for (const auto& row : calibrate::rows())
            if (std::regex_search(row.id.begin(), row.id.end(), pattern))
                chosen.push_back(&row);
    } catch (const std::regex_error& error) {
        return std::unexpected(fmt::format("--row {}: {}", wanted, error.what()));
    }
    if (chosen.empty())
        return std::unexpected(fmt::format("--row {}: no row has such a name, --list shows all", wanted));
    return chosen;
}

// A figure as the lines that a process says, and back.
std::string print_figure(const Figure& figure) {
    return fmt::format("figure\n{}\n{}\n{}\n", figure.value, figure.load, figure.bottleneck);
}
std::expected<Figure, std::string> parse_figure(const std::string& said, const std::string& end) {
    std::vector<std::string> lines;
    for (std::size_t at = 0, stop = said.find('\n'); stop != said.npos; at = stop + 1, stop = said.find('\n', at))
        lines.push_back(said.substr(at, stop - at));
    if (lines.size() == 4 && lines[0] == "figure")
        return Figure{.value = std::stod(lines[1]), .bottleneck = lines[3], .load = std::stod(lines[2])};
    return std::unexpected(lines.empty() ? end : lines.back());
}

std::string measure(const Row& row, const Profile& profile) {
    try {
        return print_figure(row.measure(profile));
    } catch (const std::exception& trouble) {
        auto text = std::string(trouble.what());
        std::ranges::replace(text, '\n', ' ');
        return text + "\n";
    }
}

Calibrated run(const Profile& profile, const std::vector<const Row*>& chosen, unsigned jobs) {
    Calibrated calibrated{.profile = profile.name, .judged = {}};
    std::vector<std::size_t> to_measure;
    for (const auto* row : chosen) {
        if (!row->belongs_to(profile.name))
            continue;
        if (row->measure)
            to_measure.push_back(calibrated.judged.size());
        calibrated.judged.push_back(judge(*row, std::unexpected(std::string())));
    }
    Console console(stderr, Console::Speech::all);
    std::uint64_t done = 0;
    Processes(jobs).run(
        to_measure.size(), [&](std::size_t i) { return measure(*calibrated.judged[to_measure[i]].row, profile); },
        [&](std::size_t i, const std::string& said, const std::string& end) {
            auto& judged = calibrated.judged[to_measure[i]];
            judged = judge(*judged.row, parse_figure(said, end));
            console.progress(profile.name, ++done, to_measure.size());
        });
    return calibrated;
}

int write_json(const std::string& path, std::span<const Calibrated> all) {
    auto output = Output::create(path);
    if (!output)
        return refuse(output.error());
    output->write(calibration_as_json(all));
    if (const auto finished = output->finish(); !finished) {
        refuse(finished.error());
        return status::output_lost;
    }
    return status::good;
}

} // namespace

int calibrate(const CalibrateOptions& options) {
    const auto chosen = choose_rows(options.row);
    if (!chosen)
        return refuse(chosen.error());
    if (options.lists && !options.json.empty())
        return refuse(fmt::format("--json {}: has what was measured, and --list measures nothing", options.json));
    const bool tells = !platform::observe::files::is_standard_output(options.json);
    Console console(tells ? stdout : stderr, Console::Speech::all);
    if (options.lists) {
        console.say(print_rows(*chosen, console.width()));
        return console.is_good() ? status::good : status::output_lost;
    }
    const auto profiles = find_profiles(options);
    if (!profiles)
        return refuse(profiles.error());
    for (const auto& profile : *profiles) {
        try {
            (void)profile.with();
        } catch (const std::exception& trouble) {
            return refuse(trouble.what());
        }
    }
    const auto jobs = options.jobs != 0 ? options.jobs : std::max(1u, std::thread::hardware_concurrency());
    std::vector<Calibrated> all;
    bool is_good = true;
    for (const auto& profile : *profiles) {
        all.push_back(run(profile, *chosen, jobs));
        console.say(print_calibration(all.back(), console.width()));
        is_good &= summarise(all.back().judged).is_good();
    }
    if (!options.json.empty())
        if (const auto written = write_json(options.json, all); written != status::good)
            return written;
    if (!console.is_good())
        return status::output_lost;
    return is_good ? status::good : status::failed;
}

} // namespace hcasim
