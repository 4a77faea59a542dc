#include "testbench/load/node.h"

#include "testbench/harness/must.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace load {

using harness::must;
using platform::topology::TrafficMemory;

namespace {

/// Receives are given before they are needed.
std::uint32_t receives_of(const Work& work) { return 2 * work.depth; }

} // namespace

void Node::prepare(const Needs& needs) {
    const auto& how = work_.how;
    const auto stride = work_.stride();
    const std::uint64_t least = work_.verbs.has(Verb::send) ? receives_of(work_) : work_.depth;
    // Where nobody has said how large regions are, each area has a slot for each message under way.
    const auto make = [&](TrafficMemory kind, std::uint64_t areas, Memory& memory, std::uint64_t& share) {
        if (areas == 0)
            return;
        const auto bytes =
            how.region_bytes != 0 ? how.region_bytes : (areas * least + how.regions - 1) / how.regions * stride;
        memory = make_memory(kind, how.regions, bytes, how.page_bytes, stride);
        share = memory.slots() / areas;
        if (share == 0)
            throw std::runtime_error(
                fmt::format("{}: {} regions of {} bytes have no room for {} queue pairs with messages of {}",
                            planned_.name, how.regions, bytes, areas, stride));
    };
    make(how.memory, needs.out, out_, out_share_);
    make(how.remote_memory, needs.in, in_, in_share_);
    if (work_.verbs.has_atomics() && needs.receiving != 0) {
        counters_ = make_memory(how.remote_memory, 1, std::uint64_t{how.counters} * how.counter_stride, 4096,
                                how.counter_stride);
        tallies_.resize(how.counters);
        for (std::uint64_t i = 0; i < how.counters; ++i) {
            const auto place = counters_.slot(i);
            std::fill_n(place.data, atomic_bytes, std::byte{});
            counters_.note_filled(place, atomic_bytes);
        }
    }
    if (work_.verbs.has_atomics() && needs.sending != 0)
        results_ = make_memory(TrafficMemory::host, 1, needs.sending * work_.depth * atomic_bytes, 4096, atomic_bytes);
    for (std::uint32_t i = 0; i < how.cores; ++i) {
        const auto queue_pairs = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, needs.queue_pairs[i]));
        const auto entries = std::max(64u, (work_.depth + 1) * queue_pairs);
        add_core(entries, 2 * entries);
    }
}

Area Node::take(std::uint64_t& next, std::uint64_t share) const {
    const Area area{next, share};
    next += share;
    return area;
}

void Node::add(End& end, bool sends, bool is_sent_to) {
    auto& core = cores()[end.core];
    const auto& verbs = work_.verbs;
    const bool receives = is_sent_to && (verbs.has(Verb::send) || work_.is_ping_pong());
    end.node = this;
    end.qp = make_queue_pair(
        core, {.send = sends ? work_.depth + 1 : 1, // and one that tells the end of those without a completion
               .receive = receives ? receives_of(work_) : 1,
               .inline_bytes = static_cast<std::uint32_t>(sends ? work_.how.inline_bytes : 0)});
    end.index = core.ends.size();
    core.ends.push_back(&end);
    if (sends) {
        end.under_way.resize(work_.depth);
        if (verbs.has(Verb::write) || verbs.has(Verb::send))
            end.out = take(out_next_, out_share_), end.out_slots.resize(end.out.count);
        if (verbs.has(Verb::read))
            end.landing = take(out_next_, out_share_), end.landing_slots.resize(end.landing.count);
        if (verbs.has_atomics()) {
            end.results = take(results_next_, work_.depth).first;
            end.believed.resize(work_.how.counters);
        }
    }
    if (is_sent_to) {
        if (verbs.has(Verb::write))
            end.target = take(in_next_, in_share_), end.target_slots.resize(end.target.count);
        if (verbs.has(Verb::read))
            end.source = take(in_next_, in_share_), end.source_filled.resize(end.source.count);
        if (verbs.has(Verb::send))
            end.receive = take(in_next_, in_share_);
    }
}

void Node::connect(End& end, const Node& peer) {
    Device::connect(*end.qp, peer, *end.peer->qp);
    const std::uint64_t wanted = end.peer->under_way.empty() ? 0 : receives_of(work_);
    const auto receives = work_.is_ping_pong() && end.receive.count == 0 ? wanted : std::min(wanted, end.receive.count);
    for (std::uint64_t i = 0; i < receives; ++i)
        give_receive(end);
}

void Node::give_receive(End& end) {
    sw::verbs::Sge sge;
    if (end.receive.count != 0) {
        const auto place = in_.slot(end.receive.first + end.given++ % end.receive.count);
        sge = {.address = place.address, .length = static_cast<std::uint32_t>(work_.stride()), .lkey = place.key};
    }
    must(end.qp->post_receive({.wr_id = end.index, .sge = &sge, .sge_count = end.receive.count != 0 ? 1u : 0u}));
}

} // namespace load
