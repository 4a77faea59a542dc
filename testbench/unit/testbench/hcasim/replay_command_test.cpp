// The command itself: files, processes, statuses, and what is written.
#include "testbench/unit/testbench/hcasim/recorded_session.h"

#include "testbench/hcasim/replay.h"
#include "testbench/program/status.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

using namespace hcasim_replay;
using Catch::Matchers::ContainsSubstring;

namespace {

/// A directory with a recording in it; the recording's name ends so that nobody takes the words apart.
struct Directory {
    std::filesystem::path path;
    Directory() {
        auto name = (std::filesystem::temp_directory_path() / "replay.XXXXXX").string();
        REQUIRE(mkdtemp(name.data()) != nullptr);
        path = name;
    }
    ~Directory() { std::filesystem::remove_all(path); }
    Directory(const Directory&) = delete;
    Directory& operator=(const Directory&) = delete;
    std::string file(const std::string& name) const { return path / name; }
    std::string put(const std::string& name, std::span<const std::byte> bytes) const {
        std::ofstream out(path / name, std::ios::binary);
        out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
        REQUIRE(out.flush());
        return path / name;
    }
    std::string text(const std::string& name) const {
        std::ifstream in(path / name);
        return {std::istreambuf_iterator<char>(in), {}};
    }
};

} // namespace

TEST_CASE("a recording that plays as it was has status 0, and a verdict for each device", "[unit][replay]") {
    const Directory directory;
    const auto trace = directory.put("run.trace", recorded());
    const auto mode = GENERATE(ReplayMode::strict, ReplayMode::untimed);

    const auto status = replay({.traces = {trace, trace}, .mode = mode, .json = directory.file("out.json")});

    CHECK(status == status::good);
    const auto json = directory.text("out.json");
    CHECK_THAT(json, ContainsSubstring("\"status\": 0"));
    CHECK_THAT(json, ContainsSubstring(R"("device":"A.root.switch.hca","verdict":"same")"));
    CHECK_THAT(json, ContainsSubstring(R"("device":"B.root.switch.hca","verdict":"same")"));
}

TEST_CASE("a setting that moves something has status 1, and the command that shows it again", "[unit][replay]") {
    const Directory directory;
    const auto trace = directory.put("my run", recorded());
    ReplayOptions options{.traces = {trace},
                          .overrides = {"hca.wqe_latency_ns=300"},
                          .parts = {"A.hca"},
                          .json = directory.file("out.json")};

    CHECK(replay(options) == status::failed);
    const auto json = directory.text("out.json");
    CHECK_THAT(json, ContainsSubstring(R"("class":"time","field":"time")"));
    CHECK_THAT(json, ContainsSubstring(R"("key":"hca.wqe_latency_ns","recorded":"40 ns","now":"300")"));
    CHECK_THAT(json, ContainsSubstring("hcasim replay '" + trace +
                                       "' --strict --set hca.wqe_latency_ns=300 --at A.root.switch.hca"));
    CHECK_THAT(json, !ContainsSubstring("B.root.switch.hca"));

    options.mode = ReplayMode::untimed;
    CHECK(replay(options) == status::good);
}

TEST_CASE("a recording that is cut is played as far as it goes, and has a status of its own", "[unit][replay]") {
    const Directory directory;
    const auto trace = directory.put("cut", std::span(recorded()).first(recorded().size() * 2 / 3));

    CHECK(replay({.traces = {trace}, .json = directory.file("out.json")}) == status::damaged);

    const auto json = directory.text("out.json");
    CHECK_THAT(json, ContainsSubstring(R"("verdict":"truncated")"));
    CHECK_THAT(json, ContainsSubstring(R"("fault":{"kind":"truncated")"));
}

TEST_CASE("a file that is no recording is refused, and the others are played", "[unit][replay]") {
    const Directory directory;
    const auto foreign = directory.put("foreign", std::as_bytes(std::span("what somebody else has written")));
    const auto trace = directory.put("run", recorded());

    CHECK(replay({.traces = {foreign, trace}, .json = directory.file("out.json")}) == status::damaged);

    const auto json = directory.text("out.json");
    CHECK_THAT(json, ContainsSubstring("foreign: "));
    CHECK_THAT(json, ContainsSubstring("byte 0 of the file"));
    CHECK_THAT(json, ContainsSubstring(R"("verdict":"same")"));
}

TEST_CASE("what cannot be played is refused before anything is", "[unit][replay]") {
    const Directory directory;
    const auto trace = directory.put("run", recorded());

    CHECK(replay({.traces = {directory.file("none")}}) == status::refused);
    CHECK(replay({.traces = {directory.path}}) == status::refused);
    CHECK(replay({.traces = {trace}, .json = trace}) == status::refused);
    CHECK(replay({.traces = {trace}, .overrides = {"hca.log_max_qp=99"}}) == status::refused);
    CHECK(replay({.traces = {trace}, .parts = {"C.hca"}}) == status::refused);
    CHECK(directory.text("run").size() == recorded().size());
}

TEST_CASE("a device whose process dies is told, which is no divergence, and the other one is played",
          "[unit][replay]") {
    const Directory directory;
    const auto trace = directory.put("run", recorded());
    const MakeRecorded make = [](const auto& device, const auto& ports, const auto& place) {
        if (place.name.starts_with("A"))
            ::_exit(7);
        return make_recorded(device, ports, place);
    };

    CHECK(replay({.traces = {trace}, .json = directory.file("out.json"), .jobs = 1}, make) == status::own_trouble);

    const auto json = directory.text("out.json");
    CHECK_THAT(json, ContainsSubstring(R"("device":"A.root.switch.hca","verdict":"ended","complaint":"not played to )"
                                       "its end: the process that played it has ended by itself, with status 7"));
    CHECK_THAT(json, ContainsSubstring(R"("device":"B.root.switch.hca","verdict":"same")"));
}
