#include "testbench/calibrate/random_access.h"

#include "testbench/harness/iommu_bench.h"
#include "testbench/harness/isolate.h"
#include "testbench/harness/pcie_bench.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <queue>
#include <random>
#include <span>
#include <vector>

namespace calibrate {
namespace {

using namespace abi::iommu;
using model::port::Time;

constexpr std::uint64_t MiB = 1 << 20;
constexpr std::uint64_t large_window = 16 * MiB;

/// A card in a root port; software has mapped a buffer for it.
struct Machine {
    static constexpr std::uint64_t iova = 0x40'0000'0000;

    platform::host::Host host;
    testbench::ScratchCard card{"card", 1};
    std::uint64_t tables = 0, buffer = 0, memory = 0; ///< the buffer, as the device and as the host know it

    explicit Machine(Pages pages, const model::pcie::LinkConfig& link) : host("host", config(link)) {
        host.plug(0, card.endpoint);
        sc_core::sc_start(sc_core::SC_ZERO_TIME);
        const auto bdf = host.enumeration().find(0x1234, 1)->bdf;
        host.root_complex().config_write(bdf, 4, 2, 6, {});
        buffer = (host.memory().allocate(large_window + 2 * MiB)->bus + 2 * MiB - 1) / (2 * MiB) * (2 * MiB);
        memory = buffer;
        if (pages == Pages::off)
            return;
        const auto root = page(), contexts = page();
        tables = page();
        put(root + bdf.bus() * 16u, RootEntry{}.set<"p">(true).set<"ctp">(contexts));
        put(contexts + (bdf.value & 0xffu) * 16u, testbench::IommuBench::context(1, tables));
        const unsigned shift = pages == Pages::small ? 12 : 21;
        for (std::uint64_t at = 0; at < large_window; at += std::uint64_t{1} << shift)
            map(iova + at, buffer + at, shift);
        write(Register::rtaddr, root, 8);
        write(Register::gcmd, GlobalCommand::mask<"srtp">);
        write(Register::gcmd, GlobalCommand::mask<"te">);
        buffer = iova;
    }
    /// The processor uses what the device is going to.
    void warm(std::uint64_t window) { host.root_complex().cache().touch(memory, window); }
    static platform::host::HostConfig config(const model::pcie::LinkConfig& link) {
        using namespace std::chrono_literals;
        platform::host::HostConfig host;
        host.switch_slots = 0, host.root_slots = 1;
        host.device_link = link;
        host.max_payload = link.max_payload;
        host.iommu = model::iommu::IommuModuleConfig{
            .core = {.iotlb = {.entries = 64, .ways = 64}}, .miss_latency = 145ns, .walkers = 5};
        host.cache = {.bytes = 15 * MiB, .ways = 20}; // of an E5-2620 v3
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

/// Ends the process when the machine refuses an access.
AccessRate run(const RandomAccess& access) {
    Machine machine(access.pages, access.link);
    if (!access.is_cold)
        machine.warm(access.window);
    auto& dma = machine.card.endpoint.dma();
    const auto& link = *machine.host.slot_link(0);
    std::vector<std::byte> bytes(access.bytes);
    std::mt19937_64 random(1);
    const Time interval{static_cast<std::int64_t>(access.interval_ns * 1000)};
    std::priority_queue<Time, std::vector<Time>, std::greater<>> under_way;
    Time next{}, begin{}, took{};
    std::array<Time, 2> busy{};
    const auto look = [&](unsigned i) { return link.account(static_cast<model::pcie::Direction>(i)).usage.busy; };
    const auto warm = access.accesses / 4;
    for (unsigned i = 0; i < warm + access.accesses; ++i) {
        auto at = next;
        if (under_way.size() == access.outstanding) {
            at = std::max(at, under_way.top());
            under_way.pop();
        }
        next = at + interval;
        if (i == warm)
            begin = at, took = {}, busy = {look(0), look(1)};
        const abi::BusAddress address{machine.buffer + random() % (access.window / access.bytes) * access.bytes};
        const auto result = access.is_write ? dma.write(address, bytes, at, model::port::Purpose::payload)
                                            : dma.read(address, bytes, at, model::port::Purpose::payload);
        if (!result.is_ok())
            std::_Exit(1);
        took += result.done - at;
        under_way.push(result.done);
    }
    const auto elapsed = static_cast<double>((next - begin).count());
    const auto share = [&](unsigned i) { return static_cast<double>((look(i) - busy[i]).count()) / elapsed; };
    return {.gbps = static_cast<double>(access.accesses) * access.bytes * 8000 / elapsed,
            .latency_ns = static_cast<double>(took.count()) / 1000 / access.accesses,
            .upstream = share(static_cast<unsigned>(model::pcie::Direction::upstream)),
            .downstream = share(static_cast<unsigned>(model::pcie::Direction::downstream))};
}

} // namespace

std::optional<AccessRate> measure(const RandomAccess& access) {
    return harness::in_process_of_its_own([&] { return run(access); });
}

} // namespace calibrate
