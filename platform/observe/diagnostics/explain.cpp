#include "platform/observe/diagnostics/explain.h"

#include "abi/prm/qp.h"
#include "abi/prm/wqe.h"

#include <fmt/format.h>

#include <algorithm>

namespace platform::observe::diagnostics {
namespace {

using abi::prm::CqeSyndrome;
using abi::prm::EventType;
using abi::prm::QpState;
using abi::wire::NakCode;

/// Numbers that a driver chooses do not make this sink grow: what is beyond is only counted.
constexpr std::size_t most_refusals = 16, most_incidents = 64, most_queue_pairs = 4096;

template <class E> constexpr bool is_error(const E&) { return true; }
/// What most runs are full of is passed over at once.
bool is_error(const traces::DmaRead& e) { return e.status != 0; }
bool is_error(const traces::DmaWritten& e) { return e.status != 0; }
bool is_error(const traces::CompletionWritten& e) { return e.syndrome != 0; }

std::string describe_key(std::uint32_t key, std::uint64_t address, std::uint64_t length) {
    return fmt::format("key {:#x} (index {:#x}, variant {:#x}), address {:#x}, {} bytes", key, key >> 8, key & 0xff,
                       address, length);
}

void add(std::string& list, std::string_view item) {
    if (!list.empty() && !item.empty())
        list += "; ";
    list += item;
}

} // namespace

Explain::~Explain() { print_rest(); }

void Explain::on(const traces::Stamp& stamp, const traces::Event& event) {
    std::visit(
        [&](const auto& e) {
            if (is_error(e))
                take(stamp, device(stamp.source), e);
        },
        event);
}

/// The PCIe side of a card belongs to it.
Explain::Device& Explain::device(std::uint16_t source) {
    if (source >= by_source_.size())
        by_source_.resize(std::size_t{source} + 1);
    auto*& known = by_source_[source];
    if (known == nullptr)
        known = &devices_[std::string(sources_.name(sources_.whole(source)))];
    return *known;
}

Explain::Incident* Explain::find(std::uint16_t source, std::uint32_t qpn) {
    const auto found =
        std::ranges::find_if(incidents_, [&](const Incident& i) { return i.stamp.source == source && i.qpn == qpn; });
    return found == incidents_.end() ? nullptr : &*found;
}

Explain::Incident& Explain::open(const traces::Stamp& stamp, const Device& device, std::uint32_t qpn) {
    if (auto* known = find(stamp.source, qpn))
        return *known;
    if (incidents_.size() == most_incidents)
        close(1);
    auto& incident = incidents_.emplace_back();
    incident.stamp = stamp;
    incident.qpn = qpn;
    if (device.retried && device.retried->qpn == qpn)
        incident.retried = device.retried->reason;
    return incident;
}

// --- what fails ---
void Explain::take(const traces::Stamp& stamp, Device& device, const traces::Refused& event) {
    if (device.refusals.size() == most_refusals) {
        print(device.refusals.front());
        device.refusals.erase(device.refusals.begin());
    }
    device.refusals.push_back({.stamp = stamp, .event = event});
}

void Explain::take(const traces::Stamp& stamp, Device& device, const traces::KeyChangeRefused& event) {
    open(stamp, device, event.qpn).key_change = event;
}

void Explain::take(const traces::Stamp& stamp, Device& device, const traces::Naked& event) {
    using namespace abi::wire;
    const auto code = static_cast<NakCode>(value_of(event.syndrome));
    if (kind_of(event.syndrome) != SyndromeKind::nak || code == NakCode::psn_sequence_error)
        return; // the requester asks again
    auto& incident = open(stamp, device, event.qpn);
    incident.naked = event;
    if (!device.refusals.empty() && device.refusals.back().is_fresh) {
        incident.refused = device.refusals.back().event;
        device.refusals.pop_back();
    } else if (!device.dma.empty()) {
        incident.dma = take_dma(device);
    }
}

void Explain::take(const traces::Stamp& stamp, Device& device, const traces::CompletionFailed& event) {
    const bool is_responder = event.opcode == static_cast<std::uint8_t>(abi::prm::CqeOpcode::resp_err);
    if (const auto* known = find(stamp.source, event.qpn); known && (known->failed || known->state))
        close(static_cast<std::size_t>(known - incidents_.data()) + 1);
    auto& incident = open(stamp, device, event.qpn);
    incident.failed = event;
    const auto vendor = decode_vendor(is_responder, event.vendor);
    if (vendor.refusal && !incident.refused) {
        const auto found =
            std::ranges::find(device.refusals, *vendor.refusal, [](const Refusal& r) { return r.event.violation; });
        if (found != device.refusals.end()) {
            incident.refused = found->event;
            device.refusals.erase(found);
        }
    }
    if (incident.dma.empty())
        incident.dma = take_dma(device);
}

void Explain::take(const traces::Stamp& stamp, Device&, const traces::CompletionWritten& event) {
    if (event.syndrome != static_cast<std::uint8_t>(CqeSyndrome::wr_flush_err))
        return; // CompletionFailed says more
    if (auto* incident = find(stamp.source, event.qpn))
        ++incident->flushed;
    else if (const auto later = in_error_.find({stamp.source, event.qpn}); later != in_error_.end())
        ++later->second;
}

void Explain::take(const traces::Stamp& stamp, Device& device, const traces::CompletionOverrun& event) {
    constexpr Explanation overrun{
        "a completion queue has a free entry for each completion, and its ring can be written by DMA",
        "IBA 11.6.3; PRM \"Completion queues\"",
        "more work requests can complete than the completion queue has entries, or its consumer index is not written "
        "to the doorbell record after polling"};
    const auto dma = take_dma(device);
    out_.print(stamp, {fmt::format("completion queue {:#x} is in error (CQ error event): {}", event.cqn,
                                   dma.empty() ? "overrun" : "its ring cannot be written"),
                       dma, overrun});
}

void Explain::take(const traces::Stamp& stamp, Device&, const traces::EventLost& event) {
    constexpr Explanation full{
        "an event queue has a free entry for each event: software frees them with the consumer index", "PRM \"EQ\"",
        "the consumer index is not written to the event queue's doorbell after polling, or the queue has fewer entries "
        "than events come between two polls (log_eq_size)"};
    const auto what = name(static_cast<EventType>(event.type));
    out_.print(stamp, {fmt::format("event queue {:#x} is full: an event is lost", event.eqn),
                       fmt::format("type {:#x}{}, number {:#x}", event.type,
                                   what.empty() ? std::string{} : fmt::format(" ({})", what), event.number),
                       full});
}

void Explain::take(const traces::Stamp& stamp, Device& device, const traces::QueueStateChanged& event) {
    const auto is_failed = [](std::uint8_t state) {
        return static_cast<QpState>(state) == QpState::err || static_cast<QpState>(state) == QpState::sqer;
    };
    if (is_failed(event.from))
        if (const auto later = in_error_.find({stamp.source, event.qpn}); later != in_error_.end()) {
            out_.print_flushed(stamp.source, event.qpn, later->second);
            in_error_.erase(later);
        }
    // Its number was another one's before: what that had gone through is no cause here.
    const auto to = static_cast<QpState>(event.to);
    if ((to == QpState::rst || to == QpState::init) && device.retried && device.retried->qpn == event.qpn)
        device.retried.reset();
    if (!is_failed(event.to))
        return;
    auto& incident = open(stamp, device, event.qpn);
    incident.state = event;
    if (device.asynchronous.number == event.qpn && device.asynchronous.type != 0)
        incident.asynchronous = device.asynchronous.type;
    device.asynchronous = {};
    if (incident.dma.empty())
        incident.dma = take_dma(device);
}

void Explain::take(const traces::Stamp&, Device& device, const traces::Retried& event) { device.retried = event; }

void Explain::take(const traces::Stamp&, Device& device, const traces::EventWritten& event) {
    if (explain(static_cast<EventType>(event.type)) != nullptr)
        device.asynchronous = event;
}

void Explain::take(const traces::Stamp& stamp, Device& device, const traces::PacketDropped& event) {
    go_on(stamp, device);
    out_.print(stamp, {fmt::format("packet to QP {:#x} dropped: {}", event.destination_qpn, event.reason.text()),
                       {},
                       or_none(explain_drop(event.reason))});
}

void Explain::take(const traces::Stamp& stamp, Device& device, const traces::FrameDropped& event) {
    go_on(stamp, device);
    out_.print(stamp, {fmt::format("frame of {} bytes, EtherType {:#06x}, dropped: {}", event.length, event.ethertype,
                                   event.reason.text()),
                       {},
                       or_none(explain_drop(event.reason))});
}

void Explain::take(const traces::Stamp& stamp, Device& device, const traces::DmaRead& event) {
    fail_dma(stamp, device, "read", event.address, event.length, event.status);
}
void Explain::take(const traces::Stamp& stamp, Device& device, const traces::DmaWritten& event) {
    fail_dma(stamp, device, "write", event.address, event.length, event.status);
}

void Explain::fail_dma(const traces::Stamp& stamp, Device& device, std::string_view what, std::uint64_t address,
                       std::uint64_t length, std::uint8_t status) {
    print_dma(device);
    device.dma_status = static_cast<model::port::DmaStatus>(status);
    device.dma_stamp = stamp;
    device.dma =
        fmt::format("DMA {} of {} bytes at bus address {:#x}: {}", what, length, address, name_of(device.dma_status));
}

// --- what belongs together ---
void Explain::take(const traces::Stamp& stamp, Device& device, const traces::DoorbellRung& event) {
    device.rung = event;
    go_on(stamp, device);
}
void Explain::take(const traces::Stamp& stamp, Device& device, const traces::WqeFetched&) { go_on(stamp, device); }
void Explain::take(const traces::Stamp& stamp, Device& device, const traces::PacketReceived&) { go_on(stamp, device); }

/// The component begins something new: its incidents are complete, and those before them.
void Explain::go_on(const traces::Stamp& stamp, Device& device) {
    for (auto& refusal : device.refusals)
        refusal.is_fresh = false;
    if (incidents_.empty())
        return;
    const auto last = std::ranges::find(incidents_.rbegin(), incidents_.rend(), stamp.source,
                                        [](const Incident& i) { return i.stamp.source; });
    close(static_cast<std::size_t>(incidents_.rend() - last));
}

/// Another driver, or the same one after a reset: what repeats is its own, and numbers are those of other objects.
void Explain::begin_anew(const traces::Stamp& stamp, Device& device) {
    go_on(stamp, device);
    print_dma(device);
    for (const auto& refusal : device.refusals)
        print(refusal);
    device.refusals.clear();
    device.retried.reset();
    device.asynchronous = {};
    const auto whole = sources_.whole(stamp.source);
    std::erase_if(in_error_, [&](const auto& entry) {
        const auto& [source, qpn] = entry.first;
        if (sources_.whole(source) != whole)
            return false;
        out_.print_flushed(source, qpn, entry.second);
        return true;
    });
    out_.print_counts_of(whole);
}

void Explain::close(std::size_t count) {
    const auto end = incidents_.begin() + static_cast<std::ptrdiff_t>(count);
    for (auto incident = incidents_.begin(); incident != end; ++incident) {
        print(*incident);
        if (incident->state && in_error_.size() < most_queue_pairs)
            in_error_.try_emplace({incident->stamp.source, incident->qpn}, 0);
    }
    incidents_.erase(incidents_.begin(), end);
}

void Explain::print_waiting() {
    close(incidents_.size());
    for (auto& [name, device] : devices_) {
        print_dma(device);
        for (const auto& refusal : device.refusals)
            print(refusal);
        device.refusals.clear();
    }
    out_.flush();
}

files::Output::Outcome Explain::finish() {
    print_rest();
    return out_.output().finish();
}

void Explain::print_rest() {
    print_waiting();
    for (const auto& [queue_pair, count] : in_error_)
        out_.print_flushed(queue_pair.first, queue_pair.second, count);
    in_error_.clear();
    out_.print_counts();
    out_.flush();
}

// --- paragraphs ---
std::string Explain::take_dma(Device& device) { return std::exchange(device.dma, {}); }

void Explain::print_dma(Device& device) {
    if (const auto dma = take_dma(device); !dma.empty())
        out_.print(device.dma_stamp, {fmt::format("the bus refuses a DMA access ({})", name_of(device.dma_status)), dma,
                                      or_none(explain(device.dma_status))});
}

void Explain::print(const Refusal& refusal) {
    const auto& e = refusal.event;
    out_.print(refusal.stamp, {fmt::format("key {:#x} refused: {}", e.key, e.violation.text()),
                               describe_key(e.key, e.address, e.length), or_none(explain(e.violation))});
}

void Explain::print(const Incident& incident) {
    Paragraph paragraph{fmt::format("QP {:#x}", incident.qpn), {}, nothing_known};
    const auto pick = [&](const Explanation* row) {
        if (row != nullptr && paragraph.text.rule.empty())
            paragraph.text = *row;
    };
    if (const auto& failed = incident.failed) {
        const auto syndrome = static_cast<CqeSyndrome>(failed->syndrome);
        const bool is_responder = failed->opcode == static_cast<std::uint8_t>(abi::prm::CqeOpcode::resp_err);
        const auto vendor = decode_vendor(is_responder, failed->vendor);
        const auto operation = name(static_cast<abi::prm::WqeOpcode>(failed->send_opcode));
        paragraph.object += is_responder
                                ? fmt::format(", receive WQE {:#x}", failed->wqe_counter)
                                : fmt::format(", send WQE {:#x} ({})", failed->wqe_counter,
                                              operation.empty() ? fmt::format("opcode {:#x}", failed->send_opcode)
                                                                : std::string(operation));
        paragraph.object += fmt::format(": {} ({})", verbs_name(syndrome), name(syndrome));
        add(paragraph.decoded,
            fmt::format("error CQE in CQ {:#x}, syndrome {:#x}, vendor syndrome {:#x}{}", failed->cqn, failed->syndrome,
                        failed->vendor,
                        vendor.room.empty() ? std::string{} : fmt::format(" ({}: {})", vendor.room, vendor.what)));
        pick(vendor.row);
        pick(explain(syndrome));
    } else if (incident.naked) {
        paragraph.object += " refuses a request of its peer";
    } else if (incident.key_change) {
        paragraph.object += ": a UMR is refused";
    } else {
        paragraph.object += " goes to the error state";
    }
    if (const auto& refused = incident.refused) {
        add(paragraph.decoded, fmt::format("{}: {}", describe_key(refused->key, refused->address, refused->length),
                                           refused->violation.text()));
        pick(explain(refused->violation));
    }
    if (const auto& change = incident.key_change) {
        add(paragraph.decoded, fmt::format("UMR of key {:#x}: {}", change->key, change->why.text()));
        pick(explain(change->why));
    }
    add(paragraph.decoded, incident.dma);
    if (const auto& naked = incident.naked) {
        const auto code = static_cast<NakCode>(abi::wire::value_of(naked->syndrome));
        add(paragraph.decoded, fmt::format("NAK for PSN {:#x}: {}", naked->psn, name_of(code)));
        pick(explain(code));
    }
    if (incident.retried && incident.failed)
        add(paragraph.decoded,
            fmt::format("the requester had gone back before, reason \"{}\"", incident.retried->text()));
    if (incident.asynchronous) {
        add(paragraph.decoded,
            fmt::format("asynchronous event: {}", name(static_cast<EventType>(*incident.asynchronous))));
        pick(explain(static_cast<EventType>(*incident.asynchronous)));
    }
    if (const auto& state = incident.state) {
        add(paragraph.decoded, fmt::format("the queue pair went from {} to {}", name(static_cast<QpState>(state->from)),
                                           name(static_cast<QpState>(state->to))));
        pick(explain(EventType::wq_catastrophic_error));
    }
    if (incident.flushed != 0)
        add(paragraph.decoded, flushed(incident.flushed, {}, " behind it"));
    out_.print(incident.stamp, paragraph);
}

} // namespace platform::observe::diagnostics
