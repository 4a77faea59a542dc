#include "testbench/study/store.h"

#include "testbench/unit/testbench/study/made.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace {

/// A file that is not there yet, and is removed.
class Place {
public:
    Place() : path_((std::filesystem::temp_directory_path() / fmt::format("store.{}.sqlite", ::getpid())).string()) {
        std::filesystem::remove(path_);
    }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place() { std::filesystem::remove(path_); }
    const std::string& path() const { return path_; }
    std::string bytes() const {
        std::ifstream file(path_, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    void write(const std::string& bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }

private:
    std::string path_;
};

study::Origin origin(std::string identity = "axis a\n") {
    return {.file = "a.toml",
            .text = "text",
            .platform = "p",
            .identity = std::move(identity),
            .version = "0.1",
            .revision = "r"};
}

study::Outcome outcome(std::size_t number, double wall_seconds = 1) {
    auto made = made::outcome({number, 0, {{"a", fmt::to_string(number)}, {"b", "x = y"}}, 1}, 0.1 * (number + 1.0));
    made.event_digest = fmt::format("{:016x}", number);
    made.result = "{\"kind\": \"hcasim result\"}";
    made.wall_seconds = wall_seconds;
    return made;
}

std::string refusal(const std::string& path, const study::Origin& origin) {
    const auto store = study::Store::open(path, origin);
    return store ? std::string() : store.error();
}

} // namespace

TEST_CASE("what is put into a store comes out of it, also from the file", "[unit][study]") {
    const Place place;
    const auto study = made::study({made::axis("a", {0, 1})});
    auto failed = outcome(1);
    failed.status = study::Status::late;
    failed.reason = "too long";
    failed.metrics.clear();
    failed.result.clear();
    {
        auto store = study::Store::open(place.path(), origin());
        REQUIRE(store);
        store->add(study, failed);
        store->add(study, outcome(0));
        store->set_end("all");
    }

    auto store = study::Store::read(place.path());

    REQUIRE(store);
    const auto all = store->all();
    REQUIRE(all.size() == 2);
    CHECK(all[0].point.settings == outcome(0).point.settings);
    CHECK(all[0].point.repetition == 1);
    CHECK(all[0].metrics == outcome(0).metrics);
    CHECK(all[0].result == outcome(0).result);
    CHECK(all[0].wall_seconds == 1);
    CHECK(all[1].status == study::Status::late);
    CHECK(all[1].reason == "too long");
    CHECK(all[1].metrics.empty());
    CHECK(store->origin().identity == "axis a\n");
    CHECK(store->end() == "all");
    CHECK_THROWS(store->add(study, outcome(2))); // it is for looking into
}

TEST_CASE("results that fill the memory are refused before they do, and those of honest points are read",
          "[unit][study]") {
    const bool is_made_up = GENERATE(false, true);
    const Place place;
    const auto study = made::study({made::axis("a", {0, 1})});
    auto store = study::Store::open(place.path(), origin());
    REQUIRE(store);
    for (const std::size_t point : {0u, 1u}) {
        auto one = outcome(point);
        one.result.assign((is_made_up ? 40u : 30u) << 20, ' ');
        store->add(study, one);
    }

    if (is_made_up)
        CHECK_THROWS_WITH(store->all(), Catch::Matchers::ContainsSubstring("times as large as in the file"));
    else
        CHECK(store->all().size() == 2);
}

TEST_CASE("a digest knows content, and neither wall times nor the order of coming", "[unit][study]") {
    const Place place;
    const auto study = made::study({made::axis("a", {0, 1})});
    const auto digest = [&](const std::vector<study::Outcome>& outcomes) {
        std::filesystem::remove(place.path());
        auto store = study::Store::open(place.path(), origin());
        for (const auto& one : outcomes)
            store->add(study, one);
        return store->digest();
    };
    const auto reference = digest({outcome(0), outcome(1)});

    CHECK(digest({outcome(1, 2), outcome(0, 3)}) == reference);
    auto changed = outcome(1);
    changed.metrics["m"] += 1e-12;
    CHECK(digest({outcome(0), changed}) != reference);
    changed = outcome(1);
    changed.result += " ";
    CHECK(digest({outcome(0), changed}) != reference);
    changed = outcome(1);
    changed.reason = "r";
    CHECK(digest({outcome(0), changed}) != reference);
    CHECK(digest({outcome(0)}) != reference);
}

TEST_CASE("a store is for one study and one program", "[unit][study]") {
    const Place place;
    const auto study = made::study({made::axis("a", {0, 1})});
    study::Store::open(place.path(), origin())->add(study, outcome(0));
    const auto before = place.bytes();

    CHECK(refusal(place.path(), origin("axis b\n")).find("it has 'axis a', the study 'axis b'") != std::string::npos);
    CHECK(refusal(place.path(), origin("axis a\nmore\n")).find("it has 'nothing'") != std::string::npos);
    auto other = origin();
    other.revision = "s";
    CHECK(refusal(place.path(), other).find("points of two programs") != std::string::npos);
    CHECK(place.bytes() == before);
    CHECK(study::Store::open(place.path(), origin())->points() == 1);
}

TEST_CASE("what is no store is refused and stays as it is, and an empty file becomes one", "[unit][study]") {
    const Place place;
    const auto study = made::study({made::axis("a", {0, 1})});
    study::Store::open(place.path(), origin())->add(study, outcome(0));
    const auto good = place.bytes();
    const auto keeps = [&](const std::string& bytes) {
        place.write(bytes);
        CHECK(!refusal(place.path(), origin()).empty());
        CHECK(!study::Store::read(place.path()));
        CHECK(!study::Store::read(place.path()).error().contains("stays as it is")); // it would in any case
        CHECK(place.bytes() == bytes);
    };
    keeps(std::string(10'000, 'x'));
    CHECK(refusal(place.path(), origin()).ends_with("it stays as it is, name another one"));
    CHECK(study::Store::read(place.path()).error().ends_with("an SQLite file as `hcasim sweep STUDY.toml` writes it"));
    keeps(good.substr(0, good.size() / 2));
    auto other = good;
    other[63] = 9; // user_version, as SQLite's file format has it
    keeps(other);
    other = good;
    other[70] = 9; // application_id
    keeps(other);
    place.write({});
    CHECK(refusal(place.path(), origin()).empty());
    CHECK(study::Store::open(place.path(), origin())->points() == 0);
    CHECK(!refusal(std::filesystem::temp_directory_path().string(), origin()).empty());
    CHECK(!refusal("/nowhere/at/all", origin()).empty());
    CHECK(!study::Store::read("/nowhere/at/all"));
}

TEST_CASE("two do not write one store, and one may read it meanwhile", "[unit][study]") {
    const Place place;
    const auto study = made::study({made::axis("a", {0, 1})});
    auto first = study::Store::open(place.path(), origin());
    first->add(study, outcome(0));

    CHECK(refusal(place.path(), origin()).find("another sweep is writing it") != std::string::npos);
    CHECK(study::Store::read(place.path())->points() == 1);
    first->add(study, outcome(1));
    auto moved = std::move(*first);
    CHECK(moved.points() == 2);
}

TEST_CASE("a point is added whole or not at all", "[unit][study]") {
    const Place place;
    const auto study = made::study({made::axis("a", {0, 1})});
    auto store = study::Store::open(place.path(), origin());
    store->add(study, outcome(0));

    CHECK_THROWS_AS(store->add(study, outcome(0)), std::runtime_error);
    CHECK(store->points() == 1);
    auto failed = outcome(1);
    failed.status = study::Status::crashed;
    store->add(study, failed);
    store->set_end("all");

    CHECK(store->forget_failures() == 1);
    CHECK(store->points() == 1);
    CHECK(store->end().empty());
    CHECK_NOTHROW(store->add(study, outcome(1)));
}

TEST_CASE("arrays at work are noted until they are forgotten, and are no content", "[unit][study]") {
    const Place place;
    const auto study = made::study({made::axis("a", {0, 1})});
    auto store = study::Store::open(place.path(), origin());
    REQUIRE(store);
    store->add(study, outcome(0));
    const auto digest = store->digest();
    CHECK(store->arrays().empty());

    store->note_array({"/spool/a", ""});
    store->note_array({"/spool/b", "12"});
    store->note_array({"/spool/a", "11"});

    const auto found = study::Store::read(place.path())->arrays();
    REQUIRE(found.size() == 2);
    CHECK(found[0].directory == "/spool/a");
    CHECK(found[0].job == "11");
    CHECK(found[1].job == "12");
    CHECK(store->digest() == digest);
    store->forget_array("/spool/a");
    REQUIRE(store->arrays().size() == 1);
    CHECK(store->arrays().front().directory == "/spool/b");
    store->forget_array("/spool/b");
    store->forget_array("/spool/b");
    CHECK(store->arrays().empty());
    CHECK(study::Store::read(place.path())->digest() == digest);
}

TEST_CASE("a name that SQLite has a meaning for is that of a file", "[unit][study]") {
    const auto before = std::filesystem::current_path();
    const auto scratch = std::filesystem::temp_directory_path() / fmt::format("store.{}", ::getpid());
    std::filesystem::create_directory(scratch);
    std::filesystem::current_path(scratch);
    for (const std::string name : {":memory:", "file:x.sqlite", "file:y?mode=memory", "-"}) {
        INFO(name);
        CHECK(study::Store::open(name, origin()).has_value());
        CHECK(study::Store::read(name).has_value());
        CHECK(std::filesystem::file_size(name) != 0);
    }
    CHECK_FALSE(std::filesystem::exists("x.sqlite"));
    std::filesystem::current_path(before);
    std::filesystem::remove_all(scratch);
}
