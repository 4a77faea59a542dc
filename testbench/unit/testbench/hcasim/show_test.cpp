#include "testbench/hcasim/show.h"

#include "testbench/harness/source_tree.h"
#include "testbench/program/status.h"

#include <catch2/catch_test_macros.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <unistd.h>

using namespace hcasim;

namespace {

/// A file that goes with the test.
struct Scratch {
    std::string path = std::filesystem::temp_directory_path() / ("hcasim-show-" + std::to_string(::getpid()) + ".svg");
    ~Scratch() { std::filesystem::remove(path); }
    std::string text() const {
        std::ifstream file(path);
        return {std::istreambuf_iterator<char>(file), {}};
    }
};

const std::string pair = testbench::source_tree() + "/platform/configs/pair.toml";

} // namespace

TEST_CASE("show writes the picture of a configuration with its overrides", "[unit][hcasim]") {
    const Scratch scratch;

    CHECK(show({.config = pair, .overrides = {"B.gpu.vram=1 MiB"}, .svg = scratch.path}) == status::good);
    CHECK(scratch.text().starts_with("<svg "));
    CHECK(scratch.text().find("B.root.switch.gpu, VRAM 1 MiB") != std::string::npos);
}

TEST_CASE("show refuses what is no platform, and writes nothing", "[unit][hcasim]") {
    const Scratch scratch;

    CHECK(show({.config = pair, .overrides = {"B.gpu7.vram=1 MiB"}, .svg = scratch.path}) == status::refused);
    CHECK(show({.config = pair, .svg = pair}) == status::refused);
    CHECK(show({.config = pair, .svg = "/nowhere/pair.svg"}) == status::refused);
    CHECK_FALSE(std::filesystem::exists(scratch.path));
}
