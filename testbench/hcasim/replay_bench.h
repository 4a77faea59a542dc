// From a recording to the devices in it, each of which can be put alone on a bench and played: what the head says of
// the platform, and which interfaces of the trace belong to which part.
#pragma once

#include "platform/card/kinds.h"
#include "platform/record/replay.h"
#include "platform/topology/recorded.h"
#include "traces/codec/trace.h"

#include <expected>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hcasim {

/// A device of a recording.
struct RecordedPart {
    std::string path; ///< "A.root0.sw0.hca0"
    platform::record::DeviceInterfaces interfaces;
    platform::card::DeviceConfig device;
    platform::record::LinkSizes sizes{}; ///< of the TLPs on its link: as recorded, and by what somebody has changed
};

struct ReplayBench {
    std::vector<platform::topology::KeyDifference> differences; ///< what somebody has changed of its configuration
    std::vector<RecordedPart> parts;                            ///< in the order of the trace
    std::vector<std::string> not_played{};                      ///< what was recorded and cannot be, a sentence each
};

/// Whether the head says what was recorded. That of a log which was imported says in a comment that nothing was.
bool has_configuration(const traces::codec::Head& head);

/// What can be played of a recording called `name`. `parts` are the names of those that are wanted; none: all. The
/// error is for a person, a line for each thing that is wrong: an override that changes none of them, too.
std::expected<ReplayBench, std::string> read_bench(const traces::codec::Head& head, std::string_view name,
                                                   std::span<const std::string> overrides,
                                                   std::span<const std::string> parts);

/// What is compared.
enum class ReplayMode : std::uint8_t { strict, untimed, functional };
std::string_view name(ReplayMode mode);

/// Makes a device of a configuration: the kind itself, unless a test stands in between.
using MakeRecorded = std::function<std::unique_ptr<model::pcie::Device>(const platform::card::DeviceConfig& device,
                                                                        const model::pcie::DevicePorts& ports,
                                                                        const platform::card::DevicePlace& place)>;
std::unique_ptr<model::pcie::Device> make_recorded(const platform::card::DeviceConfig& device,
                                                   const model::pcie::DevicePorts& ports,
                                                   const platform::card::DevicePlace& place);

/// Plays a part on a device that is made for it; the reader stands before the first record.
platform::record::Replay::Result play(traces::codec::Reader& reader, const RecordedPart& part, ReplayMode mode,
                                      const MakeRecorded& make = make_recorded);

} // namespace hcasim
