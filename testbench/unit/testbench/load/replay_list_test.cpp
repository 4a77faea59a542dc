#include "testbench/load/replay_list.h"

#include <catch2/catch_test_macros.hpp>

using namespace load;

namespace {

std::string refusal(std::string_view text) {
    const auto read = read_replay(text, "list.txt");
    return read ? "" : read.error();
}

} // namespace

TEST_CASE("a list of messages is read in the order of time, with its comments left out", "[unit][load]") {
    const auto list = read_replay("# of an application\n2000 A B write 4096\n\n0.5, B.hca1, A, send, 1\t# first\r\n"
                                  "2000 B A fetch_add 8",
                                  "list.txt")
                          .value();

    REQUIRE(list.size() == 3);
    CHECK(list[0].at == model::port::Time{500});
    CHECK(list[0].from == "B.hca1");
    CHECK(list[0].to == "A");
    CHECK(list[0].verb == Verb::send);
    CHECK(list[0].bytes == 1);
    CHECK(list[0].line == 4);
    CHECK(list[1].bytes == 4096); // of the same time the one that stands first
    CHECK(list[2].verb == Verb::fetch_add);
}

TEST_CASE("a line that is no message is refused with file and line", "[unit][load]") {
    CHECK(refusal("# nothing\n") == "list.txt: has no message");
    CHECK(refusal("0 A B write 1\n5 A B write\n") ==
          "list.txt:2: has 4 words, not nanosecond, from, to, verb and bytes");
    CHECK(refusal("-1 A B write 1") == "list.txt:1: '-1' is no time: nanoseconds from 0 to 1e+11");
    CHECK(refusal("1us A B write 1") == "list.txt:1: '1us' is no time: nanoseconds from 0 to 1e+11");
    CHECK(refusal("nan A B write 1") == "list.txt:1: 'nan' is no time: nanoseconds from 0 to 1e+11");
    CHECK(refusal("1 A B wirte 1") ==
          "list.txt:1: 'wirte' is no verb, did you mean 'write'?; there are: write read send fetch_add compare_swap");
    CHECK(refusal("1 A B write:2 1") == "list.txt:1: 'write:2' is a mix, and no verb");
    CHECK(refusal("1 A B write 0") == "list.txt:1: '0' is out of range, allowed is 1 B to 1 GiB");
    CHECK(refusal("1 A B write 1..4") == "list.txt:1: '1..4' is no size");
    CHECK(refusal("1 A B fetch_add 16") == "list.txt:1: an atomic has 8 bytes, not 16");
}
