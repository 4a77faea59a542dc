// `planted MISTAKE NUMBER replay TRACE...`: as `hcasim replay`, on devices that make a mistake at the so-many-th
// completion, event or packet (from 0) of what they play; with @TIME in picoseconds in the place of the number, at the
// first one of that time. `planted MISTAKE NUMBER reduce TRACE OUT`: likewise, and says that time: the mistake stays
// where it is when something in front of it is left out. For tests of what finds it. `planted acks_each 0 replay
// TRACE...`: on HCAs that acknowledge each request by itself, which is a change and no mistake.
#include "testbench/hcasim/command_line.h"
#include "testbench/hcasim/reduce.h"
#include "testbench/planted/changed_device.h"
#include "testbench/planted/planted.h"
#include "testbench/program/console.h"
#include "testbench/program/status.h"
#include "traces/codec/file.h"

#include <fmt/format.h>
#include <systemc>

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <string_view>
#include <vector>

namespace {

namespace codec = traces::codec;

/// The devices of one recording, each with the mistake.
class Plants {
public:
    Plants(planted::Mistake mistake, planted::Which which, const hcasim::ReplayOptions& options)
        : mistake_(mistake), which_(which), options_(options) {}

    std::unique_ptr<model::pcie::Device> make(const platform::card::DeviceConfig& device,
                                              const model::pcie::DevicePorts& ports,
                                              const platform::card::DevicePlace& place) {
        const auto open = [&]() -> std::expected<std::unique_ptr<codec::Source>, std::string> {
            auto file = codec::FileSource::open(options_.traces.front());
            if (!file)
                return std::unexpected(file.error());
            return std::make_unique<codec::FileSource>(std::move(*file));
        };
        auto source = open().value();
        codec::Reader reader(*source);
        reader.open().value();
        const std::vector parts{place.name};
        const auto bench =
            hcasim::read_bench(reader.head(), options_.traces.front(), options_.overrides, parts).value();
        const auto found = planted::find_place(open, bench.parts.front(), mistake_, which_);
        if (!found) {
            hcasim::complain(fmt::format("planted: {}\n", found.error()));
            return hcasim::make_recorded(device, ports, place);
        }
        return planted_.emplace_back(mistake_, found->ordinal).make(device, ports, place);
    }

private:
    planted::Mistake mistake_;
    planted::Which which_;
    const hcasim::ReplayOptions& options_;
    std::deque<planted::PlantedDevices> planted_;
};

/// As `hcasim trace reduce TRACE --out OUT`; with `--strict` where nothing but time differs. It may take longer, since
/// what a test expects of the result must not depend on the machine's speed.
int reduce(planted::Mistake mistake, planted::Which which, std::string trace, std::string out) {
    std::deque<planted::PlantedDevices> devices;
    return hcasim::reduce(
        {.trace = std::move(trace),
         .out = std::move(out),
         .mode = mistake == planted::Mistake::later_dma ? hcasim::ReplayMode::strict : hcasim::ReplayMode::untimed,
         .budget = std::chrono::minutes(4)},
        [&](const traces::tool::OpenTrace& played, const hcasim::RecordedPart& part) -> hcasim::MakeRecorded {
            const auto place = planted::find_place(played, part, mistake, which);
            if (!place) // nothing of the kind is left in this one
                return hcasim::make_recorded;
            if (!which.time_ps) {
                which = {.number = place->among, .time_ps = place->time_ps};
                hcasim::complain(fmt::format("planted at {} ps\n", place->time_ps));
            }
            auto& made = devices.emplace_back(mistake, place->ordinal);
            return
                [&made](const auto& device, const auto& ports, const auto& at) { return made.make(device, ports, at); };
        });
}

/// An HCA that puts no acknowledgements together; other devices have none.
std::unique_ptr<model::pcie::Device> acknowledging_each(const platform::card::DeviceConfig& device,
                                                        const model::pcie::DevicePorts& ports,
                                                        const platform::card::DevicePlace& place) {
    if (ports.wires.empty())
        return hcasim::make_recorded(device, ports, place);
    const changed_device::Change change{.acknowledges_each = true};
    return std::make_unique<changed_device::ChangedDevice>(
        ports, change, [&](const model::pcie::DevicePorts& own) { return hcasim::make_recorded(device, own, place); });
}

/// "7", or "@2695123000".
std::optional<planted::Which> read_which(std::string_view text) {
    const bool is_time = text.starts_with('@');
    text.remove_prefix(is_time ? 1 : 0);
    std::int64_t value = 0;
    if (std::from_chars(text.begin(), text.end(), value).ec != std::errc() || value < 0)
        return std::nullopt;
    return is_time ? planted::Which{.number = 0, .time_ps = value}
                   : planted::Which{.number = static_cast<std::uint64_t>(value)};
}

int run(const std::vector<const char*>& words) {
    const auto mistake = words.size() > 1 ? planted::mistake_named(words[1]) : std::nullopt;
    const auto which = words.size() > 2 ? read_which(words[2]) : std::nullopt;
    const bool is_change = words.size() > 1 && std::string_view(words[1]) == "acks_each";
    if ((!mistake && !is_change) || !which)
        return hcasim::refuse("planted MISTAKE NUMBER replay TRACE...: no such mistake, or no number");
    constexpr std::size_t reduce_words = 6;
    if (mistake && words.size() == reduce_words && std::string_view(words[3]) == "reduce")
        return reduce(*mistake, *which, words[4], words[5]);
    std::vector<const char*> rest{"hcasim"};
    rest.insert(rest.end(), words.begin() + 3, words.end());
    const auto command = hcasim::parse_command_line(static_cast<int>(rest.size()), rest.data());
    const auto* options = std::get_if<hcasim::ReplayOptions>(&command);
    if (options == nullptr)
        return hcasim::refuse("planted: replays only");
    if (is_change)
        return hcasim::replay(*options, acknowledging_each);
    Plants plants(*mistake, *which, *options);
    return hcasim::replay(*options, [&](const auto& device, const auto& ports, const auto& place) {
        return plants.make(device, ports, place);
    });
}

} // namespace

int sc_main(int argc, char** argv) { return run({argv, argv + argc}); }

int main(int argc, char** argv) {
    setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 1);
    return sc_core::sc_elab_and_sim(argc, argv);
}
