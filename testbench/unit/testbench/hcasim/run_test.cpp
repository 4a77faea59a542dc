#include "testbench/hcasim/run.h"

#include "testbench/scenario/sha256.h"

#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>

using namespace hcasim;

namespace {

/// A folder that goes with the test.
struct Folder {
    Folder() { std::filesystem::create_directories(path); }
    ~Folder() { std::filesystem::remove_all(path); }
    std::string file(std::string_view name, std::string_view content) const {
        std::ofstream(path / name, std::ios::binary) << content;
        return (path / name).string();
    }
    std::string read(std::string_view name) const {
        std::ostringstream text;
        text << std::ifstream(path / name, std::ios::binary).rdbuf();
        return text.str();
    }
    std::filesystem::path path = std::filesystem::temp_directory_path() / fmt::format("hcasim_run_test.{}", getpid());
};

/// Stands for a workload: says one event, and verifies unless the payload begins with 'x'.
std::expected<scenario::Result, std::string> move(const scenario::Context& context) {
    if (context.payload.size() > 100)
        return std::unexpected("the payload does not fit");
    const traces::Events events{context.events, context.sources.add("A.hca")};
    events.emit(model::port::Time{5000}, traces::DoorbellRung{.qpn = 1, .uar = 2, .producer = 3});
    context.tell("WRITE", context.payload.size(), context.payload.size());
    return scenario::Result{.scenario = context.config.scenario.name,
                            .verified = context.payload[0] != std::byte{'x'},
                            .payload_bytes = context.payload.size(),
                            .sha256_source = scenario::sha256(context.payload)};
}

constexpr std::array scenarios{scenario::Scenario{"gpudirect", "a stand-in", move}};

} // namespace

TEST_CASE("a run gives the workload its payload and writes what was asked for", "[unit][hcasim]") {
    const Folder folder;
    const RunOptions options{.config = folder.file("p2p.toml", ""),
                             .payload = folder.file("data", "abc"),
                             .overrides = {},
                             .json = folder.path / "r.json",
                             .observe = {.events = folder.path / "e.jsonl", .pcap = folder.path / "w.pcapng", .explain = {}}};

    REQUIRE(run(options, scenarios) == 0);

    CHECK(folder.read("e.jsonl") ==
          "{\"time_ps\":5000,\"source\":\"A.hca\",\"event\":\"DoorbellRung\",\"qpn\":1,\"uar\":2,\"producer\":3}\n");
    const auto json = folder.read("r.json");
    CHECK(json.find("\"payload_bytes\": 3,") != json.npos);
    CHECK(json.find("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad") != json.npos);
    CHECK(json.find("\"DoorbellRung\": 1,") != json.npos);
    CHECK(folder.read("w.pcapng").starts_with("\x0a\x0d\x0d\x0a"));
}

TEST_CASE("the payload may be named by the configuration, and by nobody", "[unit][hcasim]") {
    const Folder folder;
    const auto data = folder.file("data", "abc");
    const auto config = folder.file("p2p.toml", fmt::format("[scenario]\npayload = \"{}\"\n", data));

    CHECK(run({.config = config, .payload = {}, .overrides = {}, .json = {}, .observe = {}}, scenarios) ==
          0);
    // The program itself is larger than the stand-in takes: it was read.
    CHECK(
        run({.config = config, .payload = {}, .overrides = {"scenario.payload="}, .json = {}, .observe = {}},
            scenarios) == 2);
}

TEST_CASE("what is not verified has status 1", "[unit][hcasim]") {
    const Folder folder;

    CHECK(run({.config = folder.file("p2p.toml", ""),
               .payload = folder.file("data", "xyz"),
               .overrides = {},
               .json = {},
               .observe = {}},
              scenarios) == 1);
}

TEST_CASE("what cannot run is refused with status 2", "[unit][hcasim]") {
    const Folder folder;
    const RunOptions good{.config = folder.file("p2p.toml", ""),
                          .payload = folder.file("data", "abc"),
                          .overrides = {},
                          .json = {},
                          .observe = {}};
    REQUIRE(run(good, scenarios) == 0);
    const auto with = [&](auto&& change) {
        auto options = good;
        change(options);
        return run(options, scenarios);
    };

    CHECK(with([](auto& o) { o.config = "/nowhere/p2p.toml"; }) == 2);
    CHECK(with([](auto& o) { o.payload = "/nowhere/data"; }) == 2);
    CHECK(with([&](auto& o) { o.payload = folder.path; }) == 2);
    CHECK(with([&](auto& o) { o.payload = folder.file("empty", ""); }) == 2);
    CHECK(with([](auto& o) { o.payload = "/dev/zero"; }) == 2);
    CHECK(with([](auto& o) { o.overrides = {"link.loss=2"}; }) == 2);
    CHECK(with([](auto& o) { o.overrides = {"scenario.name=nobody"}; }) == 2);
    CHECK(with([](auto& o) { o.json = "/nowhere/r.json"; }) == 2);
    CHECK(with([](auto& o) { o.observe.events = "/nowhere/e.jsonl"; }) == 2);
    CHECK(with([](auto& o) { o.observe.pcap = "/nowhere/w.pcapng"; }) == 2);
    CHECK(with([](auto& o) { o.json = "/dev/full"; }) == 2);
    CHECK(with([](auto& o) { o.observe.events = "/dev/full"; }) == 2);
}
