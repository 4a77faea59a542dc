#include "testbench/study/read_study.h"

#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace {

constexpr const char* axes_and_metrics = "[[axes]]\nkey = \"scenario.qps\"\nvalues = [1, 2]\n"
                                         "[[metrics]]\nvalue = \"sim_time_ns\"\n";

/// A file that is removed.
class File {
public:
    explicit File(const std::string& text)
        : path_((std::filesystem::temp_directory_path() / fmt::format("study.{}.toml", ::getpid())).string()) {
        std::ofstream(path_, std::ios::binary) << text;
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    ~File() { std::filesystem::remove(path_); }
    const std::string& path() const { return path_; }

private:
    std::string path_;
};

std::string refusal(const std::string& text) {
    const auto study = study::parse_study(text, "s.toml");
    return study ? std::string() : study.error();
}

} // namespace

TEST_CASE("a configuration is no study, and how it is run is said instead of what it lacks", "[unit][study]") {
    for (const auto* text : {"", "[scenario]\nname = \"traffic\"\n", "timed = false\n"})
        CHECK(refusal(text) == "s.toml: is no study, which has 'base', [[axes]] and [[metrics]]; a configuration is "
                               "run by `hcasim run s.toml`");
    CHECK(refusal(fmt::format("base = \"b.toml\"\n{}", axes_and_metrics)).empty());
}

TEST_CASE("of a study without a base nothing is wrong but that", "[unit][study]") {
    const File missing(axes_and_metrics);
    const auto read = study::read_study(missing.path());

    REQUIRE(!read);
    CHECK(read.error() == fmt::format("{}:1: 'base' is missing", missing.path()));
    CHECK(refusal(fmt::format("base = \"\"\n{}", axes_and_metrics)) == "s.toml:1: 'base' names no file");
    CHECK_FALSE(refusal(fmt::format("base = 7\n{}", axes_and_metrics)).contains("names no file"));
}

TEST_CASE("a file is known for a study by what each of them has", "[unit][study]") {
    CHECK(study::is_study(File(fmt::format("base = \"b.toml\"\nwrong = 1\n{}", axes_and_metrics)).path()));
    CHECK_FALSE(study::is_study(File(axes_and_metrics).path()));
    CHECK_FALSE(study::is_study(File("timed = false\n").path()));
    CHECK_FALSE(study::is_study(File("[[axes\n").path()));
    CHECK_FALSE(study::is_study("/nowhere/at/all.toml"));
    CHECK_FALSE(study::is_study(std::filesystem::temp_directory_path().string()));
}
