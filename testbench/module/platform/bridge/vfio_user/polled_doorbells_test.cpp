// Doorbells that nobody is told of: a client that has mapped UAR pages rings in plain memory, and the card hears it.
#include "testbench/module/platform/bridge/vfio_user/driven.h"

#include "abi/prm/uar_pd.h"
#include "abi/prm/user_context.h"
#include "sw/mlx/command/command.h"
#include "testbench/harness/recorded_platform.h"

using namespace driven;

namespace {

platform::topology::Config polled() {
    auto config = untimed();
    config.hca.polled_doorbells = true;
    return config;
}

/// Both HCAs are polled.
struct PolledBench : Bench {
    explicit PolledBench(platform::record::Recording* recording = nullptr) : Bench(recording, polled()) {
        constexpr std::uint64_t page = 4096;
        for (const unsigned i : {0u, 1u}) {
            const auto& config = hca(i).hca().config();
            const auto watch = function(i).poll_doorbells({.bar = 0,
                                                           .doorbells = config.first_uar * page,
                                                           .begin = config.first_polled_uar() * page,
                                                           .end = config.uar_pages * page});
            REQUIRE(watch.has_value());
            hca(i).hca().set_doorbell_watch(*watch);
        }
        on_pump = [this](bridge::Pump& started) {
            started.poll = [this] {
                const bool a = is_looking && function(0).poll(), b = is_looking && function(1).poll();
                return a || b;
            };
            started.is_polling = [] { return true; };
        };
    }
    bridge::FunctionPort& function(unsigned i) { return platform.machine(i == 0 ? "A" : "B").guest->function(0); }
    bool is_looking = true; ///< at the records, between two messages
};

/// A side whose queue pair is rung by a page of a user context.
struct UserSide : Side {
    std::optional<mlx::Uar> uar;

    Result<void> open(const std::string& path) {
        using namespace abi::prm;
        TRY(Side::open(path));
        auto& commands = context->device().commands();
        const auto user = mlx::run<CreateUctxOut>(commands, mlx::Input<CreateUctxIn>(Opcode::create_uctx));
        TRY(user);
        mlx::Input<AllocUarIn> in(Opcode::alloc_uar);
        abi::View<CommandIn>(in.view().bytes()).set<"uid">(user->get<"uid">());
        const auto page = mlx::run<AllocUarOut>(commands, in);
        TRY(page);
        uar.emplace(*transport, 0, page->get<"uar">(), 1u << log_bf_reg_size);
        qp.reset();
        auto made =
            context->create_qp({.pd = pd, .send_cq = cq.get(), .receive_cq = cq.get(), .max_send = 64, .uar = &*uar});
        TRY(made);
        qp = std::move(*made);
        return {};
    }
};

struct UserPair {
    UserSide a;
    Side b;

    Result<void> open(const Bench& bench) {
        TRY(a.open(bench.path("hostA.hca")));
        TRY(b.open(bench.path("hostB.hca")));
        TRY(a.context->connect(*a.qp, b.peer(), abi::Psn{0}));
        return b.context->connect(*b.qp, a.peer(), abi::Psn{0});
    }
    /// WRITEs of 8 bytes from A into B, each with a doorbell.
    Result<void> post(unsigned count) {
        for (unsigned i = 0; i < count; ++i) {
            const std::uint64_t offset = i * 8;
            mlx::Sge sge{.address = a.region->iova().value + offset, .length = 8, .lkey = a.region->lkey()};
            mlx::SendRequest request{.wr_id = i,
                                     .sge = &sge,
                                     .sge_count = 1,
                                     .operation = mlx::SendOperation::write,
                                     .flags = mlx::send_flag::signaled,
                                     .rkey = b.region->rkey(),
                                     .remote_address = b.region->iova().value + offset};
            TRY(a.qp->post_send(&request));
        }
        return {};
    }
    std::span<const std::byte> arrived(unsigned count) const { return b.memory.bytes().first(count * 8); }
    Result<void> close() {
        TRY(a.close());
        return b.close();
    }
};

bool are_all(std::span<const std::byte> bytes, std::byte value) {
    return std::ranges::all_of(bytes, [=](std::byte x) { return x == value; });
}

} // namespace

TEST_CASE("what is rung in memory is done, and no store comes for it", "[module][vfio_user][polled]") {
    PolledBench bench;
    std::uint64_t found = 0, stores_before = 0, stores_after = 0;
    const auto outcome = bench.drive([&]() -> Result<void> {
        UserPair pair;
        TRY(pair.open(bench));
        stores_before = bench.function(0).doorbell_stores();
        std::ranges::fill(pair.a.memory.bytes(), std::byte{0x77});
        TRY(pair.post(32));
        for (unsigned i = 0; i < 32; ++i)
            if (const auto done = pair.a.wait(); !done || done->status != mlx::CompletionStatus::success)
                return sw::failure(EIO, "a WRITE did not complete");
        stores_after = bench.function(0).doorbell_stores();
        found = bench.function(0).poller().found();
        if (!are_all(pair.arrived(32), std::byte{0x77}))
            return sw::failure(EIO, "the bytes did not arrive");
        return pair.close();
    });
    check(outcome);
    CHECK(found >= 1);
    CHECK(found <= 32);
    CHECK(stores_after == stores_before);
    CHECK_FALSE(bench.function(0).poller().is_on()); // whose client has gone
    CHECK(bench.function(1).poller().found() == 0);
}

TEST_CASE("a command finds what was rung before it, though nobody has looked since", "[module][vfio_user][polled]") {
    PolledBench bench;
    bench.is_looking = false;
    bool has_arrived = false;
    const auto outcome = bench.drive([&]() -> Result<void> {
        UserPair pair;
        TRY(pair.open(bench));
        std::ranges::fill(pair.a.memory.bytes(), std::byte{0x66});
        TRY(pair.post(4));
        TRY(pair.a.qp->modify(abi::prm::QpState::err)); // the command's own doorbell is a store
        for (const auto deadline = pair.a.transport->now() + 10s; pair.a.transport->now() < deadline && !has_arrived;)
            has_arrived = are_all(pair.arrived(4), std::byte{0x66});
        return pair.close();
    });
    check(outcome);
    CHECK(has_arrived);
}

TEST_CASE("a client that is killed with a doorbell in memory leaves nothing to the next one",
          "[module][vfio_user][polled]") {
    PolledBench bench;
    for (unsigned i = 0; i < 2; ++i) {
        check(bench.drive([&]() -> Result<void> {
            UserPair pair;
            TRY(pair.open(bench));
            TRY(pair.post(1));
            pair.a.cable.cut(); // with a doorbell that may not be seen
            return pair.b.close();
        }));
        check(bench.drive([&]() -> Result<void> {
            Pair pair;
            TRY(pair.open(bench));
            TRY(pair.move());
            TRY(pair.a.close());
            return pair.b.close();
        }));
        CHECK(bench.function(0).poller().count() == 0);
    }
    CHECK(bench.held(0) == 0);
    CHECK(bench.held(1) == 0);
}

TEST_CASE("cards play a session again whose doorbells were found in memory", "[module][vfio_user][polled][record]") {
    harness::RecordedPlatform recorded(polled());
    PolledBench bench(&recorded.recording);
    check(bench.drive([&]() -> Result<void> {
        UserPair pair;
        TRY(pair.open(bench));
        for (unsigned round = 0; round < 4; ++round) {
            TRY(pair.post(16));
            for (unsigned i = 0; i < 16; ++i)
                if (const auto done = pair.a.wait(); !done || done->status != mlx::CompletionStatus::success)
                    return sw::failure(EIO, "a WRITE did not complete");
        }
        return pair.close();
    }));
    CHECK(bench.function(0).poller().found() >= 4);
    CHECK(recorded.play_all() == "A.root.switch.gpu was never called\nB.root.switch.gpu was never called\n");
}
