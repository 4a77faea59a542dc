#include "testbench/hcasim/calibrate_report.h"

#include "platform/observe/files/json.h"
#include "testbench/hcasim/table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

namespace hcasim {

using calibrate::Judged;
using calibrate::Mark;
using calibrate::Row;
using calibrate::Share;
using calibrate::Verdict;

namespace {

constexpr std::array marks{Mark::stated, Mark::secondhand, Mark::derived};

bool has_figure(const Judged& judged) {
    return judged.verdict != Verdict::no_mechanism && judged.verdict != Verdict::failed;
}

std::string step_of(const Row& row) {
    return row.step == 0 ? "" : fmt::format("F{}{}", row.step, row.is_fitted ? " fitted" : "");
}

std::string text_of(const Share& share) {
    return fmt::format("{} of {} in band{}", share.in_band, share.counted,
                       share.counted == 0 ? "" : fmt::format(" ({:.0f} %)", 100.0 * share.in_band / share.counted));
}

std::vector<std::string> cells_of(const Judged& judged) {
    const auto& row = *judged.row;
    const bool is_known = has_figure(judged);
    const auto& bottleneck = judged.figure.bottleneck;
    return {std::string(row.id),
            std::string(1, letter_of(row.mark)),
            step_of(row),
            fmt::format("{:g} {}", row.target, row.unit),
            row.band.text(),
            is_known ? fmt::format("{:.4g}", judged.figure.value) : "-",
            is_known ? fmt::format("{:.2f}", judged.figure.value / row.target) : "-",
            bottleneck.empty() ? "-" : fmt::format("{} {:.0f} %", bottleneck, 100 * judged.figure.load),
            judged.verdict_text()};
}

/// Why a row has missed, where its cells do not say it.
std::string explain(const Judged& judged) {
    if (!judged.trouble.empty())
        return fmt::format("  {}: {}: {}\n", judged.row->id, judged.row->what, judged.trouble);
    if (judged.verdict == Verdict::other_bottleneck)
        return fmt::format("  {}: {}: the source names {}\n", judged.row->id, judged.row->what,
                           fmt::join(judged.row->bottlenecks, " or "));
    return {};
}

void append(platform::observe::files::JsonObject& json, const Judged& judged) {
    const auto& row = *judged.row;
    json.begin_item()
        .add("row", row.id)
        .add("source", row.source)
        .add("mark", std::string(1, letter_of(row.mark)))
        .add("what", row.what)
        .add("step", row.step)
        .add("fitted", row.is_fitted)
        .add("counted", row.is_counted())
        .add("target", row.target)
        .add("unit", row.unit)
        .add("band", row.band.text())
        .add("verdict", name(judged.verdict));
    if (has_figure(judged))
        json.add("model", judged.figure.value)
            .add("bottleneck", judged.figure.bottleneck)
            .add("load", judged.figure.load);
    if (!judged.trouble.empty())
        json.add("trouble", judged.trouble);
    json.end();
}

} // namespace

std::string print_calibration(const Calibrated& calibrated, std::size_t width) {
    std::vector<std::vector<std::string>> table{
        {"row", "mark", "step", "target", "band", "model", "ratio", "bottleneck", "verdict"}};
    std::string explanations;
    for (const auto& judged : calibrated.judged) {
        table.push_back(cells_of(judged));
        explanations += explain(judged);
    }
    const auto summary = summarise(calibrated.judged);
    auto text = fmt::format("{}\n{}", calibrated.profile, print_table(table, width));
    if (!explanations.empty())
        text += "\n" + explanations;
    text += fmt::format("\n  {:<14} {}\n  {:<14} {}\n", "counted", text_of(summary.all), "without F1",
                        text_of(summary.of_the_card));
    for (const auto mark : marks)
        text += fmt::format("  {:<14} {}\n", fmt::format("mark {}", letter_of(mark)),
                            text_of(summary.by_mark[static_cast<std::size_t>(mark)]));
    text += fmt::format("  {:<14} {}\n  {:<14} {}\n", "F1 to F3", text_of(summary.first_steps), "fitted",
                        text_of(summary.fitted));
    return text + (summary.is_good_by_itself() ? "  good\n"
                   : summary.is_good()         ? "  good, with the rows of F1, which are the same for each profile\n"
                                               : "  not good\n");
}

std::string calibration_as_json(std::span<const Calibrated> all) {
    platform::observe::files::JsonObject json(2);
    for (const auto& [profile, judged] : all) {
        const auto summary = summarise(judged);
        json.begin(profile)
            .add("good", summary.is_good())
            .add("good_without_f1", summary.is_good_by_itself())
            .add("in_band", summary.all.in_band)
            .add("counted", summary.all.counted)
            .add("in_band_without_f1", summary.of_the_card.in_band)
            .add("counted_without_f1", summary.of_the_card.counted)
            .begin_list("rows");
        for (const auto& one : judged)
            append(json, one);
        json.end().end();
    }
    json.end();
    return std::string(json.text()) + "\n";
}

std::string print_rows(std::span<const Row* const> rows, std::size_t width) {
    std::vector<std::vector<std::string>> table{
        {"row", "mark", "step", "target", "band", "profiles", "source", "what"}};
    for (const auto* row : rows)
        table.push_back({std::string(row->id), std::string(1, letter_of(row->mark)), step_of(*row),
                         fmt::format("{:g} {}", row->target, row->unit), row->band.text(),
                         row->profiles.empty() ? "all" : fmt::format("{}", fmt::join(row->profiles, " ")),
                         std::string(row->source), std::string(row->what)});
    return print_table(table, width);
}

} // namespace hcasim
