// Mistakes in the description of a platform: each is refused with its line and with what to do.
#include "platform/topology/read.h"

#include <catch2/catch_test_macros.hpp>

#include <string>

using namespace platform::topology;

namespace {

using Overrides = std::vector<std::string>;

std::string error_of(std::string_view text, const Overrides& overrides = {}) {
    const auto config = parse_config(text, "p.toml", overrides);
    return config ? "accepted" : config.error();
}

/// A host of these parts, the first of which is in line 4.
std::string error_of_parts(std::string_view parts) {
    return error_of("[[hosts]]\nname = \"A\"\nparts = [\n" + std::string(parts) + "]\n");
}

/// Two hosts of two HCAs, switches s0 and s1 of 3 ports, and these cables, the first of which is in line 9.
std::string error_of_cables(std::string_view cables) {
    return error_of("[link]\nencapsulation = \"infiniband\"\n[[hosts]]\nname = \"A..B\"\n"
                    "parts = [\"root0..1.hca0..1\", \"root2.gpu0\"]\n"
                    "[fabric]\nswitches = [{ name = \"s0..1\", ports = 3 }]\ncables = [\n" +
                    std::string(cables) + "]\n");
}

} // namespace

TEST_CASE("two parts in one slot are refused", "[unit][topology]") {
    CHECK(error_of_parts("\"root0.gpu0\",\n\"root0.gpu1\"\n") ==
          "p.toml:5: two parts in one slot: root port root0 has one, and 'gpu0' is in it (p.toml:4); a switch below it "
          "has "
          "more, as in root0.sw0.gpu1, or choose another root port");
    for (const std::string order : {"\"root0.hca0\",\n\"root0.sw0.gpu0\"\n", "\"root0.sw0.gpu0\",\n\"root0.hca0\"\n"})
        CHECK(error_of_parts(order).ends_with("more, as in root0.sw0.hca0, or choose another root port"));
    CHECK(error_of_parts("{ path = \"root0.sw0.gpu0\", slot = 3 },\n{ path = \"root0.sw0.gpu1\", slot = 3 }\n") ==
          "p.toml:5: two parts in slot 3 of sw0: 'gpu0' is there (p.toml:4)");
    CHECK(error_of_parts("{ path = \"root0.sw0.gpu0\", slot = 32 }\n") ==
          "p.toml:4: 'gpu0' is put into slot 32 of sw0, which has slots 0 to 31");
    CHECK(error_of_parts("{ path = \"root0.gpu0\", slot = 1 }\n") ==
          "p.toml:4: 'gpu0' is put into slot 1 of root0, which has slot 0 only");
    CHECK(error_of_parts("{ path = \"root0.gpu0\", slot = -1 }\n") ==
          "p.toml:4: 'slot' wants a whole number, not less than 0");
    CHECK(error_of_parts("{ path = \"root0.sw0.gpu0..1\", slot = 1 }\n") ==
          "p.toml:4: 'root0.sw0.gpu0..1' stands for 2 parts, and slot 1 takes one");
    CHECK(error_of_parts("\"root0.sw0.gpu0..32\"\n") == "p.toml:4: no slot is left for 'gpu32': sw0 has 32");
    CHECK(error_of_parts("\"root0..31\"\n") == "p.toml:4: no slot is left for 'root31': the root complex has 31");
}

TEST_CASE("two parts of one name are refused, wherever they are plugged in", "[unit][topology]") {
    CHECK(error_of_parts("\"root0.sw0.gpu0\",\n\"root0.sw0.gpu0\"\n") ==
          "p.toml:5: two parts of one name, 'gpu0': the other is at p.toml:4");
    CHECK(error_of_parts("\"root0.gpu0\",\n\"root1.gpu0\"\n") ==
          "p.toml:5: two parts of one name, 'gpu0': 'root0.gpu0' is at p.toml:4");
    CHECK(error_of_parts("\"root0.sw0.gpu\",\n\"root0.sw0.gpu0\"\n") ==
          "p.toml:5: two parts of one name, 'gpu': the other is at p.toml:4");
    CHECK(error_of("[[hosts]]\nname = \"A..C\"\n[[hosts]]\nname = \"B\"\n") ==
          "p.toml:3: two of one name, 'B': the other is at p.toml:1");
    CHECK(error_of("[[hosts]]\nname = \"A\"\n[fabric]\nswitches = [\"A\"]\n") ==
          "p.toml:4: two of one name, 'A': the other is at p.toml:1");
}

TEST_CASE("a part of an unknown kind is refused with the kinds there are", "[unit][topology]") {
    CHECK(error_of_parts("\"root0.gqu0\"\n") ==
          "p.toml:4: unknown kind 'gqu' of part 'gqu0', did you mean 'gpu'?; the kinds are root sw switch hca gpu "
          "caching_gpu copy nvme, and a "
          "part of another name says its own: { path = \"...gqu0\", kind = \"hca\" }");
    CHECK(error_of_parts("{ path = \"root0.x\", kind = \"sata\" }\n")
              .starts_with("p.toml:4: unknown kind 'sata' of part 'x'; the kinds are"));
}

TEST_CASE("a tree that is none is refused", "[unit][topology]") {
    CHECK(error_of_parts("\"root0.sw0.sw1.sw0.gpu0\"\n") ==
          "p.toml:4: 'sw0' lies below itself in 'root0.sw0.sw1.sw0.gpu0': a loop");
    CHECK(error_of_parts("\"hca0\"\n") ==
          "p.toml:4: 'hca0' is plugged into nothing: a path begins with a root port, as root0.hca0");
    CHECK(error_of_parts("\"root0.root1.hca0\"\n") ==
          "p.toml:4: root port 'root1' cannot be plugged into 'root0': a path begins with it");
    CHECK(error_of_parts("\"root0.gpu0.gpu1\"\n") == "p.toml:4: 'gpu0' is no switch: 'gpu1' cannot be plugged into it");
    CHECK(error_of_parts("\"root0..1.sw0..2\"\n") ==
          "p.toml:4: the ranges of 'root0..1.sw0..2' do not go together: 3 names are not divided by 2");
    CHECK(error_of_parts("{ kind = \"gpu\" }\n") == "p.toml:4: a part wants a path, as in path = \"root0.hca0\"");
    CHECK(error_of_parts("3\n") == "p.toml:4: 'parts' is a list of texts and tables");
    CHECK(error_of_parts("\"root0..7.sw0..7\",\n\"root0..7.sw0..7.gpu0..255\"\n") ==
          "p.toml:1: a host of these parts needs 273 bus numbers, there are 256: fewer switches or slots");
}

TEST_CASE("a host may need all bus numbers, those of free slots included, and not one more", "[unit][topology]") {
    const auto with_slot = [](unsigned last) { // 239 numbers, those of root7 and sw7, and one for each slot
        return error_of_parts(
            "\"root0..6.sw0..6.gpu0..223\",\n{ path = \"root7.sw7.gpu224\", slot = " + std::to_string(last) + " }\n");
    };
    CHECK(with_slot(14) == "accepted");
    CHECK(with_slot(15) ==
          "p.toml:1: a host of these parts needs 257 bus numbers, there are 256: fewer switches or slots");
}

TEST_CASE("hosts that have no name, or more than there are letters, are refused", "[unit][topology]") {
    CHECK(error_of("[[hosts]]\nparts = []\n") ==
          "p.toml:1: hosts without a name: write name = \"A\", name = \"A..H\" or count = 8");
    CHECK(error_of("[[hosts]]\ncount = 27\n") ==
          "p.toml:2: 27 hosts are more than letters: write a name, as in name = \"node\"");
    CHECK(error_of("[[hosts]]\nname = \"A..B\"\ncount = 27\n") ==
          "p.toml:3: 'A..B' has its numbers already: write a name without them, or no count");
    CHECK(error_of("[[hosts]]\ncount = 0\n").starts_with("p.toml:2: 'count' = 0 of nothing"));
    CHECK(error_of("[[hosts]]\nname = 3\n") == "p.toml:2: 'name' wants a text");
    CHECK(error_of("[[hosts]]\nname = \"A\"\nparts = \"root0\"\n") == "p.toml:3: 'parts' wants a list");
    CHECK(error_of("[[hosts]]\nname = \"n0..4095\"\n") == "accepted");
    CHECK(error_of("[[hosts]]\nname = \"n0..4095\"\n[[hosts]]\nname = \"m\"\n") == "p.toml:3: more than 4096 hosts");
    CHECK(error_of("hosts = 3\n") == "p.toml:1: 'hosts' is a list of tables: write [[hosts]]");
    CHECK(error_of("[[hosts]]\nname = \"link\"\n") ==
          "p.toml:1: 'link' cannot be a name: it begins keys of a configuration");
    CHECK(error_of("[fabric]\ncables = [\"A.hca -- B.hca\"]\n") ==
          "p.toml:2: a fabric without hosts: write [[hosts]] with their names and parts");
}

TEST_CASE("a cable has two ends, and each is at something", "[unit][topology]") {
    CHECK(error_of_cables("\"A.hca0 --\"\n") ==
          "p.toml:9: 'A.hca0 --' is a cable with one end: write as in \"A.hca0 -- B.hca0\"");
    CHECK(error_of_cables("\"A.hca0\"\n").starts_with("p.toml:9: 'A.hca0' is a cable with one end"));
    CHECK(error_of_cables("{ ends = [\"A.hca0\"] }\n").starts_with("p.toml:9: 'A.hca0' is a cable with one end"));
    CHECK(error_of_cables("\"A.hca0 -- B.hca0 -- A.hca1\"\n") ==
          "p.toml:9: 'A.hca0 -- B.hca0 -- A.hca1' is a cable with more than two ends: write one for each pair");
    CHECK(error_of_cables("\"A.hca0 -- C.hca0\"\n") == "p.toml:9: a cable to nothing: there is no host or switch 'C'");
    CHECK(error_of_cables("\"A.hca0 -- s7\"\n") ==
          "p.toml:9: a cable to nothing: there is no host or switch 's7', did you mean 's0'?");
    CHECK(error_of_cables("\"A.hca0 -- B.hca7\"\n") ==
          "p.toml:9: a cable to nothing: host B has no part 'hca7', did you mean 'hca0'?");
    CHECK(error_of_cables("\"A.hca0 -- B.nic\"\n") ==
          "p.toml:9: a cable to nothing: host B has no part 'nic'; its parts are root0 hca0 root1 hca1 root2 gpu0");
    CHECK(error_of_cables("\"A.hca0 -- B.gpu0\"\n") ==
          "p.toml:9: a cable ends at an HCA or a switch, 'B.gpu0' is neither");
    CHECK(error_of_cables("\"A.hca0 -- B\"\n") ==
          "p.toml:9: a cable ends at an HCA or a switch: 'B' is a host; write as in B.hca0");
    CHECK(error_of_cables("\"A.hca0..1 -- s0\",\n\"B.hca0 -- s1\"\n") ==
          "p.toml:5: B.hca1 has no cable: give it one in [fabric] cables");
}

TEST_CASE("a port takes one cable, and a cable leads elsewhere", "[unit][topology]") {
    CHECK(error_of_cables("\"A.hca0 -- B.hca0\",\n\"A.hca1 -- B.hca0\"\n") ==
          "p.toml:10: B.hca0 has one port, and cable0 is in it (p.toml:9)");
    CHECK(error_of_cables("\"A.hca0 -- s0.1\",\n\"A.hca1 -- s0.1\"\n") ==
          "p.toml:10: port 1 of s0 is taken by cable0 (p.toml:9)");
    CHECK(error_of_cables("\"A.hca0 -- s0.4\"\n") == "p.toml:9: 's0.4': s0 has the ports 1 to 3");
    CHECK(error_of_cables("\"A.hca0 -- s0.0\"\n") == "p.toml:9: 's0.0': s0 has the ports 1 to 3");
    CHECK(error_of_cables("\"A..B.hca0..1 -- s0\"\n") ==
          "p.toml:9: no port of s0 is left for cable3: it has 3; write as in { name = \"s0\", ports = 4 }");
    CHECK(error_of_cables("\"s0 -- s0\"\n") == "p.toml:9: a cable from s0 to itself is a loop");
    CHECK(error_of_cables("\"A.hca0 -- A.hca0\"\n") == "p.toml:9: a cable from A.hca0 to itself is a loop");
    CHECK(error_of_cables("{ ends = \"A.hca0..1 -- s0\", name = \"x\" }\n") == "p.toml:9: 1 names for 2 cables");
    CHECK(error_of_cables("{ ends = \"A.hca0..1 -- s0\", name = \"x0..2\" }\n") == "p.toml:9: 3 names for 2 cables");
    CHECK(error_of_cables("\"A.hca0..1 -- s0\",\n\"B.hca0..1 -- s0..2\"\n") ==
          "p.toml:10: 'B.hca0..1 -- s0..2': 2 ends and 3 ends cannot be paired; each with each is written ><");
}

TEST_CASE("all faults of the cables are told", "[unit][topology]") {
    CHECK(error_of_cables("\"A.hca0 --\",\n\"A.hca7 -- s0\"\n") ==
          "p.toml:9: 'A.hca0 --' is a cable with one end: write as in \"A.hca0 -- B.hca0\"\n"
          "p.toml:10: a cable to nothing: host A has no part 'hca7', did you mean 'hca0'?");
}

TEST_CASE("more HCAs than LIDs are refused", "[unit][topology]") {
    CHECK(error_of("[[hosts]]\nname = \"n0..4095\"\nparts = [\"root0.sw0.hca0..11\"]\n[fabric]\n"
                   "cables = [\"n0.hca0 -- n1.hca0\"]\n")
              .find("49152 HCAs are more than there are addresses: LIDs end at 49151") != std::string::npos);
}

TEST_CASE("a switch of the fabric has cables of one kind, and the key of the short form has no place beside it",
          "[unit][topology]") {
    CHECK(error_of("[[hosts]]\nname = \"A..B\"\nparts = [\"root0.hca0\"]\n[fabric]\nswitches = [\"s\"]\n"
                   "cables = [\"A.hca0 -- s\", { ends = \"B.hca0 -- s\", encapsulation = \"infiniband\" }]\n") ==
          "p.toml:6: s has cables of both kinds: 'link.encapsulation' of cable1 has to be roce_v2");
    CHECK(error_of("[link]\nencapsulation = \"infiniband\"\n[fabric]\nswitch = true\n[[hosts]]\nname = \"A\"\n") ==
          "p.toml:4: 'fabric.switch' is of the short form: name the switches in fabric.switches");
}

TEST_CASE("an exception that names nothing is refused", "[unit][topology]") {
    const std::string_view host = "[[hosts]]\nname = \"A\"\nparts = [\"root0.sw0.gpu0\"]\n";
    const auto with = [&](std::string_view text) { return error_of(std::string(host) + std::string(text)); };
    CHECK(with("[A.gpu1]\nvram = 1\n") == "p.toml:5: 'A.gpu1.vram': host A has no part 'gpu1', did you mean 'gpu0'?");
    CHECK(with("[A.gpu0]\nvarm = 1\n") == "p.toml:5: unknown key 'varm', did you mean 'vram'?");
    CHECK(with("[A.gpu0]\nvram = \"1 GB\"\n").starts_with("p.toml:5: 'vram' has the unknown unit 'GB'; the units are"));
    CHECK(with("[A.gpu0]\nvram = 3\n").starts_with("p.toml:5: 'vram' = 3 B is out of range, allowed is"));
    CHECK(with("[A.root0]\nvram = 3\n") == "p.toml:5: unknown key 'vram': a root port has none");
    CHECK(with("[A]\nmemroy = 3\n") == "p.toml:5: unknown key 'memroy', did you mean 'memory'?");
    CHECK(with("[A.gpu0]\nvram = [1]\n") == "p.toml:5: 'A.gpu0.vram' wants a value, not a list or date");
    CHECK(with("[B.gpu0]\nvram = 1\n") == "p.toml:4: unknown table 'B': there is no host 'B', there is A");
    CHECK(error_of(host, {"A.gpu0.vram=x"}).starts_with("--set A.gpu0.vram=x: 'vram' wants a size"));
    CHECK(error_of(host, {"B.gpu0.vram=1"}) ==
          "--set B.gpu0.vram=1: unknown key 'B.gpu0.vram': there is no host 'B', there is A");
}

TEST_CASE("who names a host that does not exist is told which do", "[unit][topology]") {
    const std::string_view pair = "timed = true\n";
    CHECK(error_of(pair, {"C.hca0.mtt_cache_entries=4"}) ==
          "--set C.hca0.mtt_cache_entries=4: unknown key 'C.hca0.mtt_cache_entries': there is no host 'C', there are A "
          "and B");
    for (const auto* path : {"hosts.C.memory", "host.C.memory"})
        CHECK(error_of(pair, {std::string(path) + "=1"}).ends_with(": there is no host 'C', there are A and B"));
    CHECK(error_of("[C]\nmemory = 1\n").ends_with("unknown table 'C': there is no host 'C', there are A and B"));
    CHECK(error_of("[host.C]\nmemory = 1\n").ends_with("'host.C': there is no host 'C', there are A and B"));
    CHECK(error_of("[[hosts]]\nname = \"node0..63\"\n", {"node64.memory=1"})
              .ends_with(": there is no host 'node64', there is node0..63"));
    // A word that is nearly that of a table is a mistake in writing it.
    CHECK(error_of(pair, {"lnik.loss=1"}).ends_with(", did you mean 'link.loss'?"));
    CHECK(error_of("[lnik]\nloss = 1\n").starts_with("p.toml:1: unknown table 'lnik'"));
}

TEST_CASE("keys of one part that contradict each other are refused", "[unit][topology]") {
    CHECK(error_of("[A.hca]\nmkey_cache_entries = 100\n") == "p.toml:2: 'hca.mkey_cache_entries' = 100 is no power of "
                                                             "two of sets of 'hca.cache_ways' = 8; the next lower is "
                                                             "64");
}
