#include "testbench/hcasim/study_report.h"

#include "platform/observe/files/output.h"
#include "platform/topology/description.h"
#include "platform/topology/read.h"
#include "testbench/hcasim/console.h"
#include "testbench/hcasim/drawing.h"
#include "testbench/hcasim/files.h"
#include "testbench/hcasim/status.h"
#include "testbench/study/answer.h"
#include "testbench/study/page.h"
#include "testbench/study/read_study.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <stdexcept>

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
    console.say(fmt::format("{}\n{} points in {}\n",
                            study::print_answer(study::answer(*study, outcomes), console.width()), outcomes.size(),
                            path));
    return console.is_good() ? status::good : status::output_lost;
}

} // namespace hcasim
