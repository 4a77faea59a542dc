// What people call things in a recording.
#include "traces/tool/names.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace traces;
using Catch::Matchers::ContainsSubstring;
using tool::is_called;

TEST_CASE("a device is called by its path, by its host and its name, and by its number", "[unit][trace]") {
    for (const auto* wish :
         {"A.root.switch.hca", "A.hca", "A.hca0", "A.switch.hca", "A.root0.switch0.hca0", "hca", "A."})
        CHECK(is_called("A.root.switch.hca", wish));
    for (const auto* wish : {"A.root0.sw1.hca0", "A.hca", "A.sw1.hca"})
        CHECK(is_called("A.root0.sw1.hca0", wish));

    for (const auto* wish :
         {"B.hca", "A.hca1", "A.gpu", "A.hca.switch", "hca.switch", "A.root.switch.hca.port1", "A.hc"})
        CHECK_FALSE(is_called("A.root.switch.hca", wish));
    CHECK_FALSE(is_called("A.root.switch.hca10", "A.root.switch.hca1.port1"));
}

TEST_CASE("who names a device means its ports and functions, too", "[unit][trace]") {
    CHECK(is_called("A.root.switch.hca.port1", "A.hca"));
    CHECK(is_called("A.root.switch.hca.f1", "A.hca0"));
    CHECK(is_called("A.root.switch.hca.port1", "A.hca0.port1"));
    CHECK_FALSE(is_called("A.root.switch.hca.port1", "A.hca.port2"));
}

TEST_CASE("the source of an event has a short name, and is found by the long one", "[unit][trace]") {
    CHECK(is_called("A.hca", "A.root.switch.hca"));
    CHECK(is_called("A.hca", "A.root.switch.hca0"));
    CHECK_FALSE(is_called("A.hca", "B.root.switch.hca"));
    CHECK_FALSE(is_called("A.root", "A.root.switch.hca"));
}

TEST_CASE("a name that is nothing's is refused with those that there are", "[unit][trace]") {
    codec::Head head{.identity = {}, .configuration = {}, .names = {"B.gpu"}, .interfaces = {}};
    head.interfaces.push_back({codec::InterfaceKind::pcie, "A.root.switch.hca"});

    CHECK(tool::has_name(head, "A.hca"));
    CHECK(tool::has_name(head, "gpu"));
    CHECK(tool::has_name({}, ""));
    const auto none = tool::has_name(head, "A.nic");
    REQUIRE_FALSE(none);
    CHECK_THAT(none.error(), ContainsSubstring("\"A.nic\"") && ContainsSubstring("A.root.switch.hca, B.gpu"));
}
