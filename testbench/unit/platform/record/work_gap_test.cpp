// Messages between the first ones of a send queue and the last ones are left out, and what numbers the later ones
// follows.
#include "platform/record/renumber.h"

#include "abi/prm/cqe.h"
#include "abi/prm/doorbell.h"
#include "abi/prm/wqe.h"
#include "model/wire/parser.h"
#include "testbench/unit/platform/record/hca_session.h"
#include "traces/tool/decoder.h"

#include <algorithm>
#include <map>

using namespace hca_session;
using traces::tool::What;

namespace {

struct Session {
    static constexpr unsigned messages = 150;
    trace_bench::Bytes bytes = recorded(configured(true), messages, 3000);
    RecordStore store{trace_bench::read_all(bytes).head, std::array{0u, 1u}};
    std::map<What, std::vector<std::size_t>> positions; ///< of records, by what they are
    std::vector<std::size_t> requests, answers;         ///< frames, sent and received
    Session() {
        trace_bench::MemorySource source(bytes);
        codec::Reader reader(source);
        REQUIRE(reader.open());
        traces::tool::Decoder decoder(reader.head());
        for (auto record = reader.next(); record && *record != nullptr; record = reader.next()) {
            const auto what = decoder.take(**record).what();
            if (!store.add(**record))
                continue;
            positions[what].push_back(store.entries().size() - 1);
            if (what == What::frame)
                ((*record)->mark.direction == codec::Direction::outbound ? requests : answers)
                    .push_back(store.entries().size() - 1);
        }
    }
    std::span<const std::byte> head(std::size_t at) const { return store.head_of(store.entries()[at]); }
    std::span<const std::byte> payload(std::size_t at) const { return store.payload_of(store.entries()[at]); }
};

/// As it is in the shorter life.
RecordStore::Edited now(const Session& session, const Renumbering& renumbering, std::size_t at) {
    if (auto edited = renumbering.edited(at))
        return *edited;
    const auto head = session.head(at), payload = session.payload(at);
    return {{head.begin(), head.end()}, {payload.begin(), payload.end()}};
}
/// Of a frame, which is a good one.
model::port::RdmaHeaders headers(std::span<const std::byte> frame) {
    model::port::Packet packet;
    REQUIRE(model::wire::parse(frame, Encapsulation::roce_v2_ipv4, packet));
    return packet.rdma();
}

} // namespace

TEST_CASE("a gap begins at a message whose WQE lies where that of the message behind it does", "[unit][record]") {
    const Session session;
    Renumbering renumbering(session.store);

    const auto gaps = renumbering.work().before(session.store.entries().size(), 3);

    REQUIRE(gaps.size() == 3);
    for (const auto& gap : gaps) {
        CHECK(gap.begin < gap.end);
        CHECK((gap.end - gap.begin) % 64 == 0);
        CHECK(gap.behind < gap.upto);
    }
    CHECK(gaps[0].upto > gaps[1].upto);
    CHECK(renumbering.work().before(gaps[2].upto, 3).front().upto < gaps[2].upto);
}

TEST_CASE("behind a gap, WQEs, doorbells, completions and frames have the numbers of those that are left out",
          "[unit][record]") {
    const Session session;
    Renumbering renumbering(session.store);
    const auto gap = renumbering.work().before(session.store.entries().size(), 20).back();
    renumbering.work().choose(gap);
    renumbering.choose([](std::size_t) { return true; });

    const auto first_behind = [&](const std::vector<std::size_t>& of) {
        return *std::ranges::find_if(of, [&](std::size_t at) { return at >= gap.upto; });
    };
    const auto& doorbells = session.positions.at(What::send_doorbell);
    const auto begin = *std::ranges::find_if(doorbells, [&](std::size_t at) { return at > gap.behind; });
    const auto first_in = [&](const std::vector<std::size_t>& of) {
        return *std::ranges::find_if(of, [&](std::size_t at) { return at >= begin; });
    };
    const auto wqe_now = now(session, renumbering, first_behind(session.positions.at(What::send_wqe)));
    const abi::ConstView<abi::prm::WqeCtrl> wqe(wqe_now.payload),
        old_wqe(session.payload(first_in(session.positions.at(What::send_wqe))));
    CHECK(wqe.get<"wqe_index">() == old_wqe.get<"wqe_index">());
    const auto doorbell = now(session, renumbering, gap.upto);
    CHECK(abi::ConstView<abi::prm::SendDoorbell>(doorbell.payload).get<"wqe_index">() == wqe.get<"wqe_index">());

    const auto cqe_at = first_behind(session.positions.at(What::cqe));
    const auto cqe = now(session, renumbering, cqe_at);
    CHECK(abi::ConstView<abi::prm::Cqe64>(cqe.payload).get<"wqe_counter">() == wqe.get<"wqe_index">());
    CHECK(abi::ConstView<abi::prm::Cqe64>(cqe.payload).get<"signature">() == abi::prm::cqe_signature(cqe.payload));

    const auto request = headers(now(session, renumbering, first_behind(session.requests)).head);
    const auto old_request = headers(session.head(first_in(session.requests)));
    CHECK(request.psn == old_request.psn);
    const auto answer = headers(now(session, renumbering, first_behind(session.answers)).head);
    const auto old_answer = headers(session.head(first_in(session.answers)));
    CHECK(answer.psn == old_answer.psn);
    CHECK(answer.aeth.msn == old_answer.aeth.msn);

    CHECK(renumbering.is_gone(first_in(session.requests)));
    CHECK_FALSE(renumbering.is_gone(first_behind(session.requests)));
    CHECK(renumbering.work().is_answer_to_gone(first_in(session.answers)));
}
