// The parts of a session that have to do with memory and interrupts; session_test.cpp has the rest.
#include "platform/bridge/vfio_user/session.h"

#include "testbench/unit/platform/bridge/vfio_user/talk.h"

#include <cerrno>

using namespace testbench::vfio_user;

// --- memory and interrupts ---

TEST_CASE("a map takes one descriptor or none", "[unit][vfio_user]") {
    Negotiated n;
    CHECK(error_of(n.talk.ask(dma_map(0, 4096), 1)) == 0);
    CHECK(error_of(n.talk.ask(dma_map(4096, 4096))) == 0);
    CHECK(n.talk.function.log == "map+file map ");
    CHECK(error_of(n.talk.ask(dma_map(8192, 4096), 2)) == EINVAL);
}

TEST_CASE("a map that is no range of pages is refused", "[unit][vfio_user]") {
    Negotiated n;
    for (const auto& bad :
         {dma_map(0, 0), dma_map(1, 4096), dma_map(0, 4095), dma_map(0, 4096, 1), dma_map(~0xfffull, 8192),
          dma_map(0, 8192, ~0xfffull), dma_map(0, 4096, 0, 0), dma_map(0, 4096, 0, 7)})
        CHECK(error_of(n.talk.ask(bad)) == EINVAL);
    CHECK(n.talk.function.log.empty());
}

TEST_CASE("what the device says of a map is the answer", "[unit][vfio_user]") {
    Negotiated n;
    n.talk.function.map_error = EEXIST;
    CHECK(error_of(n.talk.ask(dma_map(0, 4096))) == EEXIST);
    CHECK(error_of(n.talk.ask(dma_unmap(0xdead000, 4096))) == ENOENT);
}

TEST_CASE("an unmap is answered with its range", "[unit][vfio_user]") {
    Negotiated n;
    const auto reply = n.talk.ask(dma_unmap(0x1000, 0x2000));
    CHECK(body_of<DmaUnmap>(reply).get<"address">() == 0x1000);
    CHECK(body_of<DmaUnmap>(reply).get<"size">() == 0x2000);
    CHECK(error_of(n.talk.ask(dma_unmap(0, 0, true))) == 0);
    CHECK(error_of(n.talk.ask(dma_unmap(0x1000, 0, true))) == EINVAL);
    CHECK(error_of(n.talk.ask(dma_unmap(0x1000, 0))) == EINVAL);
    CHECK(error_of(n.talk.ask(dma_unmap(~0xfffull, 0x2000))) == EINVAL);
    CHECK(error_of(n.talk.ask(dma_unmap(~0xfffull, 0x1000))) == 0); // up to the last address
}

TEST_CASE("descriptors for interrupts are as many as the vectors, or none", "[unit][vfio_user]") {
    Negotiated n;
    CHECK(error_of(n.talk.ask(set_irqs(event_file | trigger, msix, 1, 2), 2)) == 0);
    CHECK(error_of(n.talk.ask(set_irqs(event_file | trigger, msix, 1, 2), 0)) == 0);
    CHECK(error_of(n.talk.ask(set_irqs(event_file | trigger, msix, 1, 2), 1)) == EINVAL);
    CHECK(error_of(n.talk.ask(set_irqs(event_file | trigger, msix, 1, 2), 3)) == EINVAL);
    CHECK(error_of(n.talk.ask(set_irqs(none | trigger, msix, 0, 1), 1)) == EINVAL);
    CHECK(n.talk.function.log == "irqs1:2/2 irqs1:2/0 ");
}

TEST_CASE("interrupts outside the type, or with flags that contradict each other, are refused", "[unit][vfio_user]") {
    Negotiated n;
    const auto one = bytes({1});
    for (const auto& bad :
         {set_irqs(none | trigger, msix, 4, 1), set_irqs(none | trigger, msix, 3, 2),
          set_irqs(none | trigger, msix, 0, ~0u), set_irqs(none | trigger, msix, ~0u, 1),
          set_irqs(none | trigger, 0, 0, 1), set_irqs(none | trigger, 9, 0, 1),
          set_irqs(none | boolean | trigger, msix, 0, 1), set_irqs(none | trigger | mask, msix, 0, 1),
          set_irqs(none, msix, 0, 1), set_irqs(trigger, msix, 0, 1), set_irqs(none | trigger | 64, msix, 0, 1),
          set_irqs(boolean | trigger, msix, 0, 2, one), set_irqs(none | trigger, msix, 0, 1, one),
          set_irqs(none | mask, msix, 0, 0), set_irqs(none | trigger, msix, 1, 0)})
        CHECK(error_of(n.talk.ask(bad)) == EINVAL);
    CHECK(n.talk.function.log.empty());
    CHECK(error_of(n.talk.ask(set_irqs(none | trigger, msix, 0, 0))) == 0); // all of the type off
}

TEST_CASE("descriptors with a command that takes none are refused", "[unit][vfio_user]") {
    Negotiated n;
    CHECK(error_of(n.talk.ask(get_info(), 1)) == EINVAL);
}

TEST_CASE("descriptors belong to the last message they came with", "[unit][vfio_user]") {
    Negotiated n;
    auto both = get_info();
    const auto map = dma_map(0, 4096);
    both.insert(both.end(), map.begin(), map.end());
    std::vector<Descriptor> files;
    files.emplace_back(::open("/dev/null", O_RDWR | O_CLOEXEC));
    n.talk.out.clear();
    n.talk.session.receive(std::span(both).first(both.size() - 3), std::move(files));
    n.talk.session.receive(std::span(both).last(3));
    REQUIRE(n.talk.out.size() == 2);
    CHECK(error_of(n.talk.out[0]) == 0);
    CHECK(error_of(n.talk.out[1]) == 0);
    CHECK(n.talk.function.log == "map+file ");
}

TEST_CASE("more descriptors than a message may have end the session", "[unit][vfio_user]") {
    Negotiated n;
    std::vector<Descriptor> files;
    for (int i = 0; i < 17; ++i)
        files.emplace_back(::open("/dev/null", O_RDWR | O_CLOEXEC));
    n.talk.session.receive({}, std::move(files));
    CHECK(n.talk.session.fault() == "17 descriptors with one message, at most 16");
}

// --- memory by messages ---

TEST_CASE("while the device waits for memory, everything else is answered", "[unit][vfio_user]") {
    Negotiated n;
    auto& talk = n.talk;
    talk.out.clear();
    talk.session.begin_exchange(Command::dma_read, 0x1000, 4, {});
    const auto asked = talk.out.back();
    CHECK(header_of(asked).get<"command">() == Command::dma_read);
    CHECK(header_of(asked).get<"type">() == MessageType::command);
    CHECK(body_of<DmaAccess>(asked).get<"address">() == 0x1000);
    CHECK(body_of<DmaAccess>(asked).get<"count">() == 4);

    talk.session.receive(region_write(0, 32, bytes({7})));
    talk.session.receive(reset());
    talk.session.receive(region_read(0, 0, 4));
    CHECK(talk.out.size() == 4); // DMA_READ, write, reset, read
    CHECK(talk.function.log == "w0+32 reset ");
    CHECK_FALSE(talk.session.is_exchange_over());

    talk.session.receive(dma_reply(asked, bytes({9, 8, 7, 6})));
    CHECK(talk.session.is_exchange_over());
    CHECK(talk.session.end_exchange() == bytes({9, 8, 7, 6}));
    CHECK(talk.session.fault().empty());
}

TEST_CASE("an answer that comes after its question was given up is nobody's", "[unit][vfio_user]") {
    Negotiated n;
    auto& talk = n.talk;
    talk.session.begin_exchange(Command::dma_read, 0x1000, 4, {});
    const auto late = talk.out.back();
    talk.session.abandon_exchange();
    CHECK(talk.session.is_exchange_over());
    talk.session.begin_exchange(Command::dma_read, 0x2000, 4, {});
    const auto asked = talk.out.back();
    CHECK(header_of(asked).get<"id">() != header_of(late).get<"id">());

    talk.session.receive(dma_reply(late, bytes({1, 1, 1, 1})));
    CHECK_FALSE(talk.session.is_exchange_over());
    talk.session.receive(dma_reply(asked, bytes({2, 2, 2, 2})));

    CHECK(talk.session.end_exchange() == bytes({2, 2, 2, 2}));
    CHECK(talk.session.fault().empty());
    talk.session.receive(dma_reply(late, bytes({1, 1, 1, 1}))); // once, not twice
    CHECK(talk.session.fault() == "a reply to nothing that was asked");
}

TEST_CASE("the number of a question that was given up is not used again before its answer", "[unit][vfio_user]") {
    Negotiated n;
    auto& talk = n.talk;
    talk.session.begin_exchange(Command::dma_read, 0x1000, 1, {});
    const auto late = talk.out.back();
    talk.session.abandon_exchange();
    std::size_t same = 0;
    for (unsigned i = 0; i < 1u << 16; ++i) { // as many as there are numbers
        talk.out.clear();
        talk.session.begin_exchange(Command::dma_read, 0x2000, 1, {});
        same += header_of(talk.out.back()).get<"id">() == header_of(late).get<"id">();
        talk.session.receive(dma_reply(talk.out.back(), bytes({2})));
        talk.session.end_exchange();
    }
    CHECK(same == 0);
    talk.session.receive(dma_reply(late, bytes({1})));
    CHECK(talk.session.fault().empty());
}

TEST_CASE("a client that owes too many answers ends its session", "[unit][vfio_user]") {
    Negotiated n;
    unsigned given_up = 0;
    for (; n.talk.session.fault().empty() && given_up < 1000; ++given_up) {
        n.talk.session.begin_exchange(Command::dma_read, 0, 4, {});
        n.talk.session.abandon_exchange();
    }
    CHECK(given_up == 257);
    CHECK(n.talk.session.fault() == "no answer to 257 requests for memory");
}

TEST_CASE("a client may refuse memory", "[unit][vfio_user]") {
    Negotiated n;
    n.talk.out.clear();
    n.talk.session.begin_exchange(Command::dma_write, 0x1000, 2, bytes({1, 2}));
    auto reply = message(Command::dma_write, {}, header_of(n.talk.out[0]).get<"id">(), false, MessageType::reply);
    abi::View<Header>(std::span(reply)).set<"is_error">(true).set<"error">(EFAULT);
    n.talk.session.receive(reply);
    CHECK(n.talk.session.is_exchange_over());
    CHECK_FALSE(n.talk.session.end_exchange().has_value());
    CHECK(n.talk.session.fault().empty());
}

TEST_CASE("a reply that was not asked for ends the session", "[unit][vfio_user]") {
    Negotiated n;
    SECTION("without a question") {
        n.talk.session.receive(message(Command::dma_read, {}, 1, false, MessageType::reply));
    }
    SECTION("to another question") {
        n.talk.session.begin_exchange(Command::dma_read, 0, 4, {});
        n.talk.session.receive(message(Command::dma_read, {}, 77, false, MessageType::reply));
    }
    SECTION("of another length") {
        n.talk.session.begin_exchange(Command::dma_read, 0, 4, {});
        n.talk.session.receive(dma_reply(n.talk.out.back(), bytes({1, 2, 3})));
    }
    CHECK_FALSE(n.talk.session.fault().empty());
    CHECK(n.talk.session.is_exchange_over());
}

TEST_CASE("writes without end while the device waits end the session", "[unit][vfio_user]") {
    Negotiated n;
    n.talk.function.backlog_bytes = 4 << 20;
    n.talk.session.receive(region_write(0, 0, Bytes(4), true));
    CHECK(n.talk.session.fault().empty());
    n.talk.function.backlog_bytes += 1;
    n.talk.session.receive(region_write(0, 0, Bytes(4), true));
    CHECK(n.talk.session.fault() == "writes without end while the device waits for memory");
}

TEST_CASE("messages can be taken one by one", "[unit][vfio_user]") {
    Negotiated n;
    n.talk.out.clear();
    auto both = region_write(0, 0, bytes({1}));
    const auto second = region_write(0, 8, bytes({2}));
    both.insert(both.end(), second.begin(), second.end() - 1);
    n.talk.session.append(both, {});
    CHECK(n.talk.function.log.empty());
    CHECK(n.talk.session.step());
    CHECK(n.talk.function.log == "w0+0 ");
    CHECK_FALSE(n.talk.session.step());
    CHECK(n.talk.session.unfinished() == second.size() - 1);
    n.talk.session.append(std::span(second).last(1), {});
    CHECK(n.talk.session.step());
    CHECK(n.talk.function.log == "w0+0 w0+8 ");
    CHECK(n.talk.session.unfinished() == 0);
}
