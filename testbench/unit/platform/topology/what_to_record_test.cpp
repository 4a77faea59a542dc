// What `--at` names: devices, network ports, events.
#include "platform/topology/what_to_record.h"

#include "platform/topology/read.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace platform::topology;
using Catch::Matchers::ContainsSubstring;
using model::port::Encapsulation;
using platform::record::Subject;

namespace {

Description platform_with_copy_engine() {
    const auto config = parse_config(R"(
[link]
encapsulation = "infiniband"
[[hosts]]
name = "A"
parts = ["root0.sw0.hca0", "root0.sw0.gpu0", { path = "root0.sw0.mover", kind = "copy" }]
[[hosts]]
name = "B"
parts = ["root0.hca0"]
[fabric]
cables = ["A.hca0 -- B.hca0"]
)",
                                     "test.toml", {});
    INFO((config ? "" : config.error()));
    REQUIRE(config);
    return describe(*config).value();
}

const Subject first{.path = "A.root0.sw0.hca0", .ports = {Encapsulation::infiniband}};

} // namespace

TEST_CASE("without a wish each device is recorded, and events", "[unit][topology]") {
    const auto recorded = choose_recorded(platform_with_copy_engine(), {});

    REQUIRE(recorded);
    CHECK(recorded->has_events);
    CHECK(recorded->subjects == std::vector<Subject>{first,
                                                     {.path = "A.root0.sw0.gpu0"},
                                                     {.path = "A.root0.sw0.mover"},
                                                     {.path = "B.root0.hca0", .ports = {Encapsulation::infiniband}}});
}

TEST_CASE("a device is recorded by name or by path, without events unless they are named", "[unit][topology]") {
    const auto description = platform_with_copy_engine();

    const auto by_name = choose_recorded(description, std::vector<std::string>{"A.hca0"});
    const auto by_path = choose_recorded(description, std::vector<std::string>{"A.root0.sw0.hca0", "events"});

    REQUIRE(by_name);
    CHECK(by_name->subjects == std::vector{first});
    CHECK(!by_name->has_events);
    REQUIRE(by_path);
    CHECK(by_path->subjects == std::vector{first});
    CHECK(by_path->has_events);
}

TEST_CASE("a network port is recorded alone, unless its device is, too", "[unit][topology]") {
    const auto description = platform_with_copy_engine();

    const auto alone = choose_recorded(description, std::vector<std::string>{"A.hca0.port1"});
    const auto both = choose_recorded(description, std::vector<std::string>{"A.hca0", "A.hca0.port1"});

    REQUIRE(alone);
    auto port = first;
    port.functions = 0;
    CHECK(alone->subjects == std::vector{port});
    REQUIRE(both);
    CHECK(both->subjects == std::vector{first});
}

TEST_CASE("a name that is nothing's is refused with the names there are", "[unit][topology]") {
    const auto description = platform_with_copy_engine();
    for (const std::string wish :
         {"A.hca1", "A.sw0", "A.hca0.port2", "A.hca0.port0", "A.gpu0.port1", "A.hca0.port", ""}) {
        const auto refused = choose_recorded(description, std::vector{wish});

        INFO(wish);
        REQUIRE(!refused);
        CHECK_THAT(refused.error(),
                   ContainsSubstring("'" + wish + "'") &&
                       ContainsSubstring("all events A.root0.sw0.hca0 A.root0.sw0.hca0.port1 A.root0.sw0.gpu0 ") &&
                       ContainsSubstring("B.root0.hca0.port1"));
    }
}
