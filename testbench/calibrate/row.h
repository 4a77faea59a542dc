// What was measured on silicon, as a table: each row has its source, how far the source can be relied on, the figure
// with the band in which a model of that card has to be, and what measures it here. No other place has the figures; the
// sections are those of platform/profiles/README.md.
#pragma once

#include "platform/topology/config.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace calibrate {

/// How reliable a figure is.
enum class Mark : std::uint8_t {
    stated,     ///< A: in the text of a publication, or raw output of a measurement
    secondhand, ///< B: from a summary, or with an incomplete set-up
    memory,     ///< M: a recollection; listed, and not counted
    derived,    ///< D: by arithmetic from others
};
char letter_of(Mark mark);

/// The figures of a model that pass.
struct Band {
    enum class Kind : std::uint8_t {
        level,    ///< within so many per cent of the target
        range,    ///< between two figures, the target among them
        at_least, ///< the target is a limit
        at_most,  ///< and it is above nothing
    };
    Kind kind = Kind::level;
    double width = 10;        ///< of a level
    double low = 0, high = 0; ///< of a range

    bool holds(double target, double model) const;
    std::string text() const; ///< "+-10 %", "128 to 512", "at least"
};

constexpr Band within(double per_cent) { return {.width = per_cent}; }
constexpr Band between(double low, double high) { return {.kind = Band::Kind::range, .low = low, .high = high}; }
inline constexpr Band at_least{.kind = Band::Kind::at_least}, at_most{.kind = Band::Kind::at_most};

/// A configuration, and the keys that a row sets beside it.
struct Profile {
    std::string path, name; ///< "platform/profiles/connectx5.toml", "connectx5"
    std::vector<std::string> overrides{};

    /// Throws std::runtime_error when a key is refused.
    platform::topology::Config with(std::span<const std::string_view> more = {}) const;
};

/// What a row has measured.
struct Figure {
    double value = 0;
    std::string bottleneck{}; ///< of the measured window; empty: nothing was looked at
    double load = 0;
};

struct Row {
    std::string_view id; ///< "2.ud-doorbell"
    std::string_view source;
    Mark mark = Mark::stated;
    std::string_view what{};
    double target = 0;
    std::string_view unit{};
    Band band{};
    std::vector<std::string_view> profiles{}; ///< names; none: every one
    unsigned step = 0;                        ///< of fitting, F1 to F6
    bool is_fitted = false;                   ///< keys were chosen by this row; otherwise it is a prediction
    /// What the source names as the bottleneck, as resources of the model: words, one of which stands in the name that
    /// was found. None: it names nothing.
    std::vector<std::string_view> bottlenecks{};
    /// Throws std::runtime_error when it cannot be measured. None: the model has no mechanism for it.
    std::function<Figure(const Profile&)> measure{};
    std::string_view missing{}; ///< what there is no mechanism for

    bool belongs_to(std::string_view profile) const;
    bool is_counted() const { return mark != Mark::memory; }
};

/// All rows, in the order of the sections. F1 is the PCIe neighbourhood, which all profiles share.
const std::vector<Row>& rows();

// The tables by chapter.
std::vector<Row> link_rows();
std::vector<Row> latency_rows();
std::vector<Row> transaction_rows();
std::vector<Row> unit_rows();
std::vector<Row> bandwidth_rows();
std::vector<Row> atomic_rows();
std::vector<Row> connection_rows();
std::vector<Row> retry_rows();

} // namespace calibrate
