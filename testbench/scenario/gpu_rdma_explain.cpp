#include "testbench/scenario/gpu_rdma_explain.h"

#include "abi/prm/wqe.h"
#include "model/gpu/memory/explain.h"

#include <fmt/format.h>

#include <algorithm>

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
    const auto& stores = question.grid.late_stores();
    std::string found;
    for (auto seen = stores.begin(); seen != stores.end(); ++seen) {
        if (seen->thread >= question.rings.size())
            continue;
        const auto& rings = question.rings[seen->thread];
        if (target_of(*seen, rings) != later)
            continue;
        for (auto late = seen + 1; late != stores.end(); ++late) {
            if (late->thread != seen->thread || late->issued >= seen->issued || late->performed <= seen->performed)
                continue;
            const auto consequence = what_hca_did(question, *late, *seen, rings);
            if (!found.empty() && consequence.empty())
                continue;
            found = fmt::format("thread {}: its store of the {}, issued at {:.3f} us, was held until {:.3f} us; the "
                                "store of the {}, issued after it, was there at {:.3f} us",
                                seen->thread, name_of(*late, rings), microseconds(late->issued),
                                microseconds(late->performed), name_of(*seen, rings), microseconds(seen->performed)) +
                    consequence;
            if (!consequence.empty())
                return found + say(fence);
        }
    }
    return found.empty() ? found : found + say(fence);
}

std::string explain_loads(const OrderQuestion& question, Fence fence) {
    for (const auto& load : question.grid.stale_loads()) {
        if (load.thread >= question.rings.size())
            continue;
        if (load.is_early)
            return fmt::format(
                       "thread {}: its load at {:#x} had been done before the poll in front of it, with nothing "
                       "to keep it behind",
                       load.thread, load.address) +
                   say(fence);
        if (load.address >= question.rings[load.thread].sends && load.address < question.rings[load.thread].completions)
            continue;
        return fmt::format("thread {}: its load at {:#x} gave old bytes: {}", load.thread, load.address,
                           model::gpu::memory::explain(load.outcome, question.config)) +
               say(fence);
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
        if (question.omitted && *question.omitted != one.value)
            continue;
        const auto rule = sw::gpu::rule(one.value);
        const bool is_of_doorbells =
            one.value == Fence::request_before_record || one.value == Fence::record_before_doorbell;
        auto found = is_of_doorbells ? explain_stores(question, one.value)
                                     : (rule.is_release ? std::string() : explain_loads(question, one.value));
        if (!found.empty())
            return found;
    }
    return {};
}

} // namespace scenario
