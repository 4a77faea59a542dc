#include "sw/mlx/device/device.h"
#include "testbench/unit/sw/mlx/fake_hca.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cerrno>

using namespace std::chrono_literals;
using sw::mlx::Device;
using testbench::be32;
using testbench::be64;
using testbench::FakeHca;

namespace {

std::unique_ptr<Device> open(FakeHca& hca, sw::mlx::DeviceOptions options = {}) {
    auto device = Device::open(hca.transport, options);
    if (!device)
        FAIL(device.error().what);
    return std::move(*device);
}

} // namespace

TEST_CASE("an Ethernet HCA is brought up in the stock driver's order", "[unit][mlx][device]") {
    FakeHca hca;
    hca.boot_pages = 3;
    hca.init_pages = 5;

    const auto device = open(hca);

    CHECK(hca.opcodes() == std::vector<std::uint16_t>{0x104, 0x10a, 0x10b, 0x107, 0x108, 0x805, 0x100, 0x100, 0x109,
                                                      0x100, 0x100, 0x109, 0x100, 0x100, 0x107, 0x108, 0x102, 0x100,
                                                      0x100, 0x100, 0x101, 0x802, 0x301, 0x301, 0x301, 0x301, 0x755});
    CHECK(hca.complaints.empty());
    CHECK(device->issi() == 1);
    CHECK(device->pages().held() == 8);
    CHECK(hca.pages.size() == 8);
    CHECK((hca.transport.config_read(4, 2) & 6) == 6);
}

TEST_CASE("MANAGE_PAGES runs in the last slot, every other command in the first", "[unit][mlx][device]") {
    FakeHca hca;
    hca.boot_pages = 600; // a mailbox chain of ten

    const auto device = open(hca);

    for (const auto& command : hca.commands)
        CHECK(command.slot == (command.opcode == 0x108 ? 31u : 0u));
    REQUIRE(hca.pages.size() == 600);
    CHECK(std::ranges::all_of(
        hca.pages, [&](std::uint64_t page) { return page % 4096 == 0 && !hca.transport.at(page, 4096).empty(); }));
    std::ranges::sort(hca.pages);
    CHECK(std::ranges::adjacent_find(hca.pages) == hca.pages.end());
}

TEST_CASE("SET_HCA_CAP changes what the driver chooses and repeats the rest", "[unit][mlx][device]") {
    FakeHca hca;
    testbench::put_be(hca.general, 0x10, 4, 15u << 16 | 24); // log_max_qp
    testbench::put_be(hca.general, 0x2c, 4, 4);              // gid_table_size
    testbench::put_be(hca.general, 0x30, 4, 3);              // pkey_table_size

    const auto device = open(hca);

    const auto set =
        std::ranges::find_if(hca.commands, [](const auto& c) { return c.opcode == 0x109 && c.op_mod == 0; });
    REQUIRE(set != hca.commands.end());
    CHECK(set->in.size() == 4112);
    const auto page = std::span(set->in).subspan(16);
    CHECK((be32(page, 0x10) & 0x1f) == 18);
    CHECK((be32(page, 0x30) & 0xffff) == 0);
    CHECK(be32(page, 0x2c) == 4);
    const auto atomic =
        std::ranges::find_if(hca.commands, [](const auto& c) { return c.opcode == 0x109 && c.op_mod == 6; });
    REQUIRE(atomic != hca.commands.end());
    CHECK(be32(atomic->in, 16 + 8) == 1u << 30);
    CHECK(std::ranges::count_if(atomic->in, [](std::byte b) { return b != std::byte{0}; }) ==
          4); // opcode 2, op_mod 1, mode 1
}

TEST_CASE("event queues carry the stock driver's sizes, masks and vectors", "[unit][mlx][device]") {
    FakeHca hca;

    const auto device = open(hca);

    REQUIRE(hca.eqs.size() == 4);
    const auto& command = hca.eqs.at(4);
    CHECK(command.log_size == 8);
    CHECK(command.events == 1ull << 0xa);
    const auto& async = hca.eqs.at(5);
    CHECK(async.log_size == 13);
    CHECK((async.events & (1ull << 0xa | 1ull << 0xb | 1)) == 0);
    CHECK((async.events >> 4 & 1) == 1);
    CHECK((async.events >> 9 & 1) == 1);
    CHECK(hca.eqs.at(6).events == 1ull << 0xb);
    CHECK(hca.eqs.at(7).vector == 1);
    CHECK(hca.eqs.at(7).log_size == 11);
    CHECK(hca.transport.interrupt_vectors == 2);
    // Each one was armed with consumer index 0 at its UAR's 0x40.
    std::vector<std::uint32_t> armed;
    for (const auto& [offset, bytes] : hca.doorbells)
        if (offset == FakeHca::uar_page * 4096 + 0x40)
            armed.push_back(be32(bytes, 0));
    for (const std::uint32_t eqn : {4, 5, 6, 7})
        CHECK(std::ranges::count(armed, eqn << 24) == 1);
}

TEST_CASE("after CREATE_EQ of commands they complete by event and interrupt", "[unit][mlx][device]") {
    FakeHca hca;
    hca.is_immediate = false;
    const auto device = open(hca);
    const auto before = hca.eqs.at(4).produced;

    sw::mlx::Input<abi::prm::QueryAdapterIn> in(abi::prm::Opcode::query_adapter);
    REQUIRE(sw::mlx::run<abi::prm::QueryAdapterOut>(device->commands(), in));

    CHECK(device->commands().uses_events());
    CHECK(hca.eqs.at(4).produced == before + 1);
    CHECK(device->commands().recovered() == 0);
}

TEST_CASE("a device is taken down in reverse, and every page comes back", "[unit][mlx][device]") {
    FakeHca hca;
    hca.boot_pages = 16;
    hca.init_pages = 900; // more than one MANAGE_PAGES takes
    auto device = open(hca);
    hca.commands.clear();

    REQUIRE(device->close());

    CHECK(hca.opcodes() ==
          std::vector<std::uint16_t>{0x755, 0x302, 0x302, 0x302, 0x302, 0x803, 0x103, 0x108, 0x108, 0x105});
    CHECK(hca.pages.empty());
    CHECK(hca.complaints.empty());
    CHECK((hca.transport.config_read(4, 2) & 4) == 0); // bus master
    device.reset();
    CHECK(hca.transport.live_allocations() == 0);
}

TEST_CASE("a command that fails during bring-up undoes what was done before it", "[unit][mlx][device]") {
    struct Row {
        std::uint16_t failing;
        std::vector<std::uint16_t> undone;
    };
    for (const auto& [failing, undone] :
         {Row{0x104, {}}, Row{0x805, {0x108, 0x105}}, Row{0x102, {0x108, 0x105}}, Row{0x802, {0x103, 0x108, 0x105}},
          Row{0x301, {0x803, 0x103, 0x108, 0x105}}}) {
        CAPTURE(failing);
        FakeHca hca;
        hca.boot_pages = 2;
        hca.refusals[failing] = {0x1, 0x77};

        const auto device = Device::open(hca.transport);

        REQUIRE_FALSE(device);
        CHECK(device.error().what.starts_with("open HCA: "));
        CHECK(device.error().what.find("internal error") != std::string::npos);
        const auto list = hca.opcodes();
        const auto at = std::ranges::find(list, failing);
        CHECK(std::vector(at + 1, list.end()) == undone);
        CHECK(hca.transport.live_allocations() == 0);
    }
}

TEST_CASE("a device without QUERY_ISSI is driven with ISSI 0", "[unit][mlx][device]") {
    FakeHca hca;
    hca.refusals[0x10a] = {0x2, 0};

    const auto device = open(hca);

    CHECK(device->issi() == 0);
    CHECK(hca.last(0x10b) == nullptr);
}

TEST_CASE("an InfiniBand HCA is asked nothing of RoCE", "[unit][mlx][device]") {
    FakeHca hca(false);

    const auto device = open(hca);

    CHECK(hca.last(0x755) == nullptr);
    CHECK_FALSE(device->capabilities().is_ethernet());
}

TEST_CASE("a page request event is answered while another command waits", "[unit][mlx][device]") {
    FakeHca hca;
    const auto device = open(hca);
    hca.is_immediate = false;
    bool asked = false;
    hca.answers[0x800] = [&](auto, auto out) {
        testbench::put32(out, 8, 1);
        if (!asked) {
            asked = true;
            hca.post_event(hca.eq_for(0xb), 0xb, [](std::span<std::byte> event) { testbench::put32(event, 0x24, 7); });
        }
    };

    std::vector<std::byte> in(16), out(16);
    testbench::put_be(in, 0, 2, 0x800);
    REQUIRE(device->commands().execute(in, out));
    device->service_events(0);

    CHECK(device->pages().held() == 7);
    CHECK(hca.pages.size() == 7);
    CHECK(hca.last(0x108)->slot == 31);
}

TEST_CASE("a page request of a negative number takes pages back", "[unit][mlx][device]") {
    FakeHca hca;
    hca.init_pages = 10;
    const auto device = open(hca);

    hca.post_event(hca.eq_for(0xb), 0xb,
                   [](std::span<std::byte> event) { testbench::put32(event, 0x24, static_cast<std::uint32_t>(-4)); });
    device->service_events(0);

    CHECK(device->pages().held() == 6);
}

TEST_CASE("a device that asks for pages when there is no memory is told so", "[unit][mlx][device]") {
    FakeHca hca;
    const auto device = open(hca);
    hca.transport.memory_limit = hca.transport.allocated_bytes + 4096 * 2;

    hca.post_event(hca.eq_for(0xb), 0xb, [](std::span<std::byte> event) { testbench::put32(event, 0x24, 50); });
    device->service_events(0);

    REQUIRE(hca.last(0x108));
    CHECK(hca.last(0x108)->op_mod == 0); // cannot give
    CHECK(device->pages().held() == 0);
}

TEST_CASE("asynchronous events come out in order with what they name", "[unit][mlx][device]") {
    FakeHca hca;
    const auto device = open(hca);
    const auto eqn = hca.eq_for(0x9);
    hca.post_event(eqn, 0x10, [](std::span<std::byte> event) { testbench::put32(event, 0x38, 0x1150); });
    hca.post_event(eqn, 0x04, [](std::span<std::byte> event) {
        testbench::put32(event, 0x20, 0x80);
        event[0x2b] = std::byte{1};
    });
    hca.post_event(eqn, 0x09, [](std::span<std::byte> event) {
        event[3] = std::byte{4};
        event[0x28] = std::byte{0x10};
    });

    const auto qp = device->wait_async_event(1ms), cq = device->wait_async_event(1ms),
               port = device->wait_async_event(1ms);
    const auto none = device->wait_async_event(1ms);

    REQUIRE((qp && cq && port));
    CHECK(qp->type == abi::prm::EventType::wq_invalid_request);
    CHECK(qp->number == 0x1150);
    CHECK(cq->type == abi::prm::EventType::cq_error);
    CHECK(cq->number == 0x80);
    CHECK(cq->detail == 1);
    CHECK(port->number == 1);
    CHECK(port->detail == 4);
    CHECK_FALSE(none);
}

TEST_CASE("an event queue is read through many laps, and its consumer index goes to the device", "[unit][mlx][eq]") {
    FakeHca hca;
    const auto device = open(hca);
    const auto eqn = hca.eq_for(0xb); // 256 entries
    const auto& ring = hca.eqs.at(eqn);

    for (std::uint32_t lap = 0; lap < 5; ++lap) {
        for (std::uint32_t i = 0; i < 200; ++i)
            hca.post_event(eqn, 0x3f, [](std::span<std::byte>) {}); // a type nobody knows
        hca.doorbells.clear();
        REQUIRE(device->service_events(0) == 200);
        REQUIRE(hca.doorbells.size() == 4); // three or four updates on the way, then the arm
        CHECK(hca.doorbells.back().first == FakeHca::uar_page * 4096 + 0x40);
        CHECK(be32(hca.doorbells.back().second, 0) == (eqn << 24 | ring.produced));
        CHECK(hca.doorbells.front().first == FakeHca::uar_page * 4096 + 0x48);
    }
    CHECK(device->service_events(0) == 0);
    CHECK(device->unexpected_events() == 1000);
}

TEST_CASE("a dead device is noticed while a command waits", "[unit][mlx][device]") {
    FakeHca hca;
    const auto device = open(hca);
    hca.is_deaf = true;
    hca.put(0x230, 0xffffffff);

    std::vector<std::byte> in(16), out(16);
    testbench::put_be(in, 0, 2, 0x800);
    const auto dead = device->commands().execute(in, out);

    REQUIRE_FALSE(dead);
    CHECK(dead.error().code == ENODEV);
    CHECK(hca.transport.time < 10s);
}

TEST_CASE("health is fatal by its signs, compromised by a counter that stands still", "[unit][mlx][health]") {
    FakeHca hca;
    sw::mlx::Health health(hca.transport, 0);
    REQUIRE(health.look());
    CHECK_FALSE(health.is_compromised());
    for (int i = 0; i < 3; ++i)
        REQUIRE(health.look());
    CHECK(health.is_compromised());
    hca.put(0x1010, 12345);
    REQUIRE(health.look());
    CHECK_FALSE(health.is_compromised());

    hca.put(0x23c, 0x00010000); // a syndrome without a request for reset
    CHECK(health.look());
    CHECK(health.syndrome() == 1);
    hca.put(0x238, 1u << 31);
    CHECK_FALSE(health.look());
    hca.put(0x238, 0);
    hca.put(0x014, 0x756);
    CHECK_FALSE(health.look());
    hca.put(0x014, 0x56);
    hca.put(0x230, 0xffffffff);
    CHECK_FALSE(health.look());
}

TEST_CASE("functions that are not an HCA are refused with the reason", "[unit][mlx][device]") {
    FakeHca other;
    other.transport.config_write(0, 4, 0x10dd8086);
    const auto wrong_vendor = Device::open(other.transport);
    REQUIRE_FALSE(wrong_vendor);
    CHECK(wrong_vendor.error().what.find("8086:10dd") != std::string::npos);

    FakeHca small;
    small.transport.bars[0].resize(4096);
    CHECK_FALSE(Device::open(small.transport));

    FakeHca late;
    late.put(0x1fc, 1u << 31);
    const auto initializing = Device::open(late.transport, {.initialize_timeout = 3ms});
    REQUIRE_FALSE(initializing);
    CHECK(initializing.error().code == ETIMEDOUT);
}
