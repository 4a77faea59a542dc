#include "testbench/hcasim/report.h"

#include "testbench/hcasim/result_json.h"
#include "testbench/hcasim/table.h"
#include "testbench/program/console.h"
#include "testbench/program/units.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fmt/format.h>

#include <algorithm>

using namespace hcasim;

namespace {

struct At {
    std::int64_t ps;
    std::int64_t count() const { return ps; }
};

scenario::Result sample() {
    scenario::Result result;
    result.scenario = "gpudirect";
    result.verified = true;
    result.payload_bytes = 3'000'000;
    result.sha256_source = result.sha256_target = "ab12";
    result.completions_ok = 9;
    result.p2p_payload_bytes = 18'000'000;
    result.wire_packets = 2'222;
    result.retries = 4;
    result.sim_time_ps = 720'001'500;
    result.wall_seconds = 0.25;
    result.event_digest = "00112233aabbccdd";
    result.transfers.push_back({.name = "WRITE A -> B",
                                .verified = true,
                                .sha256_target = "ab12",
                                .bytes = 3'000'000,
                                .messages = 3,
                                .packets = 740,
                                .completions_ok = 3,
                                .sim_time_ps = 240'000'000,
                                .wall_seconds = 0.1});
    result.transfers.push_back({.name = "READ B -> A", .verified = false, .sha256_target = "cd34", .bytes = 3'000'000});
    result.transfers.push_back({.name = "SEND A -> B", .verified = false, .bytes = 3'000'000});
    result.pcie_links.push_back({.name = "A.gpu", .tlps_up = 12, .tlps_down = 34'567, .payload_up = 99});
    result.caches.push_back({.name = "A.hca MKey", .hits = 15, .misses = 1});
    result.resources.push_back({.name = "A.nvme0 dies",
                                .device = "A.nvme0",
                                .kind = "server",
                                .units = 64,
                                .uses = 1'234,
                                .busy_ps = 61'700'000,
                                .waited_ps = 5'000'000,
                                .longest_wait_ps = 40'000,
                                .load = 0.875});
    result.bottlenecks.push_back(
        {.device = "A.nvme0", .busiest = "dies", .load = 0.875, .waited_for = "channels", .waited_ps = 7'000'000});
    result.wires.push_back({.name = "A -> B", .packets = 1'500, .bytes = 6'200'000, .lost = 7});
    return result;
}

} // namespace

TEST_CASE("quantities are printed as a person reads them", "[unit][hcasim]") {
    CHECK(print_bytes(512) == "512 B");
    CHECK(print_bytes(3'407'872) == "3.25 MiB");
    CHECK(print_count(0) == "0");
    CHECK(print_count(999) == "999");
    CHECK(print_count(1'000) == "1,000");
    CHECK(print_count(1'234'567) == "1,234,567");
    CHECK(print_time(999) == "999 ps");
    CHECK(print_time(12'345'678) == "12.35 us");
    CHECK(print_rate(3'000'000, 240'000'000) == "12.50 GB/s");
    CHECK(print_rate(1, 0) == "-");
    CHECK(print_share(15, 16) == "93.8 %");
    CHECK(print_share(0, 0) == "-");
}

TEST_CASE("the picture shows both hosts as they are configured", "[unit][hcasim]") {
    platform::topology::Config config;
    config.hosts[0].memory_bytes = 8ULL << 30;
    config.upstream_link = {.generation = 3, .width = 8};
    config.link.rate_gbps = 200;

    const auto text = print_topology(config);

    for (const auto* part : {"host A", "host B", "root complex -- DRAM 8 GiB", "DRAM 4 GiB -- root complex", "Gen3 x8",
                             "Gen4 x16", "HCA", "GPU, VRAM 2 GiB", "RoCEv2 over IPv4, 200 Gbit/s, 500 ns"})
        CHECK(text.find(part) != text.npos);
}

TEST_CASE("the life of a WRITE is a line a stage, unseen stages included", "[unit][hcasim]") {
    platform::observe::Sources sources;
    const auto a = sources.add("A.hca");
    platform::observe::life::Life life;
    CHECK(print_life(life, sources) == "  no WRITE was seen\n");
    traces::Events events{&life, a};
    traces::Cause cause(events, traces::Access::mmio_write);
    cause.becomes(events.emit(At{1'000'500}, traces::DoorbellRung{0x48, 16, 1}));
    cause.becomes(events.emit(At{1'050'500}, traces::QueueScheduled{0x48}));
    events.emit(At{1'090'500}, traces::WqeFetched{0x48, 0, 8, 1, 4096});

    const auto text = print_life(life, sources);

    CHECK(text.find(" 1  hca/doorbell    A.hca      DoorbellRung          1000.500 ns     0.000 ns  qpn=0x48 uar=0x10 "
                    "producer=1\n") != text.npos);
    CHECK(text.find(" 3  hca/queue       A.hca      WqeFetched            1090.500 ns    90.000 ns  qpn=0x48 index=0 "
                    "opcode=0x8 segments=1 length=4096\n") != text.npos);
    CHECK(text.find("14  hca/event                  InterruptRaised          not seen\n") != text.npos);
}

TEST_CASE("the tables hold the result's numbers and its verdict", "[unit][hcasim]") {
    auto result = sample();
    const auto text = print_result(result);

    for (const auto* part :
         {"WRITE A -> B  3,000,000", "12.50 GB/s", "DIFFERENT", "not reached", "A.gpu", "34,567", "A.hca MKey",
          "93.8 %", "6,200,000", "18,000,000 bytes", "720.00 us", "00112233aabbccdd", "\n  verified\n"})
        CHECK(text.find(part) != text.npos);
    result.verified = false;
    result.failure = "A: WRITE message 0: transport retry counter exceeded";
    CHECK(print_result(result).ends_with("NOT VERIFIED: A: WRITE message 0: transport retry counter exceeded\n"));
}

TEST_CASE("of very many rows a table has those that say most, and how many it leaves out", "[unit][hcasim]") {
    auto result = sample();
    for (std::uint64_t i = 0; i < 200; ++i) {
        result.wires.push_back({.name = fmt::format("cable{}", i), .bytes = i % 2 == 0 ? 0 : 1000 + i});
        result.bottlenecks.push_back(
            {.device = fmt::format("node{}", i), .busiest = "pipe", .load = i < 3 ? 0.5 : 0.1});
        result.resources.push_back({.name = "pipe", .load = 0.1});
    }

    const auto text = print_result(result);

    CHECK(text.find("cable199") != text.npos);
    CHECK(text.find("cable111") != text.npos);
    CHECK(text.find("cable198") == text.npos);
    CHECK(text.find("node2: ") < text.find("node46: "));
    CHECK(text.find("node150: ") == text.npos);
    CHECK(text.find(" devices with less)") != text.npos);
    CHECK(std::ranges::count(text, '\n') < 250);
}

TEST_CASE("steps are told with what became of them and which way their bytes took, and what to do where they failed",
          "[unit][hcasim]") {
    scenario::Result result;
    result.way = "HCA to GPU: redirected";
    result.failure = "step 'pinned: WRITE': the request ended with nothing";
    result.advice = "choose host.acs=off";
    result.steps.push_back({.name = "pinned: WRITE",
                            .ended_with = "nothing",
                            .owner_heard = "",
                            .verified = false,
                            .bytes = 1'048'576,
                            .landed = 1'234,
                            .direct_bytes = 11'111,
                            .redirected_bytes = 22'222,
                            .host_bytes = 33'333,
                            .upstream = {{{44'444, 55'555}, {66'666, 77'777}}},
                            .sim_time_ps = 96'460'000});

    const auto text = print_result(result);

    CHECK(text.starts_with(
        "  HCA to GPU: redirected\n\n  step           A's request ended with  B heard      bytes  landed  simulated\n"
        "  pinned: WRITE                 nothing        -  1,048,576   1,234   96.46 us  NOT VERIFIED\n\n"));
    CHECK(text.find(
              "  pinned: WRITE   11,111      22,222       33,333         44,444  55,555         66,666  77,777\n") !=
          text.npos);
    CHECK(text.ends_with(
        "  NOT VERIFIED: step 'pinned: WRITE': the request ended with nothing\n  What to do: choose host.acs=off\n"));
    CHECK(text.find("SHA-256") == text.npos);
    const auto json = print_json({.result = result, .counters = {}, .digests = {}, .sources = {}, .config = {}});
    for (const auto* part : {"\"ended_with\": \"nothing\"", "\"landed_bytes\": 1234", "\"redirected_bytes\": 22222",
                             "\"A_upstream_down_bytes\": 55555", "\"B_upstream_up_bytes\": 66666",
                             "\"advice\": \"choose host.acs=off\"", "\"way\": \"HCA to GPU: redirected\""})
        CHECK(json.find(part) != json.npos);
}

TEST_CASE("of each card's queues the busiest are shown, and what the others have together", "[unit][hcasim]") {
    using platform::observe::count::QueueKind;
    auto result = sample();
    CHECK(print_result(result).find("deepest") == std::string::npos);
    auto& queues = result.queues;
    for (std::uint64_t i = 0; i < 12; ++i)
        queues.busiest.push_back({.card = "A.hca",
                                  .name = "A.hca QP " + std::to_string(i) + " send",
                                  .kind = QueueKind::send,
                                  .counts = {.requests = 1'000, .bytes = 5, .completions_error = 0, .deepest = 64}});
    queues.busiest.push_back(
        {.card = "A.hca", .name = "A.hca EQ 0x3", .kind = QueueKind::event, .counts = {.events = 77}});
    queues.busiest.push_back(
        {.card = "B.hca", .name = "B.hca QP 9 send", .kind = QueueKind::send, .counts = {.requests = 4}});
    queues.sums = {{.card = "A.hca",
                    .kind = QueueKind::send,
                    .queues = 1'008,
                    .counts = {.requests = 9'999, .bytes = 60, .completions_error = 3, .deepest = 64}},
                   {.card = "A.hca", .kind = QueueKind::event, .queues = 1, .counts = {.events = 77}},
                   {.card = "B.hca", .kind = QueueKind::send, .queues = 1, .counts = {.requests = 4}}};

    const auto text = print_result(result);

    CHECK(text.find("\n  A.hca QP 7 send     1,000      -      5            -       0       64      -       -\n"
                    "  and 1,000 more      1,999      -     20            -       3        -      -       -\n"
                    "  A.hca EQ 0x3            -      -      -            -       -        -      -      77\n"
                    "  B.hca QP 9 send         4      -      -            -       -        -      -       -\n"
                    "  deepest: ") != text.npos);
    CHECK(text.find("QP 8") == text.npos);
    const auto json = print_json({.result = result, .counters = {}, .digests = {}, .sources = {}, .config = {}});
    for (const auto* part :
         {"\"name\": \"A.hca QP 11 send\"", "\"kind\": \"event\"", "\"deepest\": 64", "\"events\": 77",
          "\"queues\": 1008", "\"requests\": 9999", "\"armed\": null", "\"completions_error\": 3"})
        CHECK(json.find(part) != json.npos);
}

TEST_CASE("the JSON has the keys that programs rely on", "[unit][hcasim]") {
    platform::observe::count::Counters counters;
    traces::Events{&counters, 0}.emit(At{1}, traces::Retried{1, 2, 3, "timeout"});

    const auto text = print_json(
        {.result = sample(), .counters = counters, .digests = {}, .sources = {}, .config = {}, .payload = "data/x"});

    for (const auto* part : {"\"scenario\": \"gpudirect\"",
                             "\"verified\": true",
                             "\"failure\": \"\"",
                             "\"payload_bytes\": 3000000",
                             "\"sha256_source\": \"ab12\"",
                             "\"sha256_target\": \"ab12\"",
                             "\"completions_ok\": 9",
                             "\"completions_error\": 0",
                             "\"p2p_payload_bytes\": 18000000",
                             "\"host_dram_payload_bytes\": 0",
                             "\"wire_packets\": 2222",
                             "\"retries\": 4",
                             "\"sim_time_ns\": 720001",
                             "\"wall_seconds\": 0.25",
                             "\"event_digest\": \"00112233aabbccdd\"",
                             "\"name\": \"READ B -> A\"",
                             "\"lost\": 7",
                             "\"name\": \"A.nvme0 dies\"",
                             "\"busy_ns\": 61700",
                             "\"busiest\": \"dies\"",
                             "\"waited_for\": \"channels\"",
                             "\"Retried\": 1",
                             "\"Retried: timeout\": 1",
                             "\"link.loss\": 0",
                             "\"link.latency_ns\": 500",
                             "\"gpu.vram_bytes\": 2147483648",
                             "\"link.encapsulation\": \"roce_v2\"",
                             "\"payload_path\": \"data/x\"",
                             "\"rate_bytes_per_second\": 12500000000",
                             "\"rate_bytes_per_second\": null",
                             "\"hit_rate\": 0.9375"}) {
        INFO(part);
        CHECK(text.find(part) != text.npos);
    }
}

TEST_CASE("a table that is wider than the terminal is broken into several", "[unit][hcasim]") {
    const std::vector<std::vector<std::string>> rows{{"name", "one", "two", "three"}, {"x", "1", "2", "3"}};

    CHECK(print_table(rows) == "  name  one  two  three\n  x       1    2      3\n");
    CHECK(print_table(rows, 17) == "  name  one  two\n  x       1    2\n\n  name  three\n  x         3\n");
    CHECK(print_table({{"alone"}}, 3) == "  alone\n");
}

TEST_CASE("lines longer than the terminal are broken, and hang under their second column", "[unit][hcasim]") {
    CHECK(wrap("  --set X    one two three\nshort\n", 20) == "  --set X    one two\n    three\nshort\n");
    CHECK(wrap("  -s   one two three four five six\n", 24) == "  -s   one two three\n       four five six\n");
    CHECK(wrap("anylength\n", 0) == "anylength\n");
    CHECK(wrap("one-word-that-does-not-fit\n", 10) == "one-word-that-does-not-fit\n");
}

TEST_CASE("a name cannot steer the terminal", "[unit][hcasim]") {
    CHECK(printable("plain caf\u00e9") == "plain caf\u00e9");
    CHECK(printable("\x1b[31mred\n") == "\\x1b[31mred\\x0a");
    CHECK(printable("\u009b31m") == "\\x9b31m");
}

TEST_CASE("colour is for the verdict, where it was asked for", "[unit][hcasim]") {
    auto result = sample();
    CHECK(print_result(result).find('\033') == std::string::npos);
    CHECK(print_result(result, {.has_colour = true}).find("\033[1;32mverified\033[0m") != std::string::npos);
    result.verified = false;
    CHECK(print_result(result, {.has_colour = true}).find("\033[1;31mNOT VERIFIED\033[0m: ") != std::string::npos);
}

TEST_CASE("a device's resources have a row each, and a line says what held it back", "[unit][hcasim]") {
    auto result = sample();

    const auto text = print_result(result);

    CHECK_THAT(text, Catch::Matchers::ContainsSubstring(
                         "\n  A.nvme0 dies  server     64  1,234      -  61.70 us  87.5 %    5 us         40 ns\n"
                         "  A.nvme0: busiest: dies (87.5 %); waited for most: channels (7 us)\n"));
    result.bottlenecks = {{.device = "A.nvme0"}};
    CHECK(print_result(result).find("  A.nvme0: nothing took time; nobody waited\n") != std::string::npos);
    result.resources.clear();
    CHECK(print_result(result).find("waited") == std::string::npos);
}
