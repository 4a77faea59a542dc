#include "testbench/study/spool.h"

#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace {

namespace fs = std::filesystem;

/// A directory that is there, and is removed.
class Place {
public:
    Place() : path_((fs::temp_directory_path() / fmt::format("spool.{}", ::getpid())).string()) {
        fs::remove_all(path_);
        fs::create_directory(path_);
    }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place() { fs::remove_all(path_); }
    const std::string& path() const { return path_; }
    std::size_t files() const {
        return static_cast<std::size_t>(std::distance(fs::directory_iterator(path_), fs::directory_iterator()));
    }

private:
    std::string path_;
};

std::string read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}
void write(const std::string& path, std::string_view bytes) { std::ofstream(path, std::ios::binary) << bytes; }

const std::string any_bytes("\xff\0\n\x80 ", 5);

study::SpooledResult result() {
    return {.version = "0.1",
            .revision = "r",
            .settings = "a=1 b=" + any_bytes,
            .ended = {.way = study::Ended::Way::signal,
                      .number = 11,
                      .output = "{}" + any_bytes,
                      .errors = any_bytes,
                      .seconds = 0.25}};
}

} // namespace

TEST_CASE("a result comes out of the spool as it was put in, whatever its bytes", "[unit][study]") {
    const Place place;

    study::write_result(place.path(), 7, result());

    const auto found = study::read_result(place.path(), 7);
    REQUIRE(found);
    CHECK(found->version == "0.1");
    CHECK(found->revision == "r");
    CHECK(found->settings == result().settings);
    CHECK(found->ended.way == study::Ended::Way::signal);
    CHECK(found->ended.number == 11);
    CHECK(found->ended.output == result().ended.output);
    CHECK(found->ended.errors == any_bytes);
    CHECK(found->ended.seconds == 0.25);
    CHECK(study::results_in(place.path()) == std::vector<std::size_t>{7});
    CHECK(place.files() == 1); // nothing under another name
    CHECK(!study::read_result(place.path(), 8));
}

TEST_CASE("a result that is cut or changed anywhere is none", "[unit][study]") {
    const Place place;
    study::write_result(place.path(), 1, result());
    const auto path = place.path() + "/result-1";
    const auto whole = read(path);

    for (std::size_t i = 0; i != whole.size(); ++i) {
        write(path, std::string_view(whole).substr(0, i));
        CHECK(!study::read_result(place.path(), 1));
        auto changed = whole;
        changed[i] = static_cast<char>(changed[i] ^ 0x40);
        write(path, changed);
        CHECK(!study::read_result(place.path(), 1));
    }
    write(path, whole + "x");
    CHECK(!study::read_result(place.path(), 1));
    write(path, whole);
    CHECK(study::read_result(place.path(), 1));
}

TEST_CASE("what an array is to do comes out of the spool as it was put in", "[unit][study]") {
    const Place place;
    study::SpooledArray array{.version = "0.1",
                              .revision = "r",
                              .directory = "/x" + any_bytes,
                              .inputs = {"base", "payload"},
                              .timeout_s = 9,
                              .chunk = 2,
                              .points = {}};
    for (std::size_t i = 0; i != 5; ++i)
        array.points.push_back({.number = 10 + i,
                                .settings = fmt::format("a={}", i),
                                .words = {"run", any_bytes},
                                .losses = static_cast<unsigned>(i),
                                .preemptions = 3});

    study::write_array(place.path(), array);

    const auto found = study::read_array(place.path());
    REQUIRE(found);
    CHECK(found->directory == array.directory);
    CHECK(found->inputs == array.inputs);
    CHECK(found->timeout_s == 9);
    CHECK(found->tasks() == 3);
    REQUIRE(found->points.size() == 5);
    CHECK(found->points[4].number == 14);
    CHECK(found->points[4].settings == "a=4");
    CHECK(found->points[4].words == array.points[4].words);
    CHECK(found->points[4].losses == 4);
    CHECK(found->points[4].preemptions == 3);
    CHECK(study::read_array(place.path() + "/no").error().contains("No such file"));
}

TEST_CASE("a result for which there is no room leaves nothing", "[unit][study]") {
    const Place place;
    CHECK_THROWS_AS(study::write_result("/dev/full/x", 1, result()), std::runtime_error);
    fs::create_directory(place.path() + "/result-1"); // cannot be replaced by a file
    CHECK_THROWS_AS(study::write_result(place.path(), 1, result()), std::runtime_error);
    CHECK(place.files() == 1);
}
