// Descriptions of platforms that are too large, or that say one thing twice: each is refused with its line, at once.
#include "platform/topology/read.h"

#include <catch2/catch_test_macros.hpp>

#include <string>
#include <string_view>
#include <vector>

using namespace platform::topology;

namespace {

std::string error_of(std::string_view text, const std::vector<std::string>& overrides = {}) {
    const auto config = parse_config(text, "p.toml", overrides);
    return config ? "accepted" : config.error();
}

/// A host of these parts, the first of which is in line 4.
std::string error_of_parts(std::string_view parts) {
    return error_of("[[hosts]]\nname = \"A\"\nparts = [\n" + std::string(parts) + "]\n");
}

} // namespace

TEST_CASE("hosts times parts have an end", "[unit][topology]") {
    CHECK(error_of("[[hosts]]\nname = \"n\"\ncount = 4096\nparts = [\"root0..7.sw0..7.gpu0..199\"]\n") ==
          "p.toml:1: 884736 parts with those of these hosts, more than 65536: fewer hosts or parts");
}

TEST_CASE("each with each has an end", "[unit][topology]") {
    CHECK(error_of("[[hosts]]\nname = \"A\"\n[fabric]\nswitches = [\"l0..4095\", \"s0..4095\"]\n"
                   "cables = [\"l0..4095 >< s0..4095\"]\n") ==
          "p.toml:5: 'l0..4095 >< s0..4095' stands for 16777216 cables, more than 4096");
}

TEST_CASE("a line of many parts with one mistake is one fault", "[unit][topology]") {
    CHECK(error_of_parts("\"root0..4095.gqu0..4095\"\n").find('\n') == std::string::npos);
    CHECK(error_of_parts("\"root0.sw0.gpu0..4095\"\n") == "p.toml:4: no slot is left for 'gpu32': sw0 has 32");
}

TEST_CASE("root ports before the last one have bus numbers, too", "[unit][topology]") {
    CHECK(error_of_parts("{ path = \"root0\", slot = 30 },\n\"root1..7.sw1..7.gpu0..223\"\n") ==
          "p.toml:1: a host of these parts needs 263 bus numbers, there are 256: fewer switches or slots");
}

TEST_CASE("a name that is too long for sockets and files is refused", "[unit][topology]") {
    CHECK(error_of("[[hosts]]\nname = \"" + std::string(10'000, 'a') + "\"\n") ==
          "p.toml:1: 'aaaaaaaaaaaaaaaa...' is a name of 10000 letters, more than 64");
}

TEST_CASE("what is on the way to a part is of no other kind in its own line", "[unit][topology]") {
    CHECK(error_of_parts("\"root0.sw0.gpu0\",\n{ path = \"root0.sw0\", kind = \"gpu\" }\n") ==
          "p.toml:5: 'sw0' cannot be of kind 'gpu': at p.toml:4 something else is of that name");
    CHECK(error_of_parts("\"root0.sw0.gpu0\",\n{ path = \"root0.sw0\", kind = \"nonsense\" }\n") ==
          "p.toml:5: 'sw0' cannot be of kind 'nonsense': at p.toml:4 something else is of that name");
    CHECK(error_of_parts("\"root0.sw0.gpu0\",\n{ path = \"root0.sw0\", kind = \"switch\" }\n") == "accepted");
}

TEST_CASE("no card is called as the root complex or a switch's link is among counters", "[unit][topology]") {
    CHECK(error_of_parts("{ path = \"root1.root\", kind = \"gpu\" }\n") ==
          "p.toml:4: 'root' cannot be the name of 'root1.root': the root complex or a switch reports by it");
    CHECK(error_of_parts("{ path = \"root0.switch.upstream\", kind = \"gpu\" }\n")
              .starts_with("p.toml:4: 'upstream' cannot be the name of"));
}

TEST_CASE("a name that is given twice in one table is refused", "[unit][topology]") {
    CHECK(error_of("[[hosts]]\nname = \"A\"\nnames = \"B..C\"\n") ==
          "p.toml:3: 'name' and 'names' are the same key: write one of them");
}

TEST_CASE("a part or a group of keys is no key", "[unit][topology]") {
    CHECK(error_of("", {"A.hca=5"}) == "--set A.hca=5: 'A.hca' has keys and is none itself: write as in A.hca.KEY");
    CHECK(error_of("[A]\ngpu = 5\n") == "p.toml:2: 'A.gpu' has keys and is none itself: write as in A.gpu.KEY");
}

TEST_CASE("a contradiction is told where one of its keys is set", "[unit][topology]") {
    CHECK(error_of("[A.hca]\nmkey_cache_entries = 100\ncqe_latency_ns = 5\n").starts_with("p.toml:2: "));
}

TEST_CASE("memory of a host that is not there is refused", "[unit][topology]") {
    CHECK(error_of("[host.A]\nmemory = \"1 GiB\"\n[[hosts]]\nname = \"X\"\n") ==
          "p.toml:2: 'host.A.memory': there is no host 'A'; memory is a key of each host, as in --set X.memory");
    CHECK(error_of("[host.A]\nmemory = \"1 GiB\"\n[[hosts]]\nname = \"A\"\n") == "accepted");
}

TEST_CASE("a name of very many words or letters is refused at once", "[unit][topology]") {
    std::string words = "[A]\na";
    for (int i = 0; i < 100'000; ++i)
        words += ".a";

    CHECK(error_of(words + " = 1\n") == "p.toml:2: a name of more than 256 words: no platform is so deep");
    CHECK(error_of("[hca]\n" + std::string(1 << 20, 'a') + " = 1\n").ends_with("; `hcasim keys` lists all"));
}

TEST_CASE("a file without an end is no configuration", "[unit][topology]") {
    CHECK(read_config("/dev/zero", {}).error() == "/dev/zero: is larger than 4 MiB, no configuration is");
}
