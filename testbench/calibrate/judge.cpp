#include "testbench/calibrate/judge.h"

#include <algorithm>

namespace calibrate {

std::string_view name(Verdict verdict) {
    switch (verdict) {
    case Verdict::in_band: return "in band";
    case Verdict::out_of_band: return "MISS";
    case Verdict::other_bottleneck: return "MISS: bottleneck";
    case Verdict::no_mechanism: return "MISS: no mechanism";
    case Verdict::failed: return "MISS: failed";
    }
    return {};
}

std::string Judged::verdict_text() const {
    auto text = std::string(name(verdict));
    return row->is_counted() ? text : text + ", not counted";
}

Judged judge(const Row& row, const std::expected<Figure, std::string>& figure) {
    Judged judged{.row = &row};
    if (!row.measure) {
        judged.verdict = Verdict::no_mechanism;
        judged.trouble = row.missing;
        return judged;
    }
    if (!figure) {
        judged.trouble = figure.error();
        return judged;
    }
    judged.figure = *figure;
    const bool is_named = row.bottlenecks.empty() || std::ranges::any_of(row.bottlenecks, [&](std::string_view word) {
                              return figure->bottleneck.find(word) != std::string::npos;
                          });
    judged.verdict = !row.band.holds(row.target, figure->value) ? Verdict::out_of_band
                     : is_named                                 ? Verdict::in_band
                                                                : Verdict::other_bottleneck;
    return judged;
}

Summary summarise(const std::vector<Judged>& judged) {
    Summary summary;
    for (const auto& one : judged) {
        const auto& row = *one.row;
        if (!row.is_counted())
            continue;
        const auto count = [&](Share& share) {
            ++share.counted;
            share.in_band += one.verdict == Verdict::in_band;
        };
        count(summary.by_mark[static_cast<std::size_t>(row.mark)]);
        count(summary.all);
        if (row.step != 1)
            count(summary.of_the_card);
        if (row.step >= 1 && row.step <= 3)
            count(summary.first_steps);
        if (row.is_fitted)
            count(summary.fitted);
    }
    return summary;
}

bool Summary::is_good() const {
    return fitted.in_band == fitted.counted && first_steps.in_band == first_steps.counted &&
           all.in_band * 5 >= all.counted * 4;
}

} // namespace calibrate
