// Mistakes on purpose in a device that is played from a recording, to see them found: something stands between the
// device and its ports and changes one thing that passes. No program of the product has this.
#pragma once

#include "testbench/hcasim/replay_bench.h"
#include "traces/tool/why.h"

#include <deque>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace planted {

enum class Mistake : std::uint8_t {
    cqe_field,     ///< a completion says another byte count
    psn,           ///< a packet has the next PSN
    dropped_event, ///< an entry of an event queue is not written
    later_dma,     ///< a completion is written 10 ns later
    other_order,   ///< a completion is written after what follows it
};
std::optional<Mistake> mistake_named(std::string_view name);

/// Where a mistake is made, in a recording and in what a device does.
struct MistakePlace {
    std::uint64_t record = 0;  ///< of what is changed
    std::uint64_t ordinal = 0; ///< among the DMA writes, or the frames, of the device; from 0
    std::int64_t time_ps = 0;
    std::uint64_t among = 0; ///< those of its kind at that time, from 0
};
/// Which one is changed: the so-many-th completion, event or request packet (from 0), of those at a time if there is
/// one. A recording of which something was left out has other numbers, and the same times.
struct Which {
    std::uint64_t number = 0;
    std::optional<std::int64_t> time_ps{};
};
/// Its place in a recording of a part. The error says what is wrong.
std::expected<MistakePlace, std::string> find_place(const traces::tool::OpenTrace& open,
                                                    const hcasim::RecordedPart& part, Mistake mistake, Which which);
inline std::expected<MistakePlace, std::string> find_place(const traces::tool::OpenTrace& open,
                                                           const hcasim::RecordedPart& part, Mistake mistake,
                                                           std::uint64_t number) {
    return find_place(open, part, mistake, Which{.number = number});
}

/// Makes devices with a mistake; outlives them.
class PlantedDevices {
public:
    PlantedDevices(Mistake mistake, std::uint64_t ordinal);
    ~PlantedDevices();
    std::unique_ptr<model::pcie::Device> make(const platform::card::DeviceConfig& device,
                                              const model::pcie::DevicePorts& ports,
                                              const platform::card::DevicePlace& place);

private:
    class Ports;
    Mistake mistake_;
    std::uint64_t ordinal_;
    std::deque<std::unique_ptr<Ports>> ports_;
};

} // namespace planted
