#include "testbench/bench/remapping.h"

#include "testbench/calibrate/random_access.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace bench {
namespace {

using calibrate::Pages;
using calibrate::RandomAccess;

constexpr std::array modes{Pages::off, Pages::large, Pages::small};
constexpr std::array mode_names{"off", "2 MiB pages", "4 KiB pages"};

constexpr std::uint64_t KiB = 1024, MiB = 1024 * KiB;
constexpr std::array windows{64 * KiB, 256 * KiB, 512 * KiB, 1 * MiB, 4 * MiB, 16 * MiB};
constexpr std::uint64_t small_window = 256 * KiB, large_window = 16 * MiB; ///< of the published table

/// What the device of the publication does, and Gbit/s as published: by pages, windows of 256 KiB and of 16 MiB; 0: not
/// published.
struct Row {
    RandomAccess access;
    std::array<std::array<double, 2>, 3> published;
};
constexpr std::array rows{
    Row{{64, false, 27, 0}, {{{32.6, 30.3}, {32.7, 30.4}, {32.6, 10.4}}}},
    Row{{256, false, 11, 0}, {{{47.8, 47.5}, {47.8, 47.5}, {47.8, 34.6}}}},
    Row{{512, false, 32, 0}, {{{55.0, 55.0}, {55.0, 55.0}, {55.0, 54.7}}}},
    Row{{64, true, 64, 21.07}, {{{24.3, 24.3}, {24.3, 24.3}, {24.3, 11.5}}}},
    Row{{256, true, 64, 0}, {}},
    Row{{512, true, 64, 0}, {}},
};

std::string print(double figure) { return figure != 0 ? fmt::format("{:5.1f}", figure) : std::string("    -"); }

} // namespace

RemappingReport measure_remapping(unsigned accesses) {
    RemappingReport report;
    report.text = "random accesses to host memory, gen3 x8, IOTLB of 64 entries, Gbit/s\n\n"
                  "                          window 256 KiB          window 16 MiB\n"
                  "  access    pages         model    published      model    published\n";
    const auto measure = [&](const Row& row, Pages pages, std::uint64_t window) {
        auto access = row.access;
        access.pages = pages, access.window = window, access.accesses = accesses;
        const auto rate = calibrate::measure(access);
        return rate ? rate->gbps : std::nan("");
    };
    const auto judge = [&](double figure, double published) {
        constexpr double tolerance = 0.1;
        const bool is_good = !std::isnan(figure) && (published == 0 || std::abs(figure / published - 1) <= tolerance);
        report.is_near &= is_good;
        return fmt::format("{}    {}{}", print(figure), print(published), is_good ? ' ' : '!');
    };
    for (const auto& row : rows)
        for (const auto mode : modes) {
            const auto& published = row.published[static_cast<std::size_t>(mode)];
            report.text += fmt::format(
                "  {:3} B {:<5} {:<12}  {}         {}\n", row.access.bytes, row.access.is_write ? "write" : "read",
                mode_names[static_cast<std::size_t>(mode)], judge(measure(row, mode, small_window), published[0]),
                judge(measure(row, mode, large_window), published[1]));
        }
    report.text += "\n64 B read by window         ";
    for (const auto window : windows)
        report.text += fmt::format("{:>9}", window < MiB ? fmt::format("{} KiB", window / KiB)
                                                         : fmt::format("{} MiB", window / MiB));
    for (const auto mode : {Pages::large, Pages::small}) {
        report.text += fmt::format("\n  {:<26}", mode_names[static_cast<std::size_t>(mode)]);
        for (const auto window : windows)
            report.text += fmt::format("{:9.1f}", measure(rows[0], mode, window));
    }
    report.text += report.is_near ? "\n\nevery published figure is met within 10 %\n"
                                  : "\n\nfigures with ! are more than 10 % away\n";
    return report;
}

} // namespace bench
