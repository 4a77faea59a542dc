#include "testbench/scenario/roles.h"

#include "platform/topology/read.h"
#include "testbench/harness/source_tree.h"
#include "testbench/scenario/gpudirect_fit.h"
#include "testbench/scenario/ways.h"

#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>

using namespace scenario;

namespace {

using Overrides = std::vector<std::string>;

platform::topology::Config server(const Overrides& overrides) {
    const auto config =
        platform::topology::read_config(testbench::source_tree() + "/platform/configs/gpu_server.toml", overrides);
    INFO((config ? "" : config.error()));
    REQUIRE(config.has_value());
    return *config;
}

/// "A.gpu0 A.hca0 B.gpu0 B.hca0", or why not.
std::string roles_of(const platform::topology::Config& config) {
    const auto platform = platform::topology::describe(config).value();
    const auto roles = find_roles(config, platform);
    if (!roles)
        return roles.error();
    return fmt::format("{} {} {} {}", platform.name_of(roles->gpus[0]), platform.name_of(roles->hcas[0]),
                       platform.name_of(roles->gpus[1]), platform.name_of(roles->hcas[1]));
}

std::string roles_with(const Overrides& overrides) { return roles_of(server(overrides)); }

std::string roles_in(std::string_view text) {
    const auto config = platform::topology::parse_config(text, "p.toml", {});
    INFO((config ? "" : config.error()));
    REQUIRE(config.has_value());
    return roles_of(*config);
}

} // namespace

TEST_CASE("the pair moves from A's GPU to B's, each by its own HCA", "[unit][scenario]") {
    CHECK(roles_in("") == "A.gpu A.hca B.gpu B.hca");
    CHECK(roles_in("[scenario]\nfrom = \"B.gpu0\"\n") == "B.gpu B.hca A.gpu A.hca");
    CHECK(roles_in("[scenario]\nfrom = \"A.root.switch.gpu\"\nto = \"B.gpu\"\n") == "A.gpu A.hca B.gpu B.hca");
}

TEST_CASE("a GPU goes by the HCA that is nearest to it, unless another one is named", "[unit][scenario]") {
    CHECK(roles_with({}) == "A.gpu0 A.hca0 B.gpu0 B.hca0");
    CHECK(roles_with({"scenario.from=A.gpu5", "scenario.to=B.gpu2"}) == "A.gpu5 A.hca2 B.gpu2 B.hca1");
    CHECK(roles_with({"scenario.from=B.gpu7", "scenario.to=A.gpu7"}) == "B.gpu7 B.hca3 A.gpu7 A.hca3");
    CHECK(roles_with({"scenario.through=A.hca3", "scenario.to_through=B.hca2"}) == "A.gpu0 A.hca3 B.gpu0 B.hca2");
}

TEST_CASE("who names an HCA alone moves from its host", "[unit][scenario]") {
    CHECK(roles_in("[scenario]\nthrough = \"B.hca\"\n") == "B.gpu B.hca A.gpu A.hca");
}

TEST_CASE("two GPUs of one host have HCAs of their own", "[unit][scenario]") {
    CHECK(roles_with({"scenario.from=A.gpu1", "scenario.to=A.gpu6"}) == "A.gpu1 A.hca0 A.gpu6 A.hca3");
    CHECK(roles_with({"scenario.from=A.gpu0", "scenario.to=A.gpu1"}) == "A.gpu0 A.hca0 A.gpu1 A.hca1");
}

TEST_CASE("roles that cannot be are refused with the key", "[unit][scenario]") {
    CHECK(roles_with({"scenario.from=A.gpu9"}) ==
          "scenario.from = A.gpu9 is not a GPU of this platform, did you mean 'A.gpu0'?");
    CHECK(roles_with({"scenario.from=A.hca0"}) ==
          "scenario.from = A.hca0 is not a GPU of this platform; `hcasim show` draws it");
    CHECK(roles_with({"scenario.through=leaf"}) ==
          "scenario.through = leaf is not an HCA of this platform; `hcasim show` draws it");
    CHECK(roles_with({"scenario.to=A.gpu0"}) == "scenario.to = A.gpu0 is scenario.from: choose another GPU");
    CHECK(roles_with({"scenario.from=A.gpu0", "scenario.through=B.hca0"}) ==
          "scenario.through = B.hca0 is in another host than A.gpu0");
    CHECK(roles_in("[scenario]\nfrom = \"A.gpu\"\nthrough = \"B.hca\"\n") ==
          "scenario.through = B.hca is in another host than A.gpu");
    CHECK(roles_with({"scenario.to_through=A.hca1"}) == "scenario.to_through = A.hca1 is in another host than B.gpu0");
    CHECK(roles_in("[[hosts]]\nname = \"A\"\nparts = [\"root0.hca0\"]\n[[hosts]]\nname = \"B\"\n"
                   "parts = [\"root0.hca0\", \"root1.gpu0\"]\n[fabric]\ncables = [\"A.hca0 -- B.hca0\"]\n"
                   "[scenario]\nthrough = \"A.hca0\"\n") ==
          "scenario.through = A.hca0: its host has no GPU; choose an HCA of a host that has one");
    CHECK(roles_with({"scenario.to=A.gpu1", "scenario.to_through=A.hca0"}) ==
          "scenario.to_through = A.hca0 is scenario.through: a program has an HCA of its own");
    CHECK(roles_with({"A.served=true"}) == "scenario.from = A.gpu0: host A is served, its drivers are elsewhere");
}

TEST_CASE("where no GPU is named, those of served hosts are passed over", "[unit][scenario]") {
    CHECK(roles_in("[link]\nencapsulation = \"infiniband\"\n[[hosts]]\nname = \"A..C\"\n"
                   "parts = [\"root0.sw0.hca0\", \"root0.sw0.gpu0\"]\n"
                   "[fabric]\nswitches = [\"s\"]\ncables = [\"A..C.hca0 -- s\"]\n[A]\nserved = true\n") ==
          "B.gpu0 B.hca0 C.gpu0 C.hca0");
}

TEST_CASE("two HCAs that no cable connects carry nothing", "[unit][scenario]") {
    const std::string rails =
        "[[hosts]]\nname = \"A..B\"\nparts = [\"root0..1.sw0..1.hca0..1\", \"root0..1.sw0..1.gpu0..1\"]\n"
        "[fabric]\ncables = [\"A.hca0..1 -- B.hca0..1\"]\n[scenario]\n";

    CHECK(roles_in(rails) == "A.gpu0 A.hca0 B.gpu0 B.hca0");
    CHECK(roles_in(rails + "from = \"A.gpu1\"\n") == "A.gpu1 A.hca1 B.gpu0 B.hca1");
    CHECK(roles_in(rails + "to_through = \"B.hca1\"\n") ==
          "scenario.to_through = B.hca1: no cable leads there from A.hca0");
    CHECK(roles_in(rails + "to = \"A.gpu1\"\n") ==
          "scenario.to = A.gpu1: its host has no HCA that A.hca0 is connected to");
    CHECK(roles_in("[[hosts]]\nname = \"A\"\nparts = [\"root0.gpu0\"]\n") ==
          "scenario.from: no host that is simulated has a GPU for it, with an HCA that is connected");
}

TEST_CASE("a workload fits the cards that it uses, not their class", "[unit][scenario]") {
    CHECK(fits(server({}), 1 << 20).has_value());
    CHECK(fits(server({"A.gpu3.vram=1 MiB"}), 1 << 20).has_value());
    CHECK(
        fits(server({"B.gpu0.vram=1 MiB"}), 1 << 20).error() ==
        "the payload, 1048576 bytes, does not fit twice into gpu.vram = 1 MiB; choose a smaller --payload or a larger "
        "gpu.vram");
    CHECK(fits(server({"B.hca0.msix_vectors=1"}), 1 << 20).error().starts_with("hca.msix_vectors = 1"));
    CHECK(fits(server({"B.memory=64 MiB", "scenario.queue_depth=8192", "scenario.qps=64", "scenario.message=64 B"}),
               128 << 20)
              .error()
              .find("B.memory is 64 MiB") != std::string::npos);
    CHECK(fits(server({"scenario.from=A.gpu9"}), 1 << 20).error().starts_with("scenario.from = A.gpu9"));
}

TEST_CASE("whoever lost too much is told of a cable beyond its own", "[unit][scenario]") {
    const auto advice = [](const Overrides& overrides) {
        const auto config = server(overrides);
        const auto platform = platform::topology::describe(config).value();
        const auto roles = find_roles(config, platform).value();
        Result result;
        result.failure = "transport retry counter exceeded";
        return advise(seen_by(0, config, platform, roles), platform, result);
    };

    CHECK(advice({}).find("loses more") == std::string::npos);
    CHECK(advice({"cable4.loss=0.5"}).find("(cable4.loss = 0.5)") != std::string::npos);
    CHECK(advice({"cable0.loss=0.25"}).find("(link.loss = 0.25)") != std::string::npos);
}
