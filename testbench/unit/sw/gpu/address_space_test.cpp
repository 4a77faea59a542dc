// Page tables and contexts of a GPU that its driver writes, and a GPU that walks them.
#include "model/gpu/gpu.h"
#include "sw/gpu/address_space.h"
#include "sw/memory/mmio_export.h"
#include "testbench/harness/direct_function.h"
#include "testbench/unit/sw/fake_transport.h"
#include "testbench/unit/sw/memory/dmabuf_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cerrno>

using namespace model::gpu::memory;
using sw::gpu::AddressSpace;
using sw::gpu::Gpu;
using testbench::check_refused;
using testbench::FakeTransport;

namespace {

struct Machine {
    harness::DirectFunction card;
    Gpu gpu;
    explicit Machine(const model::gpu::GpuConfig& config = {.timed = false, .bytes = 8 << 20, .memory = {}})
        : card(config), gpu(open(card)) {}
    static Gpu open(harness::DirectFunction& card) {
        auto opened = Gpu::open(card, model::gpu::Gpu::vram_bar);
        REQUIRE(opened);
        return std::move(*opened);
    }
    std::unique_ptr<AddressSpace> space(const AddressSpace::Options& options = {}) {
        auto made = AddressSpace::create(gpu, options);
        REQUIRE(made);
        return std::move(*made);
    }
    sw::gpu::VramBuffer buffer(std::uint64_t bytes) {
        auto made = gpu.allocate(bytes);
        REQUIRE(made);
        return std::move(*made);
    }
    model::gpu::Gpu& device() { return dynamic_cast<model::gpu::Gpu&>(*card.device); }
    Outcome load(std::uint64_t address, std::uint32_t& value, unsigned vmid = 8) {
        const auto view = device().block().make_view(0, vmid);
        return view->load(address, std::as_writable_bytes(std::span(&value, 1)), all_bits, card.clock.now());
    }
    Outcome store(std::uint64_t address, std::uint32_t value) {
        const auto view = device().block().make_view(0, 8);
        return view->store(address, std::as_bytes(std::span(&value, 1)), {}, card.clock.now());
    }
    std::uint32_t in_vram(std::uint64_t offset) {
        std::uint32_t value = 0;
        std::memcpy(&value, device().bytes().data() + offset, sizeof value);
        return value;
    }
};

} // namespace

TEST_CASE("a wave reaches every page of a buffer that the driver has mapped, and nothing beside it", "[unit][gpu]") {
    Machine m;
    const auto space = m.space();
    const auto first = m.buffer(3 << 20), second = m.buffer(64 << 10); // more than one page table
    const auto at = space->map(first, abi::gpu::Mtype::uc), behind = space->map(second, abi::gpu::Mtype::uc);
    REQUIRE(at);
    REQUIRE(behind);
    for (std::uint64_t page = 0; page < first.size(); page += 4096) {
        REQUIRE(m.store(*at + page, static_cast<std::uint32_t>(page + 1)).is_ok());
        REQUIRE(m.in_vram(first.ranges().front().offset + page) == page + 1);
    }
    REQUIRE(m.store(*behind, 0xabcd).is_ok());
    CHECK(m.in_vram(second.ranges().front().offset) == 0xabcd);
    CHECK(m.store(*at + first.size(), 1).status == Status::page_fault);
    CHECK(m.store(*at - 4096, 1).status == Status::page_fault);
    std::uint32_t value = 0;
    CHECK(m.load(*at, value, 9).status == Status::page_fault); // another context
}

TEST_CASE("a page has the memory type and the rights that it was mapped with", "[unit][gpu]") {
    Machine m;
    const auto space = m.space();
    const auto buffer = m.buffer(64 << 10);
    const auto kept = space->map(buffer, abi::gpu::Mtype::nc, false), through = space->map(buffer, abi::gpu::Mtype::uc);
    REQUIRE(kept);
    REQUIRE(through);
    std::uint32_t value = 0;
    CHECK(m.load(*kept, value).mtype == Mtype::nc);
    CHECK(m.load(*through, value).mtype == Mtype::uc);
    CHECK(m.store(*kept, 1).status == Status::page_fault);
    CHECK(m.store(*through, 1).is_ok());
    const auto entry = space->entry(*through);
    REQUIRE(entry);
    CHECK(entry->get<"mtype">() == abi::gpu::Mtype::uc);
    CHECK(entry->get<"page">() == buffer.ranges().front().offset);
    CHECK_FALSE(entry->get<"system">());
    CHECK_FALSE(space->entry(*through + buffer.size()));
}

TEST_CASE("an export that makes a buffer uncached changes pages that are written afterwards, and no others",
          "[unit][gpu]") {
    Machine m;
    const auto space = m.space();
    const auto buffer = m.buffer(64 << 10), other = m.buffer(64 << 10);
    const auto type_of = [&](std::uint64_t address) { return space->entry(address)->get<"mtype">(); };
    REQUIRE(m.gpu.export_buffer(buffer));
    CHECK_FALSE(buffer.is_uncached());
    const auto before = space->map(buffer, abi::gpu::Mtype::nc);
    REQUIRE(before);

    m.gpu.make_exports_uncached(true);
    REQUIRE(m.gpu.export_buffer(buffer));
    CHECK(buffer.is_uncached());
    CHECK(type_of(*before) == abi::gpu::Mtype::nc);
    const auto after = space->map(buffer, abi::gpu::Mtype::nc);
    REQUIRE(after);
    CHECK(type_of(*after) == abi::gpu::Mtype::uc);
    CHECK(type_of(*before) == abi::gpu::Mtype::nc);
    REQUIRE(space->protect(*before)); // writes the entries anew
    CHECK(type_of(*before) == abi::gpu::Mtype::uc);
    REQUIRE(space->move(*before, other)); // which was not exported
    CHECK(type_of(*before) == abi::gpu::Mtype::nc);
}

TEST_CASE("what was unmapped faults at once, although it was in the translation caches", "[unit][gpu]") {
    Machine m;
    const auto space = m.space();
    const auto buffer = m.buffer(64 << 10);
    const auto at = space->map(buffer, abi::gpu::Mtype::uc);
    REQUIRE(at);
    REQUIRE(m.store(*at, 1).is_ok());
    REQUIRE(space->unmap(*at));
    CHECK(m.store(*at, 2).status == Status::page_fault);
    check_refused(space->unmap(*at), ENOENT, "nothing is mapped");
}

TEST_CASE("what a wave has stored is in memory when its page is unmapped, and comes over nothing later",
          "[unit][gpu]") {
    for (const auto profile : {Profile::rdna3_text, Profile::coherent, Profile::adversarial})
        for (const auto mtype : {abi::gpu::Mtype::nc, abi::gpu::Mtype::uc}) {
            CAPTURE(profile, mtype);
            Machine m({.bytes = 8 << 20, .memory = MemoryConfig::of(profile)});
            const auto space = m.space();
            const auto buffer = m.buffer(64 << 10);
            const auto offset = buffer.ranges().front().offset;
            const auto at = space->map(buffer, mtype);
            REQUIRE(at);
            REQUIRE(m.store(*at, 0x600d).is_ok());

            REQUIRE(space->unmap(*at));
            CHECK(m.in_vram(offset) == 0x600d);
            std::ranges::fill(m.device().bytes().subspan(offset, 4), std::byte{}); // the next owner
            m.device().block().caches().rinse(m.card.clock.now());
            CHECK(m.in_vram(offset) == 0);
        }
}

TEST_CASE("a page that is protected can be read and not written", "[unit][gpu]") {
    Machine m;
    const auto space = m.space();
    const auto buffer = m.buffer(64 << 10);
    const auto at = space->map(buffer, abi::gpu::Mtype::nc);
    REQUIRE(at);
    REQUIRE(m.store(*at, 7).is_ok());
    REQUIRE(space->protect(*at));
    CHECK(m.in_vram(buffer.ranges().front().offset) == 7);
    CHECK(m.store(*at, 8).status == Status::page_fault);
    std::uint32_t value = 0;
    CHECK(m.load(*at, value).is_ok());
    CHECK(value == 7);
    check_refused(space->protect(*at + 4096), ENOENT, "nothing is mapped");
}

TEST_CASE("an address that moves leads to its new place alone, and its old one is free to go", "[unit][gpu]") {
    Machine m;
    const auto space = m.space();
    const auto first = m.buffer(64 << 10), second = m.buffer(64 << 10), larger = m.buffer(128 << 10);
    const auto at = space->map(first, abi::gpu::Mtype::nc);
    REQUIRE(at);
    REQUIRE(m.store(*at, 1).is_ok());
    check_refused(space->move(*at, larger), EINVAL, "does not move to 0x20000");
    check_refused(space->move(*at + 4096, second), ENOENT, "nothing is mapped");

    REQUIRE(space->move(*at, second));
    REQUIRE(m.store(*at, 2).is_ok());
    CHECK(m.gpu.evict(first));
    check_refused(m.gpu.evict(second), EBUSY, "pinned");
    const auto host = m.card.allocate(64 << 10, 4096);
    REQUIRE(host);
    std::ranges::fill(host->bytes(), std::byte{5});
    REQUIRE(space->move_to_host(*at, host->bus));
    CHECK(m.in_vram(second.ranges().front().offset) == 2);
    std::uint32_t value = 0;
    CHECK(m.load(*at, value).is_ok());
    CHECK(value == 0x0505'0505);
    CHECK(m.gpu.evict(second));
}

TEST_CASE("a buffer stays in VRAM while it is mapped", "[unit][gpu]") {
    Machine m;
    const auto space = m.space();
    const auto buffer = m.buffer(64 << 10);
    const auto at = space->map(buffer, abi::gpu::Mtype::uc);
    REQUIRE(at);
    check_refused(m.gpu.evict(buffer), EBUSY, "pinned");
    REQUIRE(space->unmap(*at));
    REQUIRE(m.gpu.evict(buffer));
    check_refused(space->map(buffer, abi::gpu::Mtype::uc), EINVAL, "system memory");
}

TEST_CASE("an address space that is gone leaves no way to memory, and no buffer in its place", "[unit][gpu]") {
    Machine m;
    auto space = m.space();
    const auto buffer = m.buffer(64 << 10);
    const auto free = m.gpu.free_bytes();
    const auto at = space->map(buffer, abi::gpu::Mtype::uc);
    REQUIRE(at);
    space.reset();
    CHECK(m.store(*at, 1).status == Status::page_fault);
    CHECK(m.gpu.evict(buffer));
    CHECK(m.gpu.free_bytes() > free); // the tables are free, too
}

TEST_CASE("registers of another device are imported where that is allowed, until they are taken back", "[unit][gpu]") {
    Machine m;
    FakeTransport drive;
    drive.bars[0].resize(8192);
    drive.bar_addresses[0] = 0x4000; // in the test's flat memory
    auto registers = sw::memory::MmioExport::create(drive, 0, 0, 8192);
    REQUIRE(registers);
    check_refused(m.space()->import(registers->buffer(), abi::gpu::Mtype::uc), EINVAL, "vfio-pci");

    const auto space = m.space({.accepts_foreign = true});
    const auto at = space->import(registers->buffer(), abi::gpu::Mtype::uc);
    REQUIRE(at);
    CHECK(space->entry(*at)->get<"system">());
    REQUIRE(m.store(*at + 0x1008, 77).is_ok());
    std::uint32_t value = 0;
    std::memcpy(&value, m.card.memory.at(0x4000 + 0x1008), sizeof value);
    CHECK(value == 77);

    REQUIRE(registers->revoke());
    CHECK(m.store(*at + 0x1008, 78).status == Status::page_fault);
    CHECK(space->unmap(*at));
}

TEST_CASE("a GPU without registers has no address spaces, nor a context that there is not", "[unit][gpu]") {
    Machine m;
    check_refused(AddressSpace::create(m.gpu, {.register_bar = 3}), ENODEV, "no registers");
    check_refused(AddressSpace::create(m.gpu, {.vmid = 16}), EINVAL, "context 16");
}

TEST_CASE("zeros of the driver that rest in the host data path do not come over what a wave stores later",
          "[unit][gpu]") {
    const model::gpu::GpuConfig config{.bytes = 8 << 20, .memory = MemoryConfig::of(Profile::adversarial)};
    harness::DirectFunction card{config};
    auto gpu = Gpu::open(card, model::gpu::Gpu::vram_bar);
    REQUIRE(gpu);
    auto space = AddressSpace::create(*gpu, {});
    REQUIRE(space);
    const auto buffer = gpu->allocate(64 << 10);
    REQUIRE(buffer);
    const auto at = (*space)->map(*buffer, abi::gpu::Mtype::uc);
    REQUIRE(at);
    auto& device = dynamic_cast<model::gpu::Gpu&>(*card.device);
    REQUIRE(gpu->upload(*buffer, 0, std::vector<std::byte>(64)));
    (*space)->flush_host_path();
    const auto view = device.block().make_view(0, 8);
    const std::uint32_t value = 0x600d;
    view->store(*at, std::as_bytes(std::span(&value, 1)), {}, card.clock.now());
    view->fence(Order::release, Scope::system, card.clock.now());
    for (unsigned i = 0; i < 100; ++i)
        card.relax();
    std::uint32_t found = 0;
    std::memcpy(&found, device.bytes().data() + buffer->ranges().front().offset, sizeof found);
    CHECK(found == 0x600d);
}
