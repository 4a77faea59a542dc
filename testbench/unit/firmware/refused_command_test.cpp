// What a refused command says besides its answer: its input, so that a driver author sees what the device saw.
#include "platform/observe/diagnostics/explain.h"
#include "testbench/harness/command_bench.h"

#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>

#include <cstdlib>
#include <string>

using namespace harness;
using prm::Opcode;
using prm::Status;

namespace {

/// What --explain prints of everything the bench has heard.
std::string explained(const CommandBench& bench) {
    char* data = nullptr;
    std::size_t size = 0;
    std::FILE* file = open_memstream(&data, &size);
    platform::observe::Sources sources;
    sources.add("A.link");
    sources.add("A.hca");
    {
        platform::observe::diagnostics::Explain explain(file, sources);
        for (const auto& [stamp, event] : bench.log.entries)
            explain.on(stamp, event);
    }
    std::fclose(file);
    std::string text(data, size);
    std::free(data);
    return text;
}

} // namespace

TEST_CASE("a refused command says its input in pieces that are not zero", "[unit][firmware][explain]") {
    CommandBench bench;
    REQUIRE(bench.initialize());
    REQUIRE(bench.log.all<traces::CommandInput>().empty());

    const auto out = bench.run<prm::DeallocPdOut>(Input<prm::DeallocPdIn>(Opcode::dealloc_pd).set<"pd">(0x99u));

    REQUIRE(out.status() == Status::bad_resource);
    const auto pieces = bench.log.all<traces::CommandInput>();
    REQUIRE(pieces.size() == 1);
    CHECK(pieces[0].opcode == 0x801);
    CHECK(pieces[0].offset == 0);
    CHECK(pieces[0].first == 0x0801'0000'0000'0000);
    CHECK(pieces[0].second == 0x0000'0099'0000'0000);
}

TEST_CASE("a command that succeeds does not say its input", "[unit][firmware][explain]") {
    CommandBench bench;
    REQUIRE(bench.initialize());

    bench.alloc_pd();

    CHECK(bench.log.all<traces::CommandInput>().empty());
    CHECK(explained(bench).empty());
}

TEST_CASE("a refused CREATE_CQ is one paragraph with the fields of its context", "[unit][firmware][explain]") {
    CommandBench bench;
    REQUIRE(bench.initialize());
    const auto uar = bench.alloc_uar();

    const auto out = bench.run<prm::CreateCqOut>(bench.cq_input(uar, 0x77));

    REQUIRE(out.status() == Status::bad_resource);
    const auto text = explained(bench);
    CHECK(text.substr(text.find("A.hca")) ==
          "A.hca: command CREATE_CQ (opcode 0x400, op_mod 0x0) refused: status 0x5 (bad resource), syndrome 0x909.\n"
          "  Decoded: opcode=0x400 (CREATE_CQ) cq_context={log_cq_size=0x6 uar_page=" +
              fmt::format("{:#x}", uar) +
              " c_eqn_or_apu_element=0x77 dbr_addr=0x20000000}.\n"
              "  Rule: c_eqn names no event queue [PRM \"Completion queues\"].\n"
              "  Likely cause: create the event queue first; c_eqn takes its eq_number.\n");
}

TEST_CASE("a command that is refused by its length alone says its header", "[unit][firmware][explain]") {
    CommandBench bench;
    REQUIRE(bench.initialize());
    Input<prm::CommandIn> in(Opcode::create_cq);

    bench.run<prm::CommandOut>(in, 16);

    const auto pieces = bench.log.all<traces::CommandInput>();
    REQUIRE(pieces.size() == 1);
    CHECK(pieces[0].first == 0x0400'0000'0000'0000);
    CHECK(explained(bench).contains(
        "Rule: the input is shorter than the command's structure [PRM \"Command interface\"]."));
}
