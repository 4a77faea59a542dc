// Which event or access led to which: by hand, and over two HCAs whose messages overlap, get lost and come again.
#include "testbench/harness/hca_pair.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <map>

using namespace harness;
using namespace traces;

namespace {

struct At {
    std::int64_t ps;
    std::int64_t count() const { return ps; }
};

/// Everything that two HCAs say, and what led to it.
struct Story {
    EventLog log;
    using Entry = std::pair<Stamp, Event>;
    const Entry* find(std::uint64_t number) const {
        const auto found =
            std::ranges::lower_bound(log.entries, number, {}, [](const Entry& entry) { return entry.first.number; });
        return found != log.entries.end() && found->first.number == number ? &*found : nullptr;
    }
    /// What led to an event, if that is an E.
    template <class E> const E* cause(const Stamp& stamp) const {
        const auto* entry = find(stamp.cause);
        return entry != nullptr ? std::get_if<E>(&entry->second) : nullptr;
    }
    /// The first event of type E that is met on the way back from `entry`, itself left out.
    template <class E> const E* origin(const Entry& entry) const {
        for (const auto* at = find(entry.first.cause); at != nullptr; at = find(at->first.cause))
            if (const auto* e = std::get_if<E>(&at->second))
                return e;
        return nullptr;
    }
    template <class E> std::size_t count() const { return log.all<E>().size(); }
};

/// Two queue pairs each side, and messages whose keys tell to whom a translation belongs.
struct Flow {
    Story story;
    HcaPair pair;
    TestQp a_qp, b_qp;
    std::vector<Region> sources, targets;
    std::map<std::uint32_t, std::pair<std::uint32_t, std::uint16_t>> owner; ///< key: queue pair of a, WQE

    explicit Flow(const model::net::LinkConfig& link) : pair(link, HcaPair::untimed(), &story.log) {
        pair.connect();
        a_qp = pair.a.make_qp(pair.a.attributes(pair.a_cq));
        b_qp = pair.b.make_qp(pair.b.attributes(pair.b_cq));
        pair.a.connect(a_qp, b_qp.number, 300, 900, pair.clock.now());
        pair.b.connect(b_qp, a_qp.number, 900, 300, pair.clock.now());
    }
    void write(TestQp& qp, std::uint32_t length) {
        const auto& from = sources.emplace_back(pair.a.make_region(length, 1));
        const auto& to = targets.emplace_back(pair.b.make_region(length));
        const auto index = pair.a.post(qp, {.sges = {from.sge()}, .remote = to.address, .rkey = to.key});
        owner[from.key.value] = owner[~to.key.value] = {qp.number.value, index};
    }
    void run() {
        pair.a.ring(pair.a_qp, pair.clock.now());
        pair.a.ring(a_qp, pair.clock.now());
        pair.run();
    }
};

} // namespace

TEST_CASE("events are numbered in their order, and without a sink nothing is", "[unit][traces]") {
    EventLog log;
    const Events a{&log, 1}, b{&log, 2}, nobody;

    CHECK(a.emit(At{5}, QueueScheduled{1}) == 1);
    CHECK(b.emit(At{4}, QueueScheduled{2}) == 2);
    const Cause cause(nobody, Access::packet, 7);
    CHECK(nobody.emit(At{3}, QueueScheduled{3}) == 0);
    CHECK(nobody.cause() == 0);
    CHECK(log.entries[1].first.number == 2);
    CHECK(log.entries[1].first.cause == 0);
}

TEST_CASE("a cause holds until it goes, and the one around it holds again", "[unit][traces]") {
    EventLog log;
    const Events events{&log, 1};
    {
        Cause access(events, Access::mmio_write);
        access.becomes(events.emit(At{1}, DoorbellRung{1, 2, 3}));
        {
            const Cause packet(events, Access::packet, 77);
            events.emit(At{2}, QueueScheduled{1});
        }
        events.emit(At{3}, QueueScheduled{2});
    }
    events.emit(At{4}, QueueScheduled{3});

    const auto stamp = [&](std::size_t i) { return log.entries[i].first; };
    CHECK(stamp(0).access == Access::mmio_write);
    CHECK(stamp(0).access_number == 1);
    CHECK(stamp(0).cause == 1); // the access itself
    CHECK(stamp(0).number == 2);
    CHECK(stamp(1).access == Access::packet);
    CHECK(stamp(1).cause == 77);
    CHECK(stamp(2).access == Access::mmio_write);
    CHECK(stamp(2).cause == 2);
    CHECK(stamp(3).access == Access::none);
    CHECK(stamp(3).cause == 0);
}

TEST_CASE("components with courses of their own do not disturb each other while one of them waits", "[unit][traces]") {
    EventLog log;
    Course one, other;
    const Events a = Events{&log, 1}.within(one), b = Events{&log, 2}.within(other);
    {
        const Cause first(a, 11);
        const Cause second(b, 22);
        a.emit(At{1}, QueueScheduled{1});
        b.emit(At{1}, QueueScheduled{2});
    }

    CHECK(log.entries[0].first.cause == 11);
    CHECK(log.entries[1].first.cause == 22);
}

TEST_CASE("every event of overlapping messages leads back to its own message, also when packets are lost and repeated",
          "[unit][traces]") {
    for (const double loss : {0.0, 0.1}) {
        INFO("loss " << loss);
        auto link = HcaPair::clean();
        link.loss = loss;
        link.duplicate = loss;
        link.reorder = loss;
        link.seed = 3;
        Flow flow(link);
        for (unsigned i = 0; i < 12; ++i) {
            flow.write(flow.pair.a_qp, 3000);
            flow.write(flow.a_qp, 5000);
        }
        flow.run();

        const auto& story = flow.story;
        REQUIRE(story.count<CompletionWritten>() == 24);
        CHECK((loss == 0) == (story.count<Retried>() == 0));
        CHECK((loss == 0) == (story.count<Duplicate>() == 0));
        std::size_t translations = 0;
        for (const auto& entry : story.log.entries) {
            const auto& [stamp, event] = entry;
            CHECK(stamp.cause < stamp.number);
            if (const auto* e = std::get_if<CompletionWritten>(&event)) {
                const auto* wqe = story.cause<WqeFetched>(stamp);
                REQUIRE(wqe != nullptr);
                CHECK(wqe->qpn == e->qpn);
                CHECK(wqe->index == e->wqe_counter);
                CHECK(stamp.access == Access::packet);
            } else if (const auto* t = std::get_if<Translated>(&event)) {
                const auto* wqe = story.origin<WqeFetched>(entry);
                REQUIRE(wqe != nullptr);
                CHECK(flow.owner.at(stamp.source == 1 ? t->key : ~t->key) == std::pair(wqe->qpn, wqe->index));
                ++translations;
            } else if (const auto* a = std::get_if<Accepted>(&event)) {
                const auto* received = story.cause<PacketReceived>(stamp);
                REQUIRE(received != nullptr);
                CHECK(received->psn == a->psn);
                CHECK(story.origin<PacketSent>(entry)->destination_qpn == a->qpn);
            } else if (std::holds_alternative<LinkFault>(event)) {
                CHECK(story.origin<WqeFetched>(entry) != nullptr);
            }
        }
        CHECK(translations >= 48);
    }
}

TEST_CASE("a time-out and what is sent again lead back to the message that waited", "[unit][traces]") {
    auto link = HcaPair::clean();
    link.loss = 1;
    Flow flow(link);
    flow.write(flow.pair.a_qp, 64);
    flow.run();

    const auto& story = flow.story;
    REQUIRE(story.count<Retried>() != 0);
    for (const auto& entry : story.log.entries)
        if (std::holds_alternative<Retried>(entry.second)) {
            CHECK(entry.first.access == Access::timer);
            CHECK(story.cause<WqeFetched>(entry.first) != nullptr);
        }
}

TEST_CASE("an event queue entry names the completion, also when software arms later", "[unit][traces]") {
    Flow flow(HcaPair::clean());
    flow.write(flow.pair.a_qp, 64);
    flow.run();
    flow.pair.a.arm(flow.pair.a_cq, false, flow.pair.clock.now());

    const auto& entries = flow.story.log.entries;
    const auto written =
        std::ranges::find_if(entries, [](const auto& e) { return std::holds_alternative<EventWritten>(e.second); });
    REQUIRE(written != entries.end());
    CHECK(written->first.access == Access::mmio_write);
    CHECK(flow.story.cause<CompletionWritten>(written->first) != nullptr);
}
