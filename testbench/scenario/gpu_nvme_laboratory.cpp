#include "testbench/scenario/gpu_nvme_laboratory.h"

#include "model/gpu/memory/explain.h"
#include "sw/memory/attachment.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>

namespace scenario {

using abi::gpu::Mtype;
using model::gpu::memory::Mechanism;
using model::gpu::memory::Modifiers;
using model::gpu::memory::Profile;
using namespace std::chrono_literals;
namespace memory = model::gpu::memory;

namespace {

/// Verdicts that a row may have.
using Set = unsigned;
constexpr Set of(Verdict verdict) { return 1u << static_cast<unsigned>(verdict); }
constexpr Set correct = of(Verdict::correct), stuck = of(Verdict::stuck), wrong = of(Verdict::wrong_data),
              reset = of(Verdict::gpu_reset);

struct Expected {
    Set m1, m2, m3, coherent, adversarial;
    Set under(const memory::MemoryConfig& config) const {
        switch (config.profile) {
        case Profile::coherent: return coherent;
        case Profile::adversarial: return adversarial;
        case Profile::rdna3_text: break;
        }
        return config.mechanism == Mechanism::m1 ? m1 : config.mechanism == Mechanism::m2 ? m2 : m3;
    }
};
constexpr Expected all(Set set) { return {set, set, set, set, set}; }
/// What is stuck on the article's board is stuck without probes of GL2, and not with them.
constexpr Expected held{stuck, stuck, stuck, correct, stuck | correct};

struct Row {
    std::string_view name, cites;
    Mtype submissions, completions;
    std::optional<Mtype> doorbells;
    Modifiers poll;
    Flush flush;
    Expected expected;
    bool on_host = false;
    bool looks_at_data = false;
    Uncached uncached = Uncached::never;
};

constexpr auto nc = Mtype::nc, uc = Mtype::uc;
constexpr std::optional<Mtype> imported{};
constexpr auto every_bit = memory::all_bits;

// An adversarial GPU evicts lines at times that are drawn, and draws what an import becomes: what would be held in a
// line of GL2 may come out, or never have been there.
constexpr std::array table{
    Row{"L1",
        "O2",
        nc,
        nc,
        imported,
        memory::volatile_load,
        Flush::none,
        {stuck, stuck, stuck, correct, stuck | wrong | correct}},
    Row{"L2",
        "O4 (untested)",
        nc,
        uc,
        uc,
        every_bit,
        Flush::none,
        {stuck | wrong, wrong, stuck | wrong, correct, wrong | correct}},
    Row{"L3", "O3 O6", uc, uc, imported, every_bit, Flush::none, held},
    Row{"L4", "", uc, uc, uc, every_bit, Flush::none, {stuck, correct, stuck, correct, correct}},
    Row{"L5",
        "O3 O12 O13 O16",
        uc,
        uc,
        imported,
        every_bit,
        Flush::heavy,
        {correct, correct, correct, correct, stuck | correct}},
    Row{"L5b",
        "O13",
        uc,
        uc,
        imported,
        every_bit,
        Flush::heavy_other,
        {correct, correct, correct, correct, stuck | correct}},
    Row{"L6a", "O12", uc, uc, imported, every_bit, Flush::other_engine, held},
    Row{"L6b", "O12", uc, uc, imported, every_bit, Flush::light, held},
    Row{"L6c", "O12", uc, uc, imported, every_bit, Flush::heavy_no_mask, held},
    Row{"L7", "O15", uc, uc, imported, every_bit, Flush::multimedia, held},
    Row{"L8", "O9", uc, uc, imported, every_bit, Flush::host_path, held},
    Row{"L9a", "O10", uc, uc, imported, every_bit, Flush::general_control, all(reset)},
    Row{"L9b", "O11", uc, uc, imported, every_bit, Flush::l2_control, all(reset)},
    Row{"L10", "O7", uc, uc, imported, every_bit, Flush::rendering, all(correct)},
    Row{"L10b", "O8", uc, uc, imported, every_bit, Flush::upper_only, held},
    Row{"L11",
        "O5",
        nc,
        nc,
        imported,
        every_bit,
        Flush::none,
        {stuck, stuck, stuck, correct, stuck | wrong | correct},
        false,
        false,
        Uncached::after_mapping},
    Row{"L11b", "O5", nc, nc, imported, every_bit, Flush::none, held, false, false, Uncached::before_mapping},
    Row{"L12",
        "",
        nc,
        nc,
        imported,
        every_bit,
        Flush::heavy,
        {wrong | correct, wrong | correct, wrong | correct, correct, stuck | wrong | correct}},
    Row{"L13", "", uc, uc, uc, memory::plain, Flush::heavy, all(stuck)},
    Row{"L14", "", uc, uc, uc, memory::relaxed_atomic_load, Flush::none, all(correct), true},
    Row{"L15",
        "",
        uc,
        nc,
        uc,
        memory::relaxed_atomic_load,
        Flush::none,
        {stuck, stuck, stuck, stuck, stuck | correct},
        true},
    Row{"L16", "", uc, uc, uc, every_bit, Flush::none, {stuck, wrong, stuck, correct, wrong | correct}, false, true},
};

/// A GPU that does not reset takes no notice of its control registers: all is as without a flush.
Set expected_of(const Row& row, const memory::MemoryConfig& config) {
    const bool is_reset = row.flush == Flush::general_control || row.flush == Flush::l2_control;
    return (is_reset && !config.resets_on_control ? held : row.expected).under(config);
}

std::string_view name_of(Uncached uncached) {
    constexpr std::array<std::string_view, 3> names{"", ", exported as UC and then mapped",
                                                    ", mapped and then exported as UC"};
    return names[static_cast<std::size_t>(uncached)];
}

std::string names_of(Set set) {
    std::string text;
    for (unsigned i = 0; i <= static_cast<unsigned>(Verdict::page_fault); ++i)
        if (set >> i & 1)
            text += (text.empty() ? "" : " or ") + std::string(name(static_cast<Verdict>(i)));
    return text;
}

std::string name_of(Modifiers modifiers) {
    std::string text;
    for (const auto& [is_set, word] : {std::pair{modifiers.glc, "glc"}, {modifiers.slc, "slc"}, {modifiers.dlc, "dlc"}})
        if (is_set)
            text += (text.empty() ? "" : " ") + std::string(word);
    return text.empty() ? "plain" : text;
}

/// The payload of a row: what every row moves is another part of one sequence, so that no row finds what another left.
std::vector<std::byte> make_payload(std::size_t bytes, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<std::byte> made(bytes);
    for (std::size_t i = 0; i + 8 <= bytes; i += 8) {
        const auto value = random();
        std::memcpy(&made[i], &value, sizeof value);
    }
    return made;
}

/// An observation of how buffers are shared: it must end with this error, or with none.
Observation plumbing(std::string_view row, std::string_view setup, std::string_view expected, bool is_refused_right,
                     std::string outcome) {
    return {.row = std::string(row),
            .cites = std::string(row),
            .setup = std::string(setup),
            .load = "-",
            .flush = "-",
            .outcome = std::move(outcome),
            .expected = std::string(expected),
            .agrees = is_refused_right};
}

std::string outcome_of(const auto& result) { return result ? "accepted" : "refused: " + result.error().what; }

/// P1, P2: a remapping unit's driver takes physical addresses alone, and those are of pinned buffers in VRAM.
sw::Result<void> observe_physical(GpuNvme& rig, std::vector<Observation>& found) {
    rig.gpu().offer_physical(false);
    const auto without = rig.share(drive_page);
    rig.gpu().offer_physical(true);
    found.push_back(plumbing("P1", "VRAM for the remapping unit, without an offer of physical addresses", "refused",
                             !without, outcome_of(without)));
    auto buffer = rig.gpu().allocate(drive_page);
    if (!buffer)
        return std::unexpected(buffer.error());
    if (const auto evicted = rig.gpu().evict(*buffer); !evicted)
        return evicted;
    auto handle = rig.gpu().export_buffer(*buffer);
    if (!handle)
        return std::unexpected(handle.error());
    const auto size = (*handle)->size();
    const auto in_memory = sw::memory::iommu::FileMapping::create(*rig.parts().drive_space, *handle, 0, size, {});
    found.push_back(plumbing("P2", "a buffer that lies in system memory, for the remapping unit", "refused", !in_memory,
                             outcome_of(in_memory)));
    const auto shared = rig.share(drive_page);
    if (!shared)
        return std::unexpected(shared.error());
    const auto moved = rig.gpu().evict(shared->buffer);
    found.push_back(
        plumbing("P2", "a mapped buffer is to move to system memory", "refused", !moved, outcome_of(moved)));
    return {};
}

/// P5: addresses of the bus are none of the drive's.
sw::Result<void> observe_raw_address(GpuNvme& rig, std::vector<Observation>& found) {
    const auto raw = rig.parts().gpu.bar_address(rig.gpu().vram_bar());
    auto command = sw::nvme::QueuePair::Command{};
    command.view().set<"opcode">(static_cast<std::uint8_t>(abi::nvme::AdminOpcode::identify));
    abi::View<abi::nvme::Identify>(command.bytes).set<"cns">(static_cast<std::uint8_t>(abi::nvme::Cns::controller));
    const std::vector<std::byte> before(rig.device().bytes().begin(), rig.device().bytes().begin() + drive_page);
    (void)rig.parts().unit->take_faults();
    const std::array data{sw::nvme::Segment{raw, drive_page}};
    if (const auto done = rig.controller().execute(command, data); !done)
        return std::unexpected(done.error());
    const auto faults = rig.parts().unit->take_faults();
    const bool is_right = faults.size() == 1 && faults[0].is_write && faults[0].address == raw &&
                          std::ranges::equal(before, rig.device().bytes().first(drive_page));
    found.push_back(plumbing("P5", "the drive is given an address of the bus, and not of its address space",
                             "one fault of the remapping unit", is_right,
                             faults.empty() ? "no fault" : to_string(faults[0])));
    return {};
}

/// O3, O14: what a debugger decodes of a page is what it was mapped with, before a heavy flush and after it.
sw::Result<void> observe_page(GpuNvme& rig, std::vector<Observation>& found) {
    const auto space = rig.make_address_space();
    if (!space)
        return std::unexpected(space.error());
    const auto buffer = rig.gpu().allocate(drive_page);
    if (!buffer)
        return std::unexpected(buffer.error());
    const auto at = (*space)->map(*buffer, uc);
    if (!at)
        return std::unexpected(at.error());
    const auto before = (*space)->entry(*at);
    const auto flushed = (*space)->invalidate(
        17, abi::gpu::InvalidateRequest{}.set<"flush_type">(abi::gpu::heavy_flush).set<"per_vmid_invalidate_req">(1));
    if (!flushed)
        return flushed;
    const auto after = (*space)->entry(*at);
    const bool is_same = before && after && before->value() == after->value() && after->get<"mtype">() == uc;
    auto one = plumbing("O14", "the page of a queue, decoded before and after a heavy flush", "the same, UC", is_same,
                        is_same ? "the same, UC" : "another");
    one.cites = "O3 O14";
    found.push_back(std::move(one));
    return {};
}

sw::Result<std::vector<Observation>> observe_sharing(GpuNvme& rig) {
    std::vector<Observation> found;
    if (rig.parts().unit != nullptr)
        for (const auto observe : {observe_physical, observe_raw_address})
            if (const auto done = observe(rig, found); !done)
                return std::unexpected(done.error());
    if (const auto done = observe_page(rig, found); !done)
        return std::unexpected(done.error());
    const auto& bar = rig.doorbells().buffer();
    // P3, P4: who asks the exporter for facts that only a GPU has, refuses registers of a drive.
    for (const bool accepts : {false, true}) {
        const auto space = rig.make_address_space(accepts);
        if (!space)
            return std::unexpected(space.error());
        const auto imported_at = (*space)->import(bar, uc);
        found.push_back(plumbing(accepts ? "P4" : "P3",
                                 accepts ? "doorbells of the drive, with its exporter accepted"
                                         : "doorbells of the drive, by an importer that asks its own exporter",
                                 accepts ? "accepted" : "refused", imported_at.has_value() == accepts,
                                 outcome_of(imported_at)));
    }
    return found;
}

} // namespace

sw::Result<std::vector<Observation>> run_laboratory(GpuNvme& rig, Flusher& flusher, const Tell& tell) {
    constexpr std::size_t payload_bytes = 64 << 10;
    const auto& config = rig.device().block().config();
    std::vector<Observation> found;
    std::uint64_t done = 0;
    for (const auto& row : table) {
        tell(row.name, done++, table.size());
        const IoSetup setup{.submissions = row.submissions,
                            .completions = row.completions,
                            .doorbells = row.doorbells,
                            .on_host = row.on_host,
                            .uncached = row.uncached,
                            .rules = {.poll = row.poll, .pause = 2us},
                            .flush = row.flush,
                            .looks_at_data = row.looks_at_data};
        const auto payload = make_payload(payload_bytes, done);
        const auto report =
            rig.move(PayloadSource(payload), {.command_bytes = drive_page, .threads = 2, .depth = 4}, setup, flusher);
        if (!report)
            return std::unexpected(report.error());
        const auto expected = expected_of(row, config);
        // Only an export that comes before the mapping decides what the pages are.
        const auto latched = row.uncached == Uncached::before_mapping ? uc : row.submissions;
        found.push_back(
            {.row = std::string(row.name),
             .cites = std::string(row.cites),
             .setup = fmt::format("{}SQ {}, CQ {}, doorbells {}{}{}{}", row.on_host ? "in the host: " : "",
                                  abi::gpu::name(report->submissions), abi::gpu::name(report->completions),
                                  abi::gpu::name(report->doorbells), row.doorbells ? "" : " as imported",
                                  name_of(row.uncached), row.looks_at_data ? ", data NC, looked at before" : ""),
             .load = name_of(row.poll),
             .flush = std::string(name(row.flush)),
             .outcome = std::string(name(report->verdict)),
             .expected = names_of(expected),
             .agrees = (expected & of(report->verdict)) != 0 && report->submissions == latched,
             .explanation = report->explanation});
    }
    auto sharing = observe_sharing(rig);
    if (!sharing)
        return std::unexpected(sharing.error());
    std::ranges::move(*sharing, std::back_inserter(found));
    return found;
}

} // namespace scenario
