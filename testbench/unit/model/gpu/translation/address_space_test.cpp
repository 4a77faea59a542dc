#include "testbench/harness/gpu_bench.h"

#include <catch2/catch_test_macros.hpp>

using namespace harness;
using namespace model::gpu::memory;
using abi::gpu::InvalidateRequest;
using abi::gpu::Pte;
using abi::gpu::Register;

namespace {

constexpr std::uint64_t free_address = 0x1234'5000'0000;
const auto config = MemoryConfig::of(Profile::coherent);

std::uint32_t forget(unsigned vmid, bool l1 = true, bool l2 = true) {
    return static_cast<std::uint32_t>(InvalidateRequest{}
                                          .set<"per_vmid_invalidate_req">(1u << vmid)
                                          .set<"invalidate_l1_ptes">(l1)
                                          .set<"invalidate_l2_ptes">(l2)
                                          .value());
}
std::uint32_t engine(Register first, unsigned number) { return static_cast<std::uint32_t>(first) + 4 * number; }

} // namespace

TEST_CASE("a heavy invalidation of VMID 8 has the bits that its driver writes", "[unit][gpu][translation]") {
    const InvalidateRequest request{0x00fa'0100};

    CHECK(request.get<"per_vmid_invalidate_req">() == 1u << 8);
    CHECK(request.get<"flush_type">() == abi::gpu::heavy_flush);
    CHECK(request.get<"invalidate_l1_ptes">());
    CHECK(request.get<"invalidate_l2_ptes">());
    CHECK_FALSE(request.get<"clear_protection_fault_status_addr">());
    CHECK(engine(Register::invalidate0_req, 17) == 0xa470);
    CHECK(engine(Register::invalidate0_ack, 17) == 0xa4b8);
    CHECK(static_cast<std::uint32_t>(Register::l2_gcr_cntl) == 0xa0ec);
}

TEST_CASE("an address without an entry is a fault, and only the first one is on record", "[unit][gpu][translation]") {
    GpuBench bench(config);
    const auto wave = bench.wave();
    Outcome outcome;

    CHECK(load(*wave, free_address + 0x123, plain, 3us, &outcome) == 0);
    CHECK(outcome.status == Status::page_fault);
    CHECK(store(*wave, free_address + 0x8000, 1).status == Status::page_fault);

    const auto& fault = bench.gpu.block().spaces().fault();
    REQUIRE(fault);
    CHECK(fault->address == free_address + 0x123);
    CHECK(fault->at == 3us);
    const abi::gpu::FaultStatus status{bench.peek(static_cast<std::uint32_t>(Register::fault_status))};
    CHECK(status.get<"vmid">() == GpuBench::vmid);
    CHECK(status.get<"cid">() == 8);
    CHECK_FALSE(status.get<"rw">());
    CHECK(status.get<"more_faults">());
    CHECK(bench.peek(static_cast<std::uint32_t>(Register::fault_address_low)) ==
          static_cast<std::uint32_t>(free_address >> 12));
    CHECK(bench.peek(static_cast<std::uint32_t>(Register::fault_address_high)) == free_address >> 44);

    bench.poke(static_cast<std::uint32_t>(Register::fault_cntl), 1);
    CHECK_FALSE(bench.gpu.block().spaces().fault());
    CHECK(bench.peek(static_cast<std::uint32_t>(Register::fault_status)) == 0);
}

TEST_CASE("an invalidation clears the fault on record where it says so", "[unit][gpu][translation]") {
    GpuBench bench(config);
    load(*bench.wave(), free_address, plain, 3us);
    const auto request = InvalidateRequest{forget(GpuBench::vmid)};

    bench.poke(engine(Register::invalidate0_req, 3), static_cast<std::uint32_t>(request.value()));
    CHECK(bench.gpu.block().spaces().fault());
    auto clearing = request;
    clearing.set<"clear_protection_fault_status_addr">(true);
    bench.poke(engine(Register::invalidate0_req, 3), static_cast<std::uint32_t>(clearing.value()));

    CHECK_FALSE(bench.gpu.block().spaces().fault());
    CHECK(bench.peek(static_cast<std::uint32_t>(Register::fault_status)) == 0);
}

TEST_CASE("a page that may only be read faults on a store and keeps its bytes", "[unit][gpu][translation]") {
    GpuBench bench(config);
    const auto wave = bench.wave();
    bench.tables.set(free_address, GpuTables::entry(0x2000, false, Mtype::uc).set<"writeable">(false));
    bench.write(0x2000, 5);
    std::uint64_t old = 0;

    CHECK(load(*wave, free_address, plain) == 5);
    CHECK(store(*wave, free_address, 6).status == Status::page_fault);
    CHECK(wave->atomic(AtomicOp::add, free_address, 4, 1, 0, old, {}, {}).status == Status::page_fault);
    CHECK(bench.read(0x2000) == 5);
    const abi::gpu::FaultStatus status{bench.peek(static_cast<std::uint32_t>(Register::fault_status))};
    CHECK(status.get<"rw">());
    CHECK(status.get<"permission_faults">() == 4);
}

TEST_CASE("an entry that is not zero is not valid for that", "[unit][gpu][translation]") {
    GpuBench bench(config);
    bench.tables.set(free_address, Pte{}.set<"executable">(true));
    Outcome outcome;
    load(*bench.wave(), free_address, plain, {}, &outcome);
    CHECK(outcome.status == Status::page_fault);
}

TEST_CASE("a partially resident page gives zeroes and takes stores without a fault", "[unit][gpu][translation]") {
    GpuBench bench(config);
    const auto wave = bench.wave();
    bench.tables.set(free_address, Pte{}.set<"prt">(true).set<"snooped">(true).set<"system">(true).set<"log">(true));
    Outcome outcome;

    CHECK(store(*wave, free_address, 6).is_ok());
    CHECK(load(*wave, free_address, plain, {}, &outcome) == 0);
    CHECK(outcome.is_ok());
    CHECK(bench.bus.log().empty());
    CHECK_FALSE(bench.gpu.block().spaces().fault());
}

TEST_CASE("an entry that changes has no effect until both levels of the cache forget it", "[unit][gpu][translation]") {
    GpuBench bench(config);
    const auto wave = bench.wave();
    bench.write(0x4000, 1);
    bench.write(0x5000, 2);
    bench.tables.map(free_address, 0x4000, 4096, false, Mtype::uc);
    CHECK(load(*wave, free_address, volatile_load) == 1);

    bench.tables.map(free_address, 0x5000, 4096, false, Mtype::uc);
    CHECK(load(*wave, free_address, volatile_load) == 1);
    bench.poke(engine(Register::invalidate0_req, 3), forget(GpuBench::vmid + 1)); // another address space
    CHECK(load(*wave, free_address, volatile_load) == 1);
    bench.poke(engine(Register::invalidate0_req, 3), forget(GpuBench::vmid, true, false));
    CHECK(load(*wave, free_address, volatile_load) == 1);
    bench.poke(engine(Register::mm_invalidate0_req, 3), forget(GpuBench::vmid)); // another hub
    CHECK(load(*wave, free_address, volatile_load) == 1);

    bench.poke(engine(Register::invalidate0_req, 3), forget(GpuBench::vmid));
    CHECK(bench.peek(engine(Register::invalidate0_ack, 3)) == 1u << GpuBench::vmid);
    CHECK(load(*wave, free_address, volatile_load) == 2);
}

TEST_CASE("the memory type is the one of the entry, as it was written", "[unit][gpu][translation]") {
    GpuBench bench(MemoryConfig::of(Profile::rdna3_text, Mechanism::m2));
    const auto wave = bench.wave();
    bench.tables.map(free_address, 0x4000, 4096, false, Mtype::nc);
    Outcome outcome;
    load(*wave, free_address, volatile_load, {}, &outcome);
    CHECK(outcome.mtype == Mtype::nc);

    bench.tables.map(free_address, 0x4000, 4096, false, Mtype::uc); // written again
    load(*wave, free_address, volatile_load, {}, &outcome);
    CHECK(outcome.mtype == Mtype::nc);
    bench.poke(engine(Register::invalidate0_req, 0), forget(GpuBench::vmid));
    load(*wave, free_address, volatile_load, {}, &outcome);
    CHECK(outcome.mtype == Mtype::uc);
    CHECK(bench.gpu.block().spaces().find_entry(GpuBench::vmid, free_address, {})->entry.get<"mtype">() ==
          abi::gpu::Mtype::uc);
}

TEST_CASE("a directory entry may be a page of 2 MiB", "[unit][gpu][translation]") {
    GpuBench bench(config);
    const auto wave = bench.wave();
    bench.tables.set(free_address, GpuTables::entry(0, false, Mtype::uc).set<"is_leaf">(true), 1);
    bench.write(0x12'3454, 9);
    CHECK(load(*wave, free_address + 0x12'3454, plain) == 9);
}

TEST_CASE("a fragment over memory that is not contiguous reads wrong memory", "[unit][gpu][translation]") {
    GpuBench bench(config);
    const auto wave = bench.wave();
    bench.write(0x8000, 1);
    bench.write(0x9000, 2);
    bench.write(0xf000, 3);
    bench.tables.set(free_address, GpuTables::entry(0x8000, false, Mtype::uc).set<"fragment">(1));
    bench.tables.set(free_address + 0x1000, GpuTables::entry(0xf000, false, Mtype::uc));

    CHECK(load(*wave, free_address, plain) == 1);
    CHECK(load(*wave, free_address + 0x1000, plain) == 2); // its own entry says 3

    GpuBench other(config);
    other.write(0xf000, 3);
    other.tables.set(free_address + 0x1000, GpuTables::entry(0xf000, false, Mtype::uc));
    CHECK(load(*other.wave(), free_address + 0x1000, plain) == 3);
}

TEST_CASE("a table that lies nowhere is a fault and not an access", "[unit][gpu][translation]") {
    GpuBench bench(config);
    auto& context = bench.gpu.block().spaces().context(3);
    context = bench.gpu.block().spaces().context(GpuBench::vmid);
    context.base = abi::gpu::Pde{}.set<"valid">(true).set<"base">(0x7fff'ffff'f000).value();
    Outcome outcome;
    load(*bench.gpu.block().make_view(0, 3), GpuBench::vram_uc, plain, {}, &outcome);
    CHECK(outcome.status == Status::page_fault);
    CHECK(bench.gpu.block().spaces().fault()->reason == model::gpu::translation::Reason::walk_failed);
    // And an entry that leads past the end of VRAM gives ones.
    bench.tables.map(free_address, 0x7f'ffff'f000, 4096, false, Mtype::nc);
    CHECK(load(*bench.wave(), free_address, plain, {}, &outcome) == 0xffff'ffff);
    CHECK(outcome.status == Status::bus_error);
    store(*bench.wave(), free_address, 1);
    bench.gpu.block().caches().rinse({});
}

TEST_CASE("a context without directories is one table over its range", "[unit][gpu][translation]") {
    GpuBench bench(config);
    auto& context = bench.gpu.block().spaces().context(0);
    const auto table = std::uint64_t{0x20'0000};
    context = {.control = static_cast<std::uint32_t>(abi::gpu::ContextControl{}.set<"enable_context">(true).value()),
               .base = abi::gpu::Pde{}.set<"valid">(true).set<"base">(table).value(),
               .first_page = 0x100,
               .last_page = 0x4ff};
    GpuTables::entry(0x6000, false, Mtype::uc).to(bench.gpu.bytes().subspan(table + 0x3ff * 8, 8));
    bench.write(0x6010, 4);
    const auto wave = bench.gpu.block().make_view(0, 0);
    Outcome outcome;

    CHECK(load(*wave, 0x4ff'010, plain) == 4);
    load(*wave, 0x500'010, plain, {}, &outcome);
    CHECK(outcome.status == Status::page_fault);
    load(*wave, 0xff'010, plain, {}, &outcome);
    CHECK(outcome.status == Status::page_fault);
}
