// A served card that is reset, or whose client leaves, in the middle of its work: what of the work still gets out.
#include "testbench/module/platform/card/served_pair.h"

using namespace testbench;
using namespace testbench::served_pair;

namespace {

constexpr std::uint64_t plain_memory = 0x10'0000;

/// The first card asks its client, which does not answer; then it asks again, and writes to memory with a file and to
/// the other card.
struct AtWork {
    Machine machine;
    GuestRam ram{4096};
    bool is_over = false;

    AtWork() {
        map();
        auto& device = machine.device(0);
        device.write(plain_memory, 1); // the path is known
        device.write(machine.bar(1), 1);
        device.begin([&](Time) {
            device.ask();
            device.ask();
            device.write(plain_memory, 2);
            device.write(machine.bar(1), 2);
            is_over = true;
        });
        machine.run();
        device.work = {};
        REQUIRE(machine.clients[0].asked == 1);
        REQUIRE(ram.bytes()[0] == std::byte{1});
        REQUIRE(machine.device(1).writes.size() == 1);
    }
    void map() {
        const bridge::DmaMapRequest file{
            .address = plain_memory, .size = 4096, .offset = 0, .is_readable = true, .is_writable = true};
        REQUIRE(machine.guest.function(0).map(file, ram.descriptor()) == 0);
    }
    void check_end() {
        CHECK(is_over);
        CHECK(machine.clients[0].asked == 1);
        CHECK(ram.bytes()[0] == std::byte{1});
        CHECK(machine.device(1).writes.size() == 1);
        CHECK(machine.device(0).resets == 1);
        CHECK_FALSE(machine.guest.function(0).is_resetting());
    }
};

} // namespace

TEST_CASE("a card that is to be reset asks for nothing more and writes nothing more", "[module][card][vfio_user]") {
    AtWork at_work;
    auto& function = at_work.machine.guest.function(0);

    function.reset();
    CHECK(function.is_resetting());
    function.work();
    at_work.machine.run();

    at_work.check_end();
}

TEST_CASE("what a card still does for a client that has gone does not reach the memory of the next",
          "[module][card][vfio_user]") {
    AtWork at_work;
    auto& function = at_work.machine.guest.function(0);

    at_work.machine.clients[0].is_deaf = true; // its answer is under way when it goes
    function.disconnect();
    at_work.map();
    at_work.machine.answer(0);

    at_work.check_end();
}

TEST_CASE("a reset that a leaving client had asked for is not waited for twice", "[module][card][vfio_user]") {
    Machine m;
    m.make_wait(0);
    m.clients[0].is_deaf = true; // to being abandoned, as if the card waited elsewhere
    auto& function = m.guest.function(0);
    m.write(0, 0, 1);
    function.reset();
    function.reset();
    CHECK(function.is_resetting());

    function.disconnect();
    m.run();
    CHECK(function.is_resetting());
    m.answer(0);

    CHECK_FALSE(function.is_resetting());
    CHECK(m.device(0).resets == 1);
}
