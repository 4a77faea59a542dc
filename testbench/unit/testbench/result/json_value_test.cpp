#include "testbench/result/json_value.h"

#include <catch2/catch_test_macros.hpp>

using namespace hcasim;

namespace {

std::string refusal(std::string_view text) {
    const auto value = json::parse(text, "B.json");
    return value ? "read" : value.error();
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

} // namespace

TEST_CASE("values keep their kind, their order and their line", "[unit][hcasim]") {
    const auto value =
        json::parse("{\n \"b\": 18446744073709551615,\n \"a\": [-1, 0.5, true,\n null, \"x\\u0041\"]\n}", "B.json");

    REQUIRE(value);
    REQUIRE(value->object() != nullptr);
    CHECK(value->line == 1);
    CHECK(value->object()->front().name == "b");
    CHECK(*value->member("b")->scalar() == json::Scalar(~std::uint64_t{0}));
    CHECK(value->member("b")->line == 2);
    const auto& list = *value->member("a")->list();
    CHECK(value->member("a")->line == 3);
    CHECK(*list[0].scalar() == json::Scalar(std::int64_t{-1}));
    CHECK(*list[1].scalar() == json::Scalar(0.5));
    CHECK(*list[2].scalar() == json::Scalar(true));
    CHECK(*list[3].scalar() == json::Scalar(nullptr));
    CHECK(*list[4].scalar() == json::Scalar(std::string("xA")));
    CHECK(list[4].line == 4);
    CHECK(value->member("c") == nullptr);
    CHECK(list[0].member("a") == nullptr);
}

TEST_CASE("a number at the end of its line is on that line", "[unit][hcasim]") {
    const auto value = json::parse("[\n1\n,\n2\n]", "B.json");

    REQUIRE(value);
    CHECK((*value->list())[0].line == 2);
    CHECK((*value->list())[1].line == 4);
    CHECK(json::parse("7", "B.json")->line == 1);
}

TEST_CASE("every truncation of a result is refused with its place", "[unit][hcasim]") {
    const std::string_view whole = R"({"kind": "hcasim result", "a": [1, {"b": 2.5}], "c": "\n"})";
    REQUIRE(json::parse(whole, "B.json"));

    for (std::size_t length = 0; length < whole.size(); ++length)
        CHECK(has(refusal(whole.substr(0, length)), "B.json:1:"));
    CHECK(has(refusal("{\"a\":\n\n 1,}"), "B.json:3:4: byte 10: "));
    CHECK(has(refusal("{\"a\": 1} x"), "byte 9"));
}

TEST_CASE("a name that is there twice is refused where it is there again", "[unit][hcasim]") {
    CHECK(has(refusal("{\"a\": 1,\n\"a\": 2}"), "B.json:2:3: byte 11: 'a' is there a second time"));
    CHECK(refusal(R"({"a": {"a": 1}, "b": {"a": 1}})") == "read");
}

TEST_CASE("what is too deep, too large or no text is refused, however it is nested", "[unit][hcasim]") {
    const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
    CHECK(refusal(nested(json::most_depth)) == "read");
    CHECK(has(refusal(nested(json::most_depth + 1)), "deeper than 16 levels"));
    CHECK(has(refusal(std::string(50'000'000, '[')), "deeper than 16 levels"));
    CHECK(has(refusal(std::string(json::most_bytes + 1, ' ')), "more than 67108864 bytes"));
    CHECK(has(refusal("[1e999]"), "B.json:1:6: byte 5: number overflow"));
    CHECK(has(refusal("[\"\xff\"]"), "ill-formed UTF-8"));
    CHECK(has(refusal("[\"\n\"]"), "control character"));
    CHECK(has(refusal(std::string_view("\x00\x01", 2)), "B.json:1:1: byte 0: "));
    CHECK(refusal("[\"" + std::string(1'000'000, 'a')).size() < 400);
}
