#include "testbench/hcasim/record.h"

#include "platform/observe/files/output.h"
#include "platform/topology/description.h"
#include "platform/topology/keys.h"
#include "platform/topology/what_to_record.h"
#include "testbench/hcasim/choice.h"
#include "testbench/program/units.h"
#include "testbench/program/version.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <array>

namespace hcasim {

void add_record(CLI::App& command, RecordOptions& options) {
    auto* record = command.add_option(
        "--record", options.path,
        fmt::format("Record all that passes the boundaries of the devices, and their events: pcapng, for "
                    "`hcasim replay`, `hcasim trace` and Wireshark. Can be read while it grows; the last {} "
                    "(before compression) may be missing then, as when the program is killed",
                    print_bytes(platform::record::Recording::most_missing_bytes)));
    record->type_name("FILE");
    command
        .add_option("--at", options.at,
                    "What is recorded: a device by name or path (A.hca, A.root.switch.hca), one of its network ports "
                    "(A.hca.port1), "
                    "events, or all (default); may be repeated")
        ->type_name("PART")
        ->allow_extra_args(false)
        ->take_all();
    constexpr std::array failures{std::pair{std::string_view("stop"), RecordFailure::stop},
                                  std::pair{std::string_view("go-on"), RecordFailure::go_on}};
    add_choice(command, "--record-failure", options.failure, failures,
               fmt::format("When the file cannot be written on: stop, or go-on without it (default: {}); either says "
                           "which records are missing, and the exit status is 3",
                           options.failure == RecordFailure::stop ? "stop" : "go-on"))
        ->needs(record);
}

std::expected<std::unique_ptr<platform::record::Recording>, std::string>
make_recording(const RecordOptions& options, const platform::topology::Config& config) {
    if (options.path.empty()) {
        if (!options.at.empty())
            return std::unexpected(fmt::format("--at {}: says what --record records, which is missing", options.at[0]));
        return nullptr;
    }
    if (platform::observe::files::is_standard_output(options.path))
        return std::unexpected(fmt::format("--record {}: standard output is the report's; name a file", options.path));
    const auto description = platform::topology::describe(config).value(); // which read_config has tried
    auto chosen = platform::topology::choose_recorded(description, options.at);
    if (!chosen)
        return std::unexpected(fmt::format("--at: {}", chosen.error()));
    return platform::record::Recording::create(options.path, {.revision = fmt::format("{} ({})", version(), revision()),
                                                              .seed = config.link.seed,
                                                              .configuration = platform::topology::print_toml(config),
                                                              .subjects = std::move(chosen->subjects),
                                                              .has_events = chosen->has_events});
}

NamedFile file_of(const RecordOptions& options) {
    return {.what = "--record", .path = options.path, .use = NamedFile::Use::output};
}

} // namespace hcasim
