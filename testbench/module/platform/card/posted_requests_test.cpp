// Cards whose calls may wait for a client, and that write to each other: who waits for whom, and nobody for good.
#include "model/copy/registers.h"
#include "testbench/module/platform/card/served_pair.h"

using namespace testbench::served_pair;

TEST_CASE("two served cards that copy into each other's BAR while both wait for their clients come to an end",
          "[module][card][posted]") {
    using model::copy::Registers;
    Machine m([](const char* name, SlotConfig slot) {
        slot.ats = {};
        return std::make_unique<CardModule>(name, platform::card::DeviceConfig(*platform::card::find_kind("copy")),
                                            slot);
    });
    for (unsigned i = 0; i < 2; ++i) {
        abi::Block<Registers> registers;
        registers.view().set<"source">(0x1000).set<"destination">(m.bar(1 - i)).set<"length">(8).set<"doorbell">(1);
        m.write(i, 0, 0, std::span(registers.bytes).first(0x18));
    }
    m.run();
    REQUIRE(m.clients[0].asked == 1);
    REQUIRE(m.clients[1].asked == 1);

    for (auto& client : m.clients)
        client.answered.notify();
    m.run();

    for (auto& card : m.cards) {
        CHECK(card->is_quiet());
        std::array<std::byte, 4> copied{};
        card->device().bar_read(0, Registers::field<"copied">::offset, copied, {});
        CHECK(copied[0] == std::byte{8});
    }
}

TEST_CASE("what a card writes to one that waits is taken at once, and done in order when that one's work has ended",
          "[module][card][posted]") {
    Machine m;
    m.make_wait(1);
    bool is_over = false;
    m.device(0).begin([&](Time) {
        for (const std::uint8_t value : {1, 2, 3})
            m.device(0).write(m.bar(1) + 0x10u * value, value);
        is_over = true;
    });
    m.run();
    CHECK(is_over);
    CHECK(m.device(1).writes.empty());
    CHECK_FALSE(m.cards[1]->is_quiet());

    const auto answered_at = model::tlm::kernel_now();
    m.answer(1);

    const auto& writes = m.device(1).writes;
    REQUIRE(writes.size() == 3);
    for (unsigned i = 0; i < 3; ++i) {
        CHECK(writes[i].first == std::byte(i + 1));
        CHECK(writes[i].offset == 0x10 * (i + 1));
        CHECK(writes[i].at >= answered_at);
        CHECK(writes[i].at >= writes[i == 0 ? 0 : i - 1].at);
    }
    CHECK(m.device(1).most_inside == 1);
    CHECK(m.cards[1]->is_quiet());
}

TEST_CASE("a card that writes to another does not wait for that one's client", "[module][card][posted]") {
    Machine m;
    m.device(1).on_write = [&] { m.device(1).ask(); };
    bool is_over = false;
    m.device(0).begin([&](Time) {
        m.device(0).write(m.bar(1), 1);
        is_over = true;
    });
    m.run();
    CHECK(m.clients[1].asked == 1);
    CHECK(is_over);

    m.write(0, 0x20, 7); // the first card takes part in other work meanwhile

    CHECK(m.device(0).writes.size() == 1);
    m.answer(1);
    CHECK(m.cards[1]->is_quiet());
}

TEST_CASE("a read does not pass what its card has written before", "[module][card][posted]") {
    Machine m;
    m.make_wait(1);
    std::array<std::byte, 1> seen{};
    DmaResult result;
    bool is_over = false;
    m.device(0).begin([&](Time) {
        m.device(0).write(m.bar(1) + 8, 0x77);
        result = m.device(0).read(m.bar(1) + 8, seen);
        is_over = true;
    });
    m.run();
    CHECK_FALSE(is_over);

    const auto answered_at = model::tlm::kernel_now();
    m.answer(1);

    CHECK(is_over);
    CHECK(result.is_ok());
    CHECK(result.done >= answered_at);
    CHECK(seen[0] == std::byte{0x77});
    CHECK(m.device(1).most_inside == 1);
}

TEST_CASE("a client's own read passes what another card has written, since nothing of it may wait",
          "[module][card][posted]") {
    Machine m;
    m.make_wait(1);
    m.device(0).begin([&](Time) { m.device(0).write(m.bar(1) + 8, 0x77); });
    m.run();

    std::array<std::byte, 1> seen{std::byte{0xff}};
    m.guest.function(1).read(0, 8, seen);

    CHECK(seen[0] == std::byte{});
    m.answer(1);
    m.guest.function(1).read(0, 8, seen);
    CHECK(seen[0] == std::byte{0x77});
}

TEST_CASE("of two cards that have written to each other and read, one has a completion timeout and both go on",
          "[module][card][posted]") {
    Machine m;
    std::array<DmaResult, 2> results;
    std::array<std::array<std::byte, 1>, 2> seen{};
    std::array<bool, 2> is_over{};
    for (unsigned i = 0; i < 2; ++i)
        m.device(i).begin([&, i](Time) {
            m.device(i).ask();
            m.device(i).write(m.bar(1 - i) + 8, 0x77);
            results[i] = m.device(i).read(m.bar(1 - i) + 8, seen[i]);
            is_over[i] = true;
        });
    m.run();
    REQUIRE((m.clients[0].asked == 1 && m.clients[1].asked == 1));

    for (auto& client : m.clients)
        client.answered.notify();
    m.run();

    CHECK(is_over[0]);
    CHECK(is_over[1]);
    const unsigned good = results[0].is_ok() ? 0 : 1;
    CHECK(results[good].is_ok());
    CHECK(seen[good][0] == std::byte{0x77});
    CHECK(results[1 - good].status == DmaStatus::timeout);
    for (unsigned i = 0; i < 2; ++i) {
        CHECK(m.device(i).registers[8] == std::byte{0x77});
        CHECK(m.device(i).most_inside == 1);
        CHECK(m.cards[i]->is_quiet());
    }
}

TEST_CASE("a reset drops what others have written to a card that waits", "[module][card][posted]") {
    Machine m;
    m.make_wait(1);
    m.device(0).begin([&](Time) {
        for (unsigned i = 0; i < 3; ++i)
            m.device(0).write(m.bar(1), 1);
    });
    m.run();
    m.device(0).work = {};

    m.guest.function(1).reset();
    m.guest.function(1).work();
    m.run();

    CHECK(m.device(1).resets == 1);
    CHECK(m.device(1).writes.empty());
    CHECK(m.cards[1]->is_quiet());
}

TEST_CASE("a client that leaves in the middle of a wait leaves nobody waiting", "[module][card][posted]") {
    Machine m;
    m.make_wait(1);
    std::array<std::byte, 1> seen{};
    bool is_over = false;
    m.device(0).begin([&](Time) {
        m.device(0).write(m.bar(1) + 8, 0x77);
        m.device(0).read(m.bar(1) + 8, seen);
        is_over = true;
    });
    m.run();
    REQUIRE_FALSE(is_over);

    m.guest.function(1).disconnect();
    m.run();

    CHECK(is_over);
    CHECK(m.device(1).resets == 1);
    CHECK(m.cards[0]->is_quiet());
    CHECK(m.cards[1]->is_quiet());
}

TEST_CASE("a client that leaves while its card waits for another card is followed by the next",
          "[module][card][posted]") {
    Machine m;
    m.make_wait(1);
    DmaResult result{DmaStatus::completer_abort, {}};
    std::array<std::byte, 1> seen{};
    m.device(0).begin([&](Time) {
        m.device(0).write(m.bar(1) + 8, 0x77);
        result = m.device(0).read(m.bar(1) + 8, seen);
    });
    m.run();

    m.guest.function(0).disconnect();
    m.run();
    CHECK(m.device(0).resets == 0); // the work comes to its end first
    m.device(0).work = {};
    m.answer(1);

    CHECK(result.is_ok());
    CHECK(m.device(0).resets == 1);
    CHECK(m.guest.function(0).backlog() == 0);
}

TEST_CASE("an interrupt message into a BAR of a card that waits is posted as any write", "[module][card][posted]") {
    Machine m;
    m.write_config(0, model::pcie::msix_offset + 2u, 2, 0x8000);
    abi::Block<abi::pcie::MsixEntry> entry;
    entry.view().set<"address">(static_cast<std::uint32_t>((m.bar(1) + 0x50) >> 2)).set<"data">(0x1234);
    m.cards[0]->endpoint.function(0).write_msix_entry(0, entry.view(), {});
    m.make_wait(1);
    bool is_over = false;
    m.device(0).begin([&](Time now) {
        m.device(0).write(m.bar(1), 1);
        m.device(0).ports.interrupts.raise(0, now);
        is_over = true;
    });
    m.run();
    CHECK(is_over);

    m.answer(1);

    const auto& writes = m.device(1).writes;
    REQUIRE(writes.size() == 2);
    CHECK(writes[0].offset == 0); // and does not pass an earlier one
    CHECK(writes[1].offset == 0x50);
    CHECK(writes[1].first == std::byte{0x34});
}

TEST_CASE("an answer to a page request and an invalidation make nobody wait for a card that waits",
          "[module][card][posted]") {
    Machine m;
    m.make_wait(1);
    m.write_config(1, 0x106, 2, 0x8000); // ATS
    m.write_config(1, 0x11c, 4, 8);      // page requests, as many
    m.write_config(1, 0x114, 2, 1);
    m.cards[1]->endpoint.request_page({.address = 0x1000, .group = 3}, {});
    bool is_over = false;
    const auto send = [&](model::tlm::RequestKind kind, Time now) {
        model::tlm::Request message;
        message.prepare(::tlm::TLM_IGNORE_COMMAND, 0, {});
        message.extension.kind = kind;
        message.extension.message.group = 3;
        m.cards[1]->endpoint.function(0).receive_message(message.payload, message.extension, now);
    };
    m.device(0).begin([&](Time now) {
        send(model::tlm::RequestKind::page_response, now);
        send(model::tlm::RequestKind::invalidation, now);
        is_over = true;
    });
    m.run();
    CHECK(is_over);
    CHECK(m.device(1).answered_groups.empty());

    m.answer(1);

    CHECK(m.device(1).answered_groups == std::vector<std::uint16_t>{3});
    CHECK(m.device(1).most_inside == 1);
}

TEST_CASE("cards that write to each other without end let time pass", "[module][card][posted]") {
    Machine m;
    for (unsigned i = 0; i < 2; ++i)
        m.device(i).on_write = [&, i] { m.device(i).write(m.bar(1 - i), 1); };

    m.write(0, 0, 1);
    sc_core::sc_start(sc_core::sc_time(100, sc_core::SC_PS));

    const auto writes = m.device(0).writes.size() + m.device(1).writes.size();
    CHECK(writes > 10);
    CHECK(writes <= 102);
}
