// Features that are saved are what the drive does after a reset, and those that are not saved are forgotten.
#include "model/nvme/media/faulty_medium.h"
#include "model/nvme/media/memory_medium.h"
#include "testbench/unit/model/nvme/controller_bench.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>

using namespace nvme_test;
using abi::nvme::AdminOpcode;
using abi::nvme::Feature;
using abi::nvme::IoOpcode;
using abi::nvme::Select;

namespace {

constexpr std::uint32_t save = 1u << 31;

struct Drive : Bench {
    explicit Drive(const NvmeConfig& config = small()) : Bench(config) { enable(); }
    Status set_feature(Feature feature, std::uint32_t value, std::uint32_t saved = 0, std::uint32_t nsid = 0) {
        return ask(0, AdminOpcode::set_features, nsid, static_cast<std::uint32_t>(feature) | saved, value);
    }
    std::uint32_t get_feature(Feature feature, Select select = Select::current, std::uint32_t nsid = 0,
                              std::uint32_t cdw11 = 0) {
        const auto answer =
            submit(0, command(static_cast<std::uint8_t>(AdminOpcode::get_features), nsid,
                              static_cast<std::uint32_t>(feature) | static_cast<unsigned>(select) << 8, cdw11));
        CHECK(answer.view().get<"status">() == Status::success);
        return answer.view().get<"dw0">();
    }
    void reset() {
        set(Register::cc, 0x0046'0000);
        enable();
    }
    std::uint8_t warnings() {
        CHECK(ask(0, AdminOpcode::get_log_page, 0, 127u << 16 | 2) == Status::success);
        return static_cast<std::uint8_t>(memory.peek(buffer, 1)[0]);
    }
};

} // namespace

TEST_CASE("a saved arbitration burst and coalescing hold after a reset, others are forgotten",
          "[unit][nvme][feature]") {
    const bool is_saved = GENERATE(false, true);
    Drive b;
    REQUIRE(b.set_feature(Feature::arbitration, 0, is_saved ? save : 0) == Status::success); // bursts of one
    // Two completions or 10 ms.
    REQUIRE(b.set_feature(Feature::interrupt_coalescing, 100 << 8 | 1, is_saved ? save : 0) == Status::success);
    b.reset();
    b.create_pair(1), b.create_pair(2);
    CHECK((b.get_feature(Feature::arbitration) == 0) == is_saved);
    CHECK((b.get_feature(Feature::interrupt_coalescing) != 0) == is_saved);

    b.interrupts.vectors.clear();
    b.place(1, Bench::command(0, 1)), b.ring(1);
    CHECK(b.interrupts.vectors.empty() == is_saved);
    b.run();
    CHECK(b.interrupts.vectors == std::vector<std::uint16_t>{1});
    CHECK((b.clock.now() >= Time(10ms)) == is_saved);

    // Both queues are full of work before the drive is let go on: their turns have one command, or several.
    CHECK(b.next(1));
    b.memory.clear_log();
    for (unsigned i = 0; i < 4; ++i)
        b.place(1, Bench::command(0, 1));
    b.ring(1), b.run();
    const auto fetches = std::ranges::count_if(b.memory.log(), [&](const auto& access) {
        return access.address >= b.queues[1].sq && access.address < b.queues[1].sq + 0x1000;
    });
    CHECK(fetches == (is_saved ? 4 : 1));
}

TEST_CASE("a write cache that was turned off and saved is off after a reset", "[unit][nvme][feature]") {
    const bool is_saved = GENERATE(false, true);
    FaultyMedium* medium = nullptr;
    auto config = small();
    config.space.make_medium = [&](std::uint32_t, const NamespaceConfig& one) {
        auto made = std::make_unique<FaultyMedium>(std::make_unique<MemoryMedium>("test", one.bytes), 512);
        medium = made.get();
        return made;
    };
    Drive b(config);
    REQUIRE(b.set_feature(Feature::volatile_write_cache, 0, is_saved ? save : 0) == Status::success);
    b.reset();
    b.create_pair(1);

    REQUIRE(b.ask(1, IoOpcode::write, 1) == Status::success);
    CHECK(medium->unsafe_units() == (is_saved ? 0 : 1));
}

TEST_CASE("a drive without a write cache has no feature of it", "[unit][nvme][feature]") {
    auto config = small();
    config.io.has_cache = false;
    Drive b(config);
    CHECK(b.set_feature(Feature::volatile_write_cache, 1) == Status::invalid_field);
    CHECK(b.ask(0, AdminOpcode::get_features, 0, 6) == Status::invalid_field);
}

TEST_CASE("reports of deallocated blocks are a namespace's own, and saved where that was asked for",
          "[unit][nvme][feature]") {
    auto config = small();
    config.space.namespaces.resize(2, config.space.namespaces[0]);
    Drive b(config);
    b.create_pair(1);
    REQUIRE(b.set_feature(Feature::error_recovery, 1 << 16, save, 1) == Status::success);
    REQUIRE(b.set_feature(Feature::error_recovery, 1 << 16, 0, 2) == Status::success);
    CHECK(b.ask(1, IoOpcode::read, 1) == Status::deallocated_block);
    CHECK(b.ask(1, IoOpcode::read, 2) == Status::deallocated_block);

    b.reset();
    b.create_pair(1);
    CHECK(b.ask(1, IoOpcode::read, 1) == Status::deallocated_block);
    CHECK(b.ask(1, IoOpcode::read, 2) == Status::success);
    CHECK(b.get_feature(Feature::error_recovery, Select::current, 1) == 1 << 16);
    CHECK(b.get_feature(Feature::error_recovery, Select::current, 2) == 0);
    CHECK(b.set_feature(Feature::error_recovery, 0, 0, 0xffff'ffff) == Status::success);
    CHECK(b.ask(1, IoOpcode::read, 1) == Status::success);
    CHECK(b.get_feature(Feature::error_recovery, Select::saved, 1) == 1 << 16);
}

TEST_CASE("events that are asked for and saved come after a reset, too", "[unit][nvme][feature]") {
    const bool is_saved = GENERATE(false, true);
    Drive b;
    REQUIRE(b.set_feature(Feature::async_event, 1 << 8, is_saved ? save : 0) == Status::success);
    b.reset();
    b.place(0, Bench::command(0x0c)), b.ring(0);

    auto format = Bench::command(static_cast<std::uint8_t>(AdminOpcode::format_nvm), 1, 1);
    format.view().set<"cid">(9);
    b.place(0, format), b.ring(0), b.run();
    REQUIRE(b.next(0)->view().get<"cid">() == 9);
    CHECK(b.next(0).has_value() == is_saved);
}

TEST_CASE("a temperature beyond a threshold is a warning, and an event where it is asked for",
          "[unit][nvme][feature]") {
    Drive b; // at 313 K
    b.place(0, Bench::command(0x0c)), b.ring(0);
    REQUIRE(b.set_feature(Feature::async_event, 2) == Status::success);
    CHECK(b.warnings() == 0);

    REQUIRE(b.set_feature(Feature::temperature_threshold, 0x1'0000 | 310, save) == Status::success); // of sensor 1
    const auto event = b.next(0);
    REQUIRE(event);
    CHECK(event->view().get<"dw0">() == 0x02'01'01);
    CHECK(b.warnings() == 2);
    CHECK(b.get_feature(Feature::temperature_threshold, Select::current, 0, 0x1'0000) == (0x1'0000 | 310));
    CHECK(b.get_feature(Feature::temperature_threshold) == 0x157);
    b.reset();
    CHECK(b.warnings() == 2);
    REQUIRE(b.set_feature(Feature::temperature_threshold, 0xf'0000 | 330) == Status::success); // of all
    CHECK(b.warnings() == 0);
    REQUIRE(b.set_feature(Feature::temperature_threshold, 0x10'0000 | 320) == Status::success); // too cold
    CHECK(b.warnings() == 2);
    CHECK(b.set_feature(Feature::temperature_threshold, 0x2'0000 | 320) == Status::invalid_field); // no such sensor
    CHECK(b.set_feature(Feature::temperature_threshold, 0x20'0000 | 320) == Status::invalid_field);
}

TEST_CASE("a temperature that is beyond a threshold when its event is asked for is an event, once",
          "[unit][nvme][feature]") {
    const bool is_saved = GENERATE(false, true);
    Drive b; // at 313 K
    const auto wait_for_event = [&] { b.place(0, Bench::command(0x0c)), b.ring(0), b.run(); };
    wait_for_event();
    REQUIRE(b.set_feature(Feature::temperature_threshold, 300, save) == Status::success);
    CHECK_FALSE(b.next(0)); // nobody has asked for it

    REQUIRE(b.set_feature(Feature::async_event, 2, is_saved ? save : 0) == Status::success);
    const auto event = b.next(0);
    REQUIRE(event);
    CHECK(event->view().get<"dw0">() == 0x02'01'01);
    CHECK(b.warnings() == 2);
    wait_for_event();
    REQUIRE(b.set_feature(Feature::async_event, 2, is_saved ? save : 0) == Status::success);
    CHECK_FALSE(b.next(0)); // it was asked for already
    b.reset();
    wait_for_event();
    CHECK(b.next(0).has_value() == is_saved);
}

TEST_CASE("a feature of the controller has no namespace", "[unit][nvme][feature]") {
    Drive b;
    CHECK(b.set_feature(Feature::arbitration, 3, 0, 1) == Status::feature_not_per_namespace);
    CHECK(b.set_feature(Feature::arbitration, 3, 0, 99) == Status::invalid_namespace);
    CHECK(b.set_feature(Feature::arbitration, 3, 0, 0xffff'ffff) == Status::success);
    CHECK(b.set_feature(Feature::number_of_queues, 0, save) == Status::feature_not_saveable);
}
