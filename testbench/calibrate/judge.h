// From figures to verdicts: a row is in band when its figure is and the bottleneck is one that the source names. What a
// profile has reached follows from the verdicts of its rows.
#pragma once

#include "testbench/calibrate/row.h"

#include <array>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace calibrate {

enum class Verdict : std::uint8_t { in_band, out_of_band, other_bottleneck, no_mechanism, failed };
std::string_view name(Verdict verdict);

struct Judged {
    const Row* row = nullptr;
    Figure figure{};
    Verdict verdict = Verdict::failed;
    std::string trouble{}; ///< why there is no figure

    /// "in band", and "not counted" of a recollection.
    std::string verdict_text() const;
};

/// The error is why there is no figure.
Judged judge(const Row& row, const std::expected<Figure, std::string>& figure);

struct Share {
    unsigned in_band = 0, counted = 0;
};

struct Summary {
    std::array<Share, 4> by_mark{}; ///< of counted rows
    Share all, of_the_card;         ///< the latter without F1, which is the same for every profile
    Share first_steps, fitted;      ///< first_steps: F1 to F3

    /// Every fitted row and every row of the first steps is in band, and four fifths of all.
    bool is_good() const;
    /// The same, and the rows of F1 were not needed for it.
    bool is_good_by_itself() const { return is_good() && of_the_card.in_band * 5 >= of_the_card.counted * 4; }
};
Summary summarise(const std::vector<Judged>& judged);

} // namespace calibrate
