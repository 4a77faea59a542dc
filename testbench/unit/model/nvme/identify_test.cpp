// What Identify says of a controller is what the controller does.
#include "testbench/unit/model/nvme/controller_bench.h"

#include <catch2/catch_test_macros.hpp>

using namespace nvme_test;
using abi::nvme::AdminOpcode;
using abi::nvme::IoOpcode;

namespace {

struct Drive : Bench {
    explicit Drive(const NvmeConfig& config = small()) : Bench(config) {
        enable();
        create_pair(1);
    }
    abi::Block<abi::nvme::IdentifyController> identity() {
        REQUIRE(ask(0, AdminOpcode::identify, 0, 1) == Status::success);
        abi::Block<abi::nvme::IdentifyController> page;
        memory.peek(buffer, page.bytes);
        return page;
    }
};

} // namespace

TEST_CASE("a Format erases by cryptography, of one namespace or of all, as FNA says", "[unit][nvme]") {
    Drive b;
    CHECK(b.identity().view().get<"fna">() == 4);
    CHECK(b.ask(0, AdminOpcode::format_nvm, 1, 2 << 9) == Status::success);
}

TEST_CASE("a Copy has the formats of ranges that OCFS says, as the drive has formats of blocks", "[unit][nvme]") {
    auto config = small();
    CHECK(Drive(config).identity().view().get<"ocfs">() == 1);
    config.space.formats.push_back({.data_shift = 12, .metadata_bytes = 16, .guard = Guard::crc64});
    CHECK(Drive(config).identity().view().get<"ocfs">() == 3);
    config.io.has_copy = false;
    CHECK(Drive(config).identity().view().get<"ocfs">() == 0);
}

TEST_CASE("write protection has the states that NWPC says", "[unit][nvme]") {
    Drive b;
    CHECK(b.identity().view().get<"nwpc">() == 1);
    for (const std::uint32_t state : {1u, 0u})
        CHECK(b.ask(0, AdminOpcode::set_features, 1, 0x84, state) == Status::success);
    for (const std::uint32_t state : {2u, 3u})
        CHECK(b.ask(0, AdminOpcode::set_features, 1, 0x84, state) == Status::invalid_field);
    CHECK(b.ask(1, IoOpcode::write, 1) == Status::success);
}

TEST_CASE("a sanitize operation without deallocation modifies no more media than others, as NODMMAS says",
          "[unit][nvme]") {
    Drive b;
    CHECK(b.identity().view().get<"sanicap">() == 0x4000'0007);
    for (const std::uint32_t action : {2u, 3u, 4u})
        CHECK(b.ask(0, AdminOpcode::sanitize, 0, action | 1 << 9) == Status::success);
}

TEST_CASE("a limit of transfers is one that MDTS can say", "[unit][nvme]") {
    const auto check = [](std::uint64_t most, unsigned said, std::uint32_t blocks) {
        CAPTURE(most);
        auto config = small();
        config.io.max_transfer_bytes = most;
        Drive b(config);
        CHECK(b.identity().view().get<"mdts">() == said);
        auto read = Bench::command(static_cast<std::uint8_t>(IoOpcode::read), 1, 0, 0, blocks - 1);
        read.view().set<"prp2">(Bench::buffer + 0x1000);
        CHECK(b.submit(1, read).view().get<"status">() == Status::success);
        read.view().set<"cdw12">(blocks);
        CHECK((b.submit(1, read).view().get<"status">() == Status::invalid_field) == (said != 0));
    };
    check(1, 1, 16);
    check(4096, 1, 16);
    check(8191, 1, 16);
    check(8192, 1, 16);
    check(0, 0, 8);
}
