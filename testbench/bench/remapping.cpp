#include "testbench/bench/remapping.h"

#include "testbench/bench/isolate.h"
#include "testbench/harness/iommu_bench.h"
#include "testbench/harness/pcie_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <queue>
#include <random>
#include <vector>

namespace bench {
namespace {

using namespace abi::iommu;
using model::port::Time;

enum class Mode : std::uint8_t { off, large_pages, small_pages };
constexpr std::array modes{Mode::off, Mode::large_pages, Mode::small_pages};
constexpr std::array mode_names{"off", "2 MiB pages", "4 KiB pages"};

constexpr std::uint64_t KiB = 1024, MiB = 1024 * KiB;
constexpr std::array windows{64 * KiB, 256 * KiB, 512 * KiB, 1 * MiB, 4 * MiB, 16 * MiB};
constexpr std::uint64_t small_window = 256 * KiB, large_window = 16 * MiB; ///< of the published table

/// A device does so many accesses at a time, and begins one no sooner after the other than that. Both are what the
/// device of the publication shows with the unit off; what the unit adds is the model's.
struct Row {
    std::uint32_t bytes;
    bool is_write;
    unsigned outstanding;
    double interval_ns;
    /// Gbit/s as published: by mode, windows of 256 KiB and of 16 MiB; 0: not published
    std::array<std::array<double, 2>, 3> published;
};
constexpr std::array rows{
    Row{64, false, 27, 0, {{{32.6, 30.3}, {32.7, 30.4}, {32.6, 10.4}}}},
    Row{256, false, 11, 0, {{{47.8, 47.5}, {47.8, 47.5}, {47.8, 34.6}}}},
    Row{512, false, 32, 0, {{{55.0, 55.0}, {55.0, 55.0}, {55.0, 54.7}}}},
    Row{64, true, 64, 21.07, {{{24.3, 24.3}, {24.3, 24.3}, {24.3, 11.5}}}},
    Row{256, true, 64, 0, {}},
    Row{512, true, 64, 0, {}},
};

/// A card in a root port; software has mapped a buffer for it.
struct Machine {
    static constexpr std::uint64_t iova = 0x40'0000'0000;

    platform::host::Host host;
    testbench::ScratchCard card{"card", 1};
    std::uint64_t tables = 0, buffer = 0;

    explicit Machine(Mode mode) : host("host", config()) {
        host.plug(0, card.endpoint);
        sc_core::sc_start(sc_core::SC_ZERO_TIME);
        const auto bdf = host.enumeration().find(0x1234, 1)->bdf;
        host.root_complex().config_write(bdf, 4, 2, 6, {});
        buffer = (host.memory().allocate(large_window + 2 * MiB)->bus + 2 * MiB - 1) / (2 * MiB) * (2 * MiB);
        if (mode == Mode::off)
            return;
        const auto root = page(), contexts = page();
        tables = page();
        put(root + bdf.bus() * 16u, RootEntry{}.set<"p">(true).set<"ctp">(contexts));
        put(contexts + (bdf.value & 0xffu) * 16u, testbench::IommuBench::context(1, tables));
        const unsigned shift = mode == Mode::small_pages ? 12 : 21;
        for (std::uint64_t at = 0; at < large_window; at += std::uint64_t{1} << shift)
            map(iova + at, buffer + at, shift);
        write(Register::rtaddr, root, 8);
        write(Register::gcmd, GlobalCommand::mask<"srtp">);
        write(Register::gcmd, GlobalCommand::mask<"te">);
        buffer = iova;
    }
    static platform::host::HostConfig config() {
        using namespace std::chrono_literals;
        platform::host::HostConfig host;
        host.switch_slots = 0, host.root_slots = 1;
        // A read of 8 bytes takes 413 ns, as published.
        host.device_link = {.generation = 3, .width = 8, .max_payload = 256, .max_read_request = 512, .latency = 158ns};
        host.max_payload = 256;
        host.iommu = model::iommu::IommuModuleConfig{
            .core = {.iotlb = {.entries = 64, .ways = 64}}, .miss_latency = 145ns, .walkers = 5};
        return host;
    }
    std::uint64_t page() { return host.memory().allocate(0x1000)->bus; }
    template <class E> void put(std::uint64_t bus, const E& entry) {
        const auto bytes = entry.bytes();
        std::memcpy(host.memory().at(bus), bytes.data(), bytes.size());
    }
    void map(std::uint64_t address, std::uint64_t to, unsigned shift) {
        auto at = tables;
        for (unsigned level = 4;; --level) {
            const auto entry = at + (address >> model::iommu::shift_of(level) & 0x1ff) * 8;
            if (model::iommu::shift_of(level) == shift)
                return put(entry, testbench::IommuBench::leaf(to).set<"ps">(shift != 12));
            auto below = SecondStageEntry::from(std::span<const std::byte>(host.memory().at(entry), 8));
            if (below.value() == 0)
                put(entry, below = testbench::IommuBench::leaf(page()));
            at = below.get<"addr">();
        }
    }
    void write(Register r, std::uint64_t value, unsigned bytes = 4) {
        std::array<std::byte, 8> raw;
        abi::store<std::uint64_t, abi::Endian::little>(raw.data(), value);
        const auto at = host.root_complex().core().map().iommu.begin + static_cast<std::uint32_t>(r);
        host.root_complex().processor().write(abi::BusAddress{at}, std::span(raw).first(bytes), {});
    }
};

double gbps(const Row& row, Mode mode, std::uint64_t window, unsigned accesses) {
    Machine machine(mode);
    auto& dma = machine.card.endpoint.dma();
    std::vector<std::byte> bytes(row.bytes);
    std::mt19937_64 random(1);
    const Time interval{static_cast<std::int64_t>(row.interval_ns * 1000)};
    std::priority_queue<Time, std::vector<Time>, std::greater<>> under_way;
    Time next{}, begin{};
    const auto warm = accesses / 4;
    for (unsigned i = 0; i < warm + accesses; ++i) {
        auto at = next;
        if (under_way.size() == row.outstanding) {
            at = std::max(at, under_way.top());
            under_way.pop();
        }
        next = at + interval;
        if (i == warm)
            begin = at;
        const abi::BusAddress address{machine.buffer + random() % (window / row.bytes) * row.bytes};
        const auto result = row.is_write ? dma.write(address, bytes, at, model::port::Purpose::payload)
                                         : dma.read(address, bytes, at, model::port::Purpose::payload);
        if (!result.is_ok())
            return std::nan("");
        under_way.push(result.done);
    }
    return static_cast<double>(accesses) * row.bytes * 8 * 1000 / static_cast<double>((next - begin).count());
}

std::string print(double figure) { return figure != 0 ? fmt::format("{:5.1f}", figure) : std::string("    -"); }

} // namespace

RemappingReport measure_remapping(unsigned accesses) {
    RemappingReport report;
    report.text = "random accesses to host memory, gen3 x8, IOTLB of 64 entries, Gbit/s\n\n"
                  "                          window 256 KiB          window 16 MiB\n"
                  "  access    pages         model    published      model    published\n";
    const auto measure = [&](const Row& row, Mode mode, std::uint64_t window) {
        const auto figure = in_process_of_its_own([&] { return gbps(row, mode, window, accesses); });
        return figure.value_or(std::nan(""));
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
            report.text += fmt::format("  {:3} B {:<5} {:<12}  {}         {}\n", row.bytes,
                                       row.is_write ? "write" : "read", mode_names[static_cast<std::size_t>(mode)],
                                       judge(measure(row, mode, small_window), published[0]),
                                       judge(measure(row, mode, large_window), published[1]));
        }
    report.text += "\n64 B read by window         ";
    for (const auto window : windows)
        report.text += fmt::format("{:>9}", window < MiB ? fmt::format("{} KiB", window / KiB)
                                                         : fmt::format("{} MiB", window / MiB));
    for (const auto mode : {Mode::large_pages, Mode::small_pages}) {
        report.text += fmt::format("\n  {:<26}", mode_names[static_cast<std::size_t>(mode)]);
        for (const auto window : windows)
            report.text += fmt::format("{:9.1f}", measure(rows[0], mode, window));
    }
    report.text += report.is_near ? "\n\nevery published figure is met within 10 %\n"
                                  : "\n\nfigures with ! are more than 10 % away\n";
    return report;
}

} // namespace bench
