// The registry of objects: numbers, who may name what, and what cannot go yet. Beside the commands, which are tested in
// testbench/unit/firmware and testbench/conformance.
#include "firmware/objects/registry.h"
#include "testbench/harness/command_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>

using namespace harness;
using firmware::accepted;
using firmware::refuse;
using firmware::objects::Kind;
using firmware::objects::Ref;
using firmware::objects::Registry;
using firmware::objects::Scope;

namespace {

struct Bench : CommandBench {
    explicit Bench(const model::hca::HcaConfig& config = untimed()) : CommandBench(config) { REQUIRE(initialize()); }

    Registry& registry = device.state().registry;
    Scope kernel{registry, 0};
    Scope shared{registry, abi::prm::shared_uid};

    /// A user context, and what it may name.
    Scope program() {
        const auto uid = kernel.create<Kind::user_context>({});
        REQUIRE(uid);
        return {registry, static_cast<std::uint16_t>(*uid)};
    }
    model::hca::queue::CompletionQueueAttributes cq_attributes() {
        model::hca::queue::CompletionQueueAttributes attributes;
        attributes.buffer = {{abi::BusAddress{rings}}, 12, 0};
        return attributes;
    }
    bool agrees() const {
        return std::ranges::all_of(registry.counts(), [](const Registry::Count& kind) { return kind.agrees; });
    }
};

} // namespace

TEST_CASE("a number is given again when all others have been", "[unit][firmware][objects]") {
    Bench bench;
    bench.registry.set_numbers(Kind::pd, {5, 8});
    CHECK(bench.kernel.create<Kind::pd>({}) == 5u);
    CHECK(bench.kernel.create<Kind::pd>({}) == 6u);

    CHECK(bench.kernel.destroy<Kind::pd>(6, {}) == accepted);
    CHECK(bench.kernel.destroy<Kind::pd>(5, {}) == accepted);

    CHECK(bench.kernel.create<Kind::pd>({}) == 7u);
    CHECK(bench.kernel.create<Kind::pd>({}) == 6u);
    CHECK(bench.kernel.create<Kind::pd>({}) == 5u);
    CHECK(bench.kernel.create<Kind::pd>({}).error() == refuse("alloc_pd.none_left"));
    CHECK(bench.registry.count(Kind::pd) == 3);
}

TEST_CASE("an object is destroyed once", "[unit][firmware][objects]") {
    Bench bench;
    bench.registry.set_numbers(Kind::xrcd, {1, 3});
    const auto number = *bench.kernel.create<Kind::xrcd>({});
    REQUIRE(bench.kernel.destroy<Kind::xrcd>(number, {}) == accepted);

    CHECK(bench.kernel.destroy<Kind::xrcd>(number, {}) == refuse("dealloc_xrcd.unknown"));

    CHECK(bench.registry.count(Kind::xrcd) == 0);
    CHECK(bench.kernel.create<Kind::xrcd>({}) == 2u); // and its number is there once
    CHECK(bench.kernel.create<Kind::xrcd>({}) == 1u);
    CHECK(!bench.kernel.create<Kind::xrcd>({}));
}

TEST_CASE("an object is found by whom it belongs to and by the kernel", "[unit][firmware][objects]") {
    Bench bench;
    const auto owner = bench.program(), other = bench.program();
    const auto number = *owner.create<Kind::uar>({});
    const auto kernels = *bench.kernel.create<Kind::uar>({});
    const auto everybodys = *bench.shared.create<Kind::uar>({});

    CHECK(owner.find<Kind::uar>(number) != nullptr);
    CHECK(other.find<Kind::uar>(number) == nullptr);
    CHECK(bench.kernel.find<Kind::uar>(number) == owner.find<Kind::uar>(number));
    CHECK(bench.shared.find<Kind::uar>(number) == owner.find<Kind::uar>(number));
    CHECK(owner.find<Kind::uar>(kernels) == nullptr);
    CHECK(owner.find<Kind::uar>(everybodys) != nullptr);
    CHECK(bench.kernel.find<Kind::uar>(0xffffffff) == nullptr);

    CHECK(other.destroy<Kind::uar>(number, {}) == refuse("dealloc_uar.unknown"));
    CHECK(owner.find<Kind::uar>(number) != nullptr);
    CHECK(bench.kernel.destroy<Kind::uar>(number, {}) == accepted);
    CHECK(owner.find<Kind::uar>(number) == nullptr);
}

TEST_CASE("an event queue is found by every user context", "[unit][firmware][objects]") {
    Bench bench;
    const auto program = bench.program();
    const auto number = bench.kernel.create<Kind::eq>({}, model::hca::event::Attributes{});
    REQUIRE(number);

    CHECK(program.find<Kind::eq>(*number) != nullptr);
    CHECK(program.find<Kind::eq>(*number + 1) == nullptr);
}

TEST_CASE("an object that something refers to is not destroyed", "[unit][firmware][objects]") {
    Bench bench;
    const auto number = *bench.kernel.create<Kind::pd>({});
    {
        const Ref user(bench.kernel.find<Kind::pd>(number));
        CHECK(bench.kernel.destroy<Kind::pd>(number, {}) == refuse("dealloc_pd.in_use"));
        CHECK(bench.kernel.find<Kind::pd>(number) == user.get());
        CHECK(bench.agrees());
    }
    CHECK(bench.kernel.destroy<Kind::pd>(number, {}) == accepted);
}

TEST_CASE("a user context goes after everything that belongs to it", "[unit][firmware][objects]") {
    Bench bench;
    const auto program = bench.program();
    const auto pd = *program.create<Kind::pd>({});
    const auto domain = *program.create<Kind::transport_domain>({});
    CHECK(bench.kernel.destroy<Kind::user_context>(program.uid(), {}) == refuse("destroy_uctx.in_use"));

    REQUIRE(bench.kernel.destroy<Kind::pd>(pd, {}) == accepted); // whoever takes it away
    CHECK(bench.kernel.destroy<Kind::user_context>(program.uid(), {}) == refuse("destroy_uctx.in_use"));
    REQUIRE(program.destroy<Kind::transport_domain>(domain, {}) == accepted);
    CHECK(bench.kernel.destroy<Kind::user_context>(program.uid(), {}) == accepted);
}

TEST_CASE("user memory goes after the rings and records on it", "[unit][firmware][objects]") {
    Bench bench;
    const auto program = bench.program();
    const model::hca::memory::PagedBuffer pages({abi::BusAddress{CommandBench::rings}}, 12, 0);
    const auto ring = *program.create<Kind::umem>({.entries = 1}, pages),
               record = *program.create<Kind::umem>({.entries = 1}, pages);
    const auto cq = program.create<Kind::cq>(
        {.entries = 1, .umems = {Ref(program.find<Kind::umem>(ring)), Ref(program.find<Kind::umem>(record))}},
        bench.cq_attributes());
    REQUIRE(cq);

    CHECK(program.destroy<Kind::umem>(ring, {}) == refuse("destroy_umem.in_use"));
    CHECK(program.destroy<Kind::umem>(record, {}) == refuse("destroy_umem.in_use"));
    REQUIRE(program.destroy<Kind::cq>(*cq, {}) == accepted);
    CHECK(program.destroy<Kind::umem>(ring, {}) == accepted);
    CHECK(program.destroy<Kind::umem>(record, {}) == accepted);
}

TEST_CASE("what no driver made is found, and cannot be destroyed", "[unit][firmware][objects]") {
    Bench bench;

    CHECK(bench.kernel.find<Kind::counter_set>(0) != nullptr);
    CHECK(bench.kernel.destroy<Kind::counter_set>(0, {}) == refuse("dealloc_q_counter.unknown"));
    CHECK(bench.registry.count(Kind::counter_set) == 0);
    CHECK(bench.agrees());
}

TEST_CASE("what is refused takes nothing, and pages are asked for before a number", "[unit][firmware][objects]") {
    Bench bench;
    auto& state = bench.device.state();
    bench.registry.set_numbers(Kind::cq, {3, 3});
    const auto objects = state.pages.objects();
    const auto refusal = [&](std::uint64_t entries) {
        return bench.kernel.create<Kind::cq>({.entries = entries}, bench.cq_attributes()).error();
    };

    CHECK(refusal(firmware::objects::Account::max_entries + 1) == refuse("resources.page_entries"));
    CHECK(refusal(1) == refuse("create_cq.none_left"));
    CHECK(state.pages.objects() == objects);
    CHECK(bench.registry.count(Kind::cq) == 0);
    CHECK(bench.agrees());
}

TEST_CASE("an object takes up entries as long as it is there, and as many as it last had",
          "[unit][firmware][objects][pages]") {
    Bench bench;
    auto& state = bench.device.state();
    constexpr auto all = firmware::objects::Account::max_entries;
    const auto has_room = [&](std::uint64_t entries) { return state.account.admit(entries, {}) == accepted; };
    const auto objects = state.pages.objects();
    const auto number = *bench.kernel.create<Kind::cq>({.entries = 10}, bench.cq_attributes());
    CHECK(state.pages.objects() == objects + 1);
    CHECK(has_room(all - 10));
    CHECK(!has_room(all - 9));

    bench.registry.resize<Kind::cq>(number, 4, {});
    CHECK(state.pages.objects() == objects + 1);
    CHECK(has_room(all - 4));
    CHECK(!has_room(all - 3));

    REQUIRE(bench.kernel.destroy<Kind::cq>(number, {}) == accepted);
    CHECK(state.pages.objects() == objects);
    CHECK(has_room(all));
    CHECK(!has_room(all + 1));
}

TEST_CASE("an object that nobody holds shows, as one whose number was lost does", "[unit][firmware][objects]") {
    Bench bench;
    CHECK(bench.agrees());

    bench.hca.protection_domains().create(1); // behind the registry's back

    CHECK(!bench.agrees());
    CHECK(bench.registry.count(Kind::pd) == 1);
    bench.hca.protection_domains().destroy(1);
    CHECK(bench.agrees());

    const auto number = *bench.kernel.create<Kind::pd>({});
    bench.hca.protection_domains().destroy(number);
    CHECK(!bench.agrees());
    CHECK(bench.registry.count(Kind::pd) == 1);
}

TEST_CASE("after a teardown nothing is held, and numbers begin as they did", "[unit][firmware][objects]") {
    Bench bench;
    const auto first = *bench.kernel.create<Kind::uar>({});
    const auto program = bench.program();
    const auto umem = *program.create<Kind::umem>({.entries = 1}, model::hca::memory::PagedBuffer());
    REQUIRE(program.create<Kind::cq>({.entries = 1, .umems = {Ref(program.find<Kind::umem>(umem))}},
                                     bench.cq_attributes()));

    bench.device.state().tear_down();

    for (const auto& kind : bench.registry.counts()) {
        INFO(kind.name);
        CHECK(kind.objects == 0);
        CHECK(kind.agrees);
    }
    CHECK(!bench.kernel.create<Kind::uar>({})); // before it is initialized again
    bench.device.state().initialize();
    CHECK(bench.kernel.create<Kind::uar>({}) == first);
}
