// What a processor sees of a card's posted writes over timed links: everything in the order in which it was issued, by
// whatever path (PCIe 6.0 §2.4.1).
#include "testbench/harness/seed.h"
#include "testbench/module/model/pcie/translating.h"

#include "model/tlm/time.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

using abi::BusAddress;
using model::port::DmaStatus;
using model::port::Purpose;
using model::port::Time;
namespace port = model::port;
using namespace std::chrono_literals;
using Remapped = testbench::RemappedMachine;

namespace {

constexpr auto iova = Remapped::iova;

void write(Remapped& r, std::uint64_t address, std::uint8_t value, std::size_t length, Time at, Purpose purpose) {
    const std::vector<std::byte> bytes(length, std::byte{value});
    CHECK(r.dma().write(BusAddress{address}, bytes, at, purpose).is_ok());
}
Time now() { return model::tlm::kernel_now(); }
void let(Time time) { sc_core::sc_start(model::tlm::to_sc(time)); }

} // namespace

TEST_CASE("payload behind a held completion is held as long, and payload alone is there at once",
          "[module][pcie][order]") {
    Remapped r(true);
    write(r, r.page, 1, 1000, now(), Purpose::payload);
    CHECK(r.at(r.page) == 1); // not copied twice

    write(r, r.page + 2048, 2, 64, now(), Purpose::control);
    write(r, r.page, 3, 1000, now(), Purpose::payload);
    CHECK(r.at(r.page + 2048) == 0);
    CHECK(r.at(r.page) == 1);

    // A device sees all of it, and shows it to nobody by that.
    std::array<std::byte, 8> seen{};
    CHECK(r.dma().read(BusAddress{r.page + 996}, seen, now()).is_ok());
    CHECK(seen[3] == std::byte{3});
    CHECK(seen[4] == std::byte{0});
    CHECK(r.dma().lend(BusAddress{r.page}, 8, now()).data == nullptr);
    CHECK(r.dma().lend(BusAddress{r.page + 3000}, 8, now()).data != nullptr);
    CHECK(r.at(r.page) == 1);

    while (r.at(r.page) != 3)
        let(1ns);
    CHECK(r.at(r.page + 2048) == 2);
    CHECK(r.dma().lend(BusAddress{r.page}, 8, now()).data != nullptr);
}

TEST_CASE("whatever a card writes shows in the order in which it was issued, interrupts included",
          "[module][pcie][order][random]") {
    // With the unit on, every page misses once: the write that has to wait for a walk holds up those behind it.
    constexpr unsigned pages = 32, writes = 600;
    Remapped r(true);
    const auto vector = r.machine.host.interrupts().allocate();
    std::vector<std::uint64_t> bus;
    for (unsigned i = 0; i < pages; ++i)
        bus.push_back(r.allocate()), r.map(iova + 0x10000 + i * 0x1000, bus.back());
    r.enable();
    const auto seed = testbench::random_seed();
    std::string wrong;
    std::size_t shown = 0, count = 0, overtakers = 0;
    std::mt19937_64 random(seed);
    std::array<std::byte, 4> message;
    abi::store<std::uint32_t, abi::Endian::little>(message.data(), *vector);
    struct Issued {
        std::uint64_t bus;
        std::uint8_t value;
        Time at;
    };
    std::vector<Issued> issued;
    std::array<std::uint64_t, pages> used{};
    std::size_t before_interrupt = 0;
    Time raised_at{};
    bool is_raised = false;
    // Of what was made before it, whatever was issued before it shows before it. What was issued later need not wait.
    const auto look = [&] {
        while (shown != issued.size() && r.at(issued[shown].bus) == issued[shown].value)
            ++shown;
        auto missing = port::never;
        for (auto later = shown; later < issued.size(); ++later) {
            const auto& write = issued[later];
            if (r.at(write.bus) != write.value)
                missing = std::min(missing, write.at);
            else if (missing <= write.at)
                wrong = "write " + std::to_string(later) + " shows before an earlier one";
            else
                ++overtakers;
        }
        if (is_raised && r.machine.host.interrupts().take(*vector, now())) {
            for (auto earlier = shown; earlier < before_interrupt; ++earlier)
                if (issued[earlier].at <= raised_at && r.at(issued[earlier].bus) != issued[earlier].value)
                    wrong = "an interrupt comes before write " + std::to_string(earlier);
            is_raised = false;
        }
    };
    for (unsigned i = 0; i < writes; ++i) {
        // Each to a place of its own: it shows or it does not.
        const auto page = random() % pages;
        const auto length = 1 + random() % 64;
        const auto value = static_cast<std::uint8_t>(1 + random() % 255);
        const auto offset = used[page];
        if (offset + length > 4096)
            continue;
        used[page] += length;
        const auto at = now() + Time{static_cast<std::int64_t>(random() % 500'000)};
        const auto purpose = random() % 3 != 0 ? Purpose::payload : Purpose::control;
        write(r, iova + 0x10000 + page * 0x1000 + offset, value, length, at, purpose);
        issued.push_back({bus[page] + offset, value, at});
        look();
        if (!is_raised && random() % 8 == 0) {
            CHECK(r.dma().write(BusAddress{platform::host::Interrupts::message_address}, message, at).is_ok());
            is_raised = true, before_interrupt = issued.size(), raised_at = at;
        }
        for (auto steps = random() % 4; steps != 0; --steps)
            let(Time{static_cast<std::int64_t>(random() % 100'000)}), look();
    }
    let(10us);
    look();
    count = issued.size();
    INFO("HCA_SEED=" << seed);
    CHECK(wrong == "");
    CHECK(shown == count);
    CHECK(count > writes / 4);
    CHECK(overtakers > 0); // or nothing was seen of the order of those that are issued before what is made before them
}

TEST_CASE("a completion that waits for its context holds up nothing that is issued before it",
          "[module][pcie][order]") {
    Remapped r(true);
    const auto begin = now();
    write(r, r.page, 1, 64, begin + Time{17us}, Purpose::control);
    write(r, r.page + 64, 2, 64, begin, Purpose::control);
    write(r, r.page + 128, 3, 64, begin + Time{1us}, Purpose::payload);
    CHECK(r.dma().read(BusAddress{r.page}, {}, begin + Time{1us}).done < begin + Time{5us});

    while (r.at(r.page + 128) != 3 && now() - begin < Time{30us})
        let(10ns);
    CHECK(now() - begin < Time{5us});
    CHECK(r.at(r.page + 64) == 2);
    CHECK(r.at(r.page) == 0);
    while (r.at(r.page) != 1 && now() - begin < Time{30us})
        let(10ns);
    CHECK(now() - begin >= Time{17us});
    CHECK(now() - begin < Time{19us});
}

TEST_CASE("what is held is not lent behind a remapping unit, either", "[module][pcie][order][iommu]") {
    Remapped r(true);
    r.enable();
    CHECK(r.dma().lend(BusAddress{iova}, 8, now()).data != nullptr);

    write(r, iova + 2048, 2, 64, now() + Time{5us}, Purpose::control);

    CHECK(r.dma().lend(BusAddress{iova + 2048}, 8, now()).data == nullptr);
    CHECK(r.dma().lend(BusAddress{iova}, 8, now()).data != nullptr);
    let(10us);
    CHECK(r.at(r.page + 2048) == 2);
    CHECK(r.dma().lend(BusAddress{iova + 2048}, 8, now()).data != nullptr);
}

TEST_CASE("a translated write does not overtake one that the remapping unit still translates",
          "[module][pcie][order][ats]") {
    constexpr Time slow = 20us;
    Remapped r(true, Remapped::with_unit({}, {.core = {.device_tlb = true}, .miss_latency = slow}), {.entries = 16});
    r.attach(1, testbench::IommuBench::context(1, r.tables).set<"tt">(abi::iommu::TranslationType::with_device_tlb));
    r.enable();
    const auto begin = now();
    write(r, iova, 1, 64, begin, Purpose::control);
    r.machine.host.root_complex().config_write(r.machine.found(1).bdf, 0x106, 2, 0x8000, {}); // ATS from now on
    write(r, iova + 2048, 2, 64, begin, Purpose::control);

    while (r.at(r.page + 2048) != 2 && now() - begin < 5 * slow)
        let(100ns);
    CHECK(r.at(r.page + 2048) == 2);
    CHECK(r.at(r.page) == 1);
    CHECK(now() - begin >= slow);
}

TEST_CASE("requests without a direct path keep the order, and see what is held", "[module][pcie][order]") {
    Remapped r(true);
    model::pcie::WriteOrder order;
    const auto send = [&](tlm::tlm_command command, std::uint64_t address, std::uint8_t value, Time delay,
                          Purpose purpose) {
        std::array<std::byte, 4> bytes;
        bytes.fill(std::byte{value});
        model::tlm::Request request;
        request.prepare(command, address, bytes);
        request.extension.requester = r.machine.found(1).bdf;
        request.extension.purpose = purpose;
        request.extension.order = &order;
        request.extension.issued = now();
        auto late = model::tlm::to_sc(delay);
        r.machine.first.endpoint.port.send(request.payload, request.extension, late);
        REQUIRE(request.payload.is_response_ok());
        return std::pair{std::to_integer<unsigned>(bytes[0]), now() + model::tlm::from_sc(late)};
    };
    const auto first = send(tlm::TLM_WRITE_COMMAND, r.page, 1, 5us, Purpose::control).second;
    const auto second = send(tlm::TLM_WRITE_COMMAND, r.page + 64, 2, {}, Purpose::payload).second;

    CHECK(second >= first); // there at once by itself
    CHECK(r.at(r.page) == 0);
    CHECK(r.at(r.page + 64) == 0);
    CHECK(send(tlm::TLM_READ_COMMAND, r.page, 0, {}, Purpose::control).first == 1);
    while (r.at(r.page + 64) == 0)
        let(10ns);
    CHECK(r.at(r.page) == 1);
}

namespace {

/// A write waits for the walk of its page, and a read of no bytes behind it goes to a page that everybody knows.
void check_flush(bool has_ats) {
    constexpr Time slow = 20us;
    Remapped r(true, Remapped::with_unit({}, {.core = {.device_tlb = true}, .miss_latency = slow}), {.entries = 16});
    r.attach(1, testbench::IommuBench::context(1, r.tables).set<"tt">(abi::iommu::TranslationType::with_device_tlb));
    r.map(iova + 0x1000, r.allocate());
    r.enable();
    if (has_ats)
        r.machine.host.root_complex().config_write(r.machine.found(1).bdf, 0x106, 2, 0x8000, {});
    auto& link = *r.machine.host.upstream_link();
    write(r, iova + 0x1000, 1, 1, now(), Purpose::control);
    let(50us);
    CHECK(r.dma().read(BusAddress{iova + 0x1000}, {}, now()).is_ok());
    let(50us);
    const auto begin = now();
    REQUIRE(r.dma().write(BusAddress{iova}, std::array{std::byte{2}}, begin).is_ok());
    const auto requests = link.traffic(model::pcie::Direction::upstream);
    const auto answers = link.traffic(model::pcie::Direction::downstream);

    const auto flushed = r.dma().read(BusAddress{iova + 0x1000}, {}, begin);

    CHECK(flushed.is_ok());
    CHECK(flushed.done - begin > slow); // the walk of the other page
    CHECK(link.traffic(model::pcie::Direction::upstream).tlps == requests.tlps + 1);
    CHECK(link.traffic(model::pcie::Direction::downstream).tlps == answers.tlps + 1);
    while (now() < flushed.done)
        let(10ns);
    CHECK(r.at(r.page) == 2);
    CHECK(r.dma().read(BusAddress{iova + 0x5000}, {}, now()).status == DmaStatus::unsupported_request);
}

} // namespace

TEST_CASE("a read of no bytes is a request that is answered, and pushes the writes ahead of it",
          "[module][pcie][order]") {
    check_flush(false);
}

TEST_CASE("a card with a TLB sends a read of no bytes, too", "[module][pcie][order][ats]") { check_flush(true); }

TEST_CASE("a read of no bytes from a card's registers is answered without them", "[module][pcie][order]") {
    Remapped r(true);
    const auto bar = BusAddress{r.machine.bar(2, 0)};
    const auto aborting = BusAddress{bar.value + testbench::ScratchFunction::aborting_register};

    CHECK(r.dma().read(aborting, {}, now()).is_ok());
    CHECK(r.dma().read(BusAddress{0xfff'ffff'0000}, {}, now()).status == DmaStatus::unsupported_request);
}

namespace {

/// A write waits for the walk of its page, and the processor asks the card for something meanwhile. Software does so to
/// have in memory what the card has written (PCIe 6.0 §2.4.1, a completion passes no posted request).
void check_answer(bool is_config) {
    constexpr Time slow = 20us;
    Remapped r(true, Remapped::with_unit({}, {.core = {}, .miss_latency = slow}));
    r.enable();
    auto& root = r.machine.host.root_complex();
    const auto ask = [&] {
        std::array<std::byte, 4> bytes{};
        return is_config ? root.config_read(r.machine.found(1).bdf, 0, 4, now()).done
                         : root.processor().fetch(r.machine.bar(1, 0), bytes, now(), Purpose::control).done;
    };
    CHECK(ask() - now() < Time{5us});
    let(50us);
    const auto begin = now();
    write(r, iova, 7, 64, begin, Purpose::control);

    const auto done = ask();
    CHECK(done - begin > slow);
    while (now() < done)
        let(10ns);
    CHECK(r.at(r.page) == 7);
    CHECK(ask() - now() < Time{5us}); // nothing is on its way
}

} // namespace

TEST_CASE("a read of a card's registers comes back behind what the card has written before", "[module][pcie][order]") {
    check_answer(false);
}

TEST_CASE("so does a read of its configuration space", "[module][pcie][order]") { check_answer(true); }

namespace {

/// A write that has to wait for the walk of its page, and one behind it that has not. Without a TLB of the card, so
/// that the root complex walks for each by itself.
void check_order_of_pasids(bool is_first_with_pasid) {
    testbench::Asking a(true);
    a.control(testbench::ats_control, 0);
    auto& with_pasid = a.machine.first.endpoint.dma(5);
    auto& slow = is_first_with_pasid ? with_pasid : a.dma();
    auto& fast = is_first_with_pasid ? a.dma() : with_pasid;
    const auto slow_page = is_first_with_pasid ? a.other : a.page, fast_page = is_first_with_pasid ? a.page : a.other;
    REQUIRE(fast.write(BusAddress{iova}, std::array{std::byte{1}}, now()).is_ok());
    let(20us);
    REQUIRE(a.at(fast_page) == 1); // its page is known now, the other one's is not

    REQUIRE(slow.write(BusAddress{iova}, std::array{std::byte{2}}, now()).is_ok());
    REQUIRE(fast.write(BusAddress{iova}, std::array{std::byte{3}}, now()).is_ok());

    for (int steps = 0; a.at(fast_page) != 3 && steps < 10'000; ++steps)
        let(10ns);
    CHECK(a.at(fast_page) == 3);
    CHECK(a.at(slow_page) == 2);
}

} // namespace

TEST_CASE("a write without a PASID does not overtake one that has it", "[module][pcie][ats][order]") {
    check_order_of_pasids(true);
}

TEST_CASE("a write with a PASID does not overtake one without", "[module][pcie][ats][order]") {
    check_order_of_pasids(false);
}

namespace {

/// At the registers of a peer, which the host forwards to: a write waits for the walk of its page, and what is behind
/// it goes to one that everybody knows. Returns how much later that arrives there.
Time behind_a_walk(bool is_read) {
    constexpr Time slow = 20us;
    constexpr model::pcie::Acs redirect{.request_redirect = true, .upstream_forwarding = true};
    Remapped r(true, Remapped::with_unit({.acs = redirect}, {.core = {}, .miss_latency = slow}));
    const auto bar = r.machine.bar(2, 0);
    r.map(iova + 0x1000, bar), r.map(iova + 0x2000, bar + 0x1000);
    r.enable();
    auto& peer = r.machine.second.function;
    write(r, iova + 0x2000, 1, 4, now(), Purpose::control);
    let(100us);
    REQUIRE(peer.writes == 1);
    const auto begin = now();
    write(r, iova + 0x1000, 2, 4, begin, Purpose::payload);
    const auto walked = peer.last_write;
    REQUIRE(walked - begin >= slow);

    std::array<std::byte, 4> bytes{};
    if (is_read)
        CHECK(r.dma().read(BusAddress{iova + 0x2000}, bytes, begin).is_ok());
    else
        CHECK(r.dma().write(BusAddress{iova + 0x2000}, bytes, begin).is_ok());
    return (is_read ? peer.last_read : peer.last_write) - walked;
}

} // namespace

TEST_CASE("at a peer, a write does not overtake one that the remapping unit still translates",
          "[module][pcie][order][iommu]") {
    CHECK(behind_a_walk(false) >= Time{});
}

TEST_CASE("at a peer, a read does not overtake a write that the remapping unit still translates",
          "[module][pcie][order][iommu]") {
    CHECK(behind_a_walk(true) >= Time{});
}
