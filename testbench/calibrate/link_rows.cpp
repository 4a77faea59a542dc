// F1: the PCIe link and the remapping unit beside pcie-bench. The device is the publication's and not a card of a
// profile; what it does at a time is what it shows with the unit off.
#include "testbench/calibrate/random_access.h"
#include "testbench/calibrate/row.h"

#include <array>
#include <stdexcept>

namespace calibrate {
namespace {

constexpr std::string_view source = "pcie-bench, SIGCOMM 2018";
constexpr std::uint64_t KiB = 1024, MiB = 1024 * KiB;

AccessRate rate(const RandomAccess& access) {
    const auto found = measure(access);
    if (!found)
        throw std::runtime_error("an access to host memory failed");
    return *found;
}

Figure gbps(const RandomAccess& access) {
    const auto found = rate(access);
    const bool is_up = found.upstream > found.downstream;
    const auto load = std::max(found.upstream, found.downstream);
    constexpr double least_load = 0.9;
    return {found.gbps, load < least_load ? "latency" : is_up ? "PCIe upstream" : "PCIe downstream", load};
}

RandomAccess with(RandomAccess access, Pages pages, std::uint64_t window) {
    access.pages = pages;
    access.window = window;
    return access;
}

constexpr RandomAccess reads_64{.bytes = 64, .outstanding = 27}, reads_256{.bytes = 256, .outstanding = 11},
    reads_512{.bytes = 512, .outstanding = 32},
    writes_64{.bytes = 64, .is_write = true, .outstanding = 64, .interval_ns = 21.07}, one_read{.bytes = 8};

struct Published {
    std::string_view id, what;
    RandomAccess access;
    Pages pages;
    std::uint64_t window;
    double gbps;
    bool is_fitted = false;
};
constexpr std::array published{
    Published{"F1.read-64", "64 B reads, 256 KiB", reads_64, Pages::off, 256 * KiB, 32.6, true},
    Published{"F1.read-64-large", "64 B reads, 16 MiB", reads_64, Pages::off, 16 * MiB, 30.3},
    Published{"F1.read-64-2m", "64 B reads, 256 KiB, 2 MiB pages", reads_64, Pages::large, 256 * KiB, 32.7},
    Published{"F1.read-64-2m-large", "64 B reads, 16 MiB, 2 MiB pages", reads_64, Pages::large, 16 * MiB, 30.4},
    Published{"F1.read-64-4k", "64 B reads, 256 KiB, 4 KiB pages", reads_64, Pages::small, 256 * KiB, 32.6},
    Published{"F1.read-64-4k-large", "64 B reads, 16 MiB, 4 KiB pages", reads_64, Pages::small, 16 * MiB, 10.4, true},
    Published{"F1.write-64", "64 B writes, 256 KiB", writes_64, Pages::off, 256 * KiB, 24.3, true},
    Published{"F1.write-64-large", "64 B writes, 16 MiB", writes_64, Pages::off, 16 * MiB, 24.3},
    Published{"F1.write-64-2m-large", "64 B writes, 16 MiB, 2 MiB pages", writes_64, Pages::large, 16 * MiB, 24.3},
    Published{"F1.write-64-4k", "64 B writes, 256 KiB, 4 KiB pages", writes_64, Pages::small, 256 * KiB, 24.3},
    Published{"F1.write-64-4k-large", "64 B writes, 16 MiB, 4 KiB pages", writes_64, Pages::small, 16 * MiB, 11.5},
    Published{"F1.read-256", "256 B reads, 256 KiB", reads_256, Pages::off, 256 * KiB, 47.8, true},
    Published{"F1.read-256-2m-large", "256 B reads, 16 MiB, 2 MiB pages", reads_256, Pages::large, 16 * MiB, 47.5},
    Published{"F1.read-256-4k", "256 B reads, 256 KiB, 4 KiB pages", reads_256, Pages::small, 256 * KiB, 47.8},
    Published{"F1.read-256-4k-large", "256 B reads, 16 MiB, 4 KiB pages", reads_256, Pages::small, 16 * MiB, 34.6},
    Published{"F1.read-512", "512 B reads, 256 KiB", reads_512, Pages::off, 256 * KiB, 55.0, true},
    Published{"F1.read-512-2m-large", "512 B reads, 16 MiB, 2 MiB pages", reads_512, Pages::large, 16 * MiB, 55.0},
    Published{"F1.read-512-4k-large", "512 B reads, 16 MiB, 4 KiB pages", reads_512, Pages::small, 16 * MiB, 54.7},
};

/// What a link leaves to payload, by the publication's model of it.
struct Usable {
    std::string_view id, what;
    unsigned generation, width;
    std::uint32_t bytes;
    bool is_write;
    double gbps;
};
constexpr std::array usable{
    Usable{"F1.gen3x8-write-64", "gen3 x8, 64 B MWr", 3, 8, 64, true, 42.10},
    Usable{"F1.gen3x8-read-64", "gen3 x8, 64 B MRd", 3, 8, 64, false, 44.10},
    Usable{"F1.gen3x8-write-256", "gen3 x8, 256 B MWr", 3, 8, 256, true, 52.92},
    Usable{"F1.gen3x8-read-256", "gen3 x8, 256 B MRd", 3, 8, 256, false, 53.69},
    Usable{"F1.gen3x8-write-512", "gen3 x8, 512 B MWr", 3, 8, 512, true, 52.92},
    Usable{"F1.gen3x8-read-512", "gen3 x8, 512 B MRd", 3, 8, 512, false, 53.69},
    Usable{"F1.gen4x16-write-64", "gen4 x16, 64 B MWr", 4, 16, 64, true, 165.4},
    Usable{"F1.gen4x16-read-64", "gen4 x16, 64 B MRd", 4, 16, 64, false, 173.3},
    Usable{"F1.gen4x16-write-256", "gen4 x16, 256 B MWr", 4, 16, 256, true, 207.9},
    Usable{"F1.gen4x16-read-256", "gen4 x16, 256 B MRd", 4, 16, 256, false, 210.9},
};

RandomAccess saturating(const Usable& row) {
    auto link = published_link;
    link.generation = row.generation;
    link.width = row.width;
    return {.bytes = row.bytes, .is_write = row.is_write, .outstanding = 250, .link = link};
}

double latency_ns(Pages pages, std::uint64_t window) { return rate(with(one_read, pages, window)).latency_ns; }

} // namespace

std::vector<Row> link_rows() {
    std::vector<Row> rows;
    for (const auto& row : published)
        rows.push_back({.id = row.id,
                        .source = source,
                        .what = row.what,
                        .target = row.gbps,
                        .unit = "Gb/s",
                        .step = 1,
                        .is_fitted = row.is_fitted,
                        .measure = [row](const Profile&) { return gbps(with(row.access, row.pages, row.window)); }});
    for (const auto& row : usable)
        rows.push_back({.id = row.id,
                        .source = source,
                        .what = row.what,
                        .target = row.gbps,
                        .unit = "Gb/s",
                        .step = 1,
                        .bottlenecks = {"PCIe"},
                        .measure = [row](const Profile&) { return gbps(saturating(row)); }});
    rows.push_back({.id = "F1.latency",
                    .source = source,
                    .what = "8 B read, warm",
                    .target = 413,
                    .unit = "ns",
                    .band = within(20),
                    .step = 1,
                    .is_fitted = true,
                    .measure = [](const Profile&) { return Figure{latency_ns(Pages::off, 256 * KiB)}; }});
    rows.push_back({.id = "F1.latency-miss",
                    .source = source,
                    .what = "8 B read, added by a miss of a 4 KiB page in the IOTLB",
                    .target = 240,
                    .unit = "ns",
                    .band = between(214, 267),
                    .step = 1,
                    .is_fitted = true,
                    .measure = [](const Profile&) {
                        return Figure{latency_ns(Pages::small, 16 * MiB) - latency_ns(Pages::off, 16 * MiB)};
                    }});
    rows.push_back({.id = "silicon.cold-read",
                    .source = source,
                    .what = "8 B read, cold",
                    .target = 466,
                    .unit = "ns",
                    .band = within(20),
                    .step = 1,
                    .is_fitted = true,
                    .measure = [](const Profile&) {
                        auto cold = with(one_read, Pages::off, 16 * MiB);
                        cold.is_cold = true;
                        return Figure{rate(cold).latency_ns};
                    }});
    return rows;
}

} // namespace calibrate
