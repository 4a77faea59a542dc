// Regions of dma-bufs in both modes, and the driver's queue for UMRs (PRM "UMR work request"), byte for byte.
#include "sw/mlx/memory/umr.h"
#include "sw/mlx/verbs.h"
#include "testbench/unit/sw/memory/dmabuf_bench.h"
#include "testbench/unit/sw/mlx/fake_hca.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <utility>

using namespace sw::mlx;
using abi::Iova;
using testbench::be32;
using testbench::be64;
using testbench::Bytes;
using testbench::check_refused;
using testbench::FakeHca;
using testbench::ScriptedExporter;

namespace {

constexpr std::uint16_t create_mkey = 0x200, destroy_mkey = 0x202, create_qp = 0x500, destroy_qp = 0x501,
                        to_reset = 0x50a;

/// A device that carries out UMRs: keeps their bytes and completes them when the driver waits.
struct Rig {
    FakeHca hca;
    ScriptedExporter exporter; ///< its `device` is not used: the HCA maps
    std::unique_ptr<Context> context;
    abi::Pd pd{};
    std::vector<Bytes> umrs;
    unsigned next_syndrome = 0;          ///< of the next UMR; 0: success
    std::function<void()> before_done{}; ///< a UMR is about to complete

    Rig() {
        context = *Context::open(hca.transport);
        pd = *context->alloc_pd();
        const auto inner = hca.transport.on_relax;
        hca.transport.on_relax = [this, inner] {
            inner();
            serve();
        };
    }
    ~Rig() { CHECK(hca.complaints.empty()); }

    void serve() {
        for (const auto& [offset, bytes] : std::exchange(hca.doorbells, {})) {
            if (bytes.size() < 8 || (be32(bytes, 0) & 0xff) != 0x25)
                continue;
            const auto index = be32(bytes, 0) >> 8 & 0xffff;
            const auto qpn = be32(bytes, 4) >> 8;
            const auto ring = hca.transport.at(be64(hca.last(create_qp)->in, 0x110), 4096);
            const auto wqe = ring.subspan(index * 64 % ring.size(), 128);
            umrs.emplace_back(wqe.begin(), wqe.end());
            if (before_done)
                std::exchange(before_done, {})();
            const auto syndrome = std::exchange(next_syndrome, 0);
            hca.post_completion(hca.cqs.rbegin()->first, [&](std::span<std::byte> cqe) {
                testbench::put32(cqe, 0x38, 0x25u << 24 | qpn);
                testbench::put32(cqe, 0x3c, index << 16 | (syndrome ? 0xdu << 4 : 0));
                if (syndrome)
                    testbench::put32(cqe, 0x34, syndrome);
            });
            if (syndrome != 0) // the queue pair is in error now
                next_syndrome = 5;
        }
        if (hca.last(to_reset))
            next_syndrome = 0;
    }
    sw::Result<MemoryRegion> reg(std::uint64_t offset, std::uint64_t length, DmaBufMode mode,
                                 std::optional<Iova> iova = {}) {
        return context->reg_dmabuf_mr(
            pd, exporter.buffer, offset, length,
            {.access = Access::local_write | Access::remote_write, .iova = iova, .mode = mode});
    }
    MemoryRegion must(DmaBufMode mode) {
        auto region = reg(0x3000, 0x2000, mode);
        REQUIRE(region);
        return std::move(*region);
    }
    std::ptrdiff_t count(std::uint16_t opcode) const { return std::ranges::count(hca.opcodes(), opcode); }
};

} // namespace

TEST_CASE("a revocable region's key takes UMRs, and the queue for them is there before it", "[unit][mlx][umr]") {
    Rig rig;

    const auto region = rig.must(DmaBufMode::revocable);

    const auto mkc = std::span(rig.hca.last(create_mkey)->in).subspan(0x10, 0x40);
    CHECK(be32(mkc, 0) == 0xad00);                                    // MTT; umr_en; local read and write, remote write
    CHECK(be64(rig.hca.last(create_mkey)->in, 0x110) == 0x1000'2000); // 8 KiB pages: the part begins inside one
    CHECK(be64(rig.hca.last(create_mkey)->in, 0x118) == 0x2000'0000);
    CHECK((be32(std::span(rig.hca.last(create_qp)->in).subspan(0x18), 0) >> 16 & 0xff) == 0xc); // REG_UMR
    CHECK(rig.exporter.pins == 1);
    CHECK_FALSE(rig.exporter.buffer->reservation().is_locked());
    CHECK(rig.umrs.empty());
}

TEST_CASE("a revocation sets the key free by a UMR while the memory is still mapped, and returns when that is done",
          "[unit][mlx][umr]") {
    Rig rig;
    auto region = rig.must(DmaBufMode::revocable);
    const auto destroyed = rig.count(destroy_mkey);
    bool was_mapped = false;
    rig.before_done = [&] { was_mapped = rig.exporter.unmapped.empty() && rig.exporter.pins == 1; };

    REQUIRE(rig.exporter.buffer->revoke(rig.hca.transport));

    CHECK(was_mapped);
    REQUIRE(rig.umrs.size() == 1);
    const auto& wqe = rig.umrs[0];
    CHECK((be32(wqe, 0x04) & 0x3f) == 8); // 128 bytes
    CHECK(be32(wqe, 0x08) == 0x28);       // fence: small; completion: always
    CHECK(be32(wqe, 0x0c) == region.rkey());
    CHECK(be32(wqe, 0x10) == 0x8000'0000);              // inline, no translations
    CHECK(be64(wqe, 0x18) == (1ull << 29 | 1ull << 7)); // free and PD
    CHECK((be32(wqe, 0x40) & 1u << 30) != 0);           // free
    CHECK((be32(wqe, 0x44)) == (0xffffff00u | region.key().variant()));
    CHECK(rig.exporter.unmapped == testbench::given_once);
    CHECK(rig.exporter.pins == 0);
    CHECK(region.is_revoked());
    CHECK(rig.count(destroy_mkey) == destroyed); // the number stays taken
    check_refused(rig.reg(0, 1, DmaBufMode::revocable), ENODEV, "for good");

    REQUIRE(region.destroy());
    CHECK(rig.count(destroy_mkey) == destroyed + 1);
    CHECK(rig.umrs.size() == 1);
    CHECK(rig.exporter.attached == 0);
}

TEST_CASE("a region that goes first needs no UMR", "[unit][mlx][umr]") {
    Rig rig;
    {
        const auto region = rig.must(DmaBufMode::revocable);
    }
    CHECK(rig.umrs.empty());
    CHECK(rig.exporter.pins == 0);
    CHECK(rig.exporter.unmapped == testbench::given_once);
    CHECK(rig.exporter.buffer->revoke(rig.hca.transport));
}

TEST_CASE("a region may have been moved when its memory is taken back", "[unit][mlx][umr]") {
    Rig rig;
    auto first = rig.must(DmaBufMode::revocable);
    auto second = std::move(first);

    REQUIRE(rig.exporter.buffer->revoke(rig.hca.transport));

    CHECK(second.is_revoked());
    CHECK_FALSE(first.is_revoked());
    CHECK(be32(rig.umrs.at(0), 0x0c) == second.rkey());
}

TEST_CASE("all regions of a buffer lose their keys, those of others do not", "[unit][mlx][umr]") {
    Rig rig;
    const auto a = rig.must(DmaBufMode::revocable), b = rig.must(DmaBufMode::revocable);
    ScriptedExporter other;
    const auto c = rig.context->reg_dmabuf_mr(rig.pd, other.buffer, 0, 1, {.mode = DmaBufMode::revocable});
    REQUIRE(c);

    REQUIRE(rig.exporter.buffer->revoke(rig.hca.transport));

    REQUIRE(rig.umrs.size() == 2);
    CHECK(be32(rig.umrs[0], 0x0c) == a.rkey());
    CHECK(be32(rig.umrs[1], 0x0c) == b.rkey());
    CHECK_FALSE(c->is_revoked());
}

TEST_CASE("a pinned region is not taken back, and pins end with it", "[unit][mlx][umr]") {
    Rig rig;
    {
        const auto region = rig.must(DmaBufMode::pinned);
        check_refused(rig.exporter.buffer->revoke(rig.hca.transport), EBUSY, "cannot be told");
        CHECK_FALSE(region.is_revoked());
        CHECK(rig.umrs.empty());
    }
    CHECK(rig.exporter.pins == 0);
    CHECK(rig.exporter.unmapped.size() == 1);
    CHECK(rig.count(create_qp) == 0); // nobody asked for the queue
}

TEST_CASE("a UMR that fails leaves the memory with the HCA, tells the exporter, and the queue starts anew",
          "[unit][mlx][umr]") {
    Rig rig;
    auto region = rig.must(DmaBufMode::revocable);
    rig.next_syndrome = 6; // memory window bind error

    check_refused(rig.exporter.buffer->revoke(rig.hca.transport), EBUSY, "its memory must stay");

    CHECK(rig.exporter.unmapped.empty());
    CHECK(rig.umrs.size() == 2); // the second one is the barrier, which comes back flushed
    CHECK(rig.count(to_reset) == 1);
    const auto queue = rig.context->device().umr();
    REQUIRE(queue);
    CHECK((*queue)->recoveries() == 1);
    CHECK((*queue)->queue_pair().state() == abi::prm::QpState::rts);
    REQUIRE(region.destroy()); // now nobody reaches it
    CHECK(rig.exporter.unmapped == testbench::given_once);
}

TEST_CASE("rights and protection domain of a key change by a UMR that refuses a free key", "[unit][mlx][umr]") {
    Rig rig;
    for (const auto mode : {DmaBufMode::pinned, DmaBufMode::revocable}) {
        auto region = rig.must(mode);
        const auto key = region.rkey();

        REQUIRE(region.rereg_access(abi::Pd{0x77}, Access::local_write | Access::remote_read));

        const auto& wqe = rig.umrs.back();
        CHECK(be32(wqe, 0x0c) == key);
        CHECK(be32(wqe, 0x10) == 0xc000'0000);                            // inline, check free
        CHECK((be64(wqe, 0x18) & 0x3fffff) == (0x1full << 17 | 1u << 7)); // lr, lw, rr, rw, a, PD
        CHECK((be32(wqe, 0x40) & 0x7c00) == 0x1c00);                      // local read and write, remote read
        CHECK(be32(wqe, 0x4c) == 0x77);
        CHECK(region.rkey() == key);
        check_refused(region.rereg_access(rig.pd, Access::remote_write), EINVAL, "without local write");
    }
}

TEST_CASE("a key without umr_en keeps its rights, and a revoked one has none to change", "[unit][mlx][umr]") {
    Rig rig;
    auto fixed = rig.context->reg_vram_mr(rig.pd, rig.exporter.buffer, 0, 0x1000, {});
    REQUIRE(fixed);
    check_refused(fixed->rereg_access(rig.pd, Access::local_write), EOPNOTSUPP, "umr_en");
    REQUIRE(fixed->destroy());
    check_refused(fixed->rereg_access(rig.pd, Access::local_write), EINVAL, "deregistered");

    auto region = rig.must(DmaBufMode::revocable);
    REQUIRE(rig.exporter.buffer->revoke(rig.hca.transport));
    check_refused(region.rereg_access(rig.pd, Access::local_write), EINVAL, "revoked");
}

TEST_CASE("a region is not deregistered while another thread is inside it", "[unit][mlx][umr]") {
    Rig rig;
    auto region = rig.must(DmaBufMode::pinned);
    sw::Result<void> deregistered, reregistered;
    rig.before_done = [&] {
        deregistered = region.destroy();
        reregistered = region.rereg_access(rig.pd, Access::local_write);
    };

    REQUIRE(region.rereg_access(rig.pd, Access::local_write));

    check_refused(deregistered, EBUSY, "another thread");
    check_refused(reregistered, EBUSY, "another thread");
    CHECK(region.destroy());
}

TEST_CASE("other memory is a new key, and the old one goes when the new one is there", "[unit][mlx][umr]") {
    Rig rig;
    ScriptedExporter other, third;
    auto region = rig.must(DmaBufMode::revocable);
    const auto before = region.rkey();
    rig.hca.refusals[create_mkey] = {0x8, 0x55};
    const RegionOptions options{.mode = DmaBufMode::revocable};
    check_refused(region.rereg_export(other.buffer, 0, 0x1000, options), ENOMEM, "CREATE_MKEY");
    CHECK(region.rkey() == before);
    CHECK(other.pins == 0);
    rig.hca.refusals.clear();

    REQUIRE(region.rereg_export(other.buffer, 0, 0x1000, options));

    CHECK(region.rkey() != before);
    CHECK(region.length() == 0x1000);
    CHECK((be32(rig.hca.last(destroy_mkey)->in, 8) & 0xffffff) == before >> 8);
    CHECK(rig.exporter.attached == 0);
    CHECK(other.pins == 1);
    REQUIRE(other.buffer->revoke(rig.hca.transport));
    CHECK(region.is_revoked());
    REQUIRE(region.rereg_export(third.buffer, 0, 0x1000, options)); // what was taken back can be replaced
    CHECK_FALSE(region.is_revoked());
}

TEST_CASE("a registration that makes no sense is refused, and leaves nothing", "[unit][mlx][umr]") {
    Rig rig;
    sw::memory::Descriptors descriptors;
    const auto number = descriptors.install(rig.exporter.buffer);
    REQUIRE(number);
    for (const auto mode : {DmaBufMode::pinned, DmaBufMode::revocable}) {
        check_refused(rig.reg(0, 0x10001, mode), EINVAL, "leaves a buffer");
        check_refused(rig.reg(0x1000, ~std::uint64_t{0}, mode), EINVAL, "wrap around");
        check_refused(rig.reg(0, 0, mode), EINVAL, "empty");
        check_refused(rig.reg(0x1010, 0x100, mode, Iova{0x7000'0000}), EINVAL, "differ within a page");
        check_refused(rig.context->reg_dmabuf_mr(rig.pd, descriptors, 17, 0, 1, {.mode = mode}), EBADF,
                      "17 is not open");
        CHECK(rig.context->reg_dmabuf_mr(rig.pd, descriptors, *number, 0x1010, 1,
                                         {.iova = Iova{0x7000'0010}, .mode = mode}));
        rig.hca.refusals[create_mkey] = {0x8, 0x55};
        check_refused(rig.reg(0, 1, mode), ENOMEM, "CREATE_MKEY");
        rig.hca.refusals.clear();
    }
    CHECK(rig.exporter.pins == 0);
    CHECK(rig.exporter.attached == 0);
    CHECK(rig.context->device().iova_space().used_ranges() == 0);
    CHECK_FALSE(rig.exporter.buffer->reservation().is_locked());
}

TEST_CASE("the queue for UMRs goes with the device, or earlier, and is made again", "[unit][mlx][umr]") {
    Rig rig;
    {
        const auto region = rig.must(DmaBufMode::revocable);
    }
    REQUIRE(rig.context->device().drop_umr());
    CHECK(rig.count(destroy_qp) == 1);
    REQUIRE(rig.context->device().drop_umr());
    REQUIRE(rig.context->device().umr());
    CHECK(rig.count(create_qp) == 2);

    REQUIRE(rig.context->close());

    CHECK(rig.count(destroy_qp) == 2);
    CHECK(rig.hca.cqs.empty());
}
