// A part of a dma-buf as memory of a registration: what is trimmed and restored, what is refused, and how it ends.
#include "sw/memory/umem_dmabuf.h"
#include "testbench/unit/sw/memory/dmabuf_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <cerrno>

using abi::Iova;
using sw::memory::BusRange;
using sw::memory::Fence;
using sw::memory::Lock;
using sw::memory::Part;
using sw::memory::ScatterList;
using sw::memory::UmemDmaBuf;
using sw::memory::Usage;
using testbench::check_refused;
using testbench::ScriptedExporter;

namespace {

/// Registers a part of the three pieces (0x4000 at 0x1000'0000, 0x8000 at 0x2000'0000, 0x4000 at 0x3000'0000), looks at
/// what is left of them, and lets go; then the exporter has got back what it gave.
void check_trimmed(Part part, const std::vector<BusRange>& expected) {
    ScriptedExporter e;
    {
        const auto umem = UmemDmaBuf::get_pinned(e.device, e.buffer, part);
        REQUIRE(umem);
        CHECK((*umem)->umem().ranges() == expected);
        CHECK((*umem)->umem().length() == part.length);
        CHECK(e.pins == 1);
    }
    CHECK(e.unmapped == testbench::given_once);
    CHECK(e.pins == 0);
    CHECK(e.attached == 0);
}

} // namespace

TEST_CASE("all of a buffer is trimmed nowhere", "[unit][memory][umem]") {
    check_trimmed({0, 0x10000}, testbench::three_pieces);
}

TEST_CASE("a part of whole pieces is these pieces", "[unit][memory][umem]") {
    check_trimmed({0x4000, 0x8000}, {{0x2000'0000, 0x8000}});
    check_trimmed({0x4000, 0xc000}, {{0x2000'0000, 0x8000}, {0x3000'0000, 0x4000}});
}

TEST_CASE("a part that begins inside a piece loses that piece's head", "[unit][memory][umem]") {
    check_trimmed({0x1000, 0xf000}, {{0x1000'1000, 0x3000}, {0x2000'0000, 0x8000}, {0x3000'0000, 0x4000}});
    check_trimmed({0x5000, 0xb000}, {{0x2000'1000, 0x7000}, {0x3000'0000, 0x4000}});
}

TEST_CASE("a part that ends inside a piece loses that piece's tail", "[unit][memory][umem]") {
    check_trimmed({0, 0xd000}, {{0x1000'0000, 0x4000}, {0x2000'0000, 0x8000}, {0x3000'0000, 0x1000}});
    check_trimmed({0, 0x3000}, {{0x1000'0000, 0x3000}});
}

TEST_CASE("head and tail of one piece are both trimmed", "[unit][memory][umem]") {
    check_trimmed({0x6000, 0x4000}, {{0x2000'2000, 0x4000}});
}

TEST_CASE("a part across pieces loses the first one's head and the last one's tail", "[unit][memory][umem]") {
    check_trimmed({0x3000, 0x2000}, {{0x1000'3000, 0x1000}, {0x2000'0000, 0x1000}});
    check_trimmed({0x2000, 0xc000}, {{0x1000'2000, 0x2000}, {0x2000'0000, 0x8000}, {0x3000'0000, 0x2000}});
}

TEST_CASE("one page is one page, at the edge of a piece as in its middle", "[unit][memory][umem]") {
    check_trimmed({0x3000, 0x1000}, {{0x1000'3000, 0x1000}});
    check_trimmed({0x4000, 0x1000}, {{0x2000'0000, 0x1000}});
    check_trimmed({0x8000, 0x1000}, {{0x2000'4000, 0x1000}});
    check_trimmed({0xf000, 0x1000}, {{0x3000'3000, 0x1000}});
}

TEST_CASE("a part may begin and end inside pages", "[unit][memory][umem]") {
    check_trimmed({0x3ffe, 4}, {{0x1000'3ffe, 2}, {0x2000'0000, 2}});
    check_trimmed({0x6123, 1}, {{0x2000'2123, 1}});
    check_trimmed({0x1dc8, 0xa000}, {{0x1000'1dc8, 0x2238}, {0x2000'0000, 0x7dc8}});
    check_trimmed({0xffff, 1}, {{0x3000'3fff, 1}});
}

TEST_CASE("the mapping is trimmed in place to whole pages, and restored before it goes back", "[unit][memory][umem]") {
    ScriptedExporter e;
    auto umem = UmemDmaBuf::get(e.device, e.buffer, {0x3ffe, 4}, [](UmemDmaBuf&, const Lock&) {});
    REQUIRE(umem);
    CHECK((*umem)->umem().length() == 0);
    const auto lock = e.lock();

    REQUIRE((*umem)->map(lock));
    CHECK((*umem)->umem().ranges() == std::vector<BusRange>{{0x1000'3ffe, 2}, {0x2000'0000, 2}});
    REQUIRE((*umem)->unmap(lock));

    CHECK(e.unmapped == testbench::given_once);
    CHECK_FALSE((*umem)->is_mapped());
    REQUIRE((*umem)->unmap(lock)); // as the kernel: nothing to do
    REQUIRE((*umem)->map(lock));
    CHECK((*umem)->umem().length() == 4);
    CHECK((*umem)->unmap(lock));
    CHECK(e.unmapped == e.mapped);
}

TEST_CASE("a part that is empty, wraps around or leaves the buffer is refused before anything is attached",
          "[unit][memory][umem]") {
    ScriptedExporter e;
    const auto get = [&](std::uint64_t offset, std::uint64_t length) {
        return UmemDmaBuf::get_pinned(e.device, e.buffer, {offset, length});
    };

    check_refused(get(0, 0), EINVAL, "empty");
    check_refused(get(0x10000, 0), EINVAL, "empty");
    check_refused(get(0, 0x10001), EINVAL, "leaves a buffer of 0x10000 bytes");
    check_refused(get(0x10000, 1), EINVAL, "leaves a buffer");
    check_refused(get(0xfff0, 0x11), EINVAL, "leaves a buffer");
    check_refused(get(0x1000, ~std::uint64_t{0}), EINVAL, "wrap around");
    check_refused(get(~std::uint64_t{0}, 1), EINVAL, "wrap around");
    check_refused(get(~std::uint64_t{0} - 0xfff, 0x1000), EINVAL, "wrap around");
    check_refused(UmemDmaBuf::get_pinned(e.device, nullptr, {0, 1}), EBADF, "no buffer");
    check_refused(UmemDmaBuf::get(e.device, e.buffer, {0, 1}, {}), EINVAL, "move_notify");
    CHECK(e.mapped.empty());
    CHECK(e.attached == 0);
}

TEST_CASE("what the exporter refuses leaves no pin and no attachment", "[unit][memory][umem]") {
    ScriptedExporter e;
    e.refuse_map = ENOSPC;
    check_refused(UmemDmaBuf::get_pinned(e.device, e.buffer, {0, 1}), ENOSPC, "scripted");
    check_refused(UmemDmaBuf::get_revocable(e.device, e.buffer, {0, 1}), ENOSPC, "scripted");
    e.refuse_pin = ENOMEM;
    check_refused(UmemDmaBuf::get_pinned(e.device, e.buffer, {0, 1}), ENOMEM, "scripted");

    CHECK(e.pins == 0);
    CHECK(e.attached == 0);
    CHECK_FALSE(e.buffer->reservation().is_locked());
}

TEST_CASE("mapping waits for the contents, and for no longer than its patience", "[unit][memory][umem]") {
    ScriptedExporter e;
    unsigned looks = 0;
    {
        const auto lock = e.lock();
        const auto work = [&]() -> std::optional<int> { return ++looks == 20 ? std::optional(0) : std::nullopt; };
        REQUIRE(e.buffer->reservation().add_fence(lock, std::make_shared<Fence>("move", work), Usage::kernel));
    }
    {
        const auto umem = UmemDmaBuf::get_pinned(e.device, e.buffer, {0, 1});
        REQUIRE(umem);
        CHECK(looks == 20);
    }
    e.hurry();
    {
        const auto lock = e.lock();
        REQUIRE(e.buffer->reservation().add_fence(lock, std::make_shared<Fence>("lost move"), Usage::kernel));
    }
    check_refused(UmemDmaBuf::get_pinned(e.device, e.buffer, {0, 1}), ETIMEDOUT, "lost move");
    CHECK(e.pins == 0);
    CHECK(e.unmapped == e.mapped);
}

TEST_CASE("a revocable part comes with the lock, ends its use when told, and never maps again",
          "[unit][memory][umem]") {
    ScriptedExporter e;
    auto locked = UmemDmaBuf::get_revocable(e.device, e.buffer, {0x3000, 0x2000});
    REQUIRE(locked);
    CHECK(e.buffer->reservation().is_locked());
    unsigned ended = 0;
    auto& umem = *locked->umem;
    REQUIRE(umem.set_revoke(locked->lock, [&]() -> sw::Result<void> {
        ++ended;
        CHECK(umem.is_mapped()); // the mapping outlives the use
        return {};
    }));
    locked->lock.unlock();

    REQUIRE(e.buffer->revoke(e.device));

    CHECK(ended == 1);
    CHECK(umem.is_revoked());
    CHECK(e.unmapped == testbench::given_once);
    CHECK(e.pins == 0);
    {
        const auto lock = e.lock();
        check_refused(umem.map(lock), EINVAL, "for good");
        CHECK(umem.unmap(lock));
    }
    CHECK(umem.revoke());
    CHECK(ended == 1);
    locked->umem.reset();
    CHECK(e.attached == 0);
}

TEST_CASE("the revoke callback is called once when the part goes by itself", "[unit][memory][umem]") {
    ScriptedExporter e;
    unsigned ended = 0;
    {
        auto locked = UmemDmaBuf::get_revocable(e.device, e.buffer, {0, 1});
        REQUIRE(locked);
        REQUIRE(locked->umem->set_revoke(locked->lock, [&]() -> sw::Result<void> {
            ++ended;
            return {};
        }));
        check_refused(locked->umem->set_revoke({}, {}), EINVAL, "lock is not held");
    }
    CHECK(ended == 1);
    CHECK(e.pins == 0);
    CHECK(e.unmapped.size() == 1);
}

TEST_CASE("a use that could not be ended keeps its mapping, and the exporter hears of it", "[unit][memory][umem]") {
    ScriptedExporter e;
    e.hurry();
    auto locked = UmemDmaBuf::get_revocable(e.device, e.buffer, {0, 1});
    REQUIRE(locked);
    REQUIRE(locked->umem->set_revoke(locked->lock, []() -> sw::Result<void> { return sw::failure(EIO, "dead"); }));
    locked->lock.unlock();

    check_refused(e.buffer->revoke(e.device), EBUSY, "its memory must stay");

    CHECK(e.unmapped.empty());
    CHECK(e.pins == 1);
    locked->umem.reset(); // its key is gone by then
    CHECK(e.unmapped == testbench::given_once);
    CHECK(e.pins == 0);
}

TEST_CASE("a pinned part is not taken back", "[unit][memory][umem]") {
    ScriptedExporter e;
    auto umem = UmemDmaBuf::get_pinned(e.device, e.buffer, {0, 1});
    REQUIRE(umem);

    check_refused(e.buffer->revoke(e.device), EBUSY, "cannot be told");
    CHECK((*umem)->is_mapped());
    REQUIRE((*umem)->revoke()); // by its own side
    CHECK_FALSE((*umem)->is_mapped());

    CHECK(e.buffer->revoke(e.device));
}

TEST_CASE("a part that follows moves unmaps when it is told and maps anew at the new place", "[unit][memory][umem]") {
    ScriptedExporter e;
    auto umem = UmemDmaBuf::get(e.device, e.buffer, {0x1000, 0x1000},
                                [](UmemDmaBuf& own, const Lock& lock) { CHECK(own.unmap(lock)); });
    REQUIRE(umem);
    const auto lock = e.lock();
    REQUIRE((*umem)->map(lock));
    CHECK((*umem)->umem().ranges() == std::vector<BusRange>{{0x1000'1000, 0x1000}});

    REQUIRE(e.buffer->notify_move(lock));
    CHECK(e.unmapped.size() == 1);
    e.ranges = {{0x7000'0000, 0x10000}};
    REQUIRE((*umem)->map(lock));

    CHECK((*umem)->umem().ranges() == std::vector<BusRange>{{0x7000'1000, 0x1000}});
    CHECK((*umem)->unmap(lock));
}

TEST_CASE("the page of a translation table follows from iova and pieces", "[unit][memory][umem]") {
    ScriptedExporter e;
    const auto best = [&](Part part, std::uint64_t iova) {
        const auto umem = UmemDmaBuf::get_pinned(e.device, e.buffer, part);
        REQUIRE(umem);
        return (*umem)->umem().best_page_size(Iova{iova});
    };

    CHECK(best({0, 0x10000}, 0x7000'0000) == 14u);     // the first piece ends at 16 KiB
    CHECK(best({0x4000, 0x8000}, 0x7000'0000) == 15u); // one piece of 32 KiB
    CHECK(best({0x4000, 0x8000}, 0x7000'1000) == 12u); // the iova agrees with the bus in 4 KiB only
    CHECK(best({0x3000, 0x2000}, 0x7000'3000) == 14u); // both ends lie inside a page of 16 KiB
    CHECK(best({0x3000, 0x2000}, 0x7000'0000) == 12u);
    CHECK_FALSE(best({0x800, 0x1000}, 0x7000'0000)); // they disagree within 4 KiB
}
