// Buffers of a GPU that move, are evicted, exported, pinned and taken back.
#include "sw/gpu/gpu.h"
#include "sw/memory/attachment.h"
#include "sw/memory/umem_dmabuf.h"
#include "testbench/unit/sw/fake_transport.h"
#include "testbench/unit/sw/memory/dmabuf_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <cerrno>
#include <optional>
#include <vector>

using namespace sw::memory;
using sw::gpu::Gpu;
using sw::gpu::Placement;
using sw::gpu::vram_block;
using sw::gpu::VramBuffer;
using testbench::check_refused;
using testbench::FakeTransport;

namespace {

constexpr std::uint64_t base = 0x38'0000'0000;

struct Machine {
    FakeTransport card, hca; ///< the GPU's and an importer's
    std::optional<Gpu> gpu;
    explicit Machine(sw::gpu::VramLayout layout = {}, std::size_t blocks = 8) {
        card.config_write(0, 4, 0x23301ac1);
        card.config_write(0x18, 4, 0xc);
        card.bars[2].resize(blocks * vram_block);
        card.bar_addresses[2] = base;
        auto opened = Gpu::open(card, 2, layout);
        REQUIRE(opened);
        gpu = std::move(*opened);
    }
    VramBuffer allocate(std::uint64_t bytes) {
        auto buffer = gpu->allocate(bytes);
        REQUIRE(buffer);
        return std::move(*buffer);
    }
    DmaBufHandle exported(const VramBuffer& buffer) {
        auto handle = gpu->export_buffer(buffer);
        REQUIRE(handle);
        return std::move(*handle);
    }
    void fill(const VramBuffer& buffer, unsigned seed) { REQUIRE(gpu->upload(buffer, 0, bytes(buffer.size(), seed))); }
    bool holds(const VramBuffer& buffer, unsigned seed) {
        std::vector<std::byte> found(buffer.size());
        REQUIRE(gpu->download(buffer, 0, found));
        return found == bytes(buffer.size(), seed);
    }
    static std::vector<std::byte> bytes(std::uint64_t size, unsigned seed) {
        std::vector<std::byte> pattern(size);
        for (std::size_t i = 0; i < size; ++i)
            pattern[i] = static_cast<std::byte>((i * 7 + i / 4096 + seed) & 0xff);
        return pattern;
    }
    /// An importer that follows moves, attached; peer to peer or not.
    std::unique_ptr<Attachment> attach(const DmaBufHandle& buffer, bool peer2peer = true,
                                       std::vector<MappingOffer> accepts = {}) {
        auto made = buffer->attach(hca, {.name = "HCA",
                                         .allow_peer2peer = peer2peer,
                                         .move_notify = [this](const Lock&) { ++told; },
                                         .accepts = std::move(accepts)});
        REQUIRE(made);
        return std::move(*made);
    }
    unsigned told = 0;
};

} // namespace

TEST_CASE("a buffer is made of fragments that do not touch, of the size asked for", "[unit][gpu][buffer]") {
    Machine m({.block_bytes = 4096, .fragment_bytes = 8192});

    const auto buffer = m.allocate(5 * 4096);

    const auto end = 8 * vram_block;
    CHECK(buffer.ranges() == std::vector<sw::gpu::VramRange>{{0, 8192}, {end - 8192, 8192}, {8192, 4096}});
    CHECK(m.gpu->free_bytes() == end - 5 * 4096);
    m.fill(buffer, 3);
    CHECK(m.holds(buffer, 3));
    check_refused(Gpu::open(m.card, 2, {.block_bytes = 100}), EINVAL, "whole pages");
}

TEST_CASE("a fragmented buffer registers as its fragments on the bus", "[unit][gpu][buffer]") {
    Machine m({.block_bytes = 4096, .fragment_bytes = 4096});
    const auto buffer = m.allocate(3 * 4096);
    const auto top = base + 8 * vram_block;

    const auto umem = UmemDmaBuf::get_pinned(m.hca, m.exported(buffer), {0x800, 0x2000});

    REQUIRE(umem);
    CHECK((*umem)->umem().ranges() ==
          std::vector<BusRange>{{base + 0x800, 0x800}, {top - 0x1000, 0x1000}, {base + 0x1000, 0x800}});
    CHECK(m.hca.mapped_peers.size() == 3);
    CHECK(buffer.pins() == 1);
}

TEST_CASE("a move tells the importers, is somewhere else at once, and has its bytes when the fence says so",
          "[unit][gpu][buffer]") {
    Machine m;
    const auto buffer = m.allocate(3 * vram_block);
    m.fill(buffer, 1);
    const auto handle = m.exported(buffer);
    const auto attachment = m.attach(handle);

    const auto moving = m.gpu->migrate(buffer, Placement::system);
    REQUIRE(moving);

    CHECK(m.told == 1);
    CHECK(buffer.placement() == Placement::system);
    CHECK(buffer.ranges().empty());
    CHECK(m.gpu->free_bytes() == 5 * vram_block); // the old place is still being read
    CHECK_FALSE((*moving)->is_signaled());
    CHECK_FALSE((*moving)->is_signaled());
    CHECK((*moving)->is_signaled()); // a block at a time
    CHECK(m.gpu->free_bytes() == 8 * vram_block);
    CHECK(m.holds(buffer, 1));

    REQUIRE(m.gpu->migrate(buffer, Placement::vram));
    CHECK(m.told == 2);
    CHECK(m.holds(buffer, 1)); // waits for the move
    CHECK(m.gpu->moves() == 2);
    CHECK(m.card.live_allocations() == 0);
}

TEST_CASE("a move waits for those who still use the old place", "[unit][gpu][buffer]") {
    Machine m;
    const auto buffer = m.allocate(vram_block);
    const auto handle = m.exported(buffer);
    const auto reading = std::make_shared<Fence>("read by the HCA");
    {
        const auto lock = handle->reservation().try_lock();
        REQUIRE(handle->reservation().add_fence(lock, reading, Usage::read));
    }
    const auto moving = m.gpu->migrate(buffer, Placement::system);
    REQUIRE(moving);

    for (int i = 0; i < 5; ++i)
        CHECK_FALSE((*moving)->is_signaled());
    REQUIRE(reading->signal());

    CHECK((*moving)->is_signaled());
}

TEST_CASE("an importer's mapping outlives a move, and the old place lives until the importer's fence ends",
          "[unit][gpu][buffer]") {
    Machine m;
    const auto buffer = m.allocate(vram_block);
    m.fill(buffer, 1);
    const auto handle = m.exported(buffer);
    const auto attachment = m.attach(handle);
    const auto writing = std::make_shared<Fence>("written by the HCA");
    const auto map = [&] {
        const auto mapped = attachment->map(handle->reservation().try_lock());
        REQUIRE(mapped);
        return *mapped;
    };
    auto* before = map();
    REQUIRE(handle->reservation().add_fence(handle->reservation().try_lock(), writing, Usage::bookkeep));

    const auto moving = m.gpu->migrate(buffer, Placement::system);
    REQUIRE(moving);
    CHECK(m.told == 1);
    for (int i = 0; i < 5; ++i)
        CHECK_FALSE((*moving)->is_signaled());
    CHECK(before->front().bus == base);
    CHECK(m.gpu->free_bytes() == 7 * vram_block);

    auto* after = map(); // leads to the new place already
    CHECK(after->front().bus != base);
    REQUIRE(attachment->unmap(handle->reservation().try_lock(), before));
    REQUIRE(writing->signal());
    CHECK((*moving)->is_signaled());
    CHECK(m.gpu->free_bytes() == 8 * vram_block);
    CHECK(m.holds(buffer, 1));
    REQUIRE(attachment->unmap(handle->reservation().try_lock(), after));
}

TEST_CASE("an importer that keeps its mapping beyond its fence does not keep the old place", "[unit][gpu][buffer]") {
    Machine m;
    const auto buffer = m.allocate(vram_block);
    const auto handle = m.exported(buffer);
    const auto attachment = m.attach(handle);
    const auto mapped = attachment->map(handle->reservation().try_lock());
    REQUIRE(mapped);

    const auto moving = m.gpu->migrate(buffer, Placement::system);
    REQUIRE(moving);
    CHECK((*moving)->is_signaled());

    CHECK(handle->mapping_count() == 1);
    CHECK(m.gpu->free_bytes() == 8 * vram_block); // another's, as on any machine
    REQUIRE(attachment->unmap(handle->reservation().try_lock(), *mapped));
}

TEST_CASE("two moves in a row keep the bytes, and a move to where it is is none", "[unit][gpu][buffer]") {
    Machine m;
    const auto buffer = m.allocate(2 * vram_block);
    m.fill(buffer, 9);

    REQUIRE(m.gpu->migrate(buffer, Placement::system));
    const auto back = m.gpu->migrate(buffer, Placement::vram);
    REQUIRE(back);
    CHECK(m.gpu->migrate(buffer, Placement::vram) == *back);

    CHECK(m.holds(buffer, 9));
    CHECK(m.gpu->moves() == 2);
}

TEST_CASE("a pinned buffer does not move", "[unit][gpu][buffer]") {
    Machine m;
    const auto buffer = m.allocate(vram_block);
    {
        const auto umem = UmemDmaBuf::get_pinned(m.hca, m.exported(buffer), {0, 1});
        REQUIRE(umem);
        check_refused(m.gpu->migrate(buffer, Placement::system), EBUSY, "pinned 1 times");
        check_refused(m.gpu->evict(buffer), EBUSY, "pinned");
    }
    CHECK(m.gpu->evict(buffer));
    CHECK(buffer.placement() == Placement::system);
}

TEST_CASE("a buffer let go in the middle of a move frees both places", "[unit][gpu][buffer]") {
    Machine m;
    std::optional buffer = m.allocate(2 * vram_block);
    auto moving = m.gpu->migrate(*buffer, Placement::system);
    REQUIRE(moving);
    CHECK_FALSE((*moving)->is_signaled());

    buffer.reset();
    CHECK(m.card.live_allocations() == 1); // the copy goes on for whoever waits
    moving = sw::failure(0, "");

    CHECK(m.card.live_allocations() == 0);
    CHECK(m.gpu->free_bytes() == 8 * vram_block);
}

TEST_CASE("a full VRAM evicts what was not used for longest and nobody pinned", "[unit][gpu][buffer]") {
    Machine m;
    const auto a = m.allocate(3 * vram_block), b = m.allocate(3 * vram_block), c = m.allocate(2 * vram_block);
    m.fill(c, 3);
    m.fill(b, 2);
    m.fill(a, 1); // of what is not pinned b was not used for longest
    const auto pinned = UmemDmaBuf::get_pinned(m.hca, m.exported(c), {0, 1});
    REQUIRE(pinned);

    const auto d = m.allocate(vram_block);

    CHECK(m.gpu->evictions() == 1);
    CHECK(b.placement() == Placement::system);
    CHECK(d.placement() == Placement::vram);
    CHECK((m.holds(a, 1) && m.holds(b, 2) && m.holds(c, 3)));
    check_refused(m.gpu->allocate(7 * vram_block), ENOMEM, "free"); // a goes too, c stays
    CHECK(a.placement() == Placement::system);
    CHECK(c.placement() == Placement::vram);
    check_refused(m.gpu->allocate(9 * vram_block), ENOMEM, "free");
}

TEST_CASE("an importer that does not reach VRAM gets system memory, and waits for the move", "[unit][gpu][buffer]") {
    Machine m;
    const auto buffer = m.allocate(vram_block);
    m.fill(buffer, 5);
    const auto handle = m.exported(buffer);
    const auto far = m.attach(handle, false);
    const auto lock = handle->reservation().try_lock();

    const auto list = far->map(lock);
    REQUIRE(list);

    CHECK(buffer.placement() == Placement::system);
    REQUIRE(handle->reservation().wait(m.hca, Usage::kernel));
    REQUIRE((*list)->size() == 1);
    const auto memory = m.card.at((**list)[0].bus, vram_block);
    CHECK(std::ranges::equal(memory, Machine::bytes(vram_block, 5)));
    CHECK(m.hca.mapped_peers.empty());
    CHECK(far->unmap(lock, *list));
}

TEST_CASE("a pin brings a buffer to where all its importers reach it, and conflicting pins are refused",
          "[unit][gpu][buffer]") {
    Machine m;
    const auto buffer = m.allocate(vram_block);
    const auto handle = m.exported(buffer);
    const auto near = m.attach(handle);
    REQUIRE(m.gpu->evict(buffer));
    auto lock = handle->reservation().try_lock();
    REQUIRE(near->pin(lock));
    CHECK(buffer.placement() == Placement::vram);
    lock.unlock();

    const auto far = m.attach(handle, false);
    lock = handle->reservation().try_lock();
    check_refused(far->pin(lock), EINVAL, "pinned in VRAM already");
    check_refused(far->map(lock), EBUSY, "where this importer does not reach");
    REQUIRE(near->unpin(lock));
    REQUIRE(far->pin(lock));

    CHECK(buffer.placement() == Placement::system);
    CHECK(far->unpin(lock));
    CHECK(buffer.pins() == 0);
    lock.unlock();
}

TEST_CASE("a physical list is given only of a pinned buffer that lies in VRAM", "[unit][gpu][buffer]") {
    Machine m({.block_bytes = 4096, .fragment_bytes = 4096});
    const auto buffer = m.allocate(2 * 4096);
    const auto handle = m.exported(buffer);
    constexpr MappingOffer pal{MappingType::physical_list};
    const auto iommu = m.attach(handle, false, {pal});
    CHECK(iommu->type() == MappingType::physical_list);
    {
        const auto lock = handle->reservation().try_lock();
        check_refused(iommu->map_physical(lock), EINVAL, "only of a pinned buffer");
        REQUIRE(iommu->pin(lock));
        const auto list = iommu->map_physical(lock);
        REQUIRE(list);
        CHECK(**list == PhysicalList{{base, 4096}, {base + 8 * vram_block - 4096, 4096}});
        REQUIRE(iommu->unmap_physical(lock, *list));
        REQUIRE(iommu->unpin(lock));
    }
    CHECK(m.hca.mapped_peers.empty());
    REQUIRE(m.gpu->evict(buffer));
    check_refused(handle->attach(m.hca, {.name = "IOMMU", .accepts = {pal}}), EINVAL, "no common mapping type");
}

TEST_CASE("a pinned buffer in system memory has no physical list", "[unit][gpu][buffer]") {
    Machine m;
    const auto buffer = m.allocate(vram_block);
    const auto handle = m.exported(buffer);
    const auto iommu = m.attach(handle, false, {{MappingType::physical_list}});
    REQUIRE(m.gpu->evict(buffer));
    const auto others = m.attach(handle, false);
    const auto lock = handle->reservation().try_lock();
    REQUIRE(others->pin(lock));

    check_refused(iommu->pin(lock), EINVAL, "pinned in system memory already");
    check_refused(iommu->map_physical(lock), EINVAL, "only of VRAM");

    CHECK(others->unpin(lock));
}

TEST_CASE("an export taken back stays so, and the buffer can be exported anew", "[unit][gpu][buffer]") {
    Machine m;
    const auto buffer = m.allocate(vram_block);
    m.fill(buffer, 4);
    const auto first = m.exported(buffer);
    auto locked = UmemDmaBuf::get_revocable(m.hca, first, {0, 0x1000});
    REQUIRE(locked);
    locked->lock.unlock();

    REQUIRE(m.gpu->revoke(buffer));

    CHECK(locked->umem->is_revoked());
    CHECK(m.hca.mapped_peers.empty());
    CHECK(buffer.pins() == 0);
    check_refused(UmemDmaBuf::get_pinned(m.hca, first, {0, 1}), ENODEV, "for good");
    CHECK(m.holds(buffer, 4));
    const auto second = m.exported(buffer);
    CHECK(second != first);
    CHECK(UmemDmaBuf::get_pinned(m.hca, second, {0, 1}));
    CHECK(m.gpu->revoke(m.allocate(1))); // never exported
}

TEST_CASE("a pin that brings the buffer back to VRAM is no revocation of who pins", "[unit][gpu][buffer]") {
    Machine m;
    const auto buffer = m.allocate(vram_block);
    m.fill(buffer, 6);
    REQUIRE(m.gpu->evict(buffer));

    auto locked = UmemDmaBuf::get_revocable(m.hca, m.exported(buffer), {0, 0x1000});
    REQUIRE(locked);

    CHECK(buffer.placement() == Placement::vram);
    CHECK_FALSE(locked->umem->is_revoked());
    CHECK(locked->umem->umem().ranges() == std::vector<BusRange>{{base, 0x1000}});
    CHECK(m.holds(buffer, 6));
    locked->lock.unlock();
}

TEST_CASE("a pinned importer that cannot be told keeps its buffer from being taken back", "[unit][gpu][buffer]") {
    Machine m;
    const auto buffer = m.allocate(vram_block);
    const auto umem = UmemDmaBuf::get_pinned(m.hca, m.exported(buffer), {0, 1});
    REQUIRE(umem);

    check_refused(m.gpu->revoke(buffer), EBUSY, "cannot be told");
    CHECK((*umem)->is_mapped());
}

TEST_CASE("an exporter that dies takes everything back, and its buffers answer ENODEV from then on",
          "[unit][gpu][buffer]") {
    Machine m;
    const auto buffer = m.allocate(vram_block), other = m.allocate(vram_block);
    auto handle = m.exported(buffer);
    auto locked = UmemDmaBuf::get_revocable(m.hca, handle, {0, 1});
    REQUIRE(locked);
    locked->lock.unlock();
    const auto moving = m.gpu->migrate(other, Placement::system);
    REQUIRE(moving);

    REQUIRE(m.gpu->close());

    CHECK(locked->umem->is_revoked());
    CHECK((*moving)->is_signaled());
    CHECK((*moving)->error() == ENODEV);
    CHECK(m.card.live_allocations() == 0);
    std::vector<std::byte> into(1);
    check_refused(m.gpu->allocate(1), ENODEV, "gone");
    check_refused(m.gpu->export_buffer(other), ENODEV, "gone");
    check_refused(m.gpu->migrate(other, Placement::vram), ENODEV, "gone");
    check_refused(m.gpu->download(buffer, 0, into), ENODEV, "gone");
    check_refused(UmemDmaBuf::get_pinned(m.hca, handle, {0, 1}), ENODEV, "for good");
    m.gpu.reset();
    locked->umem.reset(); // the importer comes to its end after the exporter
    handle.reset();
}

TEST_CASE("an exporter that dies under an importer that cannot be told keeps that memory", "[unit][gpu][buffer]") {
    Machine m;
    auto umem = [&] {
        const auto buffer = m.allocate(vram_block);
        REQUIRE(m.gpu->evict(buffer));
        const auto handle = m.exported(buffer);
        const auto far = m.attach(handle, false);
        return UmemDmaBuf::get_pinned(m.hca, handle, {0, 1});
    }();
    REQUIRE(umem);
    const auto kept = m.card.live_allocations();

    check_refused(m.gpu->close(), EBUSY, "its memory must stay");

    CHECK(m.card.live_allocations() == kept);
    umem = sw::failure(0, "");
    CHECK(m.card.live_allocations() == 0);
}
