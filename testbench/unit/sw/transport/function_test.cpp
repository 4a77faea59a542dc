#include "sw/transport/function.h"
#include "testbench/unit/sw/fake_transport.h"

#include <catch2/catch_test_macros.hpp>

#include <cerrno>
#include <vector>

namespace {

/// Configuration space whose command register keeps only the bits of `sticky`, and that logs what is written.
struct Function : testbench::FakeTransport {
    std::uint32_t sticky = 0xffff;
    struct Write {
        std::uint16_t offset;
        unsigned bytes;
        std::uint32_t value;
        bool operator==(const Write&) const = default;
    };
    std::vector<Write> writes;
    Function() { FakeTransport::config_write(0, 4, 0x101b15b3); }
    void config_write(std::uint16_t offset, unsigned bytes, std::uint32_t value) override {
        writes.push_back({offset, bytes, value});
        FakeTransport::config_write(offset, bytes, value & sticky);
    }
};

} // namespace

TEST_CASE("enabling a function sets memory space and bus master and leaves the status register alone",
          "[unit][transport]") {
    Function function;
    function.FakeTransport::config_write(4, 4, 0xf010'0100); // errors to be cleared by ones, SERR enabled

    const auto id = sw::transport::enable_function(function);

    REQUIRE(id);
    CHECK(id->vendor == 0x15b3);
    CHECK(id->device == 0x101b);
    CHECK(function.writes == std::vector<Function::Write>{{4, 2, 0x0106}});
}

TEST_CASE("disabling a function takes bus mastering away and nothing else", "[unit][transport]") {
    Function function;
    function.FakeTransport::config_write(4, 4, 0xf010'0106);

    sw::transport::disable_function(function);

    CHECK(function.writes == std::vector<Function::Write>{{4, 2, 0x0102}});
}

TEST_CASE("a function whose bits do not stick, or that is not there, is refused", "[unit][transport]") {
    Function stubborn;
    stubborn.sticky = 0xfffb;
    const auto refused = sw::transport::enable_function(stubborn);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == EIO);

    Function absent;
    absent.FakeTransport::config_write(0, 4, 0xffffffff);
    const auto missing = sw::transport::enable_function(absent);
    REQUIRE_FALSE(missing);
    CHECK(missing.error().code == ENODEV);
    CHECK(absent.writes.empty());
}
