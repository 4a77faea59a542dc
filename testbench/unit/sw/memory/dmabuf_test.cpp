// The life of a dma-buf: export, descriptors, attach, pin, map, move, revocation, release, and each misuse with its
// errno.
#include "sw/memory/descriptors.h"
#include "testbench/unit/sw/memory/dmabuf_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <cerrno>

using namespace sw::memory;
using testbench::check_refused;
using testbench::FakeTransport;
using testbench::ScriptedExporter;

TEST_CASE("an exporter without its mandatory functions, with half a pair, or of half a page is refused",
          "[unit][memory][dmabuf]") {
    const auto map = [](Attachment&, const Lock&) -> sw::Result<ScatterList> { return ScatterList{}; };
    const auto unmap = [](Attachment&, const ScatterList&) {};
    const auto pin = [](Attachment&, const Lock&) -> sw::Result<void> { return {}; };
    const auto release = [] {};

    check_refused(DmaBuf::make({.name = "x", .map = map, .release = release}, 4096), EINVAL, "mandatory");
    check_refused(DmaBuf::make({.name = "x", .pin = pin, .map = map, .unmap = unmap, .release = release}, 4096), EINVAL,
                  "pin and unpin come together");
    check_refused(DmaBuf::make({.name = "x", .map = map, .unmap = unmap, .release = release}, 100), EINVAL,
                  "whole pages");
    check_refused(DmaBuf::make({.name = "x", .map = map, .unmap = unmap, .release = release}, 0), EINVAL,
                  "whole pages");
}

TEST_CASE("the exporter hears of the last reference's end, whoever held it", "[unit][memory][dmabuf]") {
    ScriptedExporter e;
    auto attachment = e.attach();

    e.buffer.reset();
    CHECK(e.released == 0);
    CHECK(e.attached == 1);
    attachment.reset();

    CHECK(e.attached == 0);
    CHECK(e.released == 1);
}

TEST_CASE("descriptors are the lowest free numbers, and each holds a reference", "[unit][memory][dmabuf]") {
    ScriptedExporter e;
    Descriptors table(6);

    CHECK(table.install(e.buffer) == 3);
    CHECK(table.duplicate(3) == 4);
    CHECK(table.install(e.buffer) == 5);
    check_refused(table.install(e.buffer), EMFILE, "limit");
    REQUIRE(table.close(4));
    CHECK(table.duplicate(5) == 4);
    CHECK((*table.get(4))->size() == 0x10000);
    e.buffer.reset();
    for (const auto number : {3, 4, 5})
        CHECK(table.close(number));

    CHECK(e.released == 1);
    check_refused(table.get(3), EBADF, "not open");
    check_refused(table.close(3), EBADF, "not open");
    check_refused(table.duplicate(3), EBADF, "not open");
    check_refused(table.install(nullptr), EINVAL, "no buffer");
}

TEST_CASE("pins are counted: as many unpins as pins, and none more", "[unit][memory][dmabuf]") {
    ScriptedExporter e;
    const auto attachment = e.attach();
    const auto lock = e.lock();

    REQUIRE(attachment->pin(lock));
    REQUIRE(attachment->pin(lock));
    CHECK(e.pins == 2);
    REQUIRE(attachment->unpin(lock));
    REQUIRE(attachment->unpin(lock));

    CHECK(e.pins == 0);
    check_refused(attachment->unpin(lock), EINVAL, "pins are counted");
    e.refuse_pin = ENOMEM;
    check_refused(attachment->pin(lock), ENOMEM, "scripted");
    CHECK(attachment->pins() == 0);
}

TEST_CASE("pin, unpin, map and unmap want the lock of this buffer", "[unit][memory][dmabuf]") {
    ScriptedExporter e, other;
    const auto attachment = e.attach();
    const auto wrong = other.lock();

    check_refused(attachment->pin({}), EINVAL, "lock is not held");
    check_refused(attachment->map({}), EINVAL, "lock is not held");
    check_refused(attachment->pin(wrong), EINVAL, "another buffer's");
    check_refused(attachment->unpin(wrong), EINVAL, "another buffer's");
    check_refused(attachment->unmap(wrong, nullptr), EINVAL, "another buffer's");
    check_refused(e.buffer->notify_move(wrong), EINVAL, "another buffer's");
}

TEST_CASE("attach and detach take the lock themselves, so who holds it hears of a deadlock", "[unit][memory][dmabuf]") {
    ScriptedExporter e;
    e.hurry();
    auto attachment = e.attach();
    auto lock = e.lock();

    check_refused(e.buffer->attach(e.device, {.name = "second"}), EDEADLK, "waits for itself");
    check_refused(attachment->detach(), EDEADLK, "waits for itself");
    CHECK(e.attached == 1);
    lock.unlock();

    CHECK(attachment->detach());
    CHECK(e.attached == 0);
}

TEST_CASE("a mapping lasts until it is given back, and only that list can be", "[unit][memory][dmabuf]") {
    ScriptedExporter e;
    const auto attachment = e.attach();
    auto lock = e.lock();

    const auto first = attachment->map(lock), second = attachment->map(lock);
    REQUIRE((first && second));
    CHECK(*first != *second);
    CHECK(**first == testbench::three_pieces);
    ScatterList foreign = **first;
    check_refused(attachment->unmap(lock, &foreign), EINVAL, "not mapped");
    check_refused(attachment->unmap(lock, nullptr), EINVAL, "not mapped");
    REQUIRE(attachment->unmap(lock, *first));
    auto* const gone = *first;
    check_refused(attachment->unmap(lock, gone), EINVAL, "not mapped");
    CHECK(e.buffer->mapping_count() == 1);
    lock.unlock();

    check_refused(attachment->detach(), EBUSY, "unmap, then detach");
    lock = e.lock();
    REQUIRE(attachment->unmap(lock, *second));
    lock.unlock();
    CHECK(attachment->detach());
}

TEST_CASE("a detach with pins left is refused", "[unit][memory][dmabuf]") {
    ScriptedExporter e;
    const auto attachment = e.attach();
    auto lock = e.lock();
    REQUIRE(attachment->pin(lock));
    lock.unlock();

    check_refused(attachment->detach(), EBUSY, "1 pins are left");
}

TEST_CASE("a detached importer pins and maps nothing", "[unit][memory][dmabuf]") {
    ScriptedExporter e;
    const auto attachment = e.attach();
    REQUIRE(attachment->detach());
    const auto lock = e.lock();

    check_refused(attachment->map(lock), EINVAL, "detached");
    check_refused(attachment->pin(lock), EINVAL, "detached");
}

TEST_CASE("an importer that goes without a word leaves neither pin nor mapping behind", "[unit][memory][dmabuf]") {
    ScriptedExporter e;
    auto attachment = e.attach();
    auto lock = e.lock();
    REQUIRE(attachment->pin(lock));
    REQUIRE(attachment->map(lock));
    lock.unlock();

    attachment.reset();

    CHECK(e.pins == 0);
    CHECK(e.unmapped == e.mapped);
    CHECK(e.attached == 0);
}

TEST_CASE("a list that comes back changed is unmapped as it was made, and the importer told",
          "[unit][memory][dmabuf]") {
    ScriptedExporter e;
    const auto attachment = e.attach();
    const auto lock = e.lock();
    const auto list = attachment->map(lock);
    REQUIRE(list);
    (**list)[0].size -= 0x1000;

    check_refused(attachment->unmap(lock, *list), EINVAL, "restored");

    CHECK(e.unmapped == testbench::given_once);
    CHECK(e.buffer->mapping_count() == 0);
}

TEST_CASE("a list that is not whole pages or not the buffer is the exporter's fault", "[unit][memory][dmabuf]") {
    ScriptedExporter e;
    const auto attachment = e.attach();
    const auto lock = e.lock();

    e.ranges = {{0x1000'0800, 0x10000}};
    check_refused(attachment->map(lock), EIO, "not page-aligned");
    e.ranges = {{0x1000'0000, 0xf000}};
    check_refused(attachment->map(lock), EIO, "is not the buffer");
    CHECK(e.unmapped == e.mapped);
    e.refuse_map = ENOSPC;
    check_refused(attachment->map(lock), ENOSPC, "scripted");
}

TEST_CASE("an importer that cannot be told of moves pins before it maps", "[unit][memory][dmabuf]") {
    ScriptedExporter e;
    const auto attachment = e.attach_silent();
    const auto lock = e.lock();

    check_refused(attachment->map(lock), EINVAL, "pins first");
    REQUIRE(attachment->pin(lock));

    CHECK(attachment->map(lock));
}

TEST_CASE("an importer of the old kind is pinned and mapped from attach to detach", "[unit][memory][dmabuf]") {
    ScriptedExporter e;
    {
        auto attachment = e.buffer->attach(e.device, {.name = "old"}, false);
        REQUIRE(attachment);
        CHECK(e.pins == 1);
        CHECK(e.mapped.size() == 1);
        const auto lock = e.lock();
        const auto first = (*attachment)->map(lock), second = (*attachment)->map(lock);
        REQUIRE((first && second));
        CHECK(*first == *second);
        CHECK((*attachment)->unmap(lock, *first));
        CHECK(e.unmapped.empty());
        check_refused((*attachment)->pin(lock), EINVAL, "only dynamic importers pin");
        check_refused((*attachment)->unpin(lock), EINVAL, "pins are counted");
    }
    CHECK(e.pins == 0);
    CHECK(e.unmapped.size() == 1);
    e.refuse_pin = ENOMEM;
    check_refused(e.buffer->attach(e.device, {.name = "old"}, false), ENOMEM, "scripted");
    CHECK(e.attached == 0);
    check_refused(e.buffer->attach(e.device, {.name = "odd", .move_notify = [](const Lock&) {}}, false), EINVAL,
                  "dynamic");
}

TEST_CASE("a buffer that never moves is mapped once for an importer that could follow", "[unit][memory][dmabuf]") {
    ScriptedExporter e(false);
    auto attachment = e.attach();
    CHECK(e.mapped.size() == 1);
    {
        const auto lock = e.lock();
        REQUIRE(attachment->pin(lock));
        const auto list = attachment->map(lock);
        REQUIRE(list);
        CHECK(attachment->unmap(lock, *list));
        CHECK(attachment->unpin(lock));
    }
    CHECK(e.unmapped.empty());
    CHECK(attachment->detach());
    CHECK(e.unmapped.size() == 1);
}

TEST_CASE("a move is told to every importer that can be told", "[unit][memory][dmabuf]") {
    ScriptedExporter e;
    unsigned first = 0, second = 0;
    const auto a = e.attach(&first), b = e.attach(&second), silent = e.attach_silent();
    const auto lock = e.lock();

    REQUIRE(e.buffer->notify_move(lock));

    CHECK(first == 1);
    CHECK(second == 1);
    CHECK(a->is_revocable());
    CHECK_FALSE(silent->is_revocable());
}

TEST_CASE("a revocation tells the importers, waits for fences and mappings, and is for good",
          "[unit][memory][dmabuf]") {
    ScriptedExporter e;
    std::unique_ptr<Attachment> attachment;
    ScatterList* list = nullptr;
    bool was_revoked = false;
    auto made = e.buffer->attach(e.device, {.name = "importer", .move_notify = [&](const Lock& lock) {
                                                was_revoked = e.buffer->is_revoked();
                                                CHECK(attachment->unmap(lock, list));
                                                CHECK(attachment->unpin(lock));
                                            }});
    REQUIRE(made);
    attachment = std::move(*made);
    unsigned looks = 0;
    {
        const auto lock = e.lock();
        REQUIRE(attachment->pin(lock));
        list = *attachment->map(lock);
        const auto work = [&]() -> std::optional<int> { return ++looks == 7 ? std::optional(0) : std::nullopt; };
        REQUIRE(e.buffer->reservation().add_fence(lock, std::make_shared<Fence>("read", work), Usage::bookkeep));
    }

    REQUIRE(e.buffer->revoke(e.device));

    CHECK(was_revoked);
    CHECK(looks == 7);
    CHECK(e.unmapped.size() == 1);
    const auto lock = e.lock();
    check_refused(attachment->map(lock), ENODEV, "for good");
    check_refused(attachment->pin(lock), ENODEV, "for good");
    check_refused(e.buffer->attach(e.device, {.name = "late"}), ENODEV, "for good");
}

TEST_CASE("a second revocation finds nothing to do", "[unit][memory][dmabuf]") {
    ScriptedExporter e;
    unsigned told = 0;
    const auto attachment = e.attach(&told);

    CHECK(e.buffer->revoke(e.device));
    CHECK(e.buffer->revoke(e.device));

    CHECK(told == 1);
}

TEST_CASE("what somebody pinned who cannot be told is not taken back", "[unit][memory][dmabuf]") {
    ScriptedExporter e;
    unsigned told = 0;
    const auto silent = e.attach_silent(), other = e.attach(&told);
    {
        const auto lock = e.lock();
        REQUIRE(silent->pin(lock));
    }

    check_refused(e.buffer->revoke(e.device), EBUSY, "cannot be told");
    CHECK(told == 0);
    CHECK_FALSE(e.buffer->is_revoked());
    check_refused(e.buffer->revoke(e.device, true), EBUSY, "its memory must stay");
    CHECK(told == 1);
    CHECK(e.buffer->is_revoked());
}

TEST_CASE("an importer that keeps its mapping after it was told, and a fence that never ends, hold a revocation up",
          "[unit][memory][dmabuf]") {
    ScriptedExporter e;
    e.hurry();
    const auto attachment = e.attach();
    {
        const auto lock = e.lock();
        REQUIRE(attachment->map(lock));
    }
    check_refused(e.buffer->revoke(e.device), EBUSY, "has not given its mapping back");

    ScriptedExporter stuck;
    stuck.hurry();
    {
        const auto lock = stuck.lock();
        REQUIRE(stuck.buffer->reservation().add_fence(lock, std::make_shared<Fence>("lost copy"), Usage::bookkeep));
    }
    check_refused(stuck.buffer->revoke(stuck.device), ETIMEDOUT, "lost copy");
    CHECK_FALSE(stuck.buffer->reservation().is_locked());
}

TEST_CASE("the exporter's order decides which mapping type both can do", "[unit][memory][dmabuf]") {
    ScriptedExporter e;
    const auto type = [&](std::vector<MappingOffer> offers, std::vector<MappingOffer> accepts) {
        e.offers = std::move(offers);
        auto made =
            e.buffer->attach(e.device, {.name = "i", .move_notify = [](const Lock&) {}, .accepts = std::move(accepts)});
        REQUIRE(made);
        return (*made)->type();
    };
    constexpr MappingOffer sgt{MappingType::scatter_list}, pal{MappingType::physical_list};

    CHECK(type({pal, sgt}, {sgt, pal}) == MappingType::physical_list);
    CHECK(type({sgt, pal}, {pal, sgt}) == MappingType::scatter_list);
    CHECK(type({pal, sgt}, {sgt}) == MappingType::scatter_list);
    CHECK(type({sgt, pal}, {pal}) == MappingType::physical_list);
}

TEST_CASE("an exporter that cannot offer the importer's type refuses", "[unit][memory][dmabuf]") {
    ScriptedExporter e;
    constexpr MappingOffer sgt{MappingType::scatter_list}, pal{MappingType::physical_list};

    check_refused(e.buffer->attach(e.device, {.name = "IOMMU", .accepts = {pal}}), EINVAL, "no common mapping type");
    e.offers = {{MappingType::scatter_list, true}};
    check_refused(e.buffer->attach(e.device, {.name = "far", .accepts = {sgt}}), EINVAL, "scatter list peer to peer");
    CHECK(e.buffer->attach(e.device, {.name = "near", .allow_peer2peer = true}));
    e.offers = {};
    check_refused(e.buffer->attach(e.device, {.name = "any"}), EINVAL, "it offers nothing");
    CHECK(e.attached == 0);
}

TEST_CASE("each mapping type has its own way to map", "[unit][memory][dmabuf]") {
    ScriptedExporter e;
    e.offers = {{MappingType::physical_list}, {MappingType::scatter_list}};
    auto made = e.buffer->attach(e.device, {.name = "IOMMU", .accepts = {{MappingType::physical_list}}});
    REQUIRE(made);
    const auto plain = e.attach();
    auto lock = e.lock();

    const auto list = (*made)->map_physical(lock);
    REQUIRE(list);
    CHECK(**list == testbench::three_pieces);
    check_refused((*made)->map(lock), EINVAL, "physical address list was agreed on");
    check_refused(plain->map_physical(lock), EINVAL, "scatter list was agreed on");
    lock.unlock();
    check_refused((*made)->detach(), EBUSY, "unmap, then detach");
    lock = e.lock();
    REQUIRE((*made)->unmap_physical(lock, *list));
    check_refused((*made)->unmap_physical(lock, nullptr), EINVAL, "not mapped");

    CHECK(e.unmapped.size() == 1);
}

TEST_CASE("fixed memory is mapped by the importer's own address, all of it or nothing", "[unit][memory][dmabuf]") {
    FakeTransport device;
    device.peer_offset = 0x10'0000'0000;
    auto alive = std::make_shared<int>(1);
    auto buffer = export_fixed({{0x1000'0000, 0x1000}, {0x2000'0000, 0x1000}}, alive);
    REQUIRE(buffer);
    {
        auto attachment = buffer->attach(device, {.name = "HCA", .allow_peer2peer = true});
        REQUIRE(attachment);
        CHECK(device.mapped_peers.size() == 2);
        const auto lock = buffer->reservation().try_lock();
        CHECK(**(*attachment)->map(lock) == ScatterList{{0x10'1000'0000, 0x1000}, {0x10'2000'0000, 0x1000}});
    }
    CHECK(device.mapped_peers.empty());
    device.refuse_peers = true;
    check_refused(buffer->attach(device, {.name = "HCA", .allow_peer2peer = true}), EREMOTEIO, "0x10000000");
    CHECK(alive.use_count() == 2);
    buffer.reset();
    CHECK(alive.use_count() == 1);
    CHECK_FALSE(export_fixed({{0x1000, 0x10}}));
}
