// Cards that translate their own addresses: translation requests, the TLB, invalidation, translated requests between
// cards, page requests, PASIDs.
#include "testbench/module/model/pcie/translating.h"

#include "model/tlm/kernel_clock.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>

using namespace abi::iommu;
using abi::BusAddress;
using model::pcie::Acs;
using model::pcie::TargetKind;
using model::port::DmaStatus;
using model::port::Purpose;
using model::port::Time;
using testbench::Asking;
using testbench::ats_control;
using testbench::ats_enable;
using testbench::IommuBench;
using testbench::ScratchFunction;
using testbench::Translating;

namespace {

constexpr auto iova = Translating::iova;

constexpr Acs redirect{
    .source_validation = true, .request_redirect = true, .completion_redirect = true, .upstream_forwarding = true};

} // namespace

TEST_CASE("capabilities of translation stand in extended configuration space where the function has them",
          "[module][pcie][ats]") {
    Translating t({}, false);

    CHECK(t.status(0x100, 4) == 0x1101'000f);
    CHECK(t.status(0x110, 4) == 0x1201'0013);
    CHECK(t.status(0x120, 4) == 0x0001'001b);
    CHECK(t.status(0x125, 1) == 20);
    t.control(ats_control, 0xffff);
    CHECK(t.status(ats_control) == ats_enable);
}

TEST_CASE("a card with a TLB asks once for a page and sends translated requests from then on", "[module][pcie][ats]") {
    Translating t;
    const auto before = t.iotlb();
    const auto up = t.upstream_tlps();

    for (unsigned i = 0; i < 5; ++i)
        CHECK(t.send(iova + 0x40 * i, 0x5a, 64).is_ok());

    CHECK(t.at(t.page) == 0x5a);
    CHECK(t.at(t.page + 5 * 0x40 - 1) == 0x5a);
    CHECK(t.at(t.page + 5 * 0x40) == 0);
    CHECK(t.tlb().misses == 1);
    CHECK(t.tlb().hits == 4);
    CHECK(t.iotlb().misses - before.misses == 1);
    CHECK(t.iotlb().hits == before.hits); // translated requests are not looked up
    CHECK(t.upstream_tlps() - up == 6);   // the translation request, and five writes
    CHECK(t.dma().lend(BusAddress{iova}, 64, {}).data == t.machine.host.memory().at(t.page));
}

TEST_CASE("while it is not enabled, a card with a TLB leaves translation to the root complex", "[module][pcie][ats]") {
    Translating t({}, false);

    CHECK(t.send(iova, 1).is_ok());

    CHECK(t.at(t.page) == 1);
    CHECK(t.tlb().misses == 0);
    CHECK(t.iotlb().misses == 1);
}

TEST_CASE("a page stays in the card until the card is told, and then is gone", "[module][pcie][ats]") {
    Translating t;
    const auto moved = t.allocate();
    CHECK(t.send(iova, 1).is_ok());
    t.map(iova, moved);
    t.invalidate(iova); // the unit's own entry; the card has its own
    REQUIRE(t.is_done());

    CHECK(t.send(iova, 2).is_ok());
    CHECK(t.at(t.page) == 2);
    CHECK(t.at(moved) == 0);

    t.invalidate_device(iova);
    CHECK(t.is_done());
    CHECK(t.tlb().invalidated == 1);
    CHECK(t.send(iova, 3).is_ok());
    CHECK(t.at(t.page) == 2);
    CHECK(t.at(moved) == 3);
}

TEST_CASE("a page that is not there, or not for writing, ends the access in the card", "[module][pcie][ats]") {
    Translating t;
    const auto read_only = t.allocate();
    t.map(iova + 0x1000, read_only, 12, true, false);
    const auto up = t.upstream_tlps();

    const std::array byte{std::byte{1}};
    for (const auto address : {iova + 0x2000, iova + 0x1000}) // the card knows it: its own TLB says so
        CHECK(t.dma().write(BusAddress{address}, byte, {}).status == DmaStatus::unsupported_request);

    CHECK(t.at(read_only) == 0);
    CHECK(t.upstream_tlps() - up == 2);                            // both were asked for, neither was sent
    CHECK_FALSE(FaultStatus{t.read(Register::fsts)}.get<"ppf">()); // that is an answer and no fault
    std::array<std::byte, 4> bytes{};
    CHECK(t.dma().read(BusAddress{iova + 0x1000}, bytes, {}).is_ok());
    t.map(iova + 0x2000, t.allocate());
    CHECK(t.send(iova + 0x2000, 1).is_ok()); // what was not there was not kept
}

TEST_CASE("a context that lets in no translated requests blocks the card, and says so", "[module][pcie][ats]") {
    Translating t;
    t.attach(1, IommuBench::context(1, t.tables)); // untranslated requests only

    CHECK(t.send(iova, 1).status == DmaStatus::unsupported_request);

    CHECK(t.at(t.page) == 0);
    const FaultRecord record{{0, t.read(model::iommu::fault_record_offset + 8, 8)}};
    CHECK(record.get<"fr">() == static_cast<unsigned>(FaultReason::blocked));
    CHECK(record.get<"at">() == 1);
}

TEST_CASE("a card that does not complete an invalidation stops the queue", "[module][pcie][ats]") {
    Translating t({}, false);
    t.invalidate_device(iova);

    CHECK_FALSE(t.is_done());

    CHECK(FaultStatus{t.read(Register::fsts)}.get<"ite">());
    CHECK(QueueErrorRecord{t.read(Register::iqercd, 8)}.get<"itesid">() == t.machine.found(1).bdf.value);
}

namespace {

/// The card writes a completion that crosses its links late, and its translation goes before that.
void check_write_drained(Translating& t, void (Translating::*invalidate)(std::uint64_t)) {
    constexpr Time late = std::chrono::microseconds{5};
    REQUIRE(t.dma().write(BusAddress{iova}, std::array{std::byte{0x5a}}, late).is_ok()); // control: it shows later
    t.put(t.leaf, SecondStageEntry{});
    (t.*invalidate)(iova);
    CHECK_FALSE(t.is_done());

    std::uint32_t word = 0;
    for (int steps = 0; word == 0 && steps < 200; ++steps) {
        CHECK(t.at(t.page) == 0);
        sc_core::sc_start(100, sc_core::SC_NS);
        std::memcpy(&word, t.machine.host.memory().at(t.words), sizeof word);
    }

    CHECK(word == 1);
    CHECK(t.at(t.page) == 0x5a);
    CHECK(model::tlm::kernel_now() >= late);
}

} // namespace

TEST_CASE("a wait behind an invalidation completes when what was written by the old translation is in memory",
          "[module][pcie][ats][iommu]") {
    Translating t({}, false, true);
    check_write_drained(t, &Translating::invalidate);
}

TEST_CASE("a wait behind the invalidation of a card's TLB completes when what was written by it is in memory",
          "[module][pcie][ats][iommu]") {
    Translating t({}, true, true);
    check_write_drained(t, &Translating::invalidate_device);
}

TEST_CASE("a wait without an invalidation before it waits for nobody's writes", "[module][pcie][ats][iommu]") {
    Translating t({}, false, true);
    REQUIRE(t.dma().write(BusAddress{iova}, std::array{std::byte{0x5a}}, std::chrono::microseconds{5}).is_ok());
    CHECK_FALSE(t.is_done());

    sc_core::sc_start(2, sc_core::SC_US);

    std::uint32_t word = 0;
    std::memcpy(&word, t.machine.host.memory().at(t.words), sizeof word);
    CHECK(word == 1);
    CHECK(t.at(t.page) == 0);
}

TEST_CASE("an invalidation is waited for until the card has completed it", "[module][pcie][ats]") {
    Translating t({}, true, true);
    CHECK(t.send(iova, 1).is_ok());
    t.invalidate_device(iova);
    CHECK_FALSE(t.is_done()); // the status word shows when the completion has crossed the links

    sc_core::sc_start(2, sc_core::SC_US);
    std::uint32_t word = 0;
    std::memcpy(&word, t.machine.host.memory().at(t.words), sizeof word);
    CHECK(word == 1);
}

namespace {

/// A translated write of 64 bytes to the other card.
struct Crossing : Translating {
    model::port::DmaResult result;
    std::uint64_t upstream = 0; ///< requests that it put on the upstream link

    Crossing(const Acs& acs, bool peer_forwarding) : Translating({.peer_forwarding = peer_forwarding, .acs = acs}) {
        map(iova + 0x1000, machine.bar(2, ScratchFunction::memory_bar));
        REQUIRE(send(iova, 1).is_ok()); // host memory is reached in any case
        const auto before = upstream_tlps();
        result = send(iova + 0x1040, 0x77, 64);
        upstream = upstream_tlps() - before;
    }
    /// Bytes of the other card that have changed, and of these those that should.
    std::pair<std::int64_t, std::int64_t> arrived() {
        const std::span memory(machine.second.function.memory);
        return {std::ranges::count_if(memory, [](std::byte b) { return b != std::byte{}; }),
                std::ranges::count(memory.subspan(0x40, 64), std::byte{0x77})};
    }
    std::uint64_t payload(TargetKind kind) const { return machine.first.endpoint.volume(kind).payload(); }
};

constexpr Acs direct_translated{.source_validation = true,
                                .request_redirect = true,
                                .completion_redirect = true,
                                .upstream_forwarding = true,
                                .direct_translated = true};
} // namespace

TEST_CASE("a direct translated request goes straight to the other card, whatever the host thinks of peers",
          "[module][pcie][ats][acs]") {
    Crossing c(direct_translated, false);

    CHECK(c.result.is_ok());
    CHECK(c.arrived() == std::pair<std::int64_t, std::int64_t>{64, 64});
    CHECK(c.upstream == 1); // the translation request
    CHECK(c.payload(TargetKind::peer) == 64);
    CHECK(c.payload(TargetKind::redirected_peer) == 0);
    // An untranslated one is redirected, and refused.
    c.control(ats_control, 0);
    CHECK(c.send(iova + 0x1080, 0x77).status == DmaStatus::unsupported_request);
    CHECK(c.arrived().first == 64);
}

TEST_CASE("a translated request is redirected like others where direct translated is off", "[module][pcie][ats][acs]") {
    Crossing c(redirect, true);

    CHECK(c.result.is_ok());
    CHECK(c.arrived() == std::pair<std::int64_t, std::int64_t>{64, 64});
    CHECK(c.upstream == 2);
    CHECK(c.payload(TargetKind::peer) == 0);
    CHECK(c.payload(TargetKind::redirected_peer) == 64);
    std::array<std::byte, 64> back{};
    CHECK(c.dma().read(BusAddress{iova + 0x1040}, back, {}, Purpose::payload).is_ok());
    CHECK(std::ranges::count(back, std::byte{0x77}) == 64);
}

TEST_CASE("a redirected translated request is refused by a host that forwards nothing", "[module][pcie][ats][acs]") {
    Crossing c(redirect, false);

    CHECK(c.result.status == DmaStatus::unsupported_request);
    CHECK(c.arrived().first == 0);
}

TEST_CASE("a redirected request is translated in the root complex and goes back down", "[module][pcie][ats][acs]") {
    Translating t({.acs = redirect}, false);
    t.map(iova + 0x1000, t.machine.bar(2, ScratchFunction::memory_bar));

    for (unsigned i = 0; i < 2; ++i)
        CHECK(t.send(iova + 0x1000 + i, 0x66).is_ok());
    // By bus address it is an address that nothing is mapped to.
    CHECK(t.send(t.machine.bar(2, ScratchFunction::memory_bar), 0x11).status == DmaStatus::unsupported_request);

    CHECK(t.machine.second.function.memory[0] == std::byte{0x66});
    CHECK(t.machine.second.function.memory[1] == std::byte{0x66});
    CHECK(t.machine.first.endpoint.volume(TargetKind::redirected_peer).payload() == 2);
}

TEST_CASE("translation blocking keeps translated requests and translation requests out", "[module][pcie][ats][acs]") {
    Translating t({.acs = {.translation_blocking = true}});

    CHECK(t.send(iova, 1).status == DmaStatus::completer_abort);
    t.control(ats_control, 0);
    CHECK(t.send(iova, 2).is_ok());
    CHECK(t.at(t.page) == 2);
}

TEST_CASE("a card keeps no page over the time that its TLB was off", "[module][pcie][ats]") {
    Translating t;
    const auto moved = t.allocate();
    CHECK(t.send(iova, 1).is_ok());
    t.control(ats_control, 0);
    t.map(iova, moved);
    t.invalidate(iova);
    t.control(ats_control, ats_enable);

    CHECK(t.send(iova, 2).is_ok());
    CHECK(t.at(moved) == 2);
}

TEST_CASE("large pages are one entry of the card's TLB", "[module][pcie][ats]") {
    Translating t;
    const std::uint64_t large = 0x4000'0000, host = 0x20'0000;
    t.map(large, host, 21);
    const auto before = t.tlb();

    for (std::uint64_t offset = 0; offset < 0x20'0000; offset += 0x4'1000)
        CHECK(t.send(large + offset, 9).is_ok());

    CHECK(t.at(host + 0x4'1000) == 9);
    CHECK(t.tlb().misses - before.misses == 1);
}

// --- page requests and PASIDs ---

TEST_CASE("a page request is written where software reads it, and its answer comes back", "[module][pcie][ats]") {
    Asking a;
    auto& card = a.machine.first;

    CHECK(
        card.endpoint.request_page({.address = 0x77'7000, .group = 3, .is_read = true, .is_write = true}, {}).is_ok());

    const auto request = a.get<PageRequestDescriptor>(a.queue_page);
    CHECK(request.get<"rid">() == a.machine.found(1).bdf.value);
    CHECK(request.get<"addr">() == 0x77'7000);
    CHECK(request.get<"wr">());
    CHECK(request.get<"lpig">());
    CHECK(request.get<"prgi">() == 3);
    CHECK(card.function.page_answers.empty());
    a.answer(PageResponseDescriptor{}
                 .set<"type">(static_cast<std::uint64_t>(DescriptorType::page_response))
                 .set<"rid">(a.machine.found(1).bdf.value)
                 .set<"prgi">(3)
                 .set<"code">(ResponseCode::success));
    REQUIRE(card.function.page_answers.size() == 1);
    CHECK(card.function.page_answers[0] == ScratchFunction::PageAnswer{3, 0});
    CHECK((a.status(0x116) & 3) == 0);
}

TEST_CASE("a card asks for no more pages than it may, and notes an answer that it did not ask for",
          "[module][pcie][ats]") {
    Asking a;
    auto& endpoint = a.machine.first.endpoint;
    for (std::uint16_t group = 0; group < 8; ++group)
        CHECK(endpoint.request_page({.address = 0x1000, .group = group}, {}).is_ok());

    CHECK(endpoint.request_page({.address = 0x1000, .group = 8}, {}).status == DmaStatus::unsupported_request);
    a.answer(PageResponseDescriptor{}
                 .set<"type">(static_cast<std::uint64_t>(DescriptorType::page_response))
                 .set<"rid">(a.machine.found(1).bdf.value)
                 .set<"prgi">(99)
                 .set<"code">(ResponseCode::failure));
    CHECK(a.machine.first.function.page_answers.empty());
    CHECK((a.status(0x116) & 3) == 3); // response failure, unexpected group
    a.control(0x114, 0);
    CHECK(endpoint.request_page({.address = 0x1000}, {}).status == DmaStatus::unsupported_request);
}

TEST_CASE("requests with a PASID reach the address space of that PASID", "[module][pcie][ats]") {
    Asking a;
    const std::array byte{std::byte{0x42}};
    auto& dma = a.machine.first.endpoint.dma(5);

    CHECK(a.send(iova, 0x11).is_ok());
    CHECK(dma.write(BusAddress{iova}, byte, {}).is_ok());

    CHECK(a.at(a.page) == 0x11);
    CHECK(a.at(a.other) == 0x42);
    CHECK_FALSE(a.machine.first.endpoint.dma(6).write(BusAddress{iova}, byte, {}).is_ok());
    a.control(ats_control, 0); // untranslated, with the prefix
    const std::array another{std::byte{0x43}};
    CHECK(dma.write(BusAddress{iova}, another, {}).is_ok());
    CHECK(a.at(a.other) == 0x43);
    CHECK(dma.write(BusAddress{iova + 0x5000}, byte, {}).is_ok()); // lost, which is said, but not to the card
    CHECK(a.machine.first.lost.size() == 1);
    a.control(0x126, 0);
    CHECK(dma.write(BusAddress{iova}, byte, {}).status == DmaStatus::unsupported_request);
}
