#include "platform/observe/life/life.h"

#include "abi/prm/wqe.h"
#include "abi/wire/opcode.h"

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

// A stage is looked for once the one it follows from was seen; stages that follow from the same one come in any order.
constexpr std::array<StageNumber, table.size()> follows{doorbell, doorbell, turn,      fetched,      fetched,
                                                        fetched,  sent,     received,  received,     received,
                                                        sent,     sent,     completed, event_written};

bool is_write(const WqeFetched& e) {
    return e.opcode == static_cast<std::uint8_t>(abi::prm::WqeOpcode::rdma_write) ||
           e.opcode == static_cast<std::uint8_t>(abi::prm::WqeOpcode::rdma_write_imm);
}

bool is_write(const PacketSent& e) {
    return abi::wire::operations[e.opcode & 0x1f].kind == abi::wire::OperationTraits::Kind::write;
}

std::string_view host_of(std::string_view source) { return source.substr(0, source.find('.')); }

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
    return found != preludes_.end() ? *found : preludes_.emplace_back(Prelude{source, qpn, {}, {}});
}

void Life::wait(const Stamp& stamp, const Event& event) {
    if (const auto* rung = std::get_if<DoorbellRung>(&event)) {
        auto& of = prelude(stamp.source, rung->qpn);
        of.doorbell = Entry{stamp, event};
        of.turn.reset();
    } else if (const auto* scheduled = std::get_if<QueueScheduled>(&event)) {
        auto& of = prelude(stamp.source, scheduled->qpn);
        if (of.doorbell && !of.turn)
            of.turn = Entry{stamp, event};
    } else if (const auto* wqe = std::get_if<WqeFetched>(&event); wqe != nullptr && is_write(*wqe)) {
        const auto& of = prelude(stamp.source, wqe->qpn);
        seen_[doorbell] = of.doorbell;
        seen_[turn] = of.turn;
        seen_[fetched] = Entry{stamp, event};
        has_begun_ = true;
        preludes_.clear();
    }
}

void Life::follow(const Stamp& stamp, const Event& event) {
    for (std::size_t stage = translated; stage < stage_count; ++stage) {
        if (seen_[stage] || !seen_[follows[stage]] || table[stage].type != event.index() ||
            !belongs(stage, stamp, event))
            continue;
        seen_[stage] = Entry{stamp, event};
        is_complete_ = stage == interrupt;
        return;
    }
}

bool Life::belongs(std::size_t stage, const Stamp& stamp, const Event& event) const {
    const auto qpn = std::get<WqeFetched>(seen_[fetched]->event).qpn;
    if (stage == received) {
        const auto& packet = std::get<PacketSent>(seen_[sent]->event);
        const auto& e = std::get<PacketReceived>(event);
        return e.destination_qpn == packet.destination_qpn && e.psn == packet.psn && e.opcode == packet.opcode;
    }
    const auto& of_side = table[stage].side == Side::requester ? seen_[fetched] : seen_[received];
    if (host_of(sources_.name(stamp.source)) != host_of(sources_.name(of_side->stamp.source)))
        return false;
    switch (stage) {
    case sent: return is_write(std::get<PacketSent>(event));
    case accepted: return std::get<Accepted>(event).psn == std::get<PacketReceived>(seen_[received]->event).psn;
    case acknowledged: { // a NAK is not the end of its message
        const auto& e = std::get<Acknowledged>(event);
        return e.qpn == qpn && e.syndrome >> 5 == 0;
    }
    case completed: return std::get<CompletionWritten>(event).qpn == qpn;
    default: return true;
    }
}

} // namespace platform::observe::life
