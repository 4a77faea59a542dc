#include "model/tlm/posted_requests.h"

#include <catch2/catch_test_macros.hpp>

#include <systemc>

#include <functional>
#include <string>

using model::tlm::Calls;
using model::tlm::Neighbours;
using model::tlm::PostedRequests;
using model::tlm::Turn;

namespace {

struct Card final : sc_core::sc_module {
    Turn turn{Calls::may_wait};
    PostedRequests posted;
    std::string done;

    Card(const sc_core::sc_module_name& name, Neighbours& neighbours) : sc_module(name), posted(neighbours, turn) {}
    void post(char what) {
        posted.post(this, 1, [this, what] { done += what; });
    }
    void post_to(const void* part, char what) {
        posted.post(part, 1, [this, what] { done += what; });
    }
};

void spawn(std::function<void()> body) { sc_core::sc_spawn(std::move(body), sc_core::sc_gen_unique_name("source")); }
void run() { sc_core::sc_start(sc_core::sc_time(1, sc_core::SC_NS)); }

/// Holds the card until `end`.
void hold(Card& card, sc_core::sc_event& end, std::function<void()> first = {}) {
    spawn([&, first = std::move(first)] {
        const Turn::Hold hold(card.turn);
        if (first)
            first();
        sc_core::wait(end);
    });
    run();
}

} // namespace

TEST_CASE("a chain of one card enters no other, even a free one", "[module][tlm][posted]") {
    Neighbours neighbours;
    Card one("one", neighbours), two("two", neighbours);
    bool enters_own = false, enters_other = true, enters_from_outside = false;

    spawn([&] {
        enters_from_outside = two.posted.may_enter();
        const Turn::Hold hold(one.turn);
        enters_own = one.posted.may_enter();
        enters_other = two.posted.may_enter();
    });
    run();

    CHECK(enters_own);
    CHECK_FALSE(enters_other);
    CHECK(enters_from_outside);
}

TEST_CASE("nothing passes what waits", "[module][tlm][posted]") {
    Neighbours neighbours;
    Card one("one", neighbours), two("two", neighbours);
    sc_core::sc_event end;
    bool enters_own = true, can_read_own = true;
    hold(one, end, [&] {
        two.post('a'); // wakes the card's process, which comes after this
        const Turn::Hold held(one.turn);
        one.post('b'); // what its own chain posts waits for the end of the chain
        enters_own = one.posted.may_enter();
        can_read_own = one.posted.push();
    });

    CHECK_FALSE(enters_own);
    CHECK_FALSE(can_read_own);
    CHECK(two.done == "a");
    CHECK(one.done.empty());
    end.notify();
    run();
    CHECK(one.done == "b");
}

TEST_CASE("a card reads its own registers while it does what was posted to it", "[module][tlm][posted]") {
    Neighbours neighbours;
    Card one("one", neighbours), two("two", neighbours);
    bool can_read = false;

    spawn([&] {
        const Turn::Hold hold(two.turn);
        one.posted.post(&one, 1, [&] { can_read = one.posted.push(); });
    });
    run();

    CHECK(can_read);
}

TEST_CASE("who is in no chain of calls waits until what it posts is done", "[module][tlm][posted]") {
    Neighbours neighbours;
    Card one("one", neighbours);
    sc_core::sc_event end;
    hold(one, end);
    std::string order;
    for (const char what : {'a', 'b'})
        spawn([&, what] {
            one.post(what);
            order += one.done.contains(what) ? what : '-';
        });
    run();
    CHECK(order.empty());

    end.notify();
    run();

    CHECK(one.done == "ab");
    CHECK(order == "ab");
}

TEST_CASE("who is no process posts without waiting", "[module][tlm][posted]") {
    Neighbours neighbours;
    Card one("one", neighbours);
    sc_core::sc_event end;
    hold(one, end);

    CHECK_FALSE(one.posted.may_enter());
    one.post('a');
    CHECK(one.posted.push());

    end.notify();
    run();
    CHECK(one.done == "a");
}

TEST_CASE("a reset of one part drops what waits for that part", "[module][tlm][posted]") {
    Neighbours neighbours;
    Card one("one", neighbours);
    sc_core::sc_event end;
    hold(one, end);
    const int first_part = 0, second_part = 0;
    one.post_to(&first_part, 'a');
    one.post_to(&second_part, 'b');
    one.post_to(&first_part, 'c');

    one.posted.drop(&first_part);
    one.post_to(&first_part, 'd');
    end.notify();
    run();

    CHECK(one.done == "bd");
    CHECK(one.posted.is_empty());
}

TEST_CASE("a read that would wait for itself by way of a third card is told so", "[module][tlm][posted]") {
    Neighbours neighbours;
    Card one("one", neighbours), two("two", neighbours), three("three", neighbours);
    sc_core::sc_event go;
    unsigned reads = 0, refusals = 0;
    const auto chain = [&](Card& own, Card& other) {
        spawn([&] {
            const Turn::Hold hold(own.turn);
            sc_core::wait(go);
            other.post('w');
            sc_core::wait(sc_core::SC_ZERO_TIME); // all have posted
            ++(other.posted.push() ? reads : refusals);
        });
        run();
    };
    chain(one, two);
    chain(two, three);
    chain(three, one);

    go.notify();
    run();

    CHECK(refusals == 1); // whoever closes the circle; the others read when its chain has ended
    CHECK(reads == 2);
    for (const auto* card : {&one, &two, &three})
        CHECK(card->done == "w");
}

TEST_CASE("a read that has waited is forgotten when it has its answer", "[module][tlm][posted]") {
    Neighbours neighbours;
    Card one("one", neighbours), two("two", neighbours);
    sc_core::sc_event first_end, second_end;
    hold(two, first_end);
    spawn([&] {
        const Turn::Hold hold(one.turn);
        two.post('a');
        two.posted.push();
        sc_core::wait(second_end);
    });
    run();
    first_end.notify();
    run();
    REQUIRE(two.done == "a");

    bool can_read = false;
    spawn([&] {
        const Turn::Hold hold(two.turn);
        one.post('b');
        can_read = one.posted.push();
    });
    run();
    second_end.notify();
    run();

    CHECK(one.done == "b");
    CHECK(can_read);
}

TEST_CASE("nobody waits for credit inside of a chain of calls, or without being a thread", "[module][tlm][posted]") {
    Neighbours neighbours;
    Card one("one", neighbours), two("two", neighbours);
    sc_core::sc_event end;
    hold(two, end);
    bool has_gone_on = false, has_begun = false;
    spawn([&] {
        const Turn::Hold hold(one.turn);
        for (std::size_t i = 0; i < PostedRequests::most_requests; ++i)
            two.post('a');
        one.posted.await_credit();
        has_gone_on = true;
    });
    run();
    one.posted.await_credit();
    spawn([&] {
        one.posted.await_credit();
        has_begun = true;
    });
    run();

    CHECK(has_gone_on);
    CHECK_FALSE(has_begun);
    end.notify();
    run();
    CHECK(has_begun);
}
