#include "testbench/study/slurm_task.h"

#include "testbench/program/status.h"
#include "testbench/program/version.h"
#include "testbench/study/spool.h"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>

namespace study {
namespace {

/// A number of the environment; 0: it has none.
std::size_t from_environment(const char* name, std::size_t otherwise) {
    const auto* const text = std::getenv(name);
    if (text == nullptr)
        return otherwise;
    std::size_t number = 0;
    const auto* const end = text + std::strlen(text);
    const auto [at, error] = std::from_chars(text, end, number);
    return error == std::errc() && at == end ? number : otherwise;
}

/// Ended from outside: by Slurm, by a person, or by a kernel without memory. That says nothing of the point, and
/// somebody else tries it again.
bool is_disturbed(const Ended& ended) {
    constexpr std::array<int, 6> outside{SIGHUP, SIGINT, SIGKILL, SIGTERM, SIGXCPU, SIGUSR1};
    return std::ranges::any_of(outside, [&](int signal) {
        return ended.way == Ended::Way::signal
                   ? ended.number == signal
                   : ended.way == Ended::Way::status && ended.number == hcasim::status::signalled(signal);
    });
}

/// A node that does not see our files cannot say anything of a point.
std::string look_around(const SpooledArray& array) {
    if (::chdir(array.directory.c_str()) != 0)
        return fmt::format("{}: {} here", array.directory, std::strerror(errno));
    for (const auto& file : array.inputs)
        if (::access(file.c_str(), R_OK) != 0)
            return fmt::format("{}: {} here", file, std::strerror(errno));
    return {};
}

} // namespace

std::string run_task(const std::string& directory) {
    constexpr auto none = static_cast<std::size_t>(-1);
    const auto task = from_environment("SLURM_ARRAY_TASK_ID", none);
    if (task == none)
        return "SLURM_ARRAY_TASK_ID is not set: this is for tasks of a job array";
    const auto array = read_array(directory);
    if (!array)
        return array.error();
    if (array->version != hcasim::version() || array->revision != hcasim::revision())
        return fmt::format("{}: is of hcasim {} ({})", directory, array->version, array->revision);
    if (auto trouble = look_around(*array); !trouble.empty())
        return trouble;
    std::vector<const SpooledPoint*> points;
    for (auto i = task * array->chunk; i < std::min((task + 1) * array->chunk, array->points.size()); ++i)
        if (!read_result(directory, array->points[i].number))
            points.push_back(&array->points[i]);
    std::string trouble;
    const auto words = [&](std::size_t i) {
        auto all = points[i]->words;
        all.insert(all.begin(), hcasim::program_itself);
        return all;
    };
    const auto done = [&](std::size_t i, const Ended& ended) {
        if (is_disturbed(ended))
            trouble = fmt::format("point {} was ended from outside ({} {})", points[i]->number,
                                  ended.way == Ended::Way::signal ? "signal" : "status", ended.number);
        else
            write_result(directory, points[i]->number,
                         {.version = array->version,
                          .revision = array->revision,
                          .settings = points[i]->settings,
                          .ended = ended});
    };
    Commands(static_cast<unsigned>(std::max<std::size_t>(1, from_environment("SLURM_CPUS_PER_TASK", 1))),
             array->timeout_s)
        .run(points.size(), words, done,
             [&] { return trouble.empty() && is_there(directory) && !is_there(stop_file(directory)); });
    return trouble;
}

} // namespace study
