#include "testbench/hcasim/drawing.h"

#include "platform/topology/read.h"

#include <catch2/catch_test_macros.hpp>

#include <string>
#include <string_view>

using namespace hcasim;

namespace {

platform::topology::Description described(std::string_view text) {
    const auto config = platform::topology::parse_config(text, "p.toml", {});
    INFO((config ? "" : config.error()));
    REQUIRE(config.has_value());
    return platform::topology::describe(*config).value();
}

std::size_t count(std::string_view text, std::string_view part) {
    std::size_t found = 0;
    for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1))
        ++found;
    return found;
}

/// Sixteen hosts on four leaves and two spines.
platform::topology::Description two_levels() {
    return described(
        "[link]\nencapsulation = \"infiniband\"\n[[hosts]]\nname = \"A..P\"\n"
        "parts = [\"root0.sw0.hca0\", \"root0.sw0.gpu0\"]\n[fabric]\nswitches = [\"leaf0..3\", \"spine0..1\"]\n"
        "cables = [\"A..P.hca0 -- leaf0..3\", \"leaf0..3 >< spine0..1\"]\n");
}

} // namespace

TEST_CASE("the pair is drawn as one tree for both hosts and its cable", "[unit][hcasim]") {
    CHECK(draw_text(described("[pcie.upstream]\nwidth = 8\n[host]\nacs = \"redirect\"\n[iommu]\npresent = true\n")) ==
          "hosts A B: 2 alike\n"
          "  root complex -- DRAM 4 GiB, remapping unit, ACS redirect\n"
          "  `-- root\n"
          "      `-- switch                             Gen4 x8\n"
          "          |-- hca                            Gen4 x16\n"
          "          `-- gpu                            Gen4 x16    VRAM 2 GiB\n"
          "\n"
          "fabric: 2 HCAs, 1 cable, 0 switches\n"
          "  A.hca === cable: RoCEv2 over IPv4, 100 Gbit/s, 500 ns === B.hca\n");
}

TEST_CASE("a host that differs is drawn by itself", "[unit][hcasim]") {
    const auto text = draw_text(described("[A.gpu]\nvram = \"1 GiB\"\n[host.B]\nmemory = \"8 GiB\"\n"));

    CHECK(text.find("host A\n") != text.npos);
    CHECK(text.find("host B\n") != text.npos);
    CHECK(text.find("VRAM 1 GiB") != text.npos);
    CHECK(text.find("DRAM 8 GiB") != text.npos);
    CHECK(count(text, "`-- switch") == 2);
}

TEST_CASE("nested switches and several root ports are drawn in the order of slots", "[unit][hcasim]") {
    const auto text = draw_text(described("[[hosts]]\nname = \"A\"\nserved = true\nparts = [\"root0.sw0.sw1.gpu0..1\", "
                                          "{ path = \"root0.sw0.gpu2\", slot = 4 }, \"root1\"]\n"));

    CHECK(text == "host A\n"
                  "  root complex -- DRAM 4 GiB, served\n"
                  "  |-- root0\n"
                  "  |   `-- sw0                                Gen4 x16\n"
                  "  |       |-- sw1                            Gen4 x16\n"
                  "  |       |   |-- gpu0                       Gen4 x16    VRAM 2 GiB\n"
                  "  |       |   `-- gpu1                       Gen4 x16    VRAM 2 GiB\n"
                  "  |       `-- gpu2                           Gen4 x16    VRAM 2 GiB\n"
                  "  `-- root1\n"
                  "\n"
                  "fabric: 0 HCAs, 0 cables, 0 switches\n");
}

TEST_CASE("sixteen hosts on two levels of switches fit on a screen", "[unit][hcasim]") {
    const auto text = draw_text(two_levels());

    CHECK(text.find("hosts A to P: 16 alike\n") == 0);
    CHECK(text.find("fabric: 16 HCAs, 24 cables, 6 switches\n") != text.npos);
    CHECK(text.find("  leaf0, 6 of 8 ports, 130 ns\n"
                    "     1..4  cable0 to cable3   A.hca0 to D.hca0       InfiniBand, 100 Gbit/s, 500 ns (4 cables)\n"
                    "        5  cable16            spine0.1               InfiniBand, 100 Gbit/s, 500 ns\n"
                    "        6  cable17            spine1.1               InfiniBand, 100 Gbit/s, 500 ns\n") !=
          text.npos);
    CHECK(text.find(
              "     1..4  cable16, ... cable22 leaf0.5 to leaf3.5     InfiniBand, 100 Gbit/s, 500 ns (4 cables)\n") !=
          text.npos);
    CHECK(count(text, "\n") < 45);
    for (std::size_t begin = 0; begin < text.size();) {
        const auto end = text.find('\n', begin);
        CHECK(end - begin <= 120);
        begin = end + 1;
    }
}

TEST_CASE("hosts that are alike are named by runs, so that no other seems to be among them", "[unit][hcasim]") {
    const auto text = draw_text(described("[[hosts]]\nname = \"A..G\"\n[C]\nmemory = \"1 GiB\"\n"));

    CHECK(text.find("hosts A to B, D to G: 6 alike\n") == 0);
    CHECK(text.find("host C\n") != text.npos);
}

TEST_CASE("cables that leave a host out are drawn each by itself", "[unit][hcasim]") {
    const auto text = draw_text(described(
        "[link]\nencapsulation = \"infiniband\"\n[[hosts]]\nname = \"A..F\"\nparts = [\"root0.hca0\"]\n[fabric]\n"
        "switches = [\"s0..1\"]\ncables = [\"A.hca0 -- s0\", \"C.hca0 -- s0\", \"E.hca0 -- s0\", "
        "\"B.hca0 -- s1\", \"D.hca0 -- s1\", \"F.hca0 -- s1\"]\n"));

    for (const auto* end : {"A.hca0", "B.hca0", "C.hca0", "D.hca0", "E.hca0", "F.hca0"})
        CHECK(text.contains(end));
}

TEST_CASE("the picture has every part by its path, every link and every cable", "[unit][hcasim]") {
    const auto platform = two_levels();
    const auto svg = draw_svg(platform);

    CHECK(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
    CHECK(svg.ends_with("</svg>\n"));
    for (const auto* tag : {"g", "title", "text", "style"})
        CHECK(count(svg, std::string("<") + tag + ">") + count(svg, std::string("<") + tag + " ") ==
              count(svg, std::string("</") + tag + ">"));
    for (std::size_t h = 0; h < platform.hosts.size(); ++h)
        for (std::size_t p = 0; p < platform.hosts[h].parts.size(); ++p)
            CHECK(count(svg, "id=\"" + platform.path_of({h, p}) + "\"") == 1);
    for (const auto& cable : platform.cables)
        CHECK(count(svg, "id=\"" + cable.name + "\"") == 1);
    for (const auto& at : platform.switches)
        CHECK(count(svg, "id=\"" + at.name + "\"") == 1);
    CHECK(count(svg, ">Gen4 x16<") == 16 * 3);
    CHECK(count(svg, ">100 Gbit/s<") == 24);
    CHECK(svg.find("nan") == svg.npos);
}
