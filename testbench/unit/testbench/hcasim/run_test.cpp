#include "testbench/hcasim/run.h"

#include "testbench/scenario/sha256.h"

#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

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
    std::vector<std::byte> bytes(context.payload.size());
    if (bytes.size() == 7) // a payload of seven bytes becomes shorter while it is moved
        truncate("data", 3);
    if (bytes.size() == 8) // one of eight is interrupted
        std::raise(SIGINT);
    if (bytes.size() == 9)
        std::raise(SIGTERM);
    const traces::Events events{context.events, context.sources.add("A.hca")};
    events.emit(model::port::Time{5000}, traces::DoorbellRung{.qpn = 1, .uar = 2, .producer = 3});
    context.tell("WRITE", context.payload.size(), context.payload.size());
    scenario::Result result{.scenario = context.config.scenario.name, .payload_bytes = bytes.size()};
    if (const auto read = context.payload.read(0, bytes); !read)
        result.failure = read.error();
    result.stopped = context.stop->why();
    result.verified = result.failure.empty() && result.stopped.empty() && bytes[0] != std::byte{'x'};
    result.sha256_source = scenario::sha256(bytes);
    return result;
}

constexpr std::array scenarios{scenario::Scenario{"gpudirect", "a stand-in", move}};

/// Of a platform without what the workload needs, and with too little of it.
constexpr std::array without_gpu{
    scenario::Scenario{"gpudirect", "a stand-in", move,
                       [](const platform::topology::Config&, std::uint64_t) -> std::expected<void, std::string> {
                           return std::unexpected("there is no GPU");
                       }}};
constexpr std::array with_a_small_gpu{scenario::Scenario{
    "gpudirect", "a stand-in", move,
    [](const platform::topology::Config&, std::uint64_t bytes) -> std::expected<void, std::string> {
        return bytes > 2 ? std::unexpected("the payload does not fit") : std::expected<void, std::string>{};
    }}};

} // namespace

TEST_CASE("a run gives the workload its payload and writes what was asked for", "[unit][hcasim]") {
    const Folder folder;
    const RunOptions options{
        .plan = {.config = folder.file("p2p.toml", ""), .payload = folder.file("data", "abc")},
        .json = folder.path / "r.json",
        .observe = {.events = folder.path / "e.jsonl", .pcap = folder.path / "w.pcapng", .explain = {}}};

    REQUIRE(run(options, scenarios) == 0);

    CHECK(folder.read("e.jsonl") == "{\"time_ps\":5000,\"source\":\"A.hca\",\"event\":\"DoorbellRung\",\"qpn\":1,"
                                    "\"uar\":2,\"producer\":3,\"id\":1}\n");
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

    CHECK(run({.plan = {.config = config}}, scenarios) == 0);
    // The program itself is larger than the stand-in takes: it was read.
    CHECK(run({.plan = {.config = config, .overrides = {"scenario.payload="}}}, scenarios) == 2);
}

TEST_CASE("what is not verified has status 1", "[unit][hcasim]") {
    const Folder folder;

    CHECK(run({.plan = {.config = folder.file("p2p.toml", ""), .payload = folder.file("data", "xyz")}}, scenarios) ==
          1);
}

TEST_CASE("what cannot run is refused with status 2", "[unit][hcasim]") {
    const Folder folder;
    const RunOptions good{.plan = {.config = folder.file("p2p.toml", ""), .payload = folder.file("data", "abc")}};
    REQUIRE(run(good, scenarios) == 0);
    const auto with = [&](auto&& change) {
        auto options = good;
        change(options);
        return run(options, scenarios);
    };

    CHECK(with([](auto& o) { o.plan.config = "/nowhere/p2p.toml"; }) == 2);
    CHECK(with([](auto& o) { o.plan.payload = "/nowhere/data"; }) == 2);
    CHECK(with([&](auto& o) { o.plan.payload = folder.path; }) == 2);
    CHECK(with([&](auto& o) { o.plan.payload = folder.file("empty", ""); }) == 2);
    CHECK(with([](auto& o) { o.plan.payload = "/dev/zero"; }) == 2);
    CHECK(with([](auto& o) { o.plan.overrides = {"link.loss=2"}; }) == 2);
    CHECK(with([](auto& o) { o.plan.overrides = {"scenario.name=nobody"}; }) == 2);
    CHECK(with([](auto& o) { o.json = "/nowhere/r.json"; }) == 2);
    CHECK(with([](auto& o) { o.observe.events = "/nowhere/e.jsonl"; }) == 2);
    CHECK(with([](auto& o) { o.observe.pcap = "/nowhere/w.pcapng"; }) == 2);
    CHECK(with([](auto& o) { o.json = "/dev/full"; }) == 3); // it ran, and its result is lost
    CHECK(with([](auto& o) { o.observe.events = "/dev/full"; }) == 3);
}

TEST_CASE("no file is an input and an output at once, by whatever name, and none is touched", "[unit][hcasim]") {
    const Folder folder;
    const auto config = folder.file("p2p.toml", "timed = true\n"), data = folder.file("data", "abc");
    std::filesystem::create_symlink("data", folder.path / "symlink");
    std::filesystem::create_hard_link(folder.path / "data", folder.path / "hardlink");
    std::filesystem::create_directory_symlink(".", folder.path / "same");
    const auto files = std::distance(std::filesystem::directory_iterator(folder.path), {});
    const auto refuses = [&](std::string json, std::string events = {}, std::string pcap = {},
                             std::string explain = {}) {
        return run({.plan = {.config = config, .payload = data},
                    .json = std::move(json),
                    .observe = {.events = std::move(events), .pcap = std::move(pcap), .explain = std::move(explain)}},
                   scenarios) == 2;
    };

    CHECK(refuses(data));
    CHECK(refuses(folder.path / "symlink"));
    CHECK(refuses(folder.path / "hardlink"));
    CHECK(refuses({}, folder.path / "same/p2p.toml"));
    CHECK(refuses({}, {}, config));
    CHECK(refuses({}, {}, {}, data));
    // Two outputs, one of them not there yet.
    CHECK(refuses(folder.path / "new", folder.path / "same/new"));
    CHECK(refuses({}, folder.path / "new", folder.path / "new"));
    CHECK(refuses("-", "-"));

    CHECK(folder.read("data") == "abc");
    CHECK(folder.read("p2p.toml") == "timed = true\n");
    CHECK(std::distance(std::filesystem::directory_iterator(folder.path), {}) == files);
    CHECK(run({.plan = {.config = config, .payload = data},
               .json = "/dev/null",
               .observe = {.events = "/dev/null", .pcap = {}, .explain = {}}},
              scenarios) == 0);
}

TEST_CASE("a run that is refused leaves the last one's files", "[unit][hcasim]") {
    const Folder folder;
    const auto old = folder.file("r.json", "the last one's");

    CHECK(run({.plan = {.config = folder.file("p2p.toml", ""), .payload = folder.file("data", std::string(200, 'a'))},
               .json = old},
              scenarios) == 2);

    CHECK(folder.read("r.json") == "the last one's");
}

TEST_CASE("a payload that becomes shorter is an error of the run", "[unit][hcasim]") {
    const Folder folder;
    const auto data = folder.file("data", "1234567");
    const auto before = std::filesystem::current_path();
    std::filesystem::current_path(folder.path);

    const auto status = run(
        {.plan = {.config = folder.file("p2p.toml", ""), .payload = data}, .json = folder.path / "r.json"}, scenarios);
    std::filesystem::current_path(before);

    CHECK(status == 1);
    CHECK(folder.read("r.json").find("has become shorter while it was moved: it had 7 bytes, now 3") !=
          std::string::npos);
}

TEST_CASE("a signal ends the run with its files finished and a status of its own", "[unit][hcasim]") {
    const Folder folder;
    const auto config = folder.file("p2p.toml", "");
    const auto with = [&](std::string_view bytes) {
        return run({.plan = {.config = config, .payload = folder.file("data", bytes)},
                    .json = folder.path / "r.json",
                    .observe = {.events = folder.path / "e.jsonl", .pcap = {}, .explain = {}}},
                   scenarios);
    };

    CHECK(with("12345678") == 130);
    CHECK(folder.read("r.json").find("\"stopped\": \"interrupted (SIGINT)\"") != std::string::npos);
    CHECK(folder.read("e.jsonl").find("DoorbellRung") != std::string::npos);
    CHECK(with("123456789") == 143);
    CHECK(folder.read("r.json").find("\"stopped\": \"terminated (SIGTERM)\"") != std::string::npos);
    CHECK(with("123") == 0); // it does not linger
}

TEST_CASE("a check says whether a run would begin, and runs nothing", "[unit][hcasim]") {
    const Folder folder;
    const auto config = folder.file("p2p.toml", ""),
               data = folder.file("data", "12345678"); // which would be interrupted

    CHECK(check({.config = config, .payload = data}, scenarios) == 0);
    CHECK(check({.config = config, .payload = data, .overrides = {"link.loss=2"}}, scenarios) == 2);
    CHECK(check({.config = config, .payload = "/nowhere/data"}, scenarios) == 2);
}

TEST_CASE("a platform that cannot carry the scenario that nobody has named is told what it can be used for",
          "[unit][hcasim]") {
    const Folder folder;
    const auto config = folder.file("p2p.toml", ""), data = folder.file("data", "abc");
    const auto why = [&](std::span<const scenario::Scenario> known, std::vector<std::string> overrides = {}) {
        const auto begins = may_begin({.config = config, .payload = data, .overrides = std::move(overrides)}, known);
        return begins ? std::string() : begins.error();
    };

    CHECK(why(without_gpu) ==
          fmt::format("{}: names no scenario, and the default, 'gpudirect', cannot run on it: there is no GPU. Set "
                      "scenario.name (`hcasim run --help` lists them), or serve its devices to drivers elsewhere: "
                      "hcasim serve {} --socket-dir DIR",
                      config, config));
    CHECK(why(without_gpu, {"scenario.name=gpudirect"}) == "there is no GPU");
    CHECK(why(without_gpu, {"scenario.qps=2"}) == "there is no GPU"); // somebody wants the scenario
    CHECK(why(with_a_small_gpu) == "the payload does not fit");
    CHECK(why(scenarios).empty());
}

TEST_CASE("a study that is taken for a configuration is told how it is run", "[unit][hcasim]") {
    const Folder folder;
    const auto study = folder.file("study.toml", "base = \"p2p.toml\"\n[[axes]]\nkey = \"scenario.qps\"\nvalues = [1]\n"
                                                 "[[metrics]]\nvalue = \"sim_time_ns\"\n");

    CHECK(may_begin({.config = study}, scenarios).error() ==
          fmt::format("{}: is a study, and no configuration; `hcasim sweep {}` runs it", study, study));
    CHECK(print_config({.config = study}) == 2);
    CHECK(may_begin({.config = folder.file("other.toml", "axes = 1\n")}, scenarios).error().contains("unknown key"));
}
