#include "platform/observe/ownership/function_watch.h"

#include "model/hca/tpt/key_grants.h"

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <vector>

using namespace platform::observe;
using namespace platform::observe::ownership;
using model::hca::tpt::MkeyAttributes;
using model::port::Allowance;
using model::port::Grant;
using model::port::GrantKind;
using model::port::Purpose;
using model::port::Time;

namespace {

constexpr std::uint16_t hca = 0x0300, source = 5, domain = 7;
constexpr std::uint64_t page = 4096, first = 0x10'0000, second = 0x20'0000, iova = 0x1'0000'0000;

/// One host with one function, and the time that only the test moves.
struct Bench final : private traces::Sink {
    Time now{};
    Ownership ownership{[this] { return now; }};
    model::hca::tpt::MkeyTable keys;
    std::vector<traces::StaleAccess> events;
    FunctionWatch watch{ownership, "B.hca", traces::Events(this, source), [] { return hca; }};
    model::hca::tpt::KeyGrants grants{keys, watch, source};

    void on(const traces::Stamp&, const traces::Event& event) override {
        if (const auto* access = std::get_if<traces::StaleAccess>(&event))
            events.push_back(*access);
    }
    void at(int us) { now = std::chrono::microseconds{us}; }
    std::uint32_t create(std::uint32_t index, std::vector<std::uint64_t> pages, std::uint64_t start = 0) {
        MkeyAttributes attributes;
        attributes.start = start;
        attributes.length = pages.size() * page;
        keys.create(index, std::move(attributes), std::move(pages));
        return index << 8;
    }
    void access(std::uint32_t key, std::uint64_t address, std::uint64_t physical, bool is_write = true,
                std::uint64_t length = 64) {
        grants.on({0, source}, traces::Translated{key, address, length, 1});
        land(address, physical, is_write, length, Purpose::payload);
    }
    void land(std::uint64_t address, std::uint64_t physical, bool is_write, std::uint64_t length, Purpose purpose) {
        watch.landed({.requester = abi::pcie::Bdf{hca},
                      .address = address,
                      .physical = physical,
                      .length = length,
                      .is_write = is_write,
                      .is_translated = address != physical,
                      .purpose = purpose},
                     now);
    }
    const std::vector<StaleFinding>& findings() const { return ownership.findings(); }
};

} // namespace

TEST_CASE("DMA to a page is nothing while the page is the owner's for whom it was mapped",
          "[unit][observe][ownership]") {
    Bench bench;
    bench.ownership.own(first, 2 * page, "X");
    const auto key = bench.create(1, {first, first + page}, first);
    bench.access(key, first + 100, first + 100);
    bench.access(key, first + page - 8, first + page - 8);

    CHECK(bench.findings().empty());
    CHECK(bench.events.empty());
}

TEST_CASE("DMA by a key to a page that has another owner since is found, with the times of both",
          "[unit][observe][ownership]") {
    Bench bench;
    bench.at(1);
    bench.ownership.own(first, 2 * page, "X");
    bench.at(2);
    const auto key = bench.create(1, {first, first + page}, first);
    bench.at(3);
    bench.ownership.own(first + page, page, "Y");
    bench.at(4);
    bench.access(key, first + page - 16, first + page - 16, false);

    REQUIRE(bench.findings().size() == 1);
    const auto& access = bench.findings()[0].access;
    CHECK(access.requester == hca);
    CHECK(access.key == key);
    CHECK(access.page == first + page);
    CHECK(access.address == first + page);
    CHECK(access.length == 48);
    CHECK_FALSE(access.is_write);
    CHECK(access.mapping == stale::key);
    CHECK(access.owner_then == "X");
    CHECK(access.owner_now == "Y");
    CHECK(access.mapped_ps == 2'000'000);
    CHECK(access.changed_ps == 3'000'000);
    CHECK(bench.findings()[0].at == Time{4'000'000});
    CHECK(bench.events.size() == 1);
}

TEST_CASE("a stale key is found although the new owner has the same page registered with the same device",
          "[unit][observe][ownership]") {
    Bench bench;
    bench.ownership.own(first, page, "X");
    const auto old_key = bench.create(1, {first}, first);
    bench.ownership.own(first, page, "Y");
    const auto new_key = bench.create(2, {first}, first);

    bench.access(new_key, first, first);
    CHECK(bench.findings().empty());
    bench.access(old_key, first, first);
    REQUIRE(bench.findings().size() == 1);
    CHECK(bench.findings()[0].access.key == old_key);
}

TEST_CASE("a buffer that comes back to its owner as another generation is another's for old mappings",
          "[unit][observe][ownership]") {
    Bench bench;
    bench.ownership.own(first, page, "X, generation 1");
    const auto key = bench.create(1, {first}, first);
    bench.ownership.own(first, page, "X, generation 2");
    bench.access(key, first, first);
    CHECK(bench.findings().size() == 1);
}

TEST_CASE("memory that was given back is nobody's: DMA there is found, by whatever mapping it came",
          "[unit][observe][ownership]") {
    Bench bench;
    bench.ownership.own(first, page, "a completion queue");
    bench.ownership.disown(first, page);
    bench.watch.landed(
        {.requester = abi::pcie::Bdf{hca}, .address = first, .physical = first, .length = 64, .is_write = true},
        bench.now);

    REQUIRE(bench.findings().size() == 1);
    CHECK(bench.findings()[0].access.mapping == stale::unknown);
    CHECK(bench.findings()[0].access.owner_now == "nobody (before: a completion queue)");
}

TEST_CASE("memory of which nobody said whose it is is not looked at", "[unit][observe][ownership]") {
    Bench bench;
    const auto key = bench.create(1, {first}, first);
    bench.access(key, first, first);
    CHECK(bench.findings().empty());
}

TEST_CASE("a key whose pages were entered anew follows its buffer", "[unit][observe][ownership]") {
    Bench bench;
    bench.ownership.own(first, page, "X");
    const auto key = bench.create(1, {first}, iova);
    bench.ownership.own(second, page, "X");
    bench.ownership.disown(first, page);
    auto& mkey = *bench.keys.find(1);
    mkey.mtt[0] = second;
    bench.keys.note_mapped(mkey, 0, 1);

    bench.access(key, second, second);
    CHECK(bench.findings().empty());
}

TEST_CASE("what an IOTLB has kept is found with its history: unmapped, and not invalidated",
          "[unit][observe][ownership][iommu]") {
    Bench bench;
    bench.ownership.attach(hca, domain);
    bench.ownership.own(first, page, "X");
    bench.at(1);
    bench.ownership.map(domain, iova, first, page);
    bench.at(2);
    bench.ownership.unmap(domain, iova, page);
    bench.ownership.disown(first, page);
    bench.at(3);
    bench.ownership.own(first, page, "Y");
    // A key of the new owner of the address, which leads elsewhere by now.
    bench.ownership.own(second, page, "Z");
    bench.ownership.map(domain, iova, second, page);
    const auto key = bench.create(1, {iova}, iova);
    bench.access(key, iova + 8, second + 8);
    CHECK(bench.findings().empty());

    bench.access(key, iova + 8, first + 8);

    REQUIRE(bench.findings().size() == 1);
    const auto& access = bench.findings()[0].access;
    CHECK(access.mapping == stale::key_and_unit); // the key was made for Z
    CHECK(access.owner_then == "X");
    CHECK(access.owner_now == "Y");
    CHECK(access.mapped_ps == 1'000'000);
    CHECK(access.unmapped_ps == 2'000'000);
    CHECK(access.invalidated_ps == ~std::uint64_t{0});
    CHECK(to_string(bench.findings()[0]).contains("unmapped at 2.000 us, invalidated never"));
}

TEST_CASE("an invalidation is part of the history of what it covers", "[unit][observe][ownership][iommu]") {
    Bench bench;
    bench.ownership.attach(hca, domain);
    bench.ownership.own(first, 2 * page, "X");
    bench.ownership.map(domain, iova, first, page);
    bench.ownership.map(domain, iova + page, first + page, page);
    bench.ownership.unmap(domain, iova, 2 * page);
    bench.at(5);
    bench.ownership.invalidated({.domain = domain, .begin = iova + page, .last = iova + 2 * page - 1});
    bench.ownership.invalidated({.domain = domain + 1});
    bench.ownership.own(first, 2 * page, "Y");

    bench.access(0, iova, first);
    bench.access(0, iova + page, first + page);

    REQUIRE(bench.events.size() == 1); // the same owner by the same kind of mapping is counted
    CHECK(bench.events[0].invalidated_ps == ~std::uint64_t{0});
    CHECK(bench.findings()[0].count == 2);
    CHECK(bench.ownership.take_findings().size() == 1);
    bench.access(0, iova + page, first + page);
    REQUIRE(bench.events.size() == 2);
    CHECK(bench.events[1].invalidated_ps == 5'000'000);
}

TEST_CASE("a key over another key is as stale as the one behind it, and only where that is used",
          "[unit][observe][ownership]") {
    Bench bench;
    bench.ownership.own(first, page, "X");
    bench.ownership.own(second, page, "X");
    const auto stale_one = bench.create(1, {first}, first), good_one = bench.create(2, {second}, second);
    MkeyAttributes attributes;
    attributes.mode = abi::prm::AccessMode::klms;
    attributes.length = 2 * page;
    auto& indirect = bench.keys.create(3, std::move(attributes), {});
    indirect.ranges = {{.end = page, .key = abi::Key{stale_one}, .address = first, .length = page},
                       {.end = 2 * page, .key = abi::Key{good_one}, .address = second, .length = page}};
    bench.ownership.own(first, page, "Y");

    const auto use = [&](std::uint64_t address, std::uint64_t bus) {
        bench.grants.on({0, source}, traces::Translated{3 << 8, address, 64, 1});
        bench.land(bus, bus, false, 64, Purpose::payload);
    };
    use(page + 8, second + 8);
    CHECK(bench.findings().empty());
    use(8, first + 8);
    REQUIRE(bench.findings().size() == 1);
    CHECK(bench.findings()[0].access.mapping == stale::key);
}

TEST_CASE("a page that has another owner since a command was rung for is none of its data pointer's",
          "[unit][observe][ownership]") {
    Bench bench;
    bench.at(1);
    bench.ownership.own(first, page, "X");
    bench.ownership.own(second, page, "X");
    const Grant prp1{
        .kind = GrantKind::prp, .object = 0x12, .holder = 1, .part = 1, .since = std::chrono::microseconds{2}};
    auto prp2 = prp1;
    prp2.part = 2;
    const std::array pointer{Allowance{prp1, first, page}, Allowance{prp2, second, page}};
    bench.at(3);
    bench.ownership.own(second, page, "Y");
    bench.at(4);
    bench.watch.use(Purpose::payload, pointer);

    bench.land(first, first, true, page, Purpose::payload);
    bench.land(second, second, true, 512, Purpose::control); // by nothing that is known
    CHECK(bench.findings().empty());
    bench.land(second, second, true, 512, Purpose::payload);

    REQUIRE(bench.findings().size() == 1);
    const auto& access = bench.findings()[0].access;
    CHECK(access.mapping == stale::data_pointer);
    CHECK(access.owner_then == "X");
    CHECK(access.owner_now == "Y");
    CHECK(access.mapped_ps == 2'000'000);
    CHECK(to_string(bench.findings()[0])
              .contains("by PRP 2 of command 0x12 of SQ 1, which led to page 0x200000; that "
                        "is of Y since 3.000 us; mapped at 2.000 us (data pointer), when it "
                        "was of X"));
}

TEST_CASE("what was said of one access is no grant of the next", "[unit][observe][ownership]") {
    Bench bench;
    bench.ownership.own(first, page, "X");
    const std::array queue{Allowance{{.kind = GrantKind::submission_queue, .object = 1}, first, page}};
    bench.watch.use(Purpose::control, queue);
    bench.at(1);
    bench.ownership.own(first, page, "Y");
    bench.watch.use(Purpose::control, {});
    bench.land(first, first, false, 64, Purpose::control);
    CHECK(bench.findings().empty());

    bench.watch.use(Purpose::control, queue);
    bench.land(first, first, false, 64, Purpose::control);
    REQUIRE(bench.findings().size() == 1);
    CHECK(bench.findings()[0].access.mapping == stale::queue);
    CHECK(to_string(bench.findings()[0]).contains("by SQ 1, "));
}

TEST_CASE("ranges assigned later cut those assigned before", "[unit][observe][ownership]") {
    RangeMap<int> map;
    map.assign(0, 100, 1);
    map.assign(40, 60, 2);
    map.erase(90, 200);
    std::vector<std::uint64_t> seen;
    map.for_each(10, 95, [&](const auto& piece) {
        seen.insert(seen.end(), {piece.begin, piece.end, static_cast<std::uint64_t>(*piece.value)});
    });
    CHECK(seen == std::vector<std::uint64_t>{10, 40, 1, 40, 60, 2, 60, 90, 1});
    CHECK(map.find(95) == nullptr);
    CHECK(*map.find(40) == 2);
}
