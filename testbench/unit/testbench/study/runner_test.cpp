#include "testbench/study/runner.h"

#include "testbench/unit/testbench/study/made.h"

#include <catch2/catch_test_macros.hpp>

#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace {

constexpr const char* complete = R"({"kind": "hcasim result", "format": 1, "version": "0.1", "revision": "r",
    "scenario": "gpudirect", "failure": "", "event_digest": "0", "wire_packets": 5})";
constexpr const char* lacking = R"({"kind": "hcasim result", "format": 1, "version": "0.1", "revision": "r",
    "scenario": "gpudirect", "failure": "", "event_digest": "0", "sim_time_ns": 5})";

using Ends = std::function<study::Ended(std::size_t number)>;

/// One point after the other, from either end.
class Engine final : public study::Engine {
public:
    explicit Engine(Ends ends, bool is_backward = false) : ends_(std::move(ends)), is_backward_(is_backward) {}
    void run(std::span<const study::Point> points, const study::Commands::Words& words,
             const study::Commands::Done& done, const std::function<bool()>& goes_on) override {
        for (std::size_t i = 0; i < points.size() && goes_on(); ++i) {
            const auto at = is_backward_ ? points.size() - 1 - i : i;
            CHECK(!words(at).empty());
            ++count_;
            done(at, ends_(points[at].number));
        }
    }
    std::size_t count() const { return count_; }

private:
    Ends ends_;
    bool is_backward_;
    std::size_t count_ = 0;
};

/// Of four points, whose results are in a file as long as it lives.
class Sweep {
public:
    Sweep() : path_((std::filesystem::temp_directory_path() / fmt::format("runner.{}.sqlite", ::getpid())).string()) {
        std::filesystem::remove(path_);
        study_.metrics = {{.name = "m", .value = "wire_packets"}};
    }
    Sweep(const Sweep&) = delete;
    Sweep& operator=(const Sweep&) = delete;
    ~Sweep() { std::filesystem::remove(path_); }
    /// Why it has ended.
    std::string run(Engine& engine) {
        auto store = study::Store::open(path_, {.identity = "axis a\n", .version = "0.1", .revision = "r"});
        REQUIRE(store);
        auto end = study::run(study_, *store,
                              {.program = "hcasim",
                               .engine = engine,
                               .goes_on = [] { return true; },
                               .told = [](const study::Outcome&, const study::Progress&) {}});
        CHECK(store->end() == end);
        return end;
    }

private:
    std::string path_;
    study::Study study_ = made::study({made::axis("a", {1, 2, 3, 4})});
};

} // namespace

TEST_CASE("a metric that the first result has not ends the sweep with it, and again when it is called again",
          "[unit][study]") {
    Sweep sweep;
    Engine first([](std::size_t) { return study::Ended{.output = lacking}; });
    const auto end = sweep.run(first);

    CHECK(first.count() == 1);
    CHECK(end == "the other points are not run: what a metric is made of is not in the result of point 0, the first "
                 "that ended well");
    Engine second([](std::size_t) { return study::Ended{.output = complete}; });
    CHECK(sweep.run(second) == end);
    CHECK(second.count() == 0);
}

TEST_CASE("points that do not end well say nothing of what results have", "[unit][study]") {
    Sweep sweep;
    Engine engine([](std::size_t number) {
        return number == 0 ? study::Ended{.number = 2, .errors = "hcasim: no\n"} : study::Ended{.output = lacking};
    });

    CHECK(sweep.run(engine).contains("the result of point 1, the first that ended well"));
    CHECK(engine.count() == 2);
}

TEST_CASE("a metric that the first result has and others have not ends nothing, in whatever order they come",
          "[unit][study]") {
    for (const bool is_backward : {false, true}) {
        Sweep sweep;
        Engine engine([](std::size_t number) { return study::Ended{.output = number == 0 ? complete : lacking}; },
                      is_backward);

        CHECK(sweep.run(engine) == "the design is complete");
        CHECK(engine.count() == 4);
    }
}
