// Bus addresses that the BARs of a host need: what enumeration could not place is refused before it is built.
#include "platform/topology/addresses.h"

#include "platform/topology/read.h"

#include <catch2/catch_test_macros.hpp>

#include <string>
#include <string_view>

using namespace platform::topology;

namespace {

/// The faults of a host with these parts, a line each.
std::string faults_of(std::string_view parts, std::string_view more = {}) {
    const auto config = parse_config(
        "[[hosts]]\nname = \"A\"\nparts = [" + std::string(parts) + "]\n" + std::string(more), "p.toml", {});
    REQUIRE(config.has_value());
    std::string text;
    for (const auto& fault : without_addresses(describe(*config).value()))
        text += fault.where + ": " + fault.text + "\n";
    return text;
}

} // namespace

TEST_CASE("VRAM that ends with the window fits, more is refused", "[unit][topology]") {
    CHECK(faults_of("\"root0.sw0.gpu0..3\"", "[gpu]\nvram = \"256 GiB\"\n").empty());
    CHECK(
        faults_of("\"root0.sw0.gpu0..3\", \"root1.gpu4\"", "[gpu]\nvram = \"256 GiB\"\n[A.gpu4]\nvram = \"1 MiB\"\n") ==
        "p.toml:1: 64-bit BARs in host A need 1048577 MiB of bus addresses, there are 1 TiB: less VRAM or fewer "
        "devices\n");
}

TEST_CASE("a window of a switch is aligned as its largest BAR", "[unit][topology]") {
    // 384 GiB twice, at 256 GiB each: 0 to 384, 512 to 896.
    const std::string_view keys =
        "[gpu]\nvram = \"256 GiB\"\n[A.gpu1]\nvram = \"128 GiB\"\n[A.gpu3]\nvram = \"128 GiB\"\n";
    CHECK(faults_of("\"root0..1.sw0..1.gpu0..3\"", keys).empty());
    CHECK(faults_of("\"root0..2.sw0..2.gpu0..5\"", keys).starts_with("p.toml:1: 64-bit BARs in host A need"));
}

TEST_CASE("registers of GPUs have their place below 4 GiB, which ends", "[unit][topology]") {
    CHECK(faults_of("\"root0..2.sw0..2.gpu0..95\"").empty());
    CHECK(faults_of("\"root0..2.sw0..2.gpu0..95\", \"root3.gpu96\"") ==
          "p.toml:1: 32-bit BARs in host A need 1552 MiB of bus addresses, there are 1536 MiB: fewer devices\n");
    CHECK(faults_of("\"root0..2.sw0..2.gpu0..95\", \"root3.gpu96\"", "[A]\nserved = true\n").empty());
}
