#include "testbench/hcasim/show.h"

#include "platform/observe/files/output.h"
#include "platform/topology/description.h"
#include "platform/topology/read.h"
#include "testbench/hcasim/drawing.h"
#include "testbench/hcasim/files.h"
#include "testbench/program/console.h"
#include "testbench/program/status.h"

#include <array>
#include <cstdio>

namespace hcasim {

using platform::observe::files::Output;

int show(const ShowOptions& options) {
    const auto config = platform::topology::read_config(options.config, options.overrides);
    if (!config)
        return refuse(config.error());
    const auto platform = platform::topology::describe(*config).value(); // which read_config has tried
    const std::array files{NamedFile{.what = "the configuration", .path = options.config, .use = NamedFile::Use::input},
                           NamedFile{.what = "--svg", .path = options.svg, .use = NamedFile::Use::output}};
    if (const auto apart = are_apart(files); !apart)
        return refuse(apart.error());
    if (!options.svg.empty()) {
        auto output = Output::create(options.svg);
        if (!output)
            return refuse(output.error());
        output->write(draw_svg(platform));
        if (const auto finished = output->finish(); !finished) {
            refuse(finished.error());
            return status::output_lost;
        }
        if (platform::observe::files::is_standard_output(options.svg))
            return status::good;
    }
    Console console(stdout, Console::Speech::all);
    console.say(draw_text(platform));
    return console.is_good() ? status::good : status::output_lost;
}

} // namespace hcasim
