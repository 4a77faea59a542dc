#include "platform/topology/description.h"

#include "platform/topology/keys.h"
#include "platform/topology/read.h"

#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>

#include <set>

using namespace platform::topology;

namespace {

using Lines = std::vector<std::string>;

Description describe(std::string_view text, const Lines& overrides = {}) {
    const auto config = parse_config(text, "p.toml", overrides);
    INFO((config ? "" : config.error()));
    REQUIRE(config.has_value());
    return platform::topology::describe(*config).value();
}

/// "root0.sw0.hca0@1" of each part: its path and its slot.
Lines tree(const DescribedHost& host) {
    Lines lines;
    for (const auto& part : host.parts)
        lines.push_back(fmt::format("{}@{}", part.path, part.slot));
    return lines;
}

/// "cable0: A.hca0 -- leaf0.1"
Lines cables(const Description& made) {
    Lines lines;
    for (const auto& cable : made.cables)
        lines.push_back(
            fmt::format("{}: {} -- {}", cable.name, made.name_of(cable.ends[0]), made.name_of(cable.ends[1])));
    return lines;
}

Lines names(const Description& made) {
    Lines lines;
    for (const auto& host : made.hosts)
        lines.push_back(host.name);
    return lines;
}

constexpr std::string_view infiniband = "[link]\nencapsulation = \"infiniband\"\n";

} // namespace

TEST_CASE("the short form is two hosts, each with a switch, an HCA and a GPU, and a cable", "[unit][topology]") {
    const auto made = platform::topology::describe(Config{}).value();

    CHECK(made.is_pair);
    CHECK(names(made) == Lines{"A", "B"});
    for (const auto& host : made.hosts)
        CHECK(tree(host) == Lines{"root@0", "root.switch@0", "root.switch.hca@0", "root.switch.gpu@1"});
    CHECK(cables(made) == Lines{"cable: A.hca -- B.hca"});
    CHECK(made.switches.empty());
    CHECK(made.hosts[1].served_name == "hostB");
    CHECK(made.hosts[0].parts[1].link_name == "upstream");
    CHECK(made.path_of(*made.find("A.hca0")) == "A.root.switch.hca");
}

TEST_CASE("with a switch the short form has a cable from each HCA to it", "[unit][topology]") {
    const auto made = describe(std::string(infiniband) + "[fabric]\nswitch = true\nswitch_ports = 5\n");

    CHECK(cables(made) == Lines{"cable: A.hca -- switch.1", "cable_b: B.hca -- switch.2"});
    REQUIRE(made.switches.size() == 1);
    CHECK(made.switches[0].ports == 5);
    CHECK(made.switches[0].guid == Config{}.hca.node_guid + 0x1000);
    CHECK(made.switches[0].rate_gbps == 100);
}

TEST_CASE("the short form has the keys of the classes, and the memory of each host", "[unit][topology]") {
    const auto made = describe("[host]\nacs = \"redirect\"\n[host.B]\nmemory = \"8 GiB\"\n[gpu]\nvram = \"1 GiB\"\n"
                               "[hca]\nmtt_cache_entries = 64\n[pcie.device]\nwidth = 8\n[pcie.upstream]\nwidth = 4\n"
                               "[link]\nloss = 0.5\n[iommu]\npresent = true\n");

    CHECK(made.hosts[0].memory.memory_bytes == 4ULL << 30);
    CHECK(made.hosts[1].memory.memory_bytes == 8ULL << 30);
    for (const auto* name : {"A", "B"}) {
        const auto& hca = made.part(*made.find(fmt::format("{}.hca", name)));
        const auto& gpu = made.part(*made.find(fmt::format("{}.gpu", name)));
        CHECK(hca.hca().core.mtt_cache_entries == 64);
        CHECK(hca.link.width == 8);
        CHECK(gpu.gpu().vram_bytes == 1ULL << 30);
        CHECK(made.part(*made.find(fmt::format("{}.switch", name))).link.width == 4);
        CHECK(made.hosts[*made.find_host(name)].peers.acs == AcsMode::redirect);
        CHECK(made.hosts[*made.find_host(name)].iommu.is_present);
    }
    CHECK(made.cables[0].link.loss == 0.5);
}

TEST_CASE("each HCA has a GUID, a LID and a number of its own, in the order of hosts and parts", "[unit][topology]") {
    const auto made = describe("[[hosts]]\nname = \"A..B\"\nparts = [\"root0..1.hca0..1\"]\n"
                               "[fabric]\ncables = [\"A.hca0..1 -- B.hca0..1\"]\n");

    REQUIRE(made.hcas.size() == 4);
    const Lines expected{"A.hca0", "A.hca1", "B.hca0", "B.hca1"};
    for (std::size_t i = 0; i < 4; ++i) {
        const auto& core = made.part(made.hcas[i]).hca().core;
        CHECK(made.name_of(made.hcas[i]) == expected[i]);
        CHECK(core.node_guid == Config{}.hca.node_guid + i);
        CHECK(core.lid == 1 + i);
        CHECK(made.part(made.hcas[i]).hca().number == i);
    }
    CHECK(made.part(made.hcas[3]).hca().cable == 1);
    CHECK(made.part(made.hcas[3]).hca().end == 1);
}

TEST_CASE("a switch has no GUID of an HCA, however many there are", "[unit][topology]") {
    const auto made = describe("[[hosts]]\nname = \"n0..128\"\nparts = [\"root0.sw0.hca0..31\"]\n[fabric]\n"
                               "switches = [\"s\"]\ncables = [\"n0..128.hca0..15 -- n0..128.hca16..31\"]\n");

    REQUIRE(made.hcas.size() == 4128);
    CHECK(made.switches[0].guid > made.part(made.hcas.back()).hca().core.node_guid);
}

TEST_CASE("a tree has root ports, nested switches and cards on any of them", "[unit][topology]") {
    const auto made =
        describe("[[hosts]]\nname = \"A\"\nparts = [\n\"root0..1.sw0..1.gpu0..3\",\n\"root1.sw1.sw2.gpu4\",\n"
                 "\"root2.gpu5\",\n\"root3\",\n{ path = \"root0.sw0.disk\", kind = \"gpu\", slot = 7 }]\n");

    CHECK(tree(made.hosts[0]) == Lines{"root0@0", "root0.sw0@0", "root0.sw0.gpu0@0", "root0.sw0.gpu1@1", "root1@1",
                                       "root1.sw1@0", "root1.sw1.gpu2@0", "root1.sw1.gpu3@1", "root1.sw1.sw2@2",
                                       "root1.sw1.sw2.gpu4@0", "root2@2", "root2.gpu5@0", "root3@3",
                                       "root0.sw0.disk@7"});
    CHECK(made.part(*made.find("A.disk")).kind == PartKind::gpu);
    CHECK(made.path_of(*made.find("A.gpu4")) == "A.root1.sw1.sw2.gpu4");
    CHECK(made.find("A.sw1.sw2.gpu4").has_value());
    CHECK_FALSE(made.find("A.sw1.gpu4").has_value());
    CHECK_FALSE(made.find("A.gpu6").has_value());
    CHECK_FALSE(made.find("B.gpu0").has_value());
    CHECK_FALSE(made.find("A").has_value());
}

TEST_CASE("hosts are repeated by range or by count", "[unit][topology]") {
    CHECK(names(describe("[[hosts]]\nname = \"A..D\"\n")) == Lines{"A", "B", "C", "D"});
    CHECK(names(describe("[[hosts]]\ncount = 3\n")) == Lines{"A", "B", "C"});
    CHECK(names(describe("[[hosts]]\nname = \"n\"\ncount = 2\n[[hosts]]\nname = \"A\"\n")) == Lines{"n0", "n1", "A"});
    CHECK(describe("[[hosts]]\nname = \"n\"\ncount = 64\nparts = [\"root.sw.gpu\"]\n").hosts.size() == 64);
}

TEST_CASE("ranges at the ends of a cable pair in order, or each with each", "[unit][topology]") {
    const auto made = describe(std::string(infiniband) +
                               "[[hosts]]\nname = \"A..D\"\nparts = [\"root0.hca0\"]\n[fabric]\nswitches = ["
                               "\"leaf0..1\", { name = \"spine0..1\", ports = 2 }]\n"
                               "cables = [\"A..D.hca0 -- leaf0..1\", \"leaf0..1 >< spine0..1\"]\n");

    CHECK(cables(made) == Lines{"cable0: A.hca0 -- leaf0.1", "cable1: B.hca0 -- leaf0.2", "cable2: C.hca0 -- leaf1.1",
                                "cable3: D.hca0 -- leaf1.2", "cable4: leaf0.3 -- spine0.1",
                                "cable5: leaf0.4 -- spine1.1", "cable6: leaf1.3 -- spine0.2",
                                "cable7: leaf1.4 -- spine1.2"});
    CHECK(made.switches[0].ports == 8);
    CHECK(made.switches[3].ports == 2);
}

TEST_CASE("a port that is named is kept free for its cable", "[unit][topology]") {
    const auto made = describe(std::string(infiniband) +
                               "[[hosts]]\nname = \"A..B\"\nparts = [\"root0.hca0\"]\n[fabric]\nswitches = [\"s\"]\n"
                               "cables = [\"A.hca0 -- s\", { ends = [\"B.hca0\", \"s.1\"], name = \"b\" }]\n");

    CHECK(cables(made) == Lines{"cable0: A.hca0 -- s.2", "b: B.hca0 -- s.1"});
}

TEST_CASE("a part has its own value of a key where somebody has said so, the others that of their class",
          "[unit][topology]") {
    const auto made = describe("[hca]\nmtt_cache_entries = 128\n[[hosts]]\nname = \"A..B\"\nmemory = \"1 GiB\"\n"
                               "parts = [{ path = \"root0.hca0\", cache_ways = 4 }, \"root1.gpu0\"]\n"
                               "[fabric]\ncables = [{ ends = \"A.hca0 -- B.hca0\", loss = 0.25 }]\n"
                               "[A.hca0]\nmtt_cache_entries = 64\npcie.width = 8\n[B]\nmemory = \"2 GiB\"\n"
                               "[B.iommu]\npresent = true\n[cable0]\nrate_gbps = 400\n",
                               {"B.root0.hca0.mkey_cache_entries=32", "A.gpu.vram=1 MiB"});

    const auto& a = made.part(*made.find("A.hca0"));
    const auto& b = made.part(*made.find("B.hca0"));
    CHECK(a.hca().core.mtt_cache_entries == 64);
    CHECK(b.hca().core.mtt_cache_entries == 128);
    CHECK(a.hca().core.mkey_cache_entries == Config{}.hca.mkey_cache_entries);
    CHECK(b.hca().core.mkey_cache_entries == 32);
    CHECK((a.hca().core.cache_ways == 4 && b.hca().core.cache_ways == 4));
    CHECK((a.link.width == 8 && b.link.width == 16));
    CHECK(made.part(*made.find("A.gpu0")).gpu().vram_bytes == 1 << 20);
    CHECK(made.part(*made.find("B.gpu0")).gpu().vram_bytes == Config{}.gpu.vram_bytes);
    CHECK(made.hosts[0].memory.memory_bytes == 1ULL << 30);
    CHECK(made.hosts[1].memory.memory_bytes == 2ULL << 30);
    CHECK_FALSE(made.hosts[0].iommu.is_present);
    CHECK(made.hosts[1].iommu.is_present);
    CHECK(made.cables[0].link.loss == 0.25);
    CHECK(made.cables[0].link.rate_gbps == 400);
}

TEST_CASE("parts of the short form take exceptions, too, and the last one counts", "[unit][topology]") {
    const auto made = describe("[A.hca]\nmtt_cache_entries = 64\n", {"A.hca0.mtt_cache_entries=32", "cable.loss=1"});

    CHECK(made.part(*made.find("A.hca")).hca().core.mtt_cache_entries == 32);
    CHECK(made.part(*made.find("B.hca")).hca().core.mtt_cache_entries == Config{}.hca.mtt_cache_entries);
    CHECK(made.cables[0].link.loss == 1);
}

TEST_CASE("a host is simulated or served", "[unit][topology]") {
    const auto made =
        describe("[[hosts]]\nname = \"A..B\"\n[[hosts]]\nname = \"C\"\nserved = true\n[B]\nserved = true\n");

    CHECK_FALSE(made.hosts[0].is_served);
    CHECK(made.hosts[1].is_served);
    CHECK(made.hosts[2].is_served);
    CHECK(made.hosts[2].served_name == "C");
}

TEST_CASE("the wire of a cable decides what its HCAs are", "[unit][topology]") {
    const auto made =
        describe("[[hosts]]\nname = \"A..B\"\nparts = [\"root0..1.hca0..1\"]\n[fabric]\ncables = ["
                 "\"A.hca0 -- B.hca0\", { ends = \"A.hca1 -- B.hca1\", encapsulation = \"infiniband\" }]\n");

    CHECK(made.part(*made.find("A.hca0")).hca().core.is_ethernet);
    CHECK_FALSE(made.part(*made.find("B.hca1")).hca().core.is_ethernet);
}

TEST_CASE("a description that is printed reads back as the same one", "[unit][topology]") {
    const auto config = parse_config(
        std::string(infiniband) +
            "[[hosts]]\nname = \"A..B\"\nmemory = \"1 GiB\"\niommu.present = true\nparts = [\"root0.sw0.hca0\", { path "
            "= "
            "\"root0.sw0.x\", kind = \"gpu\", slot = 5, vram = \"1 MiB\" }]\n[fabric]\nswitches = [\"s\", { name = "
            "\"t\", "
            "ports = 4 }]\ncables = [\"A..B.hca0 -- s\", { ends = \"s -- t\", name = \"up\", loss = 0.5 }]\n"
            "[A.hca0]\nmtt_cache_entries = 64\npcie.width = 8\n",
        "p.toml", Lines{"A.hca0.mtt_cache_entries=32"});
    REQUIRE(config.has_value());

    const auto printed = print_toml(*config);
    const auto read = parse_config(printed, "printed.toml", {});

    INFO(printed);
    INFO((read ? "" : read.error()));
    REQUIRE(read.has_value());
    CHECK(print_toml(*read) == printed);
    const auto made = platform::topology::describe(*read).value();
    CHECK(tree(made.hosts[1]) == Lines{"root0@0", "root0.sw0@0", "root0.sw0.hca0@0", "root0.sw0.x@5"});
    CHECK(made.part(*made.find("A.hca0")).hca().core.mtt_cache_entries == 32);
    CHECK(made.part(*made.find("A.hca0")).link.width == 8);
    CHECK(made.cables[2].name == "up");
    CHECK(made.cables[2].link.loss == 0.5);
}

TEST_CASE("each cable draws numbers of its own, the first one those of the seed as it is written", "[unit][topology]") {
    const auto seeds = [](const Lines& overrides) {
        const auto made = describe("[[hosts]]\nname = \"A..D\"\nparts = [\"root0.hca0\"]\n[link]\nencapsulation = "
                                   "\"infiniband\"\nseed = 7\n[fabric]\nswitches = [\"s\"]\ncables = [\"A..D.hca0 -- "
                                   "s\"]\n",
                                   overrides);
        std::vector<std::uint64_t> found;
        for (const auto& cable : made.cables)
            found.push_back(cable.link.seed);
        return found;
    };

    const auto usual = seeds({});
    const auto other = seeds({"link.seed=8"});
    const auto exception = seeds({"cable2.seed=8"});

    REQUIRE(usual.size() == 4);
    CHECK(usual[0] == 7);
    CHECK(std::set(usual.begin(), usual.end()).size() == 4);
    for (std::size_t i = 0; i < usual.size(); ++i) {
        CHECK(other[i] != usual[i]);
        CHECK(exception[i] == (i == 2 ? other[i] : usual[i]));
    }
}
