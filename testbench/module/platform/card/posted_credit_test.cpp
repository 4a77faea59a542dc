// How much a card whose calls may wait has under way in others, and what it does without credit for more.
#include "testbench/module/platform/card/served_pair.h"

using namespace testbench::served_pair;
using namespace std::chrono_literals;

namespace {
/// Writes of `length` bytes by a card that takes no heed of who takes them, to one that waits.
void write_without_end(std::size_t length) {
    constexpr unsigned writes_each_time = 4, all_times = 100;
    Machine m;
    m.device(1).begin([&](Time) {
        m.device(1).ask();
        m.device(1).write(m.bar(0), 9);
    });
    m.run();
    REQUIRE(m.clients[1].asked == 1);
    m.device(1).work = {};
    unsigned times = 0;
    m.device(0).begin([&](Time now) {
        for (unsigned i = 0; i < writes_each_time; ++i)
            m.device(0).write(m.bar(1), static_cast<std::uint8_t>(times), length);
        if (++times < all_times)
            m.device(0).ports.clock.wake_at(now + 10ns);
    });
    m.run();
    const auto most = std::min(PostedRequests::most_requests, PostedRequests::most_bytes / length);
    CHECK(times == most / writes_each_time);
    m.write(0, 0x40, 1); // nor anything for its client
    m.run();
    CHECK(m.device(0).writes.empty());

    m.answer(1);

    CHECK(times == all_times);
    CHECK(m.device(1).writes.size() == all_times * writes_each_time);
    CHECK(std::ranges::is_sorted(m.device(1).writes, {}, &Scripted::Write::first));
    CHECK(m.device(0).writes.size() == 2);
    CHECK(m.device(0).most_inside == 1);
}
} // namespace

TEST_CASE("a card with as many writes under way as it may have begins nothing new, and takes what others write",
          "[module][card][posted]") {
    write_without_end(4);
}

TEST_CASE("a card with as many bytes under way as it may have begins nothing new, and takes what others write",
          "[module][card][posted]") {
    write_without_end(4096);
}

namespace {
model::net::LinkConfig narrow_cable() {
    model::net::LinkConfig config;
    config.timed = false;
    config.max_under_way = 1;
    return config;
}
void send_frame(model::port::Wire& wire) {
    wire.next().become_plain_frame();
    wire.send({});
}

/// What a card without credit hears of its cable: nothing, until it has credit again.
std::string hear_without_credit(const std::function<void(model::net::Link& cable)>& cause) {
    Scripted::Port far;
    model::net::LinkModule cable("cable", narrow_cable(), {}, model::tlm::Calls::may_wait);
    cable.link().attach(1, far);
    const std::array plugs{platform::card::Plug{cable, 0}};
    Machine m([&](const char* name, const SlotConfig& slot) {
        const bool is_plugged = name == std::string("first");
        return Machine::make_plugged(name, slot, std::span(plugs).first(is_plugged ? 1 : 0));
    });
    m.make_wait(1);
    m.device(0).begin([&](Time) {
        for (std::size_t i = 0; i < PostedRequests::most_requests; ++i)
            m.device(0).write(m.bar(1), 1);
    });
    m.run();
    m.device(0).work = {};

    cause(cable.link());
    cable.flush();
    m.run();
    CHECK(m.device(0).port.heard.empty());
    m.answer(1);
    return m.device(0).port.heard;
}
} // namespace

TEST_CASE("a card without credit takes no packets", "[module][card][posted]") {
    CHECK(hear_without_credit([](auto& cable) { send_frame(cable.end(1)); }) == "packet all ");
}

TEST_CASE("a card without credit sends no more packets", "[module][card][posted]") {
    CHECK(hear_without_credit([](auto& cable) {
              send_frame(cable.end(0));
              CHECK_FALSE(cable.end(0).can_send({}));
          }) == "ready ");
}

TEST_CASE("a card without credit is not told of its link", "[module][card][posted]") {
    CHECK(hear_without_credit([](auto& cable) { cable.end(1).set_on(false, {}); }) == "link ");
}

TEST_CASE("two cards that have as much under way in each other as they may have go on", "[module][card][posted]") {
    Machine m;
    std::array<unsigned, 2> times{};
    for (unsigned i = 0; i < 2; ++i)
        m.device(i).begin([&, i](Time now) {
            if (times[i] == 0)
                m.device(i).ask();
            for (std::size_t n = 0; n < PostedRequests::most_requests; ++n)
                m.device(i).write(m.bar(1 - i), static_cast<std::uint8_t>(times[i]));
            if (++times[i] < 10)
                m.device(i).ports.clock.wake_at(now);
        });
    m.run();
    REQUIRE((m.clients[0].asked == 1 && m.clients[1].asked == 1));

    for (auto& client : m.clients)
        client.answered.notify();
    m.run();

    for (unsigned i = 0; i < 2; ++i) {
        CHECK(m.device(i).writes.size() == 10 * PostedRequests::most_requests);
        CHECK(std::ranges::is_sorted(m.device(i).writes, {}, &Scripted::Write::first));
    }
}
