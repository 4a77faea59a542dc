// What has become of a GPU program, in words.
#include "model/gpu/memory/explain.h"
#include "model/gpu/wave/grid.h"
#include "model/tlm/time.h"
#include "testbench/scenario/gpu_nvme.h"

#include <fmt/format.h>

#include <array>

namespace scenario {

using model::gpu::wave::End;
using model::gpu::wave::Grid;
using model::tlm::kernel_now;

std::string_view name(Verdict verdict) {
    constexpr std::array<std::string_view, 5> names{"correct", "stuck", "wrong data", "GPU reset", "page fault"};
    return names[static_cast<std::size_t>(verdict)];
}

std::string GpuNvme::explain(const Grid& grid, const IoPlan& plan, const IoSetup& setup, Verdict verdict) {
    const auto& config = parts_.device.block().config();
    const auto first_with = [&](End end) {
        for (unsigned i = 0; i < grid.threads(); ++i)
            if (grid.record(i).end == end)
                return i;
        return 0u;
    };
    switch (verdict) {
    case Verdict::correct: return {};
    case Verdict::gpu_reset: return "the control register has changed under a running program: all waves have ended";
    case Verdict::page_fault: {
        const auto& record = grid.record(first_with(End::page_fault));
        return fmt::format("thread {}: page fault at {:#x}", first_with(End::page_fault), record.address);
    }
    case Verdict::wrong_data: {
        for (std::size_t i = 0; i < plan.tallies.size(); ++i)
            if (const auto& tally = plan.tallies[i]; tally.errors != 0)
                return fmt::format("thread {}: the drive has refused a command: {}; it has fetched other bytes than "
                                   "the program had stored",
                                   i, abi::nvme::name(tally.first_error.status));
        if (setup.looks_at_data && parts_.device.block().counters().stale_loads != 0)
            return "the drive has answered every command, and the program has then found old data in lines that GL2 "
                   "has kept from an earlier look: the pages must be UC, or GL2 be rinsed in between";
        return "the drive has answered every command, and what was read back differs from the payload";
    }
    case Verdict::stuck: break;
    }
    const auto thread = first_with(End::stuck);
    const auto& poll = grid.record(thread).poll;
    const auto& rings = plan.slices[thread].rings;
    auto text = fmt::format("thread {} polls dword 3 of completion {} at {:#x} and has found {:#x} {} times", thread,
                            (poll.address - rings.completions) / abi::nvme::Completion::size, poll.address, poll.value,
                            poll.count);
    const auto why = model::gpu::memory::explain(poll.outcome, config);
    if (!why.empty())
        text += "; " + why;
    else if (setup.on_host && poll.outcome.level == model::gpu::memory::Level::gl2)
        text += "; GL2 answers, and nobody tells it of writes to memory of the host: the page must be UC";
    else
        text += "; memory has nothing else: the drive has not answered";
    auto held = model::gpu::memory::explain_held(parts_.device.block().caches(), kernel_now());
    if (!held.empty())
        text += "; " + held.substr(0, held.find('\n'));
    return text;
}

} // namespace scenario
