// Application memory through a key: what moves, when, and what is said of what does not.
#include "model/hca/memory/application_memory.h"
#include "model/port/memory_dma.h"
#include "testbench/unit/model/hca/tpt/bench.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <chrono>
#include <vector>

using namespace tpt_test;
using model::hca::HcaConfig;
using model::hca::memory::ApplicationMemory;
using model::hca::memory::AtomicLocks;
using model::hca::memory::Order;
using model::port::DmaStatus;
using model::port::MemoryDma;
using model::port::Purpose;
using namespace std::chrono_literals;
using Kind = MemoryDma::Kind;

namespace {

constexpr std::uint64_t start = 0x10000, page = 0x1000;
/// No two of the pages touch, so that one translation names four of them.
const std::vector<std::uint64_t> pages{0x7000, 0x3000, 0x9000, 0x5000, 0x21000, 0x1f000};

HcaConfig paging(bool is_on) {
    auto config = Bench::untimed();
    config.on_demand_paging = is_on;
    return config;
}

struct Room : Bench {
    AtomicLocks locks{HcaConfig{}};
    explicit Room(bool has_paging = false) : Bench(paging(has_paging)), memory(translator, dma) {
        create(attributes(start, pages.size() * page), pages);
    }
    std::vector<std::byte> numbered(std::size_t length) const {
        std::vector<std::byte> bytes(length);
        for (std::size_t i = 0; i < length; ++i)
            bytes[i] = static_cast<std::byte>(i * 7 + i / page);
        return bytes;
    }
    /// What lies in the whole region.
    std::vector<std::byte> content() {
        std::vector<std::byte> all;
        for (const auto at : pages)
            std::ranges::copy(dma.peek(at, page), std::back_inserter(all));
        return all;
    }
    void fill(std::span<const std::byte> bytes) {
        for (std::size_t i = 0; i < pages.size(); ++i)
            dma.poke(pages[i], bytes.subspan(i * page, page));
    }
    Request whole(Access access) const { return request(start, pages.size() * page, access); }

    MemoryDma dma;
    model::port::LoanBook loans;
    ApplicationMemory memory;
};

} // namespace

TEST_CASE("a range of more pieces than one translation names is read and written as a whole", "[unit][memory]") {
    Room room;
    const auto bytes = room.numbered(pages.size() * page);
    REQUIRE(room.memory.write(room.whole(Access::remote_write), bytes, 0ns));
    CHECK(room.content() == bytes);
    std::vector<std::byte> back(bytes.size());
    REQUIRE(room.memory.read(room.whole(Access::local_read), back, 0ns, Purpose::control));
    CHECK(back == bytes);
    CHECK(room.dma.log().back().purpose == Purpose::control);
}

TEST_CASE("plain memory is lent in place, and what no loan reaches is copied", "[unit][memory]") {
    Room room;
    const auto bytes = room.numbered(pages.size() * page);
    room.fill(bytes);
    model::port::Payload payload;
    REQUIRE(room.memory.lend(room.request(start + 100, 2 * page), payload, room.loans.requests, 0ns));
    CHECK(payload.is_lent());
    std::vector<std::byte> seen(payload.size());
    payload.copy_to(seen);
    CHECK(std::ranges::equal(seen, std::span(bytes).subspan(100, 2 * page)));

    room.create(Bench::attributes(start, 2 * page), {0xf000, 0x10000}); // behind a loan's end, as MemoryDma has it
    room.dma.poke(0xf000, std::span(bytes).first(2 * page));
    payload.clear();
    REQUIRE(room.memory.lend(room.request(start, 2 * page), payload, room.loans.requests, 0ns));
    CHECK_FALSE(payload.is_lent());
    payload.copy_to(seen);
    CHECK(std::ranges::equal(seen, std::span(bytes).first(2 * page)));
}

TEST_CASE("a range has moved when its last piece has", "[unit][memory]") {
    Room room;
    room.dma.set_latency(40ns);
    const auto bytes = room.numbered(pages.size() * page);
    CHECK(room.memory.write(room.whole(Access::remote_write), bytes, 100ns) == 140ns);
    CHECK(std::ranges::all_of(room.dma.log(), [](const auto& access) { return access.at == 100ns; }));
    CHECK(room.memory.write(room.request(start, 0, Access::remote_write), {}, 100ns) == 100ns);
}

TEST_CASE("no write goes out before the last one of its order", "[unit][memory]") {
    Room room;
    Order order;
    const auto bytes = room.numbered(64);
    REQUIRE(room.memory.write(room.request(start, 64, Access::remote_write), bytes, 0ns)); // the key is on the chip
    REQUIRE(room.memory.write(room.request(start, 64, Access::remote_write), bytes, 500ns, &order));
    REQUIRE(room.memory.write(room.request(start, 64, Access::remote_write), bytes, 200ns, &order));
    CHECK(room.dma.log().back().at == 500ns);
    REQUIRE(room.memory.modify(room.request(start, 8, Access::remote_atomic), order, room.locks, 300ns,
                               [](auto) { return true; }));
    CHECK(room.dma.log().back().at == 500ns);
    REQUIRE(room.memory.write(room.request(start, 64, Access::remote_write), bytes, 200ns));
    CHECK(room.dma.log().back().at == 200ns);
}

TEST_CASE("what the bus refuses names the piece's request, and what precedes it has moved", "[unit][memory]") {
    Room room;
    room.dma.fail(pages[4], pages[4] + page, DmaStatus::completer_abort);
    const auto bytes = room.numbered(pages.size() * page);
    const auto written = room.memory.write(room.whole(Access::remote_write), bytes, 0ns);
    REQUIRE_FALSE(written);
    const auto& denied = written.error();
    CHECK_FALSE(denied.is_by_key());
    CHECK_FALSE(denied.is_page_fault());
    CHECK(denied.status == DmaStatus::completer_abort);
    CHECK(denied.request.address == start + 4 * page);
    CHECK(denied.request.length == 2 * page);
    CHECK(denied.vendor(0x20, 0x30) == 0x30 + static_cast<unsigned>(DmaStatus::completer_abort));
    const auto content = room.content();
    CHECK(std::ranges::equal(std::span(bytes).first(4 * page), std::span(content).first(4 * page)));
    CHECK(room.dma.peek(pages[5], page) == std::vector<std::byte>(page));
}

TEST_CASE("what the key refuses names the rule, and nothing moves", "[unit][memory]") {
    Room room;
    auto request = room.whole(Access::remote_write);
    request.pd = abi::Pd{Bench::pd.value + 1};
    const auto written = room.memory.write(request, room.numbered(pages.size() * page), 0ns);
    REQUIRE_FALSE(written);
    CHECK(written.error().is_by_key());
    CHECK(written.error().violation == Violation::wrong_pd);
    CHECK(written.error().vendor(0x20, 0x30) == 0x20 + static_cast<unsigned>(Violation::wrong_pd));
    CHECK(room.dma.log().empty());
    const auto checked = room.memory.check(request, 0ns);
    REQUIRE_FALSE(checked);
    CHECK(checked.error().violation == Violation::wrong_pd);
    CHECK(room.memory.check(room.whole(Access::remote_write), 0ns));
}

TEST_CASE("a page that may be waited for is a page fault, and without the wait a page that is not present",
          "[unit][memory]") {
    Room room(true);
    auto absent = pages;
    absent.pop_back();
    auto attributes = Bench::attributes(start, pages.size() * page);
    room.create(attributes, absent);
    room.table.find(Bench::index)->room = pages.size();
    auto request = room.whole(Access::local_read);
    model::port::Payload payload;
    const auto refusals = room.counters.refusals;

    request.may_wait = true;
    const auto waits = room.memory.lend(request, payload, room.loans.requests, 0ns);
    REQUIRE_FALSE(waits);
    CHECK(waits.error().is_page_fault());
    CHECK(waits.error().request.address == start);
    CHECK(waits.error().without_wait().violation == Violation::page_not_present);
    CHECK(room.counters.refusals == refusals);

    request.may_wait = false;
    const auto refused = room.memory.lend(request, payload, room.loans.requests, 0ns);
    REQUIRE_FALSE(refused);
    CHECK_FALSE(refused.error().is_page_fault());
    CHECK(refused.error().violation == Violation::page_not_present);
    CHECK(room.counters.refusals == refusals + 1);
}

TEST_CASE("eight bytes are changed in place, or only read", "[unit][memory]") {
    Room room;
    Order order;
    const auto bytes = room.numbered(pages.size() * page);
    room.fill(bytes);
    std::vector<std::byte> seen;
    const auto change = [&](bool is_written) {
        return room.memory.modify(room.request(start + page + 8, 8, Access::remote_atomic), order, room.locks, 0ns,
                                  [&](std::span<std::byte, 8> value) {
                                      seen.assign(value.begin(), value.end());
                                      std::ranges::fill(value, std::byte{0xee});
                                      return is_written;
                                  });
    };
    REQUIRE(change(false));
    CHECK(std::ranges::equal(seen, std::span(bytes).subspan(page + 8, 8)));
    CHECK(room.content() == bytes);
    REQUIRE(change(true));
    CHECK(room.dma.peek(pages[1] + 8, 8) == std::vector<std::byte>(8, std::byte{0xee}));

    room.dma.fail(pages[1], pages[1] + page, DmaStatus::unsupported_request, 1); // the write of the next one
    const auto failed = change(true);
    REQUIRE_FALSE(failed);
    CHECK(failed.error().status == DmaStatus::unsupported_request);
    room.create(Bench::attributes(start, page), {0x7000});
    const auto refused = change(true);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().violation == Violation::out_of_bounds);
}
