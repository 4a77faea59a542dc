#include "testbench/hcasim/command_line.h"

#include "platform/topology/keys.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <initializer_list>

using namespace hcasim;

namespace {

Command parse(std::initializer_list<const char*> words) {
    std::vector<const char*> all{"hcasim"};
    all.insert(all.end(), words);
    return parse_command_line(static_cast<int>(all.size()), all.data());
}

Leave leave(std::initializer_list<const char*> words) {
    const auto outcome = parse(words);
    REQUIRE(std::holds_alternative<Leave>(outcome));
    return std::get<Leave>(outcome);
}

} // namespace

TEST_CASE("run takes a configuration, a payload, overrides and the files to write", "[unit][hcasim]") {
    const auto outcome = parse({"run", "p2p.toml", "--payload", "data", "--set", "link.loss=0.01", "--set",
                                "gpu.vram=1 GiB", "--json", "r.json", "--events", "e.jsonl", "--pcap", "w.pcapng"});

    REQUIRE(std::holds_alternative<RunOptions>(outcome));
    const auto& options = std::get<RunOptions>(outcome);
    CHECK(options.plan.config == "p2p.toml");
    CHECK(options.plan.payload == "data");
    CHECK(options.plan.overrides == std::vector<std::string>{"link.loss=0.01", "gpu.vram=1 GiB"});
    CHECK_FALSE(options.is_quiet);
    CHECK(options.json == "r.json");
    CHECK(options.observe.events == "e.jsonl");
    CHECK(options.observe.pcap == "w.pcapng");
}

TEST_CASE("serve takes a platform and where its sockets go", "[unit][hcasim]") {
    const auto outcome =
        parse({"serve", "pair.toml", "--socket-dir", "/run/pair", "--set", "timed=false", "--commands"});

    REQUIRE(std::holds_alternative<ServeOptions>(outcome));
    const auto& options = std::get<ServeOptions>(outcome);
    CHECK(options.config == "pair.toml");
    CHECK(options.socket_directory == "/run/pair");
    CHECK(options.overrides == std::vector<std::string>{"timed=false"});
    CHECK(options.commands);
    CHECK(leave({"serve", "pair.toml"}).code == 2);
}

TEST_CASE("replay takes recordings, what is compared, overrides and devices", "[unit][hcasim]") {
    const auto outcome = parse({"replay", "a.trace", "b.trace", "--untimed", "--set", "link.loss=0.01", "--at", "A.hca",
                                "--at", "B.hca", "--json", "r.json", "--jobs", "3"});

    REQUIRE(std::holds_alternative<ReplayOptions>(outcome));
    const auto& options = std::get<ReplayOptions>(outcome);
    CHECK(options.traces == std::vector<std::string>{"a.trace", "b.trace"});
    CHECK(options.mode == ReplayMode::untimed);
    CHECK(options.overrides == std::vector<std::string>{"link.loss=0.01"});
    CHECK(options.parts == std::vector<std::string>{"A.hca", "B.hca"});
    CHECK(options.json == "r.json");
    CHECK(options.jobs == 3);
    CHECK(std::get<ReplayOptions>(parse({"replay", "a"})).mode == ReplayMode::strict);
    CHECK(leave({"replay"}).code == 2);
    CHECK(leave({"replay", "a", "--strict", "--untimed"}).code == 2);
}

TEST_CASE("show takes a platform, overrides and where its picture goes", "[unit][hcasim]") {
    const auto outcome = parse({"show", "pair.toml", "--svg", "pair.svg", "--set", "A.hca.pcie.width=8"});

    REQUIRE(std::holds_alternative<ShowOptions>(outcome));
    const auto& options = std::get<ShowOptions>(outcome);
    CHECK(options.config == "pair.toml");
    CHECK(options.svg == "pair.svg");
    CHECK(options.overrides == std::vector<std::string>{"A.hca.pcie.width=8"});
    CHECK(leave({"show"}).code == 2);
}

TEST_CASE("explain goes to standard error, or to the file it is given, and does not swallow the word after it",
          "[unit][hcasim]") {
    const auto run = parse({"run", "--explain", "p2p.toml"});
    const auto serve = parse({"serve", "--explain=why.txt", "pair.toml", "--socket-dir", "/run/pair"});

    REQUIRE(std::holds_alternative<RunOptions>(run));
    CHECK(std::get<RunOptions>(run).observe.explain == "-");
    CHECK(std::get<RunOptions>(run).plan.config == "p2p.toml");
    REQUIRE(std::holds_alternative<ServeOptions>(serve));
    CHECK(std::get<ServeOptions>(serve).observe.explain == "why.txt");
    CHECK(std::get<ServeOptions>(serve).config == "pair.toml");
}

TEST_CASE("an override does not swallow the word after it", "[unit][hcasim]") {
    const auto outcome = parse({"run", "--set", "link.loss=0.01", "p2p.toml"});

    REQUIRE(std::holds_alternative<RunOptions>(outcome));
    CHECK(std::get<RunOptions>(outcome).plan.config == "p2p.toml");
    CHECK_FALSE(std::get<RunOptions>(outcome).plan.payload.has_value());
}

TEST_CASE("a mistake on the command line is one line and status 2", "[unit][hcasim]") {
    for (const auto& words : {std::initializer_list<const char*>{},
                              {"frob"},
                              {"run"},
                              {"run", "a", "b"},
                              {"run", "a", "--frob"},
                              {"run", "a", "--set"}}) {
        const auto [code, text] = leave(words);
        CHECK(code == 2);
        CHECK(text.starts_with("hcasim: "));
        CHECK(std::ranges::count(text, '\n') == 1);
    }
}

TEST_CASE("an option whose value is missing does not take the option behind it", "[unit][hcasim]") {
    for (const auto& words : {std::initializer_list<const char*>{"run", "a", "--json", "-q"},
                              {"run", "a", "--json", "--payload", "data"},
                              {"run", "a", "--json", "--set", "link.loss=0"}}) {
        const auto [code, text] = leave(words);
        CHECK(code == 2);
        CHECK(text.find("--json: its value is missing before -") != text.npos);
    }
    CHECK(std::get<RunOptions>(parse({"run", "a", "--json", "-"})).json == "-");
    CHECK(std::holds_alternative<SweepOptions>(parse({"sweep", "s", "--slurm-option", "--account=me"})));
}

TEST_CASE("a second setting behind --set is told how to be given, whatever it was taken for", "[unit][hcasim]") {
    for (const auto& words : {std::initializer_list<const char*>{"run", "p2p.toml", "--set", "a=1", "b=2"},
                              {"run", "--set", "a=1", "b=2", "p2p.toml"},
                              {"show", "p2p.toml", "--set", "a=1", "b=2", "c=3"}}) {
        const auto [code, text] = leave(words);
        CHECK(code == 2);
        CHECK(text.starts_with("hcasim: --set takes one KEY=VALUE, repeat it: --set b=2 (see hcasim "));
    }
    CHECK_FALSE(leave({"run", "p2p.toml", "more.toml", "--set", "a=1"}).text.contains("repeat it"));
}

TEST_CASE("a mistake behind a command leads to the help of that command", "[unit][hcasim]") {
    CHECK(leave({"run"}).text.find("(see hcasim run --help)") != std::string::npos);
    CHECK(leave({"trace", "show"}).text.find("(see hcasim trace show --help)") != std::string::npos);
    CHECK(leave({"frob"}).text.find("(see hcasim --help)") != std::string::npos);
}

TEST_CASE("a configuration that is printed leaves nothing for other files", "[unit][hcasim]") {
    for (const auto* option : {"--payload", "--json", "--events", "--pcap", "--record"})
        CHECK(leave({"run", "a", "--print-config", option, "file"}).text.find(option) != std::string::npos);
}

TEST_CASE("the help of run names its options and where the keys are listed, and is short", "[unit][hcasim]") {
    const auto [code, text] = leave({"run", "--help"});

    CHECK(code == 0);
    for (const auto* part : {"--payload", "--set", "--json", "--events", "--pcap", "--explain", "--quiet",
                             "--print-config", "hcasim keys", "link.loss", "130"})
        CHECK(text.find(part) != text.npos);
    CHECK(std::ranges::count(text, '\n') < 60);
    CHECK(leave({"--help"}).text.find("keys") != text.npos);
}

TEST_CASE("whoever names no command hears which there are", "[unit][hcasim]") {
    for (const auto& words : {std::initializer_list<const char*>{}, {"frob"}}) {
        const auto text = leave(words).text;
        for (const auto* command : {"run", "serve", "explore", "check", "keys"})
            CHECK(text.find(command) != text.npos);
    }
}

TEST_CASE("check and --print-config take what a run is made of", "[unit][hcasim]") {
    const auto check = parse({"check", "p2p.toml", "--payload", "data", "--set", "link.loss=1"});
    const auto print = parse({"run", "p2p.toml", "--set", "link.loss=1", "--print-config"});

    REQUIRE(std::holds_alternative<CheckOptions>(check));
    CHECK(std::get<CheckOptions>(check).plan.payload == "data");
    REQUIRE(std::holds_alternative<PrintConfigOptions>(print));
    CHECK(std::get<PrintConfigOptions>(print).plan.overrides == std::vector<std::string>{"link.loss=1"});
}

TEST_CASE("keys and the version are listed", "[unit][hcasim]") {
    CHECK(leave({"keys"}).code == 0);
    CHECK(leave({"keys"}).text == platform::topology::print_keys());
    CHECK(leave({"keys", "--json"}).text == platform::topology::keys_as_json());
    CHECK(leave({"--version"}).code == 0);
    CHECK(leave({"--version"}).text.starts_with("hcasim "));
}

TEST_CASE("explore takes lists of scenarios, actions and sides, and what a run is to be", "[unit][hcasim]") {
    const auto outcome =
        parse({"explore", "write,read", "--inject", "revoke,flr",  "--victim", "requester", "--bytes",
               "100",     "--every",    "3",        "--at",        "17",       "--jobs",    "5",
               "--plant", "stale_key",  "--set",    "link.seed=2", "--sweep",  "pairs",     "--importers",
               "2",       "--points",   "7",        "--late",      "--monitor"});

    REQUIRE(std::holds_alternative<ExploreOptions>(outcome));
    const auto& options = std::get<ExploreOptions>(outcome);
    CHECK(options.operations == std::vector<std::string>{"write", "read"});
    CHECK(options.actions == std::vector<std::string>{"revoke", "flr"});
    CHECK(options.victims == std::vector<std::string>{"requester"});
    CHECK(options.bytes == 100);
    CHECK(options.every == 3);
    CHECK(options.at == 17u);
    CHECK(options.jobs == 5);
    CHECK(options.plant == "stale_key");
    CHECK(options.overrides == std::vector<std::string>{"link.seed=2"});
    CHECK(leave({"explore"}).code == 2);
    CHECK(options.sweep == Sweep::pairs);
    CHECK(options.importers == 2);
    CHECK(options.points == 7);
    CHECK(options.is_late);
    CHECK(options.is_monitored);
    CHECK(leave({"explore", "write", "--bytes", "0"}).code == 2);
    CHECK(leave({"explore", "write", "--sweep", "much"}).code == 2);
}

TEST_CASE("a count of nothing, and an option that says nothing alone, are refused", "[unit][hcasim]") {
    for (const auto& words : {std::initializer_list<const char*>{"explore", "write", "--points", "0"},
                              {"explore", "write", "--every", "0"},
                              {"explore", "write", "--jobs", "0"},
                              {"sweep", "s.toml", "--jobs", "0"},
                              {"replay", "a", "--jobs", "0"},
                              {"calibrate", "--jobs", "0"},
                              {"run", "p2p.toml", "--record-failure", "go-on"}}) {
        const auto [code, text] = leave(words);
        CHECK(code == 2);
        CHECK(text.size() < 200);
    }
    CHECK(std::holds_alternative<RunOptions>(parse({"run", "p2p.toml", "--record", "f", "--record-failure", "go-on"})));
}

TEST_CASE("calibrate takes profiles, rows by their names, overrides and a file", "[unit][hcasim]") {
    const auto outcome =
        parse({"calibrate", "connectx5.toml", "--row", "^1[.]", "--set", "hca.units=4", "--json", "-", "--jobs", "2"});

    REQUIRE(std::holds_alternative<CalibrateOptions>(outcome));
    const auto& options = std::get<CalibrateOptions>(outcome);
    CHECK(options.profiles == std::vector<std::string>{"connectx5.toml"});
    CHECK(options.row == "^1[.]");
    CHECK(options.overrides == std::vector<std::string>{"hca.units=4"});
    CHECK(options.json == "-");
    CHECK(options.jobs == 2);
    CHECK_FALSE(options.lists);
    CHECK(std::get<CalibrateOptions>(parse({"calibrate", "--list"})).profiles.empty());
}
