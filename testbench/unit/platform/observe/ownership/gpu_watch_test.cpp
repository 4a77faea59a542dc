#include "platform/observe/ownership/function_watch.h"

#include "model/gpu/sdma/cached_memory.h"
#include "testbench/harness/gpu_bench.h"

#include <catch2/catch_test_macros.hpp>

using namespace harness;
using namespace model::gpu::memory;
using namespace platform::observe;
using namespace platform::observe::ownership;

namespace {

constexpr std::uint16_t gpu = 0x0200;
constexpr std::uint64_t page = 4096;

/// A GPU whose pages of the bus have owners. Each access to the bus is told to the watch as the endpoint tells it.
struct Watched {
    GpuBench bench{MemoryConfig::of(Profile::coherent)};
    Ownership ownership{[this] { return bench.now(); }};
    FunctionWatch watch{ownership, "A.gpu0", {}, [] { return gpu; }};

    Watched() {
        bench.gpu.set_watch(&watch);
        ownership.own(GpuBench::bus_base, page, "X");
        bench.pass(1us);
    }
    void land() {
        for (const auto& access : bench.bus.log())
            watch.landed({.requester = abi::pcie::Bdf{gpu},
                          .address = access.address,
                          .physical = access.address,
                          .length = access.length,
                          .is_write = access.kind == model::port::MemoryDma::Kind::write,
                          .purpose = access.purpose},
                         access.at);
        bench.bus.clear_log();
    }
    void give_to_another() {
        bench.pass(1us);
        ownership.own(GpuBench::bus_base, page, "Y");
        bench.pass(1us);
    }
};

} // namespace

TEST_CASE("what a GPU reaches by a translation that was not invalidated is found by its page, and nothing else is",
          "[unit][observe][ownership][gpu]") {
    Watched watched;
    auto& bench = watched.bench;
    const auto wave = bench.wave();
    store(*wave, GpuBench::bus_uc + 8, 1, {}, bench.now());
    watched.land();
    CHECK(watched.ownership.findings().empty());

    bench.tables.set(GpuBench::bus_uc, {});
    watched.give_to_another();
    store(*wave, GpuBench::bus_uc + 8, 2, {}, bench.now());
    watched.land();

    REQUIRE(watched.ownership.findings().size() == 1);
    CHECK(
        to_string(watched.ownership.findings()[0])
            .contains("by page 0x700030000000 of VMID 8, which led to page 0x2000000000; that is of Y since 2.000 us; "
                      "mapped at 1.000 us (page of a GPU), when it was of X"));

    using abi::gpu::InvalidateRequest;
    bench.gpu.block().invalidate(0,
                                 InvalidateRequest{}
                                     .set<"per_vmid_invalidate_req">(1u << GpuBench::vmid)
                                     .set<"invalidate_l1_ptes">(true)
                                     .set<"invalidate_l2_ptes">(true),
                                 bench.now());
    CHECK(store(*wave, GpuBench::bus_uc + 8, 3, {}, bench.now()).status == Status::page_fault);
    CHECK(bench.bus.log().empty());
}

TEST_CASE("bytes that GL2 keeps for a page that has another owner by then are found when they are written back",
          "[unit][observe][ownership][gpu]") {
    Watched watched;
    auto& bench = watched.bench;
    store(*bench.wave(), GpuBench::bus_nc + 8, 1, {}, bench.now());
    watched.land();
    CHECK(watched.ownership.findings().empty());
    watched.give_to_another();
    bench.gpu.block().caches().write_back(bench.now());
    watched.land();

    REQUIRE(watched.ownership.findings().size() == 1);
    CHECK(to_string(watched.ownership.findings()[0]).contains("by the line of 0x2000000000 in GL2"));
}

TEST_CASE(
    "what a copy engine moves by a translation that was not invalidated is found by its page, and nothing else is",
    "[unit][observe][ownership][gpu]") {
    Watched watched;
    auto& bench = watched.bench;
    model::gpu::sdma::CachedMemory memory(bench.gpu.block());
    const std::array<std::byte, 64> bytes{};
    const auto find = [&] { return memory.find(GpuBench::vmid, GpuBench::bus_uc + 8, true, 0, bench.now()).value(); };
    const auto move = [&](const model::gpu::sdma::Place& place) {
        memory.write(place, bytes, model::port::Purpose::payload, bench.now());
        watched.land();
    };
    const auto place = find();
    move(place);
    bench.tables.set(GpuBench::bus_uc, {});
    watched.give_to_another();
    memory.leave_pages(); // to the same memory, by its address
    move(place);
    CHECK(watched.ownership.findings().empty());

    move(find());
    REQUIRE(watched.ownership.findings().size() == 1);
    CHECK(to_string(watched.ownership.findings()[0]).contains("by page 0x700030000000 of VMID 8"));
}
