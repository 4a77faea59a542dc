#include "platform/observe/files/json.h"

#include <catch2/catch_test_macros.hpp>

#include <limits>

using platform::observe::files::JsonObject;
using namespace std::string_view_literals;

namespace {
std::string quoted(std::string_view text) {
    fmt::memory_buffer out;
    platform::observe::files::append_quoted(out, text);
    return fmt::to_string(out);
}
} // namespace

TEST_CASE("an object holds numbers, texts, truth values, lists and objects", "[unit][observe]") {
    JsonObject json;
    json.add("a", 1)
        .add("b", "two")
        .add("c", true)
        .add("d", std::uint64_t{1} << 63)
        .add("e", 0.5)
        .add("f", std::uint8_t{7});
    json.begin("g").add("h", -1).end();
    json.begin_list("i").begin_item().add("j", 1).end().begin_item().end().end();
    json.end();

    CHECK(json.text() ==
          R"({"a":1,"b":"two","c":true,"d":9223372036854775808,"e":0.5,"f":7,"g":{"h":-1},"i":[{"j":1},{}]})");
}

TEST_CASE("indentation puts each name on its own line", "[unit][observe]") {
    JsonObject json(2);
    json.add("a", 1).begin("b").add("c", 2).end().begin("d").end().end();

    CHECK(json.text() == "{\n  \"a\": 1,\n  \"b\": {\n    \"c\": 2\n  },\n  \"d\": {}\n}");
}

TEST_CASE("a number that is none becomes null", "[unit][observe]") {
    JsonObject json;
    json.add("a", std::numeric_limits<double>::infinity()).add("b", std::numeric_limits<double>::quiet_NaN()).end();

    CHECK(json.text() == R"({"a":null,"b":null})");
}

TEST_CASE("a text keeps its UTF-8, and nothing else unescaped", "[unit][observe]") {
    CHECK(quoted("plain") == "\"plain\"");
    CHECK(quoted("a\"b\\c") == R"("a\"b\\c")");
    CHECK(quoted("a\nb\0c"sv) == R"("a\u000ab\u0000c")");
    CHECK(quoted("ä€😀") == "\"ä€😀\"");
    CHECK(quoted("a\xff"
                 "b") == R"("a\ufffdb")");
    CHECK(quoted("\xe2\x82") == R"("\ufffd\ufffd")");
    CHECK(quoted("\xc0\xaf") == R"("\ufffd\ufffd")");
    CHECK(quoted("\xed\xa0\x80") == R"("\ufffd\ufffd\ufffd")");
}
