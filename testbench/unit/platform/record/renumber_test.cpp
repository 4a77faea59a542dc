// Where calls are left out, entries of queues move up, and what software says of them follows.
#include "platform/record/renumber.h"

#include "abi/prm/cqe.h"
#include "abi/prm/doorbell.h"
#include "testbench/unit/platform/record/hca_session.h"
#include "traces/tool/decoder.h"

#include <algorithm>
#include <map>

using namespace hca_session;
using traces::tool::What;

namespace {

/// A session that goes round its completion queue several times; all of one device.
struct Session {
    trace_bench::Bytes bytes;
    RecordStore store;
    std::map<What, std::vector<std::size_t>> positions; ///< of records, by what they are

    static constexpr unsigned messages = 200;
    static trace_bench::Story read(const trace_bench::Bytes& bytes) { return trace_bench::read_all(bytes); }
    Session() : bytes(recorded(configured(true), messages)), store(read(bytes).head, std::array{0u, 1u}) {
        trace_bench::MemorySource source(bytes);
        codec::Reader reader(source);
        REQUIRE(reader.open());
        traces::tool::Decoder decoder(reader.head());
        for (auto record = reader.next(); record && *record != nullptr; record = reader.next()) {
            const auto what = decoder.take(**record).what();
            if (store.add(**record))
                positions[what].push_back(store.entries().size() - 1);
        }
    }
    std::span<const std::byte> head(std::size_t at) const { return store.head_of(store.entries()[at]); }
    std::span<const std::byte> payload(std::size_t at) const { return store.payload_of(store.entries()[at]); }
};

} // namespace

TEST_CASE("completions behind one that is left out move into its place, with the owner of that place",
          "[unit][record]") {
    const Session session;
    const auto& completions = session.positions.at(What::cqe);
    constexpr std::size_t gone = 3;
    Renumbering renumbering(session.store);

    renumbering.choose([&](std::size_t at) { return at != completions[gone]; });

    CHECK_FALSE(renumbering.edited(completions[gone - 1]));
    bool has_other_owner = false;
    for (auto i = gone + 1; i < completions.size(); ++i) {
        const auto edited = renumbering.edited(completions[i]);
        REQUIRE(edited);
        CHECK(std::ranges::equal(edited->head, session.head(completions[i - 1])));
        const abi::ConstView<abi::prm::Cqe64> now(edited->payload), was(session.payload(completions[i])),
            there(session.payload(completions[i - 1]));
        CHECK(now.get<"owner">() == there.get<"owner">());
        CHECK(now.get<"wqe_counter">() == was.get<"wqe_counter">());
        CHECK(now.get<"signature">() == abi::prm::cqe_signature(edited->payload));
        has_other_owner |= now.get<"owner">() != was.get<"owner">();
    }
    CHECK(has_other_owner);
}

TEST_CASE("software has read fewer events where some are left out", "[unit][record]") {
    const Session session;
    const auto& events = session.positions.at(What::eqe);
    const auto& doorbells = session.positions.at(What::eq_doorbell);
    const auto index = [](std::span<const std::byte> bytes) {
        return abi::ConstView<abi::prm::EqDoorbell>(bytes).get<"ci">();
    };
    Renumbering renumbering(session.store);

    renumbering.choose([&](std::size_t at) { return at != events[0]; });

    std::size_t fewer = 0;
    for (const auto at : doorbells) {
        const auto edited = renumbering.edited(at);
        if (!edited)
            continue;
        ++fewer;
        CHECK(std::ranges::equal(edited->head, session.head(at)));
        CHECK(index(edited->payload) + 1 == index(session.payload(at)));
    }
    CHECK(fewer > 2);
    CHECK(fewer < doorbells.size()); // those of before, and of other queues
}
