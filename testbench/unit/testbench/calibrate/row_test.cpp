#include "testbench/calibrate/row.h"
#include "testbench/harness/source_tree.h"

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <set>
#include <string>

using namespace calibrate;

namespace {
constexpr std::array<std::string_view, 4> cards{"connect-ib", "connectx5", "connectx6dx", "connectx7"};
}

TEST_CASE("each row names the publication that it is from, and no two have one name", "[unit][calibrate]") {
    std::set<std::string_view> names;
    for (const auto& row : rows()) {
        CAPTURE(row.id);
        CHECK_FALSE(row.source.empty());
        CHECK_FALSE(row.what.empty());
        CHECK_FALSE(row.unit.empty());
        CHECK(row.target > 0);
        CHECK(names.insert(row.id).second);
    }
}

TEST_CASE("a row is measured, or says what it would need", "[unit][calibrate]") {
    for (const auto& row : rows()) {
        CAPTURE(row.id);
        CHECK((row.measure != nullptr) == row.missing.empty());
        CHECK((!row.is_fitted || row.measure != nullptr));
    }
}

TEST_CASE("each row's own target is in its band", "[unit][calibrate]") {
    for (const auto& row : rows()) {
        CAPTURE(row.id);
        CHECK(row.band.holds(row.target, row.target));
    }
}

TEST_CASE("rows belong to profiles that there are, and each profile has some", "[unit][calibrate]") {
    std::set<std::string_view> found;
    for (const auto& row : rows())
        found.insert(row.profiles.begin(), row.profiles.end());
    CHECK(found == std::set<std::string_view>(cards.begin(), cards.end()));
}

TEST_CASE("each profile is a configuration", "[unit][calibrate]") {
    for (const auto card : cards) {
        CAPTURE(card);
        const Profile profile{.path = testbench::source_tree() + "/platform/profiles/" + std::string(card) + ".toml",
                              .name = std::string(card)};
        CHECK_NOTHROW(profile.with());
    }
}
