// Where a card's requests land, as a watch hears it: by direct paths, through a remapping unit, by translated requests.
#include "model/pcie/landing.h"
#include "testbench/harness/remapped_machine.h"

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <vector>

using namespace abi::iommu;
using abi::BusAddress;
using model::pcie::Landing;
using model::port::DmaStatus;
using model::port::Purpose;
using model::port::Time;
using testbench::IommuBench;
using testbench::ScratchFunction;
using Remapped = testbench::RemappedMachine;

namespace {

constexpr auto iova = Remapped::iova;

struct Heard final : model::pcie::LandingWatch {
    std::vector<Landing> all;
    void landed(const Landing& landing, Time) override { all.push_back(landing); }
    /// The last one; nothing else was heard since the call before.
    Landing one() {
        REQUIRE(all.size() == 1);
        const auto last = all.front();
        all.clear();
        return last;
    }
};

} // namespace

TEST_CASE("a watch hears of writes, reads and loans on direct paths, at their own addresses",
          "[module][pcie][landing]") {
    Remapped r;
    Heard heard;
    r.machine.first.endpoint.set_watch(&heard);
    const auto peer = r.machine.bar(2, ScratchFunction::memory_bar);

    for (const auto address : {r.page + 8, peer + 8}) {
        CHECK(r.send(address, 1, 16).is_ok());
        const auto written = heard.one();
        CHECK(written.requester.value == r.machine.found(1).bdf.value);
        CHECK(written.address == address);
        CHECK(written.physical == address);
        CHECK(written.length == 16);
        CHECK(written.is_write);
        CHECK_FALSE(written.is_translated);
        CHECK(written.purpose == Purpose::payload);
        std::array<std::byte, 4> bytes{};
        CHECK(r.dma().read(BusAddress{address}, bytes, {}).is_ok());
        CHECK_FALSE(heard.one().is_write);
        CHECK(r.dma().lend(BusAddress{address}, 32, {}).data != nullptr);
        CHECK(heard.one().length == 32);
    }
    r.machine.first.endpoint.set_watch(nullptr);
    CHECK(r.send(r.page, 1).is_ok());
    CHECK(heard.all.empty());
}

TEST_CASE("a watch hears of no write that was lost, and of the next one to the same place", "[module][pcie][landing]") {
    Remapped r;
    Heard heard;
    r.machine.first.endpoint.set_watch(&heard);
    const auto peer = r.machine.bar(2, ScratchFunction::memory_bar);
    const auto decode = [&](bool is_on) {
        r.machine.host.root_complex().config_write(r.machine.found(2).bdf, 4, 2, is_on ? 6 : 4, {});
    };

    decode(false);
    CHECK(r.send(peer, 1).status == DmaStatus::unsupported_request);
    CHECK(heard.all.empty());

    decode(true);
    CHECK(r.send(peer, 2).is_ok());
    CHECK(heard.one().physical == peer);
}

TEST_CASE("a watch hears where the remapping unit has led each request, stale translations included",
          "[module][pcie][landing][iommu]") {
    Remapped r;
    const auto other = r.allocate();
    r.enable();
    Heard heard;
    r.machine.first.endpoint.set_watch(&heard);

    CHECK(r.send(iova + 5, 1).is_ok());
    const auto first = heard.one();
    CHECK(first.address == iova + 5);
    CHECK(first.physical == r.page + 5);
    CHECK(first.is_translated);

    r.put(r.leaf, IommuBench::leaf(other));
    CHECK(r.dma().lend(BusAddress{iova}, 64, {}).data != nullptr);
    CHECK(heard.one().physical == r.page); // no invalidation: the IOTLB has the old page
    r.invalidate(iova);
    CHECK(r.send(iova, 2).is_ok());
    CHECK(heard.one().physical == other);

    CHECK(r.send(iova + 0x1000, 2).status == DmaStatus::unsupported_request);
    CHECK(heard.all.empty()); // nothing landed
}

TEST_CASE("a watch hears where translated requests go, as the card's own TLB has it", "[module][pcie][landing][ats]") {
    Remapped r(false, Remapped::with_unit({}, {.core = {.device_tlb = true}}), {.entries = 16});
    const auto other = r.allocate();
    r.attach(1, IommuBench::context(1, r.tables).set<"tt">(TranslationType::with_device_tlb));
    r.enable();
    r.machine.host.root_complex().config_write(r.machine.found(1).bdf, 0x106, 2, 0x8000, {});
    Heard heard;
    r.machine.first.endpoint.set_watch(&heard);

    CHECK(r.send(iova + 5, 1).is_ok());
    const auto first = heard.one();
    CHECK(first.address == iova + 5);
    CHECK(first.physical == r.page + 5);
    CHECK(first.is_translated);
    r.put(r.leaf, IommuBench::leaf(other));
    r.invalidate(iova);
    std::array<std::byte, 8> bytes{};
    CHECK(r.dma().read(BusAddress{iova}, bytes, {}).is_ok());
    CHECK(heard.one().physical == r.page); // the card was not told
    CHECK(r.dma().lend(BusAddress{iova}, 8, {}).data != nullptr);
    CHECK(heard.one().physical == r.page);

    constexpr std::uint64_t nowhere = 0xff'0000'0000;
    r.map(iova + 0x1000, nowhere); // translated to it, and lost there
    CHECK(r.send(iova + 0x1000, 3).status == DmaStatus::unsupported_request);
    CHECK(heard.all.empty());
}

namespace {

/// A packet under way that refers to the page of `iova`, by a card's request.
struct Lent {
    Lent(model::port::Dma& dma, abi::BusAddress address) {
        const auto loan = dma.lend(address, 64, {}, Purpose::payload);
        REQUIRE(loan.data != nullptr);
        payload.lend({loan.data, 64}, dma.loans().requests);
    }
    model::port::Payload payload;
};

} // namespace

TEST_CASE("before an invalidation is complete, what cards were lent is theirs", "[module][pcie][landing][iommu]") {
    Remapped r;
    r.attach(2, IommuBench::context(1, r.tables));
    r.enable();
    const Lent first(r.dma(), BusAddress{iova}), second(r.machine.second.endpoint.dma(), BusAddress{iova});

    r.invalidate(iova);
    CHECK_FALSE(first.payload.is_lent());
    CHECK_FALSE(second.payload.is_lent());
    REQUIRE(r.is_done());
}

TEST_CASE("before a card completes an invalidation of its TLB, what it was lent is its own",
          "[module][pcie][landing][ats]") {
    Remapped r(false, Remapped::with_unit({}, {.core = {.device_tlb = true}}), {.entries = 16});
    r.attach(1, IommuBench::context(1, r.tables).set<"tt">(TranslationType::with_device_tlb));
    r.attach(2, IommuBench::context(1, r.tables));
    r.enable();
    r.machine.host.root_complex().config_write(r.machine.found(1).bdf, 0x106, 2, 0x8000, {});
    const Lent first(r.dma(), BusAddress{iova}), second(r.machine.second.endpoint.dma(), BusAddress{iova});

    r.submit(DeviceTlbDescriptor{}.set<"type">(3).set<"sid">(r.machine.found(1).bdf.value).set<"addr">(iova));

    CHECK_FALSE(first.payload.is_lent());
    CHECK(second.payload.is_lent());
    REQUIRE(r.is_done());
}
