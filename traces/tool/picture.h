// The tracks of a picture, by what they show: created when they are first drawn on, and bounded in number.
#pragma once

#include "traces/tool/devices.h"
#include "traces/tool/perfetto_file.h"

#include <compare>
#include <cstdint>
#include <map>
#include <optional>

namespace traces::tool {

enum class Shows : std::uint8_t {
    device, // a process
    stores,
    loads,
    dma_writes,
    dma_reads,
    interrupts,
    frames_out,
    frames_in,
    commands,
    queue_pair, // what follows stands below it
    doorbells,
    works,
    receive_wqes,
    works_waiting, // a counter
    credits,       // a counter
    completion_queue,
    completions_waiting, // a counter
    event_queue,
    events_waiting, // a counter
    source,         // a process: who says events
    room,
};

struct TrackKey {
    Shows shows;
    std::uint32_t of = 0;     ///< interface; of a device and a source, its number
    std::uint32_t number = 0; ///< of the queue, the room
    std::uint32_t lane = 0;
    auto operator<=>(const TrackKey&) const = default;
};

class Picture {
public:
    Picture(const codec::Head& head, codec::Destination& destination)
        : head_(head), devices_(head), file_(destination) {}
    const Devices& devices() const { return devices_; }

    using Flows = std::span<const PerfettoFile::Flow>;
    void instant(const TrackKey& track, std::int64_t at_ps, std::string_view name, Flows flows = {},
                 std::span<const PerfettoFile::Note> notes = {});
    /// Slices that overlap get a lane each.
    void slice(const TrackKey& track, std::int64_t begin_ps, std::int64_t end_ps, std::string_view name,
               Flows flows = {});
    void count(const TrackKey& counter, std::int64_t at_ps, std::int64_t value);

    PerfettoFile& file() { return file_; }
    const PerfettoFile& file() const { return file_; }

private:
    PerfettoFile::Track track(const TrackKey& key);
    PerfettoFile::Track parent_of(const TrackKey& key);
    std::string name_of(const TrackKey& key) const;

    const codec::Head& head_;
    Devices devices_;
    PerfettoFile file_;
    std::map<TrackKey, PerfettoFile::Track> tracks_;
    std::map<TrackKey, std::vector<std::int64_t>> lanes_; ///< when the last slice of each ends
    std::optional<PerfettoFile::Track> others_;           ///< where there are too many
};

} // namespace traces::tool
