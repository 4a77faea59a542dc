// Fences and the reservation lock (Linux "DMA Fences", "Reservation Objects").
#include "sw/memory/reservation.h"
#include "testbench/unit/sw/memory/dmabuf_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <cerrno>

using sw::memory::Fence;
using sw::memory::Lock;
using sw::memory::Reservation;
using sw::memory::Usage;
using testbench::check_refused;
using testbench::FakeTransport;

TEST_CASE("a fence is signalled once and keeps the outcome of its work", "[unit][memory][fence]") {
    Fence fence("copy");

    CHECK_FALSE(fence.is_signaled());
    REQUIRE(fence.signal(EIO));

    CHECK(fence.is_signaled());
    CHECK(fence.error() == EIO);
    check_refused(fence.signal(), EINVAL, "signalled already");
    CHECK(fence.error() == EIO);
}

TEST_CASE("looking at a fence does one piece of its work, and none once it has ended", "[unit][memory][fence]") {
    unsigned pieces = 0;
    Fence fence("copy", [&]() -> std::optional<int> { return ++pieces == 3 ? std::optional(0) : std::nullopt; });

    CHECK_FALSE(fence.is_signaled());
    CHECK_FALSE(fence.is_signaled());
    CHECK(fence.is_signaled());
    CHECK(fence.is_signaled());

    CHECK(pieces == 3);
}

TEST_CASE("whoever looks at a fence from within its work is told: not yet", "[unit][memory][fence]") {
    Fence* self = nullptr;
    bool inner = true;
    Fence fence("copy", [&]() -> std::optional<int> {
        inner = self->is_signaled();
        return 0;
    });
    self = &fence;

    CHECK(fence.is_signaled());
    CHECK_FALSE(inner);
}

TEST_CASE("a lock is given to one at a time and comes back with its holder's end", "[unit][memory][reservation]") {
    Reservation reservation;
    {
        const auto first = reservation.try_lock();
        CHECK(first);
        CHECK_FALSE(reservation.try_lock());
        CHECK(reservation.is_locked());
    }
    CHECK(reservation.try_lock());
    CHECK_FALSE(reservation.is_locked());
}

TEST_CASE("whoever wants a taken lock waits, and hears of it when he waits for himself",
          "[unit][memory][reservation]") {
    FakeTransport machine;
    Reservation reservation;
    auto first = reservation.try_lock();
    machine.on_relax = [&] {
        if (machine.relaxed == 5)
            first.unlock();
    };

    auto second = reservation.lock(machine);
    REQUIRE(second);
    CHECK(machine.relaxed == 5);

    machine.on_relax = [&] { machine.time += std::chrono::seconds{1}; };
    check_refused(reservation.lock(machine), EDEADLK, "waits for itself");
}

TEST_CASE("what wants the lock refuses none and another buffer's", "[unit][memory][reservation]") {
    Reservation reservation, other;
    const auto lock = reservation.try_lock();
    const auto wrong = other.try_lock();

    CHECK(reservation.require(lock, "pin"));
    check_refused(reservation.require({}, "pin"), EINVAL, "not held");
    check_refused(reservation.require(wrong, "pin"), EINVAL, "another buffer's");
    check_refused(reservation.add_fence(wrong, std::make_shared<Fence>("copy"), Usage::kernel), EINVAL,
                  "another buffer's");
}

TEST_CASE("waiting for one kind of fence waits for those before it and not for those behind",
          "[unit][memory][reservation]") {
    Reservation reservation;
    const auto lock = reservation.try_lock();
    const auto kernel = std::make_shared<Fence>("move"), read = std::make_shared<Fence>("read");
    REQUIRE(reservation.add_fence(lock, kernel, Usage::kernel));
    REQUIRE(reservation.add_fence(lock, read, Usage::read));

    CHECK_FALSE(reservation.is_signaled(Usage::kernel));
    REQUIRE(kernel->signal());
    CHECK(reservation.is_signaled(Usage::kernel));
    CHECK(reservation.is_signaled(Usage::write));
    CHECK_FALSE(reservation.is_signaled(Usage::read));
    CHECK_FALSE(reservation.is_signaled(Usage::bookkeep));
    REQUIRE(read->signal());
    CHECK(reservation.is_signaled(Usage::bookkeep));
    CHECK(reservation.pending(Usage::bookkeep).empty());
}

TEST_CASE("waiting drives the work, and a fence that never ends is named", "[unit][memory][reservation]") {
    FakeTransport machine;
    Reservation reservation;
    const auto lock = reservation.try_lock();
    unsigned left = 10;
    const auto work = [&]() -> std::optional<int> { return --left == 0 ? std::optional(0) : std::nullopt; };
    REQUIRE(reservation.add_fence(lock, std::make_shared<Fence>("move to VRAM", work), Usage::kernel));

    CHECK(reservation.wait(machine, Usage::kernel));
    CHECK(left == 0);

    REQUIRE(reservation.add_fence(lock, std::make_shared<Fence>("lost copy"), Usage::kernel));
    check_refused(reservation.wait(machine, Usage::kernel, std::chrono::microseconds{50}), ETIMEDOUT, "lost copy");
}
