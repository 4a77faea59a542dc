#include "traces/tool/picture.h"

#include "traces/tool/rooms.h"

#include <fmt/format.h>

#include <algorithm>

namespace traces::tool {

namespace {

/// A trace may name queues without end; those beyond share a track.
constexpr std::size_t most_tracks = 16384;
constexpr std::size_t most_lanes = 256;
constexpr std::int64_t ps_per_ns = 1000;

bool is_counter(Shows shows) {
    return shows == Shows::works_waiting || shows == Shows::credits || shows == Shows::completions_waiting ||
           shows == Shows::events_waiting;
}

} // namespace

std::string Picture::name_of(const TrackKey& key) const {
    const auto link = [&](std::string_view what) { return fmt::format("{} {}", head_.interfaces[key.of].name, what); };
    const auto queue = [&](std::string_view what) { return fmt::format("{} {:#x}", what, key.number); };
    switch (key.shows) {
    case Shows::device: return devices_.all()[key.of].name;
    case Shows::stores: return link("stores");
    case Shows::loads: return link("loads");
    case Shows::dma_writes: return link("DMA writes");
    case Shows::dma_reads: return link("DMA reads");
    case Shows::interrupts: return link("interrupts");
    case Shows::frames_out: return link("frames out");
    case Shows::frames_in: return link("frames in");
    case Shows::commands: return link("commands");
    case Shows::queue_pair: return link(queue("QP"));
    case Shows::doorbells: return queue("doorbells of QP");
    case Shows::works: return queue("work requests of QP");
    case Shows::receive_wqes: return queue("receive WQEs of QP");
    case Shows::works_waiting: return link(queue("work requests not completed, QP"));
    case Shows::credits: return link(queue("credits of the peer, QP"));
    case Shows::completion_queue: return link(queue("CQ"));
    case Shows::completions_waiting: return link(queue("CQEs not consumed, CQ"));
    case Shows::event_queue: return link(queue("EQ"));
    case Shows::events_waiting: return link(queue("EQEs not consumed, EQ"));
    case Shows::source:
        return fmt::format("events of {}", key.of < head_.names.size() ? head_.names[key.of] : std::to_string(key.of));
    case Shows::room: return std::string(room_name(key.number));
    }
    return {};
}

PerfettoFile::Track Picture::parent_of(const TrackKey& key) {
    switch (key.shows) {
    case Shows::doorbells:
    case Shows::works:
    case Shows::receive_wqes: return track({Shows::queue_pair, key.of, key.number});
    case Shows::room: return track({Shows::source, key.of});
    default: return track({Shows::device, devices_.of(key.of)});
    }
}

PerfettoFile::Track Picture::track(const TrackKey& key) {
    if (const auto found = tracks_.find(key); found != tracks_.end())
        return found->second;
    const bool is_process = key.shows == Shows::device || key.shows == Shows::source;
    if (tracks_.size() >= most_tracks && !is_counter(key.shows)) {
        if (!others_)
            others_ = file_.process("all others together");
        return *others_;
    }
    const auto name = name_of(key);
    const auto parent = is_process ? 0 : parent_of(key);
    const auto made = is_process              ? file_.process(name)
                      : is_counter(key.shows) ? file_.counter(parent, name)
                                              : file_.track(parent, name);
    return tracks_.emplace(key, made).first->second;
}

void Picture::instant(const TrackKey& key, std::int64_t at_ps, std::string_view name, Flows flows,
                      std::span<const PerfettoFile::Note> notes) {
    file_.instant(track(key), at_ps / ps_per_ns, name, flows, notes);
}

void Picture::slice(const TrackKey& key, std::int64_t begin_ps, std::int64_t end_ps, std::string_view name,
                    Flows flows) {
    const auto begin = begin_ps / ps_per_ns, end = end_ps / ps_per_ns;
    auto& lanes = lanes_[key];
    auto lane = static_cast<std::size_t>(std::ranges::find_if(lanes, [&](std::int64_t ends) { return ends <= begin; }) -
                                         lanes.begin());
    auto in_lane = key;
    in_lane.lane = static_cast<std::uint32_t>(lane);
    // Beside all lanes, and on a track of many, there is no room for anything with a length.
    if (lane == most_lanes || track(in_lane) == others_)
        return instant(in_lane, begin_ps, name, flows);
    if (lane == lanes.size())
        lanes.push_back(end);
    lanes[lane] = std::max(begin, end);
    file_.slice(track(in_lane), begin, end, name, flows);
}

void Picture::count(const TrackKey& key, std::int64_t at_ps, std::int64_t value) {
    if (tracks_.size() < most_tracks || tracks_.contains(key))
        file_.count(track(key), at_ps / ps_per_ns, value);
}

} // namespace traces::tool
