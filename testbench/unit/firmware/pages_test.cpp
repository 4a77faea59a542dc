#include "testbench/harness/command_bench.h"

#include <catch2/catch_test_macros.hpp>

using namespace harness;
using prm::Opcode;
using prm::PageAction;
using prm::PageQuery;
using prm::Status;

namespace {

constexpr std::uint64_t page_events = 1ull << 0x0b;

Input<prm::ManagePagesIn> take_input(std::uint32_t count) {
    Input<prm::ManagePagesIn> in(Opcode::manage_pages, static_cast<std::uint16_t>(PageAction::take));
    return in.set<"input_num_entries">(count);
}
/// Numbers of pages that page request events asked for.
std::vector<std::uint32_t> requests(CommandBench& bench) {
    std::vector<std::uint32_t> counts;
    for (const auto& event : bench.log.all<traces::EventWritten>())
        if (event.type == 0x0b)
            counts.push_back(event.number);
    return counts;
}
/// One page of initialization for each 16 objects, four of them.
model::hca::HcaConfig small() {
    auto config = untimed();
    config.boot_pages = 1;
    config.init_pages = 4;
    config.pages_per_1024_objects = 64;
    return config;
}
/// Creates memory keys until one is refused; returns how many there are.
unsigned fill_with_mkeys(CommandBench& bench, std::uint32_t pd, unsigned most = 10'000) {
    const auto in = CommandBench::mkey_input(pd, 0, 4096, 1);
    unsigned count = 0;
    while (count < most && bench.run<prm::CreateMkeyOut>(in).is_ok())
        ++count;
    return count;
}

} // namespace

TEST_CASE("QUERY_PAGES says what is still missing, for boot and then for initialization", "[unit][firmware][pages]") {
    CommandBench bench;
    REQUIRE(bench.enable());
    CHECK(bench.missing(PageQuery::boot) == 16);
    REQUIRE(bench.give(0x1000, 10));
    CHECK(bench.missing(PageQuery::boot) == 6);
    REQUIRE(bench.give(0x100000, 6));
    CHECK(bench.missing(PageQuery::boot) == 0);
    CHECK(bench.missing(PageQuery::init) == 64);
}

TEST_CASE("a device that wants no pages starts without any", "[unit][firmware][pages]") {
    auto config = untimed();
    config.boot_pages = config.init_pages = 0;
    CommandBench bench(config);
    REQUIRE(bench.enable());
    CHECK(bench.missing(PageQuery::boot) == 0);
    REQUIRE(bench.run<prm::InitHcaOut>(Input<prm::InitHcaIn>(Opcode::init_hca)).is_ok());
    CHECK(bench.make_qp(bench.make_objects()) >= 0x40);
}

TEST_CASE("a refused list of pages gives none of them to the device", "[unit][firmware][pages]") {
    CommandBench bench;
    REQUIRE(bench.enable());
    Input<prm::ManagePagesIn> in(Opcode::manage_pages, static_cast<std::uint16_t>(PageAction::give));
    in.set<"input_num_entries">(3u).add(0x1000).add(0x2000).add(0x3001);
    CHECK(bench.run<prm::ManagePagesOut>(in).status() == Status::bad_parameter);

    CHECK(bench.device.state().pages.given() == 0);
}

TEST_CASE("while the device runs it keeps what it needs and gives back the rest", "[unit][firmware][pages]") {
    CommandBench bench(small());
    REQUIRE(bench.initialize());
    CHECK(bench.run<prm::ManagePagesOut>(take_input(100), 16 + 800, 31).get<"output_num_entries">() == 0);

    REQUIRE(bench.give(0x900000, 3));
    CHECK(bench.missing(PageQuery::regular) == static_cast<std::uint32_t>(-3));
    const auto out = bench.run<prm::ManagePagesOut>(take_input(100), 16 + 800, 31);
    CHECK(out.get<"output_num_entries">() == 3);
    CHECK(abi::load<std::uint64_t, std::endian::big>(out.bytes.data() + 16) == 0x902000);
}

TEST_CASE("no more pages are taken than the output has room for", "[unit][firmware][pages]") {
    CommandBench bench;
    REQUIRE(bench.boot());

    CHECK(bench.run<prm::ManagePagesOut>(take_input(16), 16 + 5 * 8, 31).get<"output_num_entries">() == 5);
    CHECK(bench.device.state().pages.given() == 11);
}

TEST_CASE("objects that need more pages make the device ask for them, once", "[unit][firmware][pages]") {
    CommandBench bench(small());
    REQUIRE(bench.initialize());
    const auto uar = bench.alloc_uar(), pd = bench.alloc_pd();
    REQUIRE(bench.run<prm::CreateEqOut>(CommandBench::eq_input(uar, page_events)).is_ok());
    const auto keys = fill_with_mkeys(bench, pd);

    CHECK(keys == 4 * 16 - 1);                                    // the event queue is an object too
    CHECK(requests(bench) == std::vector<std::uint32_t>{16, 16}); // running low, and again when one was refused
    CHECK(bench.run<prm::CreateMkeyOut>(CommandBench::mkey_input(pd, 0, 4096, 1)).status() == Status::no_resources);

    REQUIRE(bench.give(0x900000, 16));
    CHECK(fill_with_mkeys(bench, pd) == 16 * 16);
}

TEST_CASE("a driver that cannot give is asked again when an object has no room", "[unit][firmware][pages]") {
    CommandBench bench(small());
    REQUIRE(bench.initialize());
    const auto uar = bench.alloc_uar(), pd = bench.alloc_pd();
    REQUIRE(bench.run<prm::CreateEqOut>(CommandBench::eq_input(uar, page_events)).is_ok());
    fill_with_mkeys(bench, pd);
    const auto asked = requests(bench).size();
    Input<prm::ManagePagesIn> cannot(Opcode::manage_pages, static_cast<std::uint16_t>(PageAction::cannot_give));
    CHECK(bench.run<prm::ManagePagesOut>(cannot.set<"input_num_entries">(16u)).is_ok());
    CHECK(requests(bench).size() == asked);

    fill_with_mkeys(bench, pd);
    CHECK(requests(bench).size() == asked + 1);
}

TEST_CASE("a destroyed object makes room for the next", "[unit][firmware][pages]") {
    CommandBench bench(small());
    REQUIRE(bench.initialize());
    const auto pd = bench.alloc_pd();
    const auto in = CommandBench::mkey_input(pd, 0, 4096, 1);
    const auto first = bench.run<prm::CreateMkeyOut>(in).get<"mkey_index">();
    fill_with_mkeys(bench, pd);
    REQUIRE(bench.run<prm::CreateMkeyOut>(in).status() == Status::no_resources);

    REQUIRE(bench.run<prm::DestroyMkeyOut>(Input<prm::DestroyMkeyIn>(Opcode::destroy_mkey).set<"mkey_index">(first))
                .is_ok());
    CHECK(bench.run<prm::CreateMkeyOut>(in).is_ok());
}
