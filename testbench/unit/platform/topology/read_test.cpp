#include "platform/topology/read.h"

#include "platform/topology/keys.h"
#include "testbench/harness/source_tree.h"

#include <catch2/catch_test_macros.hpp>

#include <vector>

using namespace platform::topology;

namespace {
using Overrides = std::vector<std::string>;

std::string error_of(std::string_view text, const Overrides& overrides = {}) {
    const auto config = parse_config(text, "p2p.toml", overrides);
    return config ? "accepted" : config.error();
}
} // namespace

TEST_CASE("an empty configuration is the default one", "[unit][topology]") {
    const auto config = parse_config("", "p2p.toml", {});

    REQUIRE(config.has_value());
    CHECK(effective(*config) == effective(Config{}));
}

TEST_CASE("a configuration sets what it names and nothing else", "[unit][topology]") {
    const auto config =
        parse_config("timed = false\n[host.B]\nmemory = \"8 GiB\"\n[hca]\nlog_max_qp = 10\nmkey_miss_ns = 300\n"
                     "[pcie.upstream]\nwidth = 8\n[link]\nloss = 1\nlatency_ns = \"2 us\"\n",
                     "p2p.toml", {});

    REQUIRE(config.has_value());
    CHECK_FALSE(config->timed);
    CHECK(config->hosts[0].memory_bytes == Config{}.hosts[0].memory_bytes);
    CHECK(config->hosts[1].memory_bytes == 8ULL << 30);
    CHECK(config->hca.log_max_qp == 10);
    CHECK(config->hca.mkey_miss == std::chrono::nanoseconds{300});
    CHECK(config->upstream_link.width == 8);
    CHECK(config->device_link.width == 16);
    CHECK(config->link.loss == 1.0);
    CHECK(config->link.latency == std::chrono::microseconds{2});
}

TEST_CASE("the master switch and the encapsulation reach the rooms they concern", "[unit][topology]") {
    const auto config = parse_config("timed = false\n[link]\nencapsulation = \"infiniband\"", "p2p.toml", {});

    REQUIRE(config.has_value());
    CHECK_FALSE(config->hca.timed);
    CHECK_FALSE(config->link.timed);
    CHECK_FALSE(config->hca.is_ethernet);
    CHECK(parse_config("", "", {})->hca.is_ethernet);
}

TEST_CASE("an unknown key is refused with file, line and the nearest key", "[unit][topology]") {
    CHECK(error_of("timed = true\n[link]\nlos = 1\n") == "p2p.toml:3: unknown key 'los', did you mean 'loss'?");
    CHECK(error_of("\n[gpu]\nloss = 1\n") == "p2p.toml:3: unknown key 'loss', did you mean 'link.loss'?");
    CHECK(error_of("tiemd = true\n") == "p2p.toml:1: unknown key 'tiemd', did you mean 'timed'?");
    CHECK(error_of("[link]\nxyzzyx = 1\n") == "p2p.toml:2: unknown key 'xyzzyx'; `hcasim keys` lists all");
    CHECK(error_of("pcie.device.withd = 8\n") == "p2p.toml:1: unknown key 'withd', did you mean 'width'?");
}

TEST_CASE("an unknown table is refused", "[unit][topology]") {
    CHECK(error_of("[lnik]\nloss = 0.1\n").starts_with("p2p.toml:1: unknown table 'lnik'"));
    CHECK(error_of("[host.C]\nmemory = 1\n").starts_with("p2p.toml:1: unknown table 'host.C'"));
}

TEST_CASE("a value of the wrong type or range is refused with what is allowed", "[unit][topology]") {
    CHECK(error_of("[link]\n\nloss = \"high\"") == "p2p.toml:3: 'loss' wants a number, not the text \"high\"");
    CHECK(error_of("[link]\nloss = 1.5") == "p2p.toml:2: 'loss' = 1.5 is out of range, allowed is 0 to 1");
    CHECK(error_of("[scenario]\nmtu = 1500") ==
          "p2p.toml:2: 'mtu' = 1500 is out of range, allowed is one of 256 512 1024 2048 4096");
    CHECK(error_of("timed = 1") == "p2p.toml:1: 'timed' wants true or false, not 1, did you mean true?");
    CHECK(error_of("[link]\nloss = [1]") == "p2p.toml:2: 'loss' wants a number, not a list, table or date");
    CHECK(error_of("link = 3") == "p2p.toml:1: 'link' is a table: write [link]");
    CHECK(error_of("[timed]\nx = 1").starts_with("p2p.toml:1: 'timed' wants true or false"));
}

TEST_CASE("all faults of a file are told, in its order, and then those of the command line", "[unit][topology]") {
    CHECK(error_of("[scenario]\nzzz = 1\nmtu = 1\n[gpu]\nvram = \"1 GB\"\n[link]\nloss = 0.5\n",
                   {"link.loss=2", "timed=yes"}) ==
          "p2p.toml:2: unknown key 'zzz'; `hcasim keys` lists all\n"
          "p2p.toml:3: 'mtu' = 1 is out of range, allowed is one of 256 512 1024 2048 4096\n"
          "p2p.toml:5: 'vram' has the unknown unit 'GB'; the units are B KiB MiB GiB TiB, did you mean 'GiB'?\n"
          "--set link.loss=2: 'link.loss' = 2 is out of range, allowed is 0 to 1\n"
          "--set timed=yes: 'timed' wants true or false, not \"yes\", did you mean true?");
    CHECK(error_of("[scenario]\nqps = 64\n[hca]\nlog_max_qp = 5\nlog_max_qp_size = 5\n") ==
          "p2p.toml: 'scenario.queue_depth' is larger than a send queue, 2^'hca.log_max_qp_size' = 32\n"
          "p2p.toml: 'scenario.qps' is larger than 2^'hca.log_max_qp' = 32");
}

TEST_CASE("a payload is beside the file that names it, or where the command line says", "[unit][topology]") {
    const auto payload = [](std::string_view file, const Overrides& overrides = {}) {
        return parse_config("[scenario]\npayload = \"data/x\"\n", file, overrides)->scenario.payload;
    };
    CHECK(payload("configs/p2p.toml") == "configs/data/x");
    CHECK(payload("p2p.toml") == "data/x");
    CHECK(payload("configs/p2p.toml", {"scenario.payload=y"}) == "y");
    CHECK(parse_config("[scenario]\npayload = \"/data/x\"\n", "configs/p2p.toml", {})->scenario.payload == "/data/x");
}

TEST_CASE("entries that ways do not divide into a power of two of sets are refused", "[unit][topology]") {
    CHECK(error_of("[hca]\nmkey_cache_entries = 100\ncache_ways = 8\n") ==
          "p2p.toml: 'hca.mkey_cache_entries' = 100 is no power of two of sets of 'hca.cache_ways' = 8; the next lower "
          "is 64");
    CHECK(error_of("[hca]\nmtt_cache_entries = 96\n").find("'hca.mtt_cache_entries' = 96 is no power of two") !=
          std::string::npos);
    CHECK(error_of("[hca]\ndevice_tlb_entries = 65\n").find("'hca.device_tlb_entries'") != std::string::npos);
    CHECK(error_of("[iommu]\niotlb_entries = 65\n").find("'iommu.iotlb_entries'") != std::string::npos);
    // Fewer than ways: all of them in one set.
    CHECK(error_of("[hca]\nmkey_cache_entries = 3\nmtt_cache_entries = 0\n") == "accepted");
}

TEST_CASE("what is not TOML is refused with its line", "[unit][topology]") {
    CHECK(error_of("[link]\nloss = \n").starts_with("p2p.toml:2: not TOML: "));
    CHECK(error_of("[link]\nloss = 0.1\nloss = 0.2\n").starts_with("p2p.toml:3: not TOML: "));
}

TEST_CASE("an override by --set beats the file, the last one wins", "[unit][topology]") {
    const auto config = parse_config("[link]\nloss = 0.5\n", "p2p.toml",
                                     Overrides{"link.loss=0.1", "link.loss=0.01", "gpu.vram=1 GiB"});

    REQUIRE(config.has_value());
    CHECK(config->link.loss == 0.01);
    CHECK(config->gpu.vram_bytes == 1ULL << 30);
}

TEST_CASE("an override by --set is checked as the file is and named in the message", "[unit][topology]") {
    CHECK(error_of("", {"link.los=1"}) == "--set link.los=1: unknown key 'link.los', did you mean 'link.loss'?");
    CHECK(error_of("", {"link.loss=2"}) == "--set link.loss=2: 'link.loss' = 2 is out of range, allowed is 0 to 1");
    CHECK(error_of("", {"link.loss=x"}) == "--set link.loss=x: 'link.loss' wants a number, not \"x\"");
    CHECK(error_of("", {"link.loss"}) == "--set link.loss: wants KEY=VALUE");
    CHECK(error_of("", {"=1"}) == "--set =1: wants KEY=VALUE");
}

TEST_CASE("keys that contradict each other are refused", "[unit][topology]") {
    CHECK(error_of("[scenario]\nmessage = \"1 MiB\"\n[hca]\nlog_max_message = 19\n") ==
          "p2p.toml: 'scenario.message' is larger than the HCA's messages, 2^'hca.log_max_message' = 512 KiB");
    CHECK(error_of("[scenario]\nqps = 64\n[hca]\nlog_max_qp = 5\n") ==
          "p2p.toml: 'scenario.qps' is larger than 2^'hca.log_max_qp' = 32");
    CHECK(error_of("[link]\nrate_gbps = 1e-9\n") ==
          "p2p.toml: 'link.rate_gbps' = 1e-09 is neither 0 nor at least 0.001");
    CHECK(error_of("[link]\ncredit_blocks = 65\n") ==
          "p2p.toml: 'link.credit_blocks' = 65 is neither 0 nor room for a packet, 66");
    CHECK(error_of("[pcie.device]\nmps = 512\nposted_credits = 31\n") ==
          "p2p.toml: 'pcie.device.posted_credits' = 31 is neither 0 nor room for 'pcie.device.mps', 32");
    CHECK(error_of("[pcie.upstream]\nmps = 512\nposted_credits = 31\n") ==
          "p2p.toml: 'pcie.upstream.posted_credits' = 31 is neither 0 nor room for 'pcie.upstream.mps', 32");
    CHECK(error_of("[pcie.device]\nmps = 512\nposted_credits = 32\n") == "accepted");
    CHECK(error_of("[pcie.upstream]\nmps = 512\ncompletion_credits = 31\n") ==
          "p2p.toml: 'pcie.upstream.completion_credits' = 31 is neither 0 nor room for 'pcie.upstream.mps', 32");
    CHECK(error_of("[pcie.upstream]\nmps = 512\ncompletion_credits = 32\n") == "accepted");
    CHECK(error_of("[pcie.upstream]\nposted_credits = 0\n") == "accepted");
    CHECK(error_of("[link]\ncredit_blocks = 66\n") == "accepted");
    CHECK(error_of("[scenario]\nqueue_depth = 64\n[hca]\nlog_max_qp_size = 5\n")
              .starts_with("p2p.toml: 'scenario.queue_depth' is larger than a send queue"));
}

TEST_CASE("a configuration that cannot be read is one line with its name", "[unit][topology]") {
    CHECK(read_config("/nowhere/p2p.toml", {}).error() ==
          "/nowhere/p2p.toml: cannot be read: No such file or directory");
    CHECK(read_config("/", {}).error() == "/: cannot be read: Is a directory");
    CHECK(read_config("/dev/null", {}).has_value());
}

TEST_CASE("the configurations of the repository are accepted", "[unit][topology]") {
    const auto config = read_config(testbench::source_tree() + "/platform/configs/gpudirect.toml", {});

    REQUIRE(config.has_value());
    CHECK(config->scenario.name == "gpudirect");
    CHECK(effective(*config) == effective(Config{}));
}

TEST_CASE("each configuration of the repository describes a platform", "[unit][topology]") {
    for (const auto* name :
         {"pair", "gpudirect", "dmabuf", "fabric", "gpu_server", "two_levels", "nvme", "remote_storage"}) {
        INFO(name);
        const auto config = read_config(testbench::source_tree() + "/platform/configs/" + name + ".toml", {});
        INFO((config ? "" : config.error()));
        REQUIRE(config.has_value());
        const auto printed = parse_config(print_toml(*config), "printed.toml", {});
        INFO((printed ? "" : printed.error()));
        REQUIRE(printed.has_value());
        CHECK(effective(*printed) == effective(*config));
    }
}
