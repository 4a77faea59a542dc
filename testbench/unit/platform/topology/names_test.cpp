#include "platform/topology/names.h"

#include <catch2/catch_test_macros.hpp>

using namespace platform::topology;

namespace {
using List = std::vector<std::string>;
std::string fault(const Names& names) { return names ? "accepted" : names.error(); }
} // namespace

TEST_CASE("a range of names counts numbers or letters", "[unit][topology]") {
    CHECK(expand_name("gpu0..3").value() == List{"gpu0", "gpu1", "gpu2", "gpu3"});
    CHECK(expand_name("node9..11").value() == List{"node9", "node10", "node11"});
    CHECK(expand_name("A..C").value() == List{"A", "B", "C"});
    CHECK(expand_name("x..z").value() == List{"x", "y", "z"});
    CHECK(expand_name("hca").value() == List{"hca"});
    CHECK(expand_name("A..A").value() == List{"A"});
}

TEST_CASE("a range that is none is refused with its text", "[unit][topology]") {
    CHECK(fault(expand_name("gpu3..0")) == "the range 'gpu3..0' ends before it begins");
    CHECK(fault(expand_name("H..A")) == "the range 'H..A' ends before it begins");
    CHECK(fault(expand_name("a..C")) == "the range 'a..C' ends before it begins");
    CHECK(fault(expand_name("A..c")) == "the range 'A..c' ends before it begins");
    CHECK(fault(expand_name("gpu..3")) == "'gpu..3' is no range; write as in gpu0..3 or A..H");
    CHECK(fault(expand_name("gpu0..")) == "'gpu0..' is no range; write as in gpu0..3 or A..H");
    CHECK(fault(expand_name("node00..15")) == "'node00..15' is no range; write as in gpu0..3 or A..H");
    CHECK(fault(expand_name("gpu0..03")) == "'gpu0..03' is no range; write as in gpu0..3 or A..H");
    CHECK(fault(expand_name("gpu0..9999")) == "'gpu0..9999' stands for more than 4096 names");
    CHECK(fault(expand_name("gpu0..4096")) == "'gpu0..4096' stands for more than 4096 names");
    CHECK(expand_name("gpu0..4095").value().size() == 4096);
    CHECK(fault(expand_name("")).starts_with("'' is no name"));
    CHECK(fault(expand_name("0gpu")).starts_with("'0gpu' is no name"));
    CHECK(fault(expand_name("a b")).starts_with("'a b' is no name"));
    CHECK(fault(expand_each("A0..99.hca0..99")) == "'A0..99.hca0..99' stands for more than 4096 names");
    CHECK(fault(expand_each("A0..16.hca0..240")) == "'A0..16.hca0..240' stands for more than 4096 names"); // 4097
    CHECK(expand_each("A0..15.hca0..255").value().size() == 4096);
}

TEST_CASE("a range ends at its last number, also at the highest one there is", "[unit][topology]") {
    CHECK(expand_name("n18446744073709551614..18446744073709551615").value() ==
          List{"n18446744073709551614", "n18446744073709551615"});
    CHECK(fault(expand_name("n18446744073709551615..18446744073709551616")).contains("is no range"));
}

TEST_CASE("a name is no longer than names of sockets can be", "[unit][topology]") {
    CHECK(expand_name(std::string(64, 'a')).has_value());
    CHECK(fault(expand_name(std::string(65, 'a'))) == "'aaaaaaaaaaaaaaaa...' is a name of 65 letters, more than 64");
}

TEST_CASE("a path is split at single dots", "[unit][topology]") {
    using Words = std::vector<std::string_view>;
    CHECK(split_path("A..H.hca0") == Words{"A..H", "hca0"});
    CHECK(split_path("root0..3.sw0.gpu0..7") == Words{"root0..3", "sw0", "gpu0..7"});
    CHECK(split_path("hca0") == Words{"hca0"});
    CHECK(split_path("a.") == Words{"a", ""});
}

TEST_CASE("a list is split at commas, and spaces around its words are none of theirs", "[unit][topology]") {
    using Words = std::vector<std::string_view>;
    CHECK(words_of("A..D, E.hca1") == Words{"A..D", "E.hca1"});
    CHECK(words_of(" A ,,B") == Words{"A", "", "B"});
    CHECK(words_of("").empty());
}

TEST_CASE("the ranges of a path go together, the shorter ones in blocks", "[unit][topology]") {
    CHECK(expand_path("root0..1.sw0..1.gpu0..3").value() ==
          List{"root0.sw0.gpu0", "root0.sw0.gpu1", "root1.sw1.gpu2", "root1.sw1.gpu3"});
    CHECK(expand_path("root0.sw0.gpu0..1").value() == List{"root0.sw0.gpu0", "root0.sw0.gpu1"});
    CHECK(fault(expand_path("root0..1.gpu0..2")) ==
          "the ranges of 'root0..1.gpu0..2' do not go together: 3 names are not divided by 2");
}

TEST_CASE("at the end of a cable each host goes with each part", "[unit][topology]") {
    CHECK(expand_each("A..B.hca0..1").value() == List{"A.hca0", "A.hca1", "B.hca0", "B.hca1"});
    CHECK(expand_each("leaf0").value() == List{"leaf0"});
}

TEST_CASE("the number 0 of a name may be left out, no other", "[unit][topology]") {
    CHECK(is_same_name("hca", "hca0"));
    CHECK(is_same_name("hca0", "hca"));
    CHECK(is_same_name("gpu12", "gpu12"));
    CHECK_FALSE(is_same_name("hca", "hca1"));
    CHECK_FALSE(is_same_name("gpu10", "gpu1"));
    CHECK_FALSE(is_same_name("gpu", "gpu00"));
    CHECK_FALSE(is_same_name("gpu0", "gpu00"));
    CHECK_FALSE(is_same_name("gpua", "hca0"));
    CHECK(letters_of("sw12") == "sw");
}

TEST_CASE("a mistyped name is near to the right one, another is near to none", "[unit][topology]") {
    CHECK(did_you_mean("gqu", {"hca", "gpu"}) == ", did you mean 'gpu'?");
    CHECK(did_you_mean("A.hca7", {"A.hca0", "B.gpu"}) == ", did you mean 'A.hca0'?");
    CHECK(did_you_mean("nvme", {"hca", "gpu"}).empty());
    CHECK(did_you_mean(std::string(1 << 20, 'a'), std::vector<std::string>(4096, "gpu")).empty()); // at once
}
