#include "testbench/study/commands.h"

#include <catch2/catch_test_macros.hpp>

#include <csignal>
#include <map>

namespace {

std::vector<std::string> shell(const std::string& text) { return {"/bin/sh", "-c", text}; }

std::map<std::size_t, study::Ended> run(const std::vector<std::string>& texts, unsigned jobs = 2,
                                        unsigned seconds = 20) {
    std::map<std::size_t, study::Ended> ended;
    study::Commands(jobs, seconds)
        .run(
            texts.size(), [&](std::size_t i) { return shell(texts[i]); },
            [&](std::size_t i, const study::Ended& one) { ended[i] = one; }, [] { return true; });
    return ended;
}

} // namespace

TEST_CASE("a command's outputs and its end come back apart", "[unit][study]") {
    const auto ended =
        run({"echo out; echo err >&2; exit 3", "kill -SEGV $$", "head -c 300000 /dev/zero", "exec /none"});

    CHECK(ended.at(0).output == "out\n");
    CHECK(ended.at(0).errors == "err\n");
    CHECK(ended.at(0).way == study::Ended::Way::status);
    CHECK(ended.at(0).number == 3);
    CHECK(ended.at(1).way == study::Ended::Way::signal);
    CHECK(ended.at(1).number == SIGSEGV);
    CHECK(ended.at(2).output.size() == 300000);
    CHECK(ended.at(3).number == 127);
}

TEST_CASE("a command that takes too long is late", "[unit][study]") {
    const auto ended = run({"exec sleep 30"}, 1, 1);

    CHECK(ended.at(0).way == study::Ended::Way::late);
    CHECK(ended.at(0).seconds < 10);
}

TEST_CASE("what the caller of the program ignores changes no command's end", "[unit][study]") {
    const auto child = std::signal(SIGCHLD, SIG_IGN), alarm = std::signal(SIGALRM, SIG_IGN);
    const auto ended = run({"exit 3", "kill -SEGV $$", "exec sleep 30"}, 3, 1);
    const auto child_after = std::signal(SIGCHLD, child), alarm_after = std::signal(SIGALRM, alarm);

    CHECK(ended.at(0).way == study::Ended::Way::status);
    CHECK(ended.at(0).number == 3);
    CHECK(ended.at(1).way == study::Ended::Way::signal);
    CHECK(ended.at(1).number == SIGSEGV);
    CHECK(ended.at(2).way == study::Ended::Way::late);
    CHECK(ended.at(2).seconds < 10);
    CHECK(child_after == SIG_IGN);
    CHECK(alarm_after == SIG_IGN);
}

TEST_CASE("who does not go on lets those under way end", "[unit][study]") {
    unsigned started = 0, done = 0;
    study::Commands(2, 20).run(
        10,
        [&](std::size_t) {
            ++started;
            return shell("sleep 0.1");
        },
        [&](std::size_t, const study::Ended&) { ++done; }, [&] { return started < 3; });

    CHECK(started == 3);
    CHECK(done == 3);
}

TEST_CASE("a signal at the terminal does not reach a command", "[unit][study]") {
    const auto ended = run({"ps -o pgid= -p $$ | tr -d ' '; echo $$"});

    const auto& text = ended.at(0).output;
    const auto line = text.find('\n');
    CHECK(text.substr(0, line) + "\n" == text.substr(line + 1));
}
