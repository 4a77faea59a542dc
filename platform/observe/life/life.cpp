#include "platform/observe/life/life.h"

#include "abi/prm/wqe.h"

#include <algorithm>

namespace platform::observe::life {
namespace {

using namespace traces;
using Side = Life::Side;

enum StageNumber : std::size_t {
    doorbell,
    turn,
    fetched,
    translated,
    read,
    sent,
    received,
    accepted,
    translated_remote,
    written,
    acknowledged,
    completed,
    event_written,
    interrupt,
};

constexpr std::array table{
    Life::Stage{"hca/doorbell", Side::requester, event_type<DoorbellRung>},
    Life::Stage{"hca/queue", Side::requester, event_type<QueueScheduled>},
    Life::Stage{"hca/queue", Side::requester, event_type<WqeFetched>},
    Life::Stage{"hca/tpt", Side::requester, event_type<Translated>},
    Life::Stage{"port/dma", Side::requester, event_type<DmaRead>},
    Life::Stage{"wire", Side::requester, event_type<PacketSent>},
    Life::Stage{"wire", Side::responder, event_type<PacketReceived>},
    Life::Stage{"hca/responder", Side::responder, event_type<Accepted>},
    Life::Stage{"hca/tpt", Side::responder, event_type<Translated>},
    Life::Stage{"port/dma", Side::responder, event_type<DmaWritten>},
    Life::Stage{"hca/requester", Side::requester, event_type<Acknowledged>},
    Life::Stage{"hca/completion", Side::requester, event_type<CompletionWritten>},
    Life::Stage{"hca/event", Side::requester, event_type<EventWritten>},
    Life::Stage{"hca/event", Side::requester, event_type<InterruptRaised>},
};

bool is_write(const WqeFetched& e) {
    return e.opcode == static_cast<std::uint8_t>(abi::prm::WqeOpcode::rdma_write) ||
           e.opcode == static_cast<std::uint8_t>(abi::prm::WqeOpcode::rdma_write_imm);
}

} // namespace

std::span<const Life::Stage> Life::stages() {
    static_assert(table.size() == stage_count);
    return table;
}

void Life::on(const Stamp& stamp, const Event& event) {
    if (is_complete_)
        return;
    if (!has_begun_)
        wait(stamp, event);
    else
        follow(stamp, event);
}

Life::Prelude& Life::prelude(std::uint16_t source, std::uint32_t qpn) {
    const auto found =
        std::ranges::find_if(preludes_, [&](const Prelude& p) { return p.source == source && p.qpn == qpn; });
    return found != preludes_.end() ? *found : preludes_.emplace_back(Prelude{source, qpn, {}, {}, {}});
}

/// The doorbell, the turn and the WQE name each other: the turn is for a doorbell, the WQE was read in a turn.
void Life::wait(const Stamp& stamp, const Event& event) {
    if (const auto* rung = std::get_if<DoorbellRung>(&event)) {
        prelude(stamp.source, rung->qpn).doorbell = Entry{stamp, event};
    } else if (const auto* scheduled = std::get_if<QueueScheduled>(&event)) {
        auto& of = prelude(stamp.source, scheduled->qpn);
        of.turn = Entry{stamp, event};
        if (of.doorbell && of.doorbell->stamp.number == stamp.cause)
            of.rung = of.doorbell;
        else
            of.rung.reset();
    } else if (const auto* wqe = std::get_if<WqeFetched>(&event); wqe != nullptr && is_write(*wqe)) {
        const auto& of = prelude(stamp.source, wqe->qpn);
        if (of.turn && of.turn->stamp.number == stamp.cause) {
            seen_[doorbell] = of.rung;
            seen_[turn] = of.turn;
        }
        seen_[fetched] = Entry{stamp, event};
        members_.push_back({stamp.number, Part::work});
        has_begun_ = true;
        preludes_.clear();
    }
}

/// What an event of one type is when it follows from a part of the message: a stage, a part that leads on, or both.
struct Life::Step {
    static constexpr std::size_t no_stage = ~std::size_t{0};
    Part after;
    std::size_t type;
    std::size_t stage = no_stage;
    std::optional<Part> part{};
    static const std::array<Step, 17> table;
};

constexpr std::array<Life::Step, 17> Life::Step::table{{
    {Part::work, event_type<Translated>, translated},
    {Part::work, event_type<DmaRead>, read},
    {Part::work, event_type<PacketSent>, sent, Part::request},
    {Part::work, event_type<WqeFetched>, no_stage, Part::work}, // once more, since it is sent again
    {Part::work, event_type<CompletionWritten>, completed, Part::completion},
    {Part::request, event_type<PacketForwarded>, no_stage, Part::request},
    {Part::request, event_type<PacketReceived>, received, Part::arrival},
    {Part::arrival, event_type<Accepted>, accepted},
    {Part::arrival, event_type<Translated>, translated_remote},
    {Part::arrival, event_type<DmaWritten>, written},
    {Part::arrival, event_type<QueueScheduled>, no_stage, Part::arrival}, // for an answer that had to wait
    {Part::arrival, event_type<PacketSent>, no_stage, Part::answer},
    {Part::answer, event_type<PacketForwarded>, no_stage, Part::answer},
    {Part::answer, event_type<PacketReceived>, no_stage, Part::answered},
    {Part::answered, event_type<Acknowledged>, acknowledged},
    {Part::completion, event_type<EventWritten>, event_written, Part::notice},
    {Part::notice, event_type<InterruptRaised>, interrupt},
}};

void Life::follow(const Stamp& stamp, const Event& event) {
    const auto* answer = std::get_if<Acknowledged>(&event);
    const bool is_negative = answer != nullptr && answer->syndrome >> 5 != 0; // not the end of its message
    if (answer != nullptr && !is_negative)
        acknowledged_ = Entry{stamp, event};
    // Most of a run comes long after its first message, and follows from none of its events.
    if (stamp.cause > members_.back().number)
        return;
    const auto cause = std::ranges::lower_bound(members_, stamp.cause, {}, &Member::number);
    if (is_negative || cause == members_.end() || cause->number != stamp.cause)
        return;
    const auto step = std::ranges::find_if(
        Step::table, [&](const Step& s) { return s.after == cause->part && s.type == event.index(); });
    if (step == Step::table.end())
        return;
    if (step->part)
        members_.push_back({stamp.number, *step->part});
    if (step->stage != Step::no_stage && !seen_[step->stage])
        see(step->stage, stamp, event);
}

void Life::see(std::size_t stage, const Stamp& stamp, const Event& event) {
    seen_[stage] = Entry{stamp, event};
    is_complete_ = stage == interrupt;
    // One acknowledgement may stand for several messages, and follows from the last of them: the one that came in the
    // same packet as this completion.
    if (stage == completed && !seen_[acknowledged] && acknowledged_ && stamp.access_number != 0 &&
        acknowledged_->stamp.access_number == stamp.access_number)
        seen_[acknowledged] = acknowledged_;
}

} // namespace platform::observe::life
