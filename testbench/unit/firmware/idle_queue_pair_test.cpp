// What a queue pair costs that is connected and has nothing to do: of a large fabric's, most are like that.
#include "testbench/harness/command_bench.h"
#include "testbench/harness/heap.h"

#include <catch2/catch_test_macros.hpp>

using namespace harness;
using prm::Opcode;

namespace {

struct Bench : CommandBench {
    Objects objects;
    Bench() {
        REQUIRE(initialize());
        REQUIRE(set_gid());
        objects = make_objects();
        give(0x60000000, 4096);       // memory for contexts, as the driver gives it when asked
        log.entries.reserve(1 << 15); // the bench's own, which must not count, nor the log of its memory
    }
    std::uint32_t connected() {
        const auto qpn = make_qp(objects);
        for (const auto opcode : {Opcode::rst2init_qp, Opcode::init2rtr_qp, Opcode::rtr2rts_qp})
            REQUIRE(transit(opcode, qpn).is_ok());
        memory.clear_log();
        log.entries.clear();
        return qpn;
    }
};

} // namespace

TEST_CASE("an idle connected queue pair costs at most 1.5 KiB, and destroyed nothing", "[unit][firmware][qp]") {
    constexpr std::size_t count = 2000;
    Bench bench;
    std::vector<std::uint32_t> numbers;
    numbers.reserve(count + 1);
    numbers.push_back(bench.connected()); // what the first one brings about is not its own
    const auto before = heap_bytes();

    for (std::size_t n = 0; n < count; ++n)
        numbers.push_back(bench.connected());

    const auto idle = heap_bytes();
    CHECK((idle - before) / count <= 1536);

    for (std::size_t n = count; n != 0; --n) {
        Input<prm::DestroyQpIn> destroy(Opcode::destroy_qp);
        REQUIRE(bench.run<prm::DestroyQpOut>(destroy.set<"qpn">(numbers[n])).is_ok());
        bench.memory.clear_log();
    }

    // Tables of numbers keep their size: some tens of bytes for each.
    CHECK(heap_bytes() <= before + count * 96);
}
