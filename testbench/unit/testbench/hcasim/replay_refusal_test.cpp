// Recordings that cannot be played by the configuration they have, or by the one that somebody wants.
#include "testbench/unit/testbench/hcasim/recorded_session.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace hcasim_replay;
using Catch::Matchers::ContainsSubstring;
using codec::InterfaceKind;

namespace {

using Overrides = std::vector<std::string>;

codec::Head head_with(std::string configuration) {
    return {.identity = {.revision = "test"},
            .configuration = std::move(configuration),
            .names = {},
            .interfaces = {{InterfaceKind::pcie, "A.root.switch.hca"},
                           {InterfaceKind::ethernet, "A.root.switch.hca.port1"}}};
}
std::string printed() { return platform::topology::print_toml(configuration()); }
std::string replaced(std::string text, const std::string& what, const std::string& by) {
    const auto at = text.find(what);
    REQUIRE(at != std::string::npos);
    return text.replace(at, what.size(), by);
}
/// The line of a key, without its table.
std::string line_of(const std::string& text, const std::string& key) {
    const auto begin = text.find("\n" + key + " = ") + 1;
    REQUIRE(begin != 0);
    return text.substr(begin, text.find('\n', begin) + 1 - begin);
}
/// Empty: it can be played.
std::string refusal(const codec::Head& head, const Overrides& overrides = {}, const Overrides& parts = {}) {
    const auto bench = read_bench(head, "t", overrides, parts);
    return bench ? std::string() : bench.error();
}

} // namespace

TEST_CASE("a configuration of this revision fits", "[unit][replay]") {
    CHECK(refusal(head_with(printed())) == "");
    CHECK(refusal(head_with(printed()), {}, {"A.hca"}) == "");
    CHECK(refusal(head_with(printed()), {}, {"A.root.switch.hca"}) == "");
}

TEST_CASE("a key that the recording does not have is refused until somebody sets it", "[unit][replay]") {
    const auto text = printed();
    const auto without = replaced(text, line_of(text, "log_max_qp"), "");

    CHECK_THAT(refusal(head_with(without)),
               ContainsSubstring("added    hca.log_max_qp: the recording does not have it"));
    CHECK(refusal(head_with(without), {"hca.log_max_qp=12"}) == "");
}

TEST_CASE("a key that is no more is refused until somebody lets it go", "[unit][replay]") {
    const auto with = replaced(printed(), "[hca]\n", "[hca]\nturbo = 7\n");

    CHECK_THAT(refusal(head_with(with)),
               ContainsSubstring("removed  hca.turbo: recorded as 7; here: there is no such"));
    CHECK(refusal(head_with(with), {"hca.turbo="}) == "");
    CHECK_THAT(refusal(head_with(with), {"hca.turbo=8"}), ContainsSubstring("removed  hca.turbo"));
}

TEST_CASE("a value that is none any more is refused until somebody sets another", "[unit][replay]") {
    const auto text = printed();
    const auto other = replaced(text, line_of(text, "log_max_qp"), "log_max_qp = 99\n");

    CHECK_THAT(refusal(head_with(other)),
               ContainsSubstring("changed  hca.log_max_qp: recorded as 99; here: 'hca.log_max_qp' = 99 is out"));
    CHECK(refusal(head_with(other), {"hca.log_max_qp=12"}) == "");
}

TEST_CASE("a recording without a configuration is refused in one line, not in one for each key that it lacks",
          "[unit][replay]") {
    for (const auto* text :
         {"", "\n", "# Made of the driver's dumps in log: nobody has recorded a device.\n", "  # made\n\r\n#"}) {
        const auto why = refusal(head_with(text), {"hca.log_max_qp=12"});
        CHECK_THAT(why, ContainsSubstring("t: cannot be played: it has no configuration") &&
                            ContainsSubstring("hcasim trace show") && !ContainsSubstring("\n"));
    }
    CHECK_THAT(refusal(head_with("# of another revision\n[hca]\n")), ContainsSubstring("added    hca.log_max_qp"));
}

TEST_CASE("each difference has a line", "[unit][replay]") {
    auto text = printed();
    text = replaced(text, line_of(text, "log_max_qp"), "");
    text = replaced(text, "[hca]\n", "[hca]\nturbo = 7\n");

    const auto why = refusal(head_with(text));

    CHECK_THAT(why, ContainsSubstring("added    hca.log_max_qp") && ContainsSubstring("removed  hca.turbo") &&
                        ContainsSubstring("--set KEY=VALUE"));
}

TEST_CASE("keys of the workload say nothing about a device", "[unit][replay]") {
    const auto text = replaced(printed(), "[scenario]\n", "[scenario]\nshape = \"round\"\n");

    CHECK(refusal(head_with(text)) == "");
}

TEST_CASE("what somebody sets is told, with what was recorded", "[unit][replay]") {
    const auto head = head_with(printed());

    const auto bench = read_bench(head, "t", Overrides{"hca.log_max_qp=10"}, {});

    REQUIRE(bench);
    REQUIRE(bench->differences.size() == 1);
    CHECK(bench->differences[0].key == "hca.log_max_qp");
    CHECK(bench->differences[0].now == "10");
    CHECK(bench->differences[0].recorded != "10");
    CHECK(bench->parts[0].device.as<HcaConfig>().log_max_qp == 10);
}

TEST_CASE("a setting that reaches no device that is played is refused by its key", "[unit][replay]") {
    const auto head = head_with(printed());

    for (const auto* idle : {"link.latency_ns=5", "gpu.vram=4 GiB", "host.A.memory=8 GiB", "scenario.message=4096",
                             "B.hca.wqe_latency_ns=300", "pcie.upstream.latency_ns=5", "pcie.device.mps=1024"})
        CHECK_THAT(refusal(head, {"hca.wqe_latency_ns=300", idle}),
                   ContainsSubstring(std::string(idle).substr(0, std::string_view(idle).find('='))) &&
                       ContainsSubstring("changes nothing in A.root.switch.hca") &&
                       !ContainsSubstring("--set hca.wqe_latency_ns"));
    for (const auto* good : {"hca.wqe_latency_ns=300", "A.hca.wqe_latency_ns=300", "timed=false", "link.rate_gbps=50",
                             "pcie.device.mps=256", "hca.log_max_qp=10"})
        CHECK(refusal(head, {good}) == "");
    CHECK(refusal(head, {"hca.wqe_latency_ns=5", "hca.wqe_latency_ns=300"}) == "");
    CHECK(refusal(head, {"link.latency_ns=500"}) == ""); // as it was
}

TEST_CASE("a setting that is wrong is refused as anywhere else", "[unit][replay]") {
    CHECK_THAT(refusal(head_with(printed()), {"hca.log_max_qp=99"}), ContainsSubstring("--set hca.log_max_qp=99"));
    CHECK_THAT(refusal(head_with(printed()), {"hca.log_max_pq=9"}), ContainsSubstring("unknown key"));
}

TEST_CASE("a recording without a configuration is refused", "[unit][replay]") {
    CHECK_THAT(refusal(head_with("")), ContainsSubstring("has no configuration"));
    CHECK_THAT(refusal(head_with("hca = [")), ContainsSubstring("not TOML"));
    CHECK_THAT(refusal(head_with(std::string(5000, '['))), ContainsSubstring("t: its configuration"));
}

TEST_CASE("links and ports that do not belong to the platform are refused by their names", "[unit][replay]") {
    auto head = head_with(printed());
    CHECK_THAT(refusal(head, {}, {"B.hca"}), ContainsSubstring("--at B.hca: was not recorded; the recording has"));
    head.interfaces[0].name = "A.root.switch.nic";
    head.interfaces[1].name = "A.root.switch.nic.port1";
    CHECK_THAT(refusal(head), ContainsSubstring("'A.root.switch.nic' was recorded, and is no device"));
    for (const auto* name : {"", ".", "A", "A.", "..", "A..hca", "A.root.switch"}) {
        head.interfaces[0].name = name;
        CHECK(refusal(head) != "");
    }
}

TEST_CASE("a device of which a part was recorded is refused", "[unit][replay]") {
    auto head = head_with(printed());
    head.interfaces.pop_back();
    CHECK_THAT(refusal(head), ContainsSubstring("port 1 was not recorded"));
    head = head_with(printed());
    head.interfaces.erase(head.interfaces.begin());
    CHECK_THAT(refusal(head), ContainsSubstring("function 0 was not recorded"));
    head = head_with(printed());
    head.interfaces.push_back({InterfaceKind::pcie, "A.root.switch.hca.f1"});
    CHECK_THAT(refusal(head), ContainsSubstring("2 functions and 1 ports"));
    head.interfaces.back() = head.interfaces.front();
    CHECK_THAT(refusal(head), ContainsSubstring("two interfaces are called"));
    head.interfaces = {{InterfaceKind::events, "events"}};
    CHECK_THAT(refusal(head), ContainsSubstring("no device was recorded"));
}

TEST_CASE("a port whose cable carries something else is refused", "[unit][replay]") {
    CHECK_THAT(refusal(head_with(printed()), {"link.encapsulation=infiniband"}),
               ContainsSubstring("its port 1 was recorded as Ethernet port"));
}
