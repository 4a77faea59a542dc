// Parts of a kind that only the table of devices knows, in a configuration.
#include "model/copy/copy_engine.h"
#include "model/nvme/config.h"
#include "platform/topology/description.h"
#include "platform/topology/keys.h"
#include "platform/topology/read.h"

#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>

#include <string>
#include <vector>

using namespace platform::topology;
using model::copy::CopyEngineConfig;
using model::port::Time;
using namespace std::chrono_literals;

namespace {

using Lines = std::vector<std::string>;

std::expected<Config, std::string> read(std::string_view parts, std::string_view more = {},
                                        const Lines& overrides = {}) {
    return parse_config(fmt::format("{}\n[[hosts]]\nname = \"A\"\nparts = [{}]\n", more, parts), "p.toml", overrides);
}
Description describe(std::string_view parts, std::string_view more = {}, const Lines& overrides = {}) {
    const auto config = read(parts, more, overrides);
    INFO((config ? "" : config.error()));
    REQUIRE(config.has_value());
    return platform::topology::describe(*config).value();
}
/// All that is wrong with it, when it is read or when it is described.
std::string fault(std::string_view parts, const Lines& overrides = {}) {
    const auto config = read(parts, {}, overrides);
    if (!config)
        return config.error();
    const auto made = platform::topology::describe(*config);
    std::string text;
    if (!made)
        for (const auto& found : made.error())
            text += found.where + ": " + found.text + "\n";
    return text;
}
const CopyEngineConfig& copy_of(const Description& made, std::string_view name) {
    return made.part(*made.find(name)).other().as<CopyEngineConfig>();
}

} // namespace

TEST_CASE("a part can be of any kind in the table of devices, by its name or by what it says",
          "[unit][topology][device]") {
    const auto made = describe("\"root0.sw0.copy0..1\", { path = \"root0.sw0.mover\", kind = \"copy\", slot = 7 }");

    for (const auto* name : {"A.copy0", "A.copy1", "A.mover"}) {
        const auto& part = made.part(*made.find(name));
        CHECK(part.kind == PartKind::device);
        CHECK(part.is_card());
        CHECK(part.other().kind().name == "copy");
        CHECK(part.link.width == Config{}.device_link.width);
    }
    CHECK(made.part(*made.find("A.mover")).slot == 7);
}

TEST_CASE("settings of a device are keys of its part", "[unit][topology][device]") {
    const auto made = describe("\"root0.copy0\", { path = \"root1.copy1\", start_latency_ns = 2000, pcie.width = 4 }",
                               {}, {"A.copy0.piece=64"});

    CHECK(copy_of(made, "A.copy0").start_latency == CopyEngineConfig{}.start_latency);
    CHECK(copy_of(made, "A.copy0").piece_bytes == 64);
    CHECK(copy_of(made, "A.copy1").start_latency == Time{2us});
    CHECK(copy_of(made, "A.copy1").piece_bytes == CopyEngineConfig{}.piece_bytes);
    CHECK(made.part(*made.find("A.copy1")).link.width == 4);
    CHECK(made.part(*made.find("A.copy0")).link.width == Config{}.device_link.width);
}

TEST_CASE("the timing model of a platform is that of its devices", "[unit][topology][device]") {
    CHECK(copy_of(describe("\"root0.copy0\""), "A.copy0").timed);
    CHECK_FALSE(copy_of(describe("\"root0.copy0\"", "timed = false"), "A.copy0").timed);
}

TEST_CASE("a key that a device does not have, or a value out of its range, is refused with its line",
          "[unit][topology][device]") {
    CHECK(fault("\"root0.copy0\"") == "");
    const auto unknown = fault("{ path = \"root0.copy0\", peice = 64 }");
    CHECK(unknown.find("p.toml:4") != unknown.npos);
    CHECK(unknown.find("unknown key 'peice' of kind copy, did you mean 'piece'?") != unknown.npos);
    const auto odd = fault("{ path = \"root0.copy0\", piece = 100 }");
    CHECK(odd.find("p.toml:4") != odd.npos);
    CHECK(odd.find("'piece' = 100 is out of range, allowed is a power of two") != odd.npos);
    CHECK(fault("\"root0.copy0\"", {"A.copy0.piece=32"}).find("'piece' = 32") != std::string::npos);
    CHECK(fault("{ path = \"root0.copy0\", piece = true }").find("'piece'") != std::string::npos);
    CHECK(fault("\"root0.cpoy0\"").find("did you mean 'copy'?") != std::string::npos);
}

TEST_CASE("a drive has a size, and a file as its medium", "[unit][topology][device]") {
    const auto made = describe("{ path = \"root0.nvme0\", size = \"3 GiB\", serial = \"other\" }", {},
                               {"A.nvme0.file=/tmp/a medium", "A.nvme0.identity=7"});

    const auto& drive = made.part(*made.find("A.nvme0")).other().as<model::nvme::NvmeConfig>();
    CHECK(drive.space.namespaces.front().bytes == 3ull << 30);
    CHECK(drive.space.namespaces.front().file == "/tmp/a medium");
    CHECK(drive.serial == "other");
    CHECK(drive.space.identity == 7);
    CHECK(fault("{ path = \"root0.nvme0\", file = 7 }").find("'file'") != std::string::npos);
}

TEST_CASE("what fails in a drive is a script", "[unit][topology][device]") {
    const auto* const script = "read 5, write 8..9, full 16, silent 20, flush, power 1";
    const auto made = describe(fmt::format("{{ path = \"root0.nvme0\", faults = \"{}\" }}", script));

    CHECK(made.part(*made.find("A.nvme0")).other().as<model::nvme::NvmeConfig>().space.namespaces.front().faults ==
          script);
}

TEST_CASE("hcasim keys has each setting of each kind of device, with its default", "[unit][topology][device]") {
    const auto text = print_keys();

    for (const auto& kind : platform::card::kinds()) {
        platform::card::DeviceConfig device(kind);
        for (const auto& setting : device.settings()) {
            CAPTURE(std::string(setting.name));
            CHECK(text.find(fmt::format("\n  {:<30} {}\n", setting.name, setting.help)) != text.npos);
        }
    }
    CHECK(text.find("\nA part of kind \"copy\"") != text.npos);
    CHECK(text.find("a power of two from 64 to 1048576; default 4096") != text.npos);
}
