#include "platform/ranks/cut_cables.h"

#include "platform/ranks/packets.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

namespace platform::ranks {

using model::port::Time;

namespace {
constexpr unsigned none = std::numeric_limits<unsigned>::max();
} // namespace

CutCables::CutCables(topology::Platform& platform, const Partition& partition, Post& post, std::function<Time()> now)
    : platform_(platform), post_(post), now_(std::move(now)), others_(platform.cable_count(), none) {
    for (const auto& cut : partition.cut())
        for (unsigned near = 0; near < 2; ++near)
            if (cut.ranks[near] == post.rank()) {
                others_[cut.cable] = cut.ranks[1 - near];
                platform.cable(cut.cable).cut(near, halves_.emplace_back(*this, cut.cable, cut.ranks[1 - near]));
            }
    post.on(Topic::packet, [this](unsigned from, Reader& message) {
        auto* cable = cable_of(from, message);
        const auto arrival = message.get_time();
        packet_.clear();
        if (cable == nullptr || !get_packet(message, packet_))
            return false;
        cable->take_packet(packet_, arrival);
        packet_.payload.clear();
        return true;
    });
    post.on(Topic::credit, [this](unsigned from, Reader& message) {
        auto* cable = cable_of(from, message);
        const auto at = message.get_time();
        const auto bytes = message.get<std::uint64_t>();
        if (cable != nullptr && message.is_good())
            cable->take_credit(bytes, at);
        return cable != nullptr;
    });
    post.on(Topic::pause, [this](unsigned from, Reader& message) {
        auto* cable = cable_of(from, message);
        const auto at = message.get_time();
        const auto priorities = message.get<std::uint8_t>();
        if (cable != nullptr && message.is_good())
            cable->take_pause(priorities, at);
        return cable != nullptr;
    });
}

model::net::Link* CutCables::cable_of(unsigned from, Reader& message) {
    const auto number = message.get<std::uint32_t>();
    if (number >= others_.size() || others_[number] != from)
        return nullptr;
    // The time follows, and is looked at here for all that cross.
    auto ahead = message;
    return is_in_time(ahead.get_time(), number) ? &platform_.cable(number) : nullptr;
}

bool CutCables::is_in_time(Time at, std::size_t cable) {
    if (at > now_())
        return true;
    fail(fmt::format("what was sent by cable {} counts from {} ps on, and this process is at {} ps already: this is a "
                     "defect of hcasim",
                     platform_.description().cables[cable].name, at.count(), now_().count()));
    return false;
}

void CutCables::fail(std::string why) {
    if (trouble_.empty())
        trouble_ = std::move(why);
}

void CutCables::Half::on_packet(const model::port::Packet& packet, Time arrival) {
    owner_.post_.send(to_, Topic::packet, arrival, [&](Writer& writer) {
        writer.put(static_cast<std::uint32_t>(cable_));
        writer.put(arrival);
        put_packet(writer, packet);
    });
}

void CutCables::Half::on_credit(std::uint64_t bytes, Time at) {
    owner_.post_.send(to_, Topic::credit, at, [&](Writer& writer) {
        writer.put(static_cast<std::uint32_t>(cable_));
        writer.put(at);
        writer.put(bytes);
    });
}

void CutCables::Half::on_pause(std::uint8_t priorities, Time at) {
    owner_.post_.send(to_, Topic::pause, at, [&](Writer& writer) {
        writer.put(static_cast<std::uint32_t>(cable_));
        writer.put(at);
        writer.put(priorities);
    });
}

void CutCables::Half::on_turned(bool is_on) {
    owner_.fail(fmt::format("a port at cable {} was turned {}, which the other end, in process {}, would have to know "
                            "at once: use fewer processes, so that both are in one",
                            owner_.platform_.description().cables[cable_].name, is_on ? "on" : "off", to_));
}

} // namespace platform::ranks
