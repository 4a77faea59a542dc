#include "testbench/hcasim/study_report.h"

#include "platform/observe/files/output.h"
#include "platform/topology/description.h"
#include "platform/topology/read.h"
#include "testbench/hcasim/drawing.h"
#include "testbench/hcasim/files.h"
#include "testbench/program/console.h"
#include "testbench/program/status.h"
#include "testbench/study/answer.h"
#include "testbench/study/page.h"
#include "testbench/study/read_study.h"
#include "testbench/study/store.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace hcasim {

using platform::observe::files::Output;

namespace {

/// Of the configuration that the results hold, whatever has become of its file.
std::string draw(const study::Origin& origin) {
    const auto config = platform::topology::parse_config(origin.platform, origin.file, {});
    if (!config)
        return {};
    const auto platform = platform::topology::describe(*config);
    return platform ? draw_svg(*platform) : std::string();
}

/// Whether a file is the results of some sweep, of whatever version: as SQLite has it, the number that says whose file
/// it is stands at byte 68, big endian ("Database File Format" 1.3.14).
bool has_results(const std::string& path) {
    constexpr std::size_t at = 68;
    std::array<char, at + 4> head{};
    std::ifstream file(path, std::ios::binary);
    if (!file.read(head.data(), head.size()) ||
        !std::string_view(head.data(), head.size()).starts_with("SQLite format 3"))
        return false;
    std::int64_t number = 0;
    for (auto i = at; i < head.size(); ++i)
        number = number << 8 | static_cast<unsigned char>(head[i]);
    return number == study::application_id;
}

} // namespace

int study_report(const StudyReportOptions& options) {
    const auto path =
        options.output.empty() ? std::filesystem::path(options.results).stem().string() + ".html" : options.output;
    const std::array files{NamedFile{.what = "the results", .path = options.results, .use = NamedFile::Use::input},
                           NamedFile{.what = "--output", .path = path, .use = NamedFile::Use::output}};
    auto store = study::Store::read(options.results);
    if (!store)
        return refuse(store.error());
    if (const auto apart = are_apart(files); !apart)
        return refuse(apart.error());
    if (!platform::observe::files::is_standard_output(path) && has_results(path))
        return refuse(fmt::format("--output {}: holds results of `hcasim sweep`, which a page would replace; name "
                                  "another file",
                                  path));
    const auto study = study::parse_study(store->origin().text, store->origin().file);
    if (!study)
        return refuse(
            fmt::format("{}: holds a study that this program does not understand: {}", options.results, study.error()));
    std::string page;
    std::vector<study::Outcome> outcomes;
    try {
        outcomes = store->all_of(*study);
        page = study::print_page({.study = *study,
                                  .origin = store->origin(),
                                  .outcomes = outcomes,
                                  .end = store->end(),
                                  .digest = store->digest(),
                                  .topology = draw(store->origin())});
    } catch (const std::exception& trouble) {
        return refuse(fmt::format("{}: is damaged: {}", options.results, trouble.what()));
    }
    auto output = Output::create(path);
    if (!output)
        return refuse(output.error());
    output->write(page);
    if (const auto finished = output->finish(); !finished) {
        refuse(finished.error());
        return status::output_lost;
    }
    if (platform::observe::files::is_standard_output(path))
        return status::good;
    Console console(stdout, Console::Speech::all);
    console.say(fmt::format("{}\n{} in {}\n", study::print_answer(study::answer(*study, outcomes), console.width()),
                            study::print_points(outcomes.size()), path));
    return console.is_good() ? status::good : status::output_lost;
}

} // namespace hcasim
