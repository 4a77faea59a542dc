#include "platform/topology/value.h"

#include <catch2/catch_test_macros.hpp>

using namespace platform::topology;
using namespace std::string_literals;

namespace {
std::int64_t whole(Kind kind, const Value& written) {
    const auto value = convert(kind, written);
    REQUIRE(value.has_value());
    return std::get<std::int64_t>(*value);
}
} // namespace

TEST_CASE("sizes are bytes or a number with a binary unit", "[unit][topology]") {
    CHECK(whole(Kind::size, std::int64_t{4096}) == 4096);
    CHECK(whole(Kind::size, "4096"s) == 4096);
    CHECK(whole(Kind::size, "2 GiB"s) == 2147483648);
    CHECK(whole(Kind::size, "2GiB"s) == 2147483648);
    CHECK(whole(Kind::size, "1.5 MiB"s) == 1572864);
    CHECK(whole(Kind::size, "7 B"s) == 7);
}

TEST_CASE("times are nanoseconds or a number with a unit, and become picoseconds", "[unit][topology]") {
    CHECK(whole(Kind::time, std::int64_t{250}) == 250'000);
    CHECK(whole(Kind::time, 0.5) == 500);
    CHECK(whole(Kind::time, "250 ns"s) == 250'000);
    CHECK(whole(Kind::time, "1.5us"s) == 1'500'000);
    CHECK(whole(Kind::time, "3 ps"s) == 3);
}

TEST_CASE("a quantity that is none is refused with what was expected", "[unit][topology]") {
    CHECK(convert(Kind::size, "2 GB"s).error() ==
          "has the unknown unit 'GB'; the units are B KiB MiB GiB TiB, did you mean 'GiB'?");
    CHECK(convert(Kind::size, "2 m"s).error().ends_with("did you mean 'MiB'?"));
    CHECK(convert(Kind::size, "2 kib"s).error().ends_with("did you mean 'KiB'?"));
    CHECK(convert(Kind::size, "2 ells"s).error().ends_with("TiB"));
    CHECK(convert(Kind::time, "2 sec"s).error().ends_with("did you mean 's'?"));
    CHECK(convert(Kind::time, "2 \u00b5s"s).error().ends_with("did you mean 'us'?"));
    CHECK(convert(Kind::size, "much"s).error() == "wants a size such as \"2 GiB\", not \"much\"");
    CHECK(convert(Kind::size, 1.5).error() == "wants a size such as \"2 GiB\", not 1.5");
    CHECK_FALSE(convert(Kind::size, "0.3 B"s).has_value());
    CHECK_FALSE(convert(Kind::size, "1e300 B"s).has_value());
    CHECK_FALSE(convert(Kind::size, "99999999999999999999 TiB"s).has_value());
    CHECK_FALSE(convert(Kind::size, "- B"s).has_value());
    CHECK_FALSE(convert(Kind::time, true).has_value());
    CHECK_FALSE(convert(Kind::time, 1e300).has_value());
}

TEST_CASE("a value of another kind is refused and shown", "[unit][topology]") {
    CHECK(convert(Kind::integer, "4"s).error() == "wants a whole number, not the text \"4\"");
    CHECK(convert(Kind::integer, 4.0).error().starts_with("wants a whole number, not 4"));
    CHECK(convert(Kind::boolean, std::int64_t{1}).error() == "wants true or false, not 1, did you mean true?");
    CHECK(convert(Kind::boolean, "off"s).error().ends_with("did you mean false?"));
    CHECK(convert(Kind::text, false).error() == "wants a text, not false");
    CHECK(convert(Kind::number, "high"s).error() == "wants a number, not the text \"high\"");
    CHECK(std::get<double>(convert(Kind::number, std::int64_t{1}).value()) == 1.0);
}

TEST_CASE("the command line's texts become the kind of the key", "[unit][topology]") {
    CHECK(std::get<bool>(parse(Kind::boolean, "false").value()) == false);
    CHECK(std::get<std::int64_t>(parse(Kind::integer, "-3").value()) == -3);
    CHECK(std::get<std::int64_t>(parse(Kind::integer, "0x10").value()) == 16);
    CHECK(std::get<double>(parse(Kind::number, "0.01").value()) == 0.01);
    CHECK(std::get<std::string>(parse(Kind::text, "a b").value()) == "a b");
    CHECK(parse(Kind::boolean, "yes").error() == "wants true or false, not \"yes\", did you mean true?");
    CHECK_FALSE(parse(Kind::integer, "3x").has_value());
    CHECK_FALSE(parse(Kind::integer, "").has_value());
    CHECK_FALSE(parse(Kind::number, "nan").has_value());
    CHECK_FALSE(parse(Kind::number, "inf").has_value());
}

TEST_CASE("a quantity may have a power of ten, with a unit or without", "[unit][topology]") {
    CHECK(std::get<std::int64_t>(parse(Kind::time, "1e3").value()) == 1'000'000);
    CHECK(std::get<std::int64_t>(parse(Kind::time, "2.5E+2 ns").value()) == 250'000);
    CHECK(std::get<std::int64_t>(parse(Kind::size, "1e3 B").value()) == 1000);
    CHECK(parse(Kind::time, "1 e12").error().find("unknown unit 'e12'") != std::string::npos);
    CHECK(parse(Kind::size, "1e").error().find("unknown unit 'e'") != std::string::npos);
}

TEST_CASE("what is printed reads back as the same value", "[unit][topology]") {
    for (const std::int64_t value : {0LL, 1LL, 1000LL, 1024LL, 250'000LL, 1'500'000LL, 3LL << 30, 12345LL})
        for (const auto kind : {Kind::size, Kind::time})
            CHECK(std::get<std::int64_t>(parse(kind, print(kind, value)).value()) == value);

    CHECK(print(Kind::size, std::int64_t{2} << 30) == "2 GiB");
    CHECK(print(Kind::time, std::int64_t{250'000}) == "250 ns");
    CHECK(print(Kind::number, 0.01) == "0.01");
}
