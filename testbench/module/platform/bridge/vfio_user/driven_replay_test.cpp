// Sessions of drivers elsewhere, recorded where the cards are: what stands in the recording is all that the cards need
// to do the same again, whatever became of the drivers.
#include "testbench/module/platform/bridge/vfio_user/driven.h"

#include "testbench/harness/recorded_platform.h"

using namespace driven;

namespace {

/// What differs; of the GPUs, which nobody uses here, that nobody does.
void check_replays(harness::RecordedPlatform& recorded) {
    CHECK(recorded.play_all() == "A.root.switch.gpu was never called\nB.root.switch.gpu was never called\n");
}

} // namespace

TEST_CASE("cards play the sessions of their drivers again, one after another", "[module][vfio_user][record]") {
    harness::RecordedPlatform recorded(untimed());
    Bench bench(&recorded.recording);
    for (unsigned i = 0; i < 2; ++i)
        check(bench.drive([&]() -> Result<void> {
            Pair pair;
            TRY(pair.open(bench));
            TRY(pair.move());
            TRY(pair.a.close());
            return pair.b.close();
        }));

    check_replays(recorded);
}

TEST_CASE("cards play again that a driver was killed while it sent, and what the next one found",
          "[module][vfio_user][record]") {
    harness::RecordedPlatform recorded(untimed());
    Bench bench(&recorded.recording);
    check(bench.drive([&]() -> Result<void> {
        Pair pair;
        TRY(pair.open(bench));
        TRY(pair.a.post(pair.b, 64));
        pair.a.cable.cut();
        return pair.b.close();
    }));
    check(bench.drive([&]() -> Result<void> {
        Pair next;
        TRY(next.open(bench));
        TRY(next.move());
        TRY(next.a.close());
        return next.b.close();
    }));

    check_replays(recorded);
}

TEST_CASE("cards play again that one was reset while it sent", "[module][vfio_user][record]") {
    harness::RecordedPlatform recorded(untimed());
    Bench bench(&recorded.recording);
    check(bench.drive([&]() -> Result<void> {
        Pair pair;
        TRY(pair.open(bench));
        TRY(pair.a.post(pair.b, 64));
        TRY(pair.a.transport->reset());
        return pair.b.close();
    }));

    check_replays(recorded);
}
