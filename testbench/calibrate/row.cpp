#include "testbench/calibrate/row.h"

#include "platform/topology/read.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <stdexcept>

namespace calibrate {

char letter_of(Mark mark) {
    switch (mark) {
    case Mark::stated: return 'A';
    case Mark::secondhand: return 'B';
    case Mark::memory: return 'M';
    case Mark::derived: return 'D';
    }
    return '?';
}

bool Band::holds(double target, double model) const {
    switch (kind) {
    case Kind::level: return std::abs(model - target) <= std::abs(target) * width / 100 * (1 + 1e-9);
    case Kind::range: return model >= low && model <= high;
    case Kind::at_least: return model >= target;
    case Kind::at_most: return model > 0 && model <= target;
    }
    return false;
}

std::string Band::text() const {
    switch (kind) {
    case Kind::level: return fmt::format("+-{:g} %", width);
    case Kind::range: return fmt::format("{:g} to {:g}", low, high);
    case Kind::at_least: return "at least";
    case Kind::at_most: return "at most";
    }
    return {};
}

platform::topology::Config Profile::with(std::span<const std::string_view> more) const {
    auto all = overrides;
    all.insert(all.end(), more.begin(), more.end());
    auto config = platform::topology::read_config(path, all);
    if (!config)
        throw std::runtime_error(config.error());
    return *std::move(config);
}

bool Row::belongs_to(std::string_view profile) const {
    return profiles.empty() || std::ranges::find(profiles, profile) != profiles.end();
}

const std::vector<Row>& rows() {
    static const auto all = [] {
        std::vector<Row> table;
        for (const auto chapter : {link_rows, latency_rows, transaction_rows, unit_rows, bandwidth_rows, atomic_rows,
                                   connection_rows, retry_rows})
            std::ranges::move(chapter(), std::back_inserter(table));
        return table;
    }();
    return all;
}

} // namespace calibrate
