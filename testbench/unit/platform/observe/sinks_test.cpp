#include "platform/observe/count/counters.h"
#include "platform/observe/count/digest.h"
#include "platform/observe/fanout.h"
#include "platform/observe/files/log.h"

#include <catch2/catch_test_macros.hpp>

#include <cstdio>
#include <cstdlib>

using namespace platform::observe;
using namespace platform::observe::count;
using namespace platform::observe::files;
using traces::Events;

namespace {

struct At {
    std::int64_t ps;
    std::int64_t count() const { return ps; }
};

void say_some(const Events& a, const Events& b) {
    a.emit(At{1'000}, traces::DoorbellRung{.qpn = 0x48, .uar = 16, .producer = 1});
    a.emit(At{2'500}, traces::Retried{.qpn = 0x48, .psn = 7, .left = 6, .reason = "timeout"});
    b.emit(At{2'500}, traces::Retried{.qpn = 0x48, .psn = 7, .left = 5, .reason = "sequence"});
    b.emit(At{3'000}, traces::Retried{.qpn = 0x48, .psn = 7, .left = 4, .reason = "timeout"});
}

std::string digest_of(auto&& say) {
    Digest digest;
    say(Events{&digest, 0}, Events{&digest, 1});
    return digest.text();
}

std::string logged(Log::Format format, auto&& say) {
    char* data = nullptr;
    std::size_t size = 0;
    std::FILE* file = open_memstream(&data, &size);
    Sources sources;
    sources.add("A.hca");
    {
        Log log(file, format, sources);
        say(Events{&log, 0}, Events{&log, 1});
    }
    std::fclose(file);
    std::string text(data, size);
    std::free(data);
    return text;
}

} // namespace

TEST_CASE("events are counted by type, by source and by reason", "[unit][observe]") {
    Counters counters;
    say_some(Events{&counters, 0}, Events{&counters, 5});

    CHECK(counters.total() == 4);
    CHECK(counters.count<traces::DoorbellRung>() == 1);
    CHECK(counters.count<traces::Retried>() == 3);
    CHECK(counters.count<traces::Retried>(0) == 1);
    CHECK(counters.count<traces::Retried>(5) == 2);
    CHECK(counters.count<traces::Retried>(99) == 0);
    CHECK(counters.count<traces::PacketSent>() == 0);
    CHECK(counters.count_because<traces::Retried>("timeout") == 2);
    CHECK(counters.count_because<traces::Retried>("sequence") == 1);
    CHECK(counters.count_because<traces::Retried>("rnr") == 0);
}

TEST_CASE("a fanout gives each event to all its sinks", "[unit][observe]") {
    Counters first, second;
    Fanout fanout;
    fanout.add(first);
    fanout.add(second);
    say_some(Events{&fanout, 0}, Events{&fanout, 1});

    CHECK(first.total() == 4);
    CHECK(second.total() == 4);
}

TEST_CASE("the same events have the same digest, known from the canonical form", "[unit][observe]") {
    CHECK(digest_of(say_some) == digest_of(say_some));
    // Computed apart from this program: XXH64, seed 1 (the vocabulary's version), over the 21 bytes of time, source,
    // type, qpn, uar and producer.
    CHECK(digest_of([](const Events& a, const Events&) {
              a.emit(At{1'000}, traces::DoorbellRung{.qpn = 0x48, .uar = 16, .producer = 1});
          }) == "e7a69f094d181545");
}

TEST_CASE("any difference in any event changes the digest", "[unit][observe]") {
    const auto one = [](std::int64_t ps, std::uint32_t qpn, traces::RetryReason reason, bool is_second) {
        return digest_of([&](const Events& a, const Events& b) {
            (is_second ? b : a).emit(At{ps}, traces::Retried{.qpn = qpn, .psn = 1, .left = 1, .reason = reason});
        });
    };
    const auto reference = one(1, 2, "timeout", false);

    CHECK(one(1, 2, "timeout", false) == reference);
    CHECK(one(2, 2, "timeout", false) != reference);
    CHECK(one(1, 3, "timeout", false) != reference);
    CHECK(one(1, 2, "sequence", false) != reference);
    CHECK(one(1, 2, "timeout", true) != reference);
}

TEST_CASE("texts count by content, not by address", "[unit][observe]") {
    const std::string copy = std::string("time") + "out";
    const auto with = [](std::string_view why) {
        return digest_of([&](const Events& a, const Events&) {
            a.emit(At{1}, traces::CommandExecuted{0x100, 0, 1, 2, "QUERY_HCA_CAP", why});
        });
    };

    CHECK(with("timeout") == with(copy));
}

TEST_CASE("a digest read half-way does not change the final one", "[unit][observe]") {
    Digest digest;
    Events a{&digest, 0}, b{&digest, 1};
    say_some(a, b);
    const auto half = digest.value();
    for (int i = 0; i < 1000; ++i)
        say_some(a, b);

    Digest whole;
    Events c{&whole, 0}, d{&whole, 1};
    for (int i = 0; i < 1001; ++i)
        say_some(c, d);
    CHECK(half != whole.value());
    CHECK(digest.value() == whole.value());
    CHECK(digest.events() == 4004);
}

TEST_CASE("a log has one line of text an event", "[unit][observe]") {
    CHECK(logged(Log::Format::text, say_some) ==
          "           1.000 ns  A.hca        DoorbellRung       qpn=0x48 uar=0x10 producer=1  #1\n"
          "           2.500 ns  A.hca        Retried            qpn=0x48 psn=0x7 left=6 reason=\"timeout\"  #2\n"
          "           2.500 ns  ?            Retried            qpn=0x48 psn=0x7 left=5 reason=\"sequence\"  #3\n"
          "           3.000 ns  ?            Retried            qpn=0x48 psn=0x7 left=4 reason=\"timeout\"  #4\n");
}

TEST_CASE("a log has one JSON object an event", "[unit][observe]") {
    CHECK(logged(Log::Format::json,
                 [](const Events& a, const Events&) {
                     a.emit(At{1'000}, traces::CompletionArmed{.cqn = 3, .consumer = 0, .solicited_only = true});
                     a.emit(At{2'000},
                            traces::CommandExecuted{0x100, 0, 3, 0x1234, "QUERY_HCA_CAP", "a \"quoted\" rule"});
                 }) == "{\"time_ps\":1000,\"source\":\"A.hca\",\"event\":\"CompletionArmed\",\"cqn\":3,\"consumer\":0,"
                       "\"solicited_only\":true,\"id\":1}\n"
                       "{\"time_ps\":2000,\"source\":\"A.hca\",\"event\":\"CommandExecuted\",\"opcode\":256,\"op_mod\":"
                       "0,\"status\":3,\"syndrome\":4660,"
                       "\"command\":\"QUERY_HCA_CAP\",\"why\":\"a \\\"quoted\\\" rule\",\"id\":2}\n");
}

TEST_CASE("a line of a log names the event that led to it, or the access from outside", "[unit][observe]") {
    const auto say = [](const Events& a, const Events&) {
        traces::Cause cause(a, traces::Access::packet);
        cause.becomes(a.emit(At{1'000}, traces::QueueScheduled{.qpn = 0x48}));
        a.emit(At{2'000}, traces::QueueScheduled{.qpn = 0x49});
    };

    CHECK(logged(Log::Format::text, say) ==
          "           1.000 ns  A.hca        QueueScheduled     qpn=0x48  #2 <- #1 (packet)\n"
          "           2.000 ns  A.hca        QueueScheduled     qpn=0x49  #3 <- #2\n");
    CHECK(logged(Log::Format::json, say) ==
          "{\"time_ps\":1000,\"source\":\"A.hca\",\"event\":\"QueueScheduled\",\"qpn\":72,\"id\":2,\"cause\":1,"
          "\"cause_access\":\"packet\"}\n"
          "{\"time_ps\":2000,\"source\":\"A.hca\",\"event\":\"QueueScheduled\",\"qpn\":73,\"id\":3,\"cause\":2}\n");
}

TEST_CASE("a log that cannot be written says so at once", "[unit][observe]") {
    Sources sources;
    std::string heard;
    auto output = Output::create("/dev/full").value();
    output.on_failure([&](const std::string& why) { heard = why; });
    Log full(std::move(output), Log::Format::text, sources);
    say_some(Events{&full, 0}, Events{&full, 0});

    CHECK_FALSE(full.flush());
    CHECK(heard == "/dev/full: cannot be written: No space left on device");
    CHECK(full.finish().error() == heard);
}
