#include "testbench/calibrate/meter.h"

#include "model/tlm/kernel_clock.h"
#include "platform/topology/platform_module.h"

#include <algorithm>

namespace calibrate {

using model::pcie::Direction;
using model::time::Kind;
using platform::topology::PartKind;
using platform::topology::PlacedCard;

void Meter::add(std::uint64_t messages, model::port::Time took) {
    messages_ += messages;
    took_ += took;
    if (!has_begun_ && messages_ >= traffic_.warm_up) {
        has_begun_ = true;
        begin_ = look();
    } else if (has_begun_ && !is_over_ && messages_ >= begin_.messages + traffic_.messages) {
        is_over_ = true;
        finish();
    }
}

Meter::Moment Meter::look() const {
    auto& machine = platform_.machine("A");
    const auto& card = *std::ranges::find(machine.cards, PartKind::hca, &PlacedCard::kind);
    const auto& link = *machine.host->slot_link(card.slot);
    Moment moment{.at = model::tlm::kernel_now(),
                  .work = work_,
                  .took = took_,
                  .messages = messages_,
                  .context_misses = card.hca().counters().qpc_misses,
                  .downstream_bytes = link.traffic(Direction::downstream).wire_bytes,
                  .upstream_bytes = link.traffic(Direction::upstream).wire_bytes,
                  .resources = scenario::count_all(platform_)};
    // A core that posts may wait for what is behind it, as the users of a window do.
    moment.resources.push_back(
        {"A cores", {.name = {}, .kind = Kind::window, .units = traffic_.cores, .usage = {.busy = work_}}});
    return moment;
}

void Meter::finish() {
    const auto end = look();
    const auto messages = static_cast<double>(end.messages - begin_.messages);
    const auto elapsed = end.at - begin_.at;
    std::vector<scenario::Counted> between;
    add_between(begin_.resources, end.resources, between);
    const auto busiest = scenario::busiest(between, elapsed, traffic_.queue_pairs);
    const auto seconds = static_cast<double>(elapsed.count()) * 1e-12;
    measured_.messages_per_s = messages / seconds;
    measured_.bytes_per_s = messages * traffic_.bytes / seconds;
    measured_.latency_ns = static_cast<double>((end.took - begin_.took).count()) / 1000 / messages;
    measured_.downstream_bytes = static_cast<double>(end.downstream_bytes - begin_.downstream_bytes) / messages;
    measured_.upstream_bytes = static_cast<double>(end.upstream_bytes - begin_.upstream_bytes) / messages;
    measured_.context_misses = static_cast<double>(end.context_misses - begin_.context_misses) / messages;
    measured_.bottleneck = Name(busiest.name);
    measured_.load = busiest.load;
}

} // namespace calibrate
