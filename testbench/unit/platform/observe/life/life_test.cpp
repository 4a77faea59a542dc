#include "platform/observe/life/life.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <vector>

using namespace platform::observe;
using namespace platform::observe::life;
using namespace traces;

namespace {

constexpr std::uint8_t wqe_send = 0x0a, wqe_write = 0x08;
constexpr std::uint8_t bth_write_only = 0x0a, bth_acknowledge = 0x11, bth_send_only = 0x04;

struct At {
    std::int64_t ps;
    std::int64_t count() const { return ps; }
};

struct Bench {
    Sources sources;
    std::uint16_t a_hca = sources.add("A.hca"), a_pcie = sources.add("A.switch"), b_hca = sources.add("B.hca"),
                  b_pcie = sources.add("B.switch");
    Life life;

    /// Said with what led to it: the number of another event, or 0. Returns its own number.
    template <class E>
    std::uint64_t say(std::uint16_t source, std::int64_t ps, const E& event, std::uint64_t because = 0) {
        const Events events{&life, source};
        const Cause cause(events, because);
        return events.emit(At{ps}, event);
    }
    std::vector<std::int64_t> times() const {
        std::vector<std::int64_t> all;
        for (std::size_t i = 0; i < Life::stages().size(); ++i)
            all.push_back(life.seen(i) ? life.seen(i)->stamp.time_ps : -1);
        return all;
    }

    /// Up to its WQE, whose number it returns.
    std::uint64_t begin(std::uint32_t qpn, std::int64_t start, std::uint8_t opcode = wqe_write) {
        const auto doorbell = say(a_hca, start + 0, DoorbellRung{qpn, 16, 1});
        const auto turn = say(a_hca, start + 1, QueueScheduled{qpn}, doorbell);
        return say(a_hca, start + 2, WqeFetched{qpn, 0, opcode, 1, 64}, turn);
    }
    /// Its packet leaves, arrives and is carried out. Returns the number of the acknowledgement that leaves.
    std::uint64_t carry(std::uint64_t wqe, std::uint32_t qpn, std::uint32_t psn, std::int64_t start) {
        say(a_hca, start + 3, Translated{0x100, 0, 64, 1}, wqe);
        say(a_pcie, start + 4, DmaRead{0, 64, 0}, wqe);
        const auto sent = say(a_hca, start + 5, PacketSent{qpn, psn, bth_write_only, 64}, wqe);
        const auto received = say(b_hca, start + 6, PacketReceived{qpn, psn, bth_write_only, 64}, sent);
        say(b_hca, start + 7, Accepted{qpn, psn, bth_write_only}, received);
        say(b_hca, start + 8, Translated{0x200, 0, 64, 1}, received);
        say(b_pcie, start + 9, DmaWritten{0, 64, 0}, received);
        return say(b_hca, start + 9, PacketSent{qpn, psn, bth_acknowledge, 0}, received);
    }
    void acknowledge(std::uint64_t sent, std::uint32_t qpn, std::uint32_t psn, std::int64_t start) {
        const auto answered = say(a_hca, start + 10, PacketReceived{qpn, psn, bth_acknowledge, 0}, sent);
        say(a_hca, start + 10, Acknowledged{qpn, psn, 0, 1}, answered);
    }
    void complete(std::uint64_t wqe, std::uint32_t qpn, std::int64_t start, bool interrupt = true) {
        const auto completion = say(a_hca, start + 11, CompletionWritten{1, qpn, 0, 0, 0, 64}, wqe);
        if (interrupt) {
            const auto entry = say(a_hca, start + 12, EventWritten{1, 0, 0, 1}, completion);
            say(a_pcie, start + 13, InterruptRaised{1}, entry);
        }
    }
    /// A whole WRITE of queue pair `qpn` with `psn`, times from `start` in steps of 1; `interrupt` at its end or not.
    void write(std::uint32_t qpn, std::uint32_t psn, std::int64_t start, bool interrupt = true) {
        const auto wqe = begin(qpn, start);
        acknowledge(carry(wqe, qpn, psn, start), qpn, psn, start);
        complete(wqe, qpn, start, interrupt);
    }
};

std::vector<std::int64_t> row(std::int64_t start) {
    std::vector<std::int64_t> all(14);
    std::ranges::generate(all, [&] { return start++; });
    return all;
}

} // namespace

TEST_CASE("a WRITE is followed from doorbell to interrupt", "[unit][observe]") {
    Bench bench;
    bench.write(0x48, 7, 100);

    CHECK(bench.life.is_complete());
    CHECK(bench.times() == row(100));
    CHECK(bench.life.seen(9)->stamp.source == bench.b_pcie);
}

TEST_CASE("only the first WRITE is followed", "[unit][observe]") {
    Bench bench;
    bench.write(0x48, 7, 100);
    bench.write(0x48, 8, 200);

    CHECK(bench.times() == row(100));
}

TEST_CASE("a SEND before the WRITE is not taken for it", "[unit][observe]") {
    Bench bench;
    const auto wqe = bench.begin(0x47, 1, wqe_send);
    bench.say(bench.a_hca, 4, Translated{0x100, 0, 64, 1}, wqe);
    bench.say(bench.a_hca, 5, PacketSent{0x47, 7, bth_send_only, 64}, wqe);
    CHECK_FALSE(bench.life.has_begun());
    bench.write(0x48, 7, 100);

    CHECK(bench.times() == row(100));
}

TEST_CASE("the last doorbell before the WRITE counts, not an earlier one of the same queue pair", "[unit][observe]") {
    Bench bench;
    const auto doorbell = bench.say(bench.a_hca, 1, DoorbellRung{0x48, 16, 1});
    bench.say(bench.a_hca, 2, QueueScheduled{0x48}, doorbell);
    bench.write(0x48, 7, 100);

    CHECK(bench.times() == row(100));
}

TEST_CASE("traffic of other queue pairs, the way back and NAKs do not disturb it", "[unit][observe]") {
    Bench bench;
    const auto wqe = bench.begin(0x48, 100);
    const auto other = bench.say(bench.a_hca, 104, PacketSent{0x9, 3, bth_acknowledge, 0});
    const auto sent = bench.say(bench.a_hca, 105, PacketSent{0x48, 7, bth_write_only, 64}, wqe);
    bench.say(bench.b_hca, 105, PacketReceived{0x9, 3, bth_acknowledge, 0}, other);
    const auto nak = bench.say(bench.a_hca, 105, PacketReceived{0x48, 7, bth_acknowledge, 0});
    bench.say(bench.a_hca, 105, Acknowledged{0x50, 7, 0, 1}, other);
    bench.say(bench.a_hca, 105, Acknowledged{0x48, 7, 0x60, 0}, nak);
    bench.say(bench.a_hca, 105, CompletionWritten{1, 0x50, 0, 0, 0, 64}, other);
    bench.say(bench.b_pcie, 106, DmaWritten{0, 64, 0}, other);
    CHECK(sent != 0);

    CHECK(bench.times() == std::vector<std::int64_t>{100, 101, 102, -1, -1, 105, -1, -1, -1, -1, -1, -1, -1, -1});
}

TEST_CASE("of messages that overlap each event belongs to the one that led to it", "[unit][observe]") {
    Bench bench;
    const auto first = bench.begin(0x48, 100);
    // All of these come before those of the first message and look the same: another queue pair, a second message.
    const auto other = bench.begin(0x50, 200);
    bench.acknowledge(bench.carry(other, 0x50, 7, 200), 0x50, 7, 200);
    const auto second = bench.say(bench.a_hca, 302, WqeFetched{0x48, 1, wqe_write, 1, 64});
    bench.acknowledge(bench.carry(second, 0x48, 8, 300), 0x48, 8, 300);
    bench.complete(other, 0x50, 200);
    bench.complete(second, 0x48, 300);

    bench.acknowledge(bench.carry(first, 0x48, 7, 100), 0x48, 7, 100);
    bench.complete(first, 0x48, 100);

    CHECK(bench.times() == row(100));
}

TEST_CASE("a packet that is lost and sent again belongs to its message", "[unit][observe]") {
    Bench bench;
    const auto wqe = bench.begin(0x48, 100);
    bench.say(bench.a_hca, 103, Translated{0x100, 0, 64, 1}, wqe);
    bench.say(bench.a_pcie, 104, DmaRead{0, 64, 0}, wqe);
    bench.say(bench.a_hca, 105, PacketSent{0x48, 7, bth_write_only, 64}, wqe);
    const auto again = bench.say(bench.a_hca, 202, WqeFetched{0x48, 0, wqe_write, 1, 64}, wqe);
    bench.acknowledge(bench.carry(again, 0x48, 7, 200), 0x48, 7, 200);
    bench.complete(wqe, 0x48, 200);

    CHECK(bench.times() ==
          std::vector<std::int64_t>{100, 101, 102, 103, 104, 105, 206, 207, 208, 209, 210, 211, 212, 213});
}

TEST_CASE("an acknowledgement for several messages is that of each", "[unit][observe]") {
    Bench bench;
    const auto first = bench.begin(0x48, 100);
    bench.carry(first, 0x48, 7, 100);
    const auto second = bench.say(bench.a_hca, 152, WqeFetched{0x48, 1, wqe_write, 1, 64});
    const auto sent = bench.carry(second, 0x48, 8, 150);
    const Events events{&bench.life, bench.a_hca};
    {
        const Cause packet(events, Access::packet, sent);
        events.emit(At{160}, Acknowledged{0x48, 8, 0, 2});
        bench.complete(first, 0x48, 160);
    }

    CHECK(bench.times()[10] == 160);
    CHECK(bench.times()[11] == 171);
}

TEST_CASE("a completion that nobody armed leaves the interrupt unseen", "[unit][observe]") {
    Bench bench;
    bench.write(0x48, 7, 100, false);

    CHECK_FALSE(bench.life.is_complete());
    CHECK(bench.times()[11] == 111);
    CHECK(bench.times()[12] == -1);
    CHECK(bench.times()[13] == -1);
}

TEST_CASE("stages that are told out of order are found all the same", "[unit][observe]") {
    Bench bench;
    const auto wqe = bench.begin(0x48, 0);
    const auto sent = bench.say(bench.a_hca, 5, PacketSent{0x48, 7, bth_write_only, 64}, wqe);
    bench.say(bench.a_pcie, 4, DmaRead{0, 64, 0}, wqe);
    bench.say(bench.a_hca, 3, Translated{0x100, 0, 64, 1}, wqe);
    const auto received = bench.say(bench.b_hca, 6, PacketReceived{0x48, 7, bth_write_only, 64}, sent);
    bench.say(bench.b_hca, 8, Translated{0x200, 0, 64, 1}, received);
    bench.say(bench.b_pcie, 9, DmaWritten{0, 64, 0}, received);
    bench.say(bench.b_hca, 7, Accepted{0x48, 7, bth_write_only}, received);

    CHECK(bench.times() == std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, -1, -1, -1, -1});
}
