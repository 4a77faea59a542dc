#include "platform/ranks/partition.h"

#include "platform/topology/read.h"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <string>
#include <string_view>

using namespace platform::topology;
using platform::ranks::Partition;
using platform::ranks::Share;
using namespace std::chrono_literals;

namespace {

struct Made {
    Config config;
    Description described;
};

Made fabric(std::string_view fabric, std::string_view more = "", std::string_view hosts = "A..P",
            std::string_view top = "") {
    auto config = parse_config(std::string(top) + "\n[link]\nencapsulation = \"infiniband\"\n" + std::string(more) +
                                   "\n[[hosts]]\nname = \"" + std::string(hosts) +
                                   "\"\nparts = [\"root0.hca0\"]\n[fabric]\n" + std::string(fabric) + "\n",
                               "p.toml", {});
    INFO((config ? "" : config.error()));
    REQUIRE(config.has_value());
    auto described = describe(*config).value();
    return {std::move(*config), std::move(described)};
}

constexpr std::string_view leaves = "topology = \"leaf_spine(leaves=4, spines=2, hosts=4)\"";
constexpr std::string_view rail = "switches = [{ name = \"rail\", ports = 36 }]\ncables = [\"A..P.hca0 -- rail\"]";

std::string why_not(const Made& made, unsigned ranks) {
    const auto partition = Partition::make(made.config, made.described, ranks);
    REQUIRE(!partition.has_value());
    CHECK(partition.error().find('\n') == std::string::npos);
    return partition.error();
}

} // namespace

TEST_CASE("hosts stay with their switch where there are enough switches", "[unit][ranks]") {
    const auto made = fabric(leaves);
    for (const unsigned ranks : {2u, 4u}) {
        const auto partition = Partition::make(made.config, made.described, ranks).value();
        std::vector<std::size_t> hosts(ranks);
        for (std::size_t host = 0; host < 16; ++host)
            ++hosts[partition.rank_of_host(host)];
        CHECK(hosts == std::vector<std::size_t>(ranks, 16 / ranks));
        for (const auto& cut : partition.cut()) // only cables between switches
            for (const auto& end : made.described.cables[cut.cable].ends)
                CHECK(end.is_switch);
    }
}

TEST_CASE("the hosts of one switch are divided evenly, and each cable with two ends apart is cut", "[unit][ranks]") {
    const auto made = fabric(rail);
    const auto partition = Partition::make(made.config, made.described, 3).value();

    std::vector<std::size_t> hosts(3);
    for (std::size_t host = 0; host < 16; ++host)
        ++hosts[partition.rank_of_host(host)];
    CHECK(hosts == std::vector<std::size_t>{6, 5, 5});
    CHECK(partition.rank_of_switch(0) == 0);
    CHECK(partition.cut().size() == 10);
    for (const auto& cut : partition.cut())
        for (unsigned end = 0; end < 2; ++end)
            CHECK(cut.ranks[end] == partition.rank_of(made.described.cables[cut.cable].ends[end]));
}

TEST_CASE("processes go on apart for less than the latency of any cut cable", "[unit][ranks]") {
    const auto made = fabric(rail, "latency_ns = 900");
    const auto partition = Partition::make(made.config, made.described, 2).value();

    const auto& cable = made.described.cables[partition.cut().front().cable].link;
    CHECK(cable.latency == 900ns);
    // What arrives within cable.early() may be delivered now, so that it must have been told by then.
    CHECK(partition.lookahead() + cable.early() < cable.latency);
    CHECK(partition.lookahead() + cable.early() + model::port::Time{1} == cable.latency);
    CHECK(Partition::make(made.config, made.described, 1).value().lookahead() == model::port::never);
}

TEST_CASE("each component is said by one process, and a cable by those of its ends", "[unit][ranks]") {
    const auto made = fabric(rail);
    const auto partition = Partition::make(made.config, made.described, 2).value();

    for (const auto* name : {"A.hca0", "A.hca0.pcie", "A.root", "rail"}) {
        CHECK(partition.is_said_by(made.described, name, 0));
        CHECK(!partition.is_said_by(made.described, name, 1));
    }
    CHECK(partition.is_said_by(made.described, "P.hca0", 1));
    for (const unsigned rank : {0u, 1u})
        CHECK(partition.is_said_by(made.described, made.described.cables.back().name, rank));
    CHECK(!partition.is_said_by(made.described, "nobody", 0));
    const Share here{&partition, 1}, whole{};
    CHECK(!here.has_host(0));
    CHECK(here.has_host(15));
    CHECK(whole.has_host(0));
}

TEST_CASE("what cannot be spread is refused with its reason", "[unit][ranks]") {
    CHECK(why_not(fabric(rail), 17).find("16 hosts") != std::string::npos);
    CHECK(why_not(fabric(rail, "", "A..P", "timed = false"), 2).find("timed = false") != std::string::npos);
    CHECK(why_not(fabric(rail, "latency_ns = 0"), 2).find("has no latency") != std::string::npos);
    CHECK(why_not(fabric(rail, "latency_ns = 0"), 2).find("link.latency_ns") != std::string::npos);
    CHECK(why_not(fabric(rail, "reorder = 0.1"), 2).find("link.reorder") != std::string::npos);
    CHECK(why_not(fabric(rail, "[observe]\nownership = true"), 2).find("observe.ownership") != std::string::npos);
    CHECK(why_not(fabric(std::string(leaves) + "\n[[failures]]\nswitch = \"spine1\"\nat = \"50 us\""), 2)
              .find("[[failures]]") != std::string::npos);
}
