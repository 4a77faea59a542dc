#include "testbench/scenario/gpu_rdma_explain.h"

#include "abi/prm/cqe.h"
#include "abi/prm/wqe.h"
#include "model/gpu/memory/explain.h"

#include <fmt/format.h>

namespace scenario {

using model::gpu::wave::LateStore;
using sw::gpu::Fence;

namespace {

enum class Target : std::uint8_t { other, request, record, doorbell };

Target target_of(const LateStore& store, const sw::gpu::RdmaRings& rings) {
    const auto inside = [&](std::uint64_t begin, std::uint64_t bytes) { return store.address - begin < bytes; };
    if (inside(rings.sends, std::uint64_t{rings.blocks} * abi::prm::wqe_bb_bytes))
        return Target::request;
    if (inside(rings.send_record, sizeof(std::uint64_t)))
        return Target::record;
    return inside(rings.doorbell, sizeof(std::uint64_t)) ? Target::doorbell : Target::other;
}

std::string name_of(const LateStore& store, const sw::gpu::RdmaRings& rings) {
    switch (target_of(store, rings)) {
    case Target::request:
        return fmt::format("work request in block {}", (store.address - rings.sends) / abi::prm::wqe_bb_bytes);
    case Target::record: return "doorbell record";
    case Target::doorbell: return "doorbell";
    case Target::other: break;
    }
    return fmt::format("data at {:#x}", store.address);
}

double microseconds(model::port::Time time) { return static_cast<double>(time.count()) / 1e6; }

/// What the HCA made of it, as far as it says.
std::string what_hca_did(const OrderQuestion& question, const LateStore& late, const LateStore& seen,
                         const sw::gpu::RdmaRings& rings) {
    for (const auto& one : question.watch.seen()) {
        if (one.hca != question.hca || one.qpn != rings.qpn || one.at < seen.performed)
            continue;
        if (target_of(late, rings) == Target::request) {
            const auto block = (late.address - rings.sends) / abi::prm::wqe_bb_bytes;
            if (one.is_fetch && one.number % rings.blocks == block && one.at < late.performed)
                return fmt::format("; {} fetched block {} at {:.3f} us: what was there before", question.hca, block,
                                   microseconds(one.at));
        } else if (!one.is_fetch) {
            return fmt::format("; {} saw the doorbell at {:.3f} us and read {} in the record", question.hca,
                               microseconds(one.at), one.number);
        }
    }
    return {};
}

std::string say(Fence fence) {
    const auto rule = sw::gpu::rule(fence);
    return fmt::format("; fence {} orders them: {} [{}]", name(fence), rule.sentence, rule.cites);
}

std::string explain_stores(const OrderQuestion& question, Fence fence) {
    const auto later = fence == Fence::request_before_record ? Target::record : Target::doorbell;
    std::string found;
    for (unsigned thread = 0; thread < question.rings.size(); ++thread) {
        const auto& rings = question.rings[thread];
        const auto& stores = question.grid.order().late_stores(thread);
        for (auto seen = stores.begin(); seen != stores.end(); ++seen) {
            if (target_of(*seen, rings) != later)
                continue;
            for (auto late = seen + 1; late != stores.end(); ++late) {
                if (late->issued >= seen->issued || late->performed <= seen->performed)
                    continue;
                const auto consequence = what_hca_did(question, *late, *seen, rings);
                if (!found.empty() && consequence.empty())
                    continue;
                found =
                    fmt::format("thread {}: its store of the {}, issued at {:.3f} us, was held until {:.3f} us; "
                                "the store of the {}, issued after it, was there at {:.3f} us",
                                thread, name_of(*late, rings), microseconds(late->issued),
                                microseconds(late->performed), name_of(*seen, rings), microseconds(seen->performed)) +
                    consequence;
                if (!consequence.empty())
                    return found + say(fence);
            }
        }
    }
    return found.empty() ? found : found + say(fence);
}

/// Whether the fence stands between a poll and loads there.
bool is_behind(Fence fence, std::uint64_t address, const OrderQuestion& question, const sw::gpu::RdmaRings& rings) {
    switch (fence) {
    case Fence::owner_before_syndrome:
        return address - rings.completions < std::uint64_t{rings.entries} * abi::prm::Cqe64::size;
    case Fence::flag_before_data: return address - question.data < question.data_bytes;
    default: return false;
    }
}

std::string explain_loads(const OrderQuestion& question, Fence fence) {
    for (unsigned thread = 0; thread < question.rings.size(); ++thread)
        for (const auto& load : question.grid.order().stale_loads(thread)) {
            if (!is_behind(fence, load.address, question, question.rings[thread]))
                continue;
            const auto which =
                fmt::format("thread {}: its load at {:#x}, at {:.3f} us,", thread, load.address, microseconds(load.at));
            if (load.is_early)
                return which + " had been done before the poll in front of it, with nothing to keep it behind" +
                       say(fence);
            const auto why = " gave old bytes: " + model::gpu::memory::explain(load.outcome, question.config);
            // No fence takes a line out of GL2.
            return which + why + (load.outcome.stale_level < model::gpu::memory::Level::gl2 ? say(fence) : "");
        }
    return {};
}

} // namespace

void HcaWatch::on(const traces::Stamp& stamp, const traces::Event& event) {
    if (next_ != nullptr)
        next_->on(stamp, event);
    const auto add = [&](std::uint32_t qpn, std::uint16_t number, bool is_fetch) {
        seen_.push_back({sources_.name(stamp.source), model::port::Time{stamp.time_ps}, qpn, number, is_fetch});
    };
    if (const auto* rung = std::get_if<traces::DoorbellRung>(&event))
        add(rung->qpn, rung->producer, false);
    else if (const auto* fetched = std::get_if<traces::WqeFetched>(&event))
        add(fetched->qpn, fetched->index, true);
}

std::string explain_order(const OrderQuestion& question) {
    for (const auto& one : named(std::type_identity<Fence>{})) {
        if (!question.omitted.is_empty() && !question.omitted.has(one.value))
            continue;
        const bool is_of_doorbells =
            one.value == Fence::request_before_record || one.value == Fence::record_before_doorbell;
        auto found = is_of_doorbells ? explain_stores(question, one.value) : explain_loads(question, one.value);
        if (!found.empty())
            return found;
    }
    return {};
}

} // namespace scenario
