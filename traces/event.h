// The event vocabulary: what a room says at its door (events.h). A changed event is a changed trace format: bump
// `events_version`; a new one goes to the end of the list and changes nothing.
#pragma once

#include "traces/nvme_event.h"

#include <variant>

namespace traces {

inline constexpr std::uint32_t events_version = 1;

// --- hca/doorbell ---
struct DoorbellRung { ///< a send doorbell arrived; producer is the doorbell record's counter at that moment, in WQEBBs
    std::uint32_t qpn, uar;
    std::uint16_t producer;
    static constexpr std::string_view name = "DoorbellRung";
    static constexpr auto members = std::tuple{Member{"qpn", &DoorbellRung::qpn}, Member{"uar", &DoorbellRung::uar},
                                               Member{"producer", &DoorbellRung::producer}};
};
struct DoorbellIgnored { ///< a doorbell that the device drops
    std::uint32_t number, uar;
    Reason reason;
    static constexpr std::string_view name = "DoorbellIgnored";
    static constexpr auto members =
        std::tuple{Member{"number", &DoorbellIgnored::number}, Member{"uar", &DoorbellIgnored::uar},
                   Member{"reason", &DoorbellIgnored::reason}};
};
struct CompletionArmed {
    std::uint32_t cqn, consumer;
    bool solicited_only;
    static constexpr std::string_view name = "CompletionArmed";
    static constexpr auto members =
        std::tuple{Member{"cqn", &CompletionArmed::cqn}, Member{"consumer", &CompletionArmed::consumer},
                   Member{"solicited_only", &CompletionArmed::solicited_only}};
};
// --- hca/queue ---
struct QueueScheduled { ///< the scheduler gave the queue pair a turn
    std::uint32_t qpn;
    static constexpr std::string_view name = "QueueScheduled";
    static constexpr auto members = std::tuple{Member{"qpn", &QueueScheduled::qpn}};
};
struct WqeFetched { ///< index in WQEBBs; length is the message length in bytes
    std::uint32_t qpn;
    std::uint16_t index;
    std::uint8_t opcode, segments;
    std::uint32_t length;
    static constexpr std::string_view name = "WqeFetched";
    static constexpr auto members = std::tuple{
        Member{"qpn", &WqeFetched::qpn}, Member{"index", &WqeFetched::index}, Member{"opcode", &WqeFetched::opcode},
        Member{"segments", &WqeFetched::segments}, Member{"length", &WqeFetched::length}};
};
struct QueueStateChanged { ///< states as the PRM numbers them
    std::uint32_t qpn;
    std::uint8_t from, to;
    static constexpr std::string_view name = "QueueStateChanged";
    static constexpr auto members =
        std::tuple{Member{"qpn", &QueueStateChanged::qpn}, Member{"from", &QueueStateChanged::from},
                   Member{"to", &QueueStateChanged::to}};
};
// --- hca/tpt ---
struct Translated {
    std::uint32_t key;
    std::uint64_t address, length;
    std::uint32_t segments;
    static constexpr std::string_view name = "Translated";
    static constexpr auto members =
        std::tuple{Member{"key", &Translated::key}, Member{"address", &Translated::address},
                   Member{"length", &Translated::length}, Member{"segments", &Translated::segments}};
};
struct Refused {
    std::uint32_t key;
    std::uint64_t address, length;
    RefusalReason violation;
    static constexpr std::string_view name = "Refused";
    static constexpr auto members =
        std::tuple{Member{"key", &Refused::key}, Member{"address", &Refused::address},
                   Member{"length", &Refused::length}, Member{"violation", &Refused::violation}};
};
// --- hca/umr ---
struct KeyChanged { ///< a UMR work request changed a key; fields as its mkey_mask, translations in octowords
    std::uint32_t qpn, key;
    std::uint64_t fields;
    std::uint32_t translations;
    static constexpr std::string_view name = "KeyChanged";
    static constexpr auto members =
        std::tuple{Member{"qpn", &KeyChanged::qpn}, Member{"key", &KeyChanged::key},
                   Member{"fields", &KeyChanged::fields}, Member{"translations", &KeyChanged::translations}};
};
struct KeyChangeRefused {
    std::uint32_t qpn, key;
    KeyChangeReason why;
    static constexpr std::string_view name = "KeyChangeRefused";
    static constexpr auto members =
        std::tuple{Member{"qpn", &KeyChangeRefused::qpn}, Member{"key", &KeyChangeRefused::key},
                   Member{"why", &KeyChangeRefused::why}};
};
struct KeyInvalidated { ///< a peer's SEND with invalidate freed a key
    std::uint32_t qpn, key;
    static constexpr std::string_view name = "KeyInvalidated";
    static constexpr auto members =
        std::tuple{Member{"qpn", &KeyInvalidated::qpn}, Member{"key", &KeyInvalidated::key}};
};
// --- port/dma ---
struct DmaRead { ///< status as model::port::DmaStatus
    std::uint64_t address, length;
    std::uint8_t status;
    static constexpr std::string_view name = "DmaRead";
    static constexpr auto members = std::tuple{Member{"address", &DmaRead::address}, Member{"length", &DmaRead::length},
                                               Member{"status", &DmaRead::status}};
};
struct DmaWritten { ///< status as the function itself knows it; what is silently dropped on the way is WriteLost
    std::uint64_t address, length;
    std::uint8_t status;
    static constexpr std::string_view name = "DmaWritten";
    static constexpr auto members =
        std::tuple{Member{"address", &DmaWritten::address}, Member{"length", &DmaWritten::length},
                   Member{"status", &DmaWritten::status}};
};
// --- wire, net ---
struct PacketSent { ///< opcode is the BTH code
    std::uint32_t destination_qpn, psn;
    std::uint8_t opcode;
    std::uint32_t payload;
    static constexpr std::string_view name = "PacketSent";
    static constexpr auto members =
        std::tuple{Member{"destination_qpn", &PacketSent::destination_qpn}, Member{"psn", &PacketSent::psn},
                   Member{"opcode", &PacketSent::opcode}, Member{"payload", &PacketSent::payload}};
};
struct PacketReceived {
    std::uint32_t destination_qpn, psn;
    std::uint8_t opcode;
    std::uint32_t payload;
    static constexpr std::string_view name = "PacketReceived";
    static constexpr auto members =
        std::tuple{Member{"destination_qpn", &PacketReceived::destination_qpn}, Member{"psn", &PacketReceived::psn},
                   Member{"opcode", &PacketReceived::opcode}, Member{"payload", &PacketReceived::payload}};
};
struct PacketDropped {
    std::uint32_t destination_qpn, psn;
    Reason reason;
    static constexpr std::string_view name = "PacketDropped";
    static constexpr auto members =
        std::tuple{Member{"destination_qpn", &PacketDropped::destination_qpn}, Member{"psn", &PacketDropped::psn},
                   Member{"reason", &PacketDropped::reason}};
};
struct LinkFault { ///< the link's script acted
    std::uint32_t direction;
    std::uint64_t packet; ///< running number of the packet in its direction
    LinkFaultKind what;
    static constexpr std::string_view name = "LinkFault";
    static constexpr auto members = std::tuple{Member{"direction", &LinkFault::direction},
                                               Member{"packet", &LinkFault::packet}, Member{"what", &LinkFault::what}};
};
// --- hca/responder ---
struct Accepted {
    std::uint32_t qpn, psn;
    std::uint8_t opcode;
    static constexpr std::string_view name = "Accepted";
    static constexpr auto members =
        std::tuple{Member{"qpn", &Accepted::qpn}, Member{"psn", &Accepted::psn}, Member{"opcode", &Accepted::opcode}};
};
struct Duplicate { ///< a request seen before, answered again
    std::uint32_t qpn, psn;
    std::uint8_t opcode;
    static constexpr std::string_view name = "Duplicate";
    static constexpr auto members = std::tuple{Member{"qpn", &Duplicate::qpn}, Member{"psn", &Duplicate::psn},
                                               Member{"opcode", &Duplicate::opcode}};
};
struct Naked { ///< syndrome as in the AETH
    std::uint32_t qpn, psn;
    std::uint8_t syndrome;
    static constexpr std::string_view name = "Naked";
    static constexpr auto members =
        std::tuple{Member{"qpn", &Naked::qpn}, Member{"psn", &Naked::psn}, Member{"syndrome", &Naked::syndrome}};
};
// --- hca/requester ---
struct Acknowledged {
    std::uint32_t qpn, psn;
    std::uint8_t syndrome;
    std::uint32_t msn;
    static constexpr std::string_view name = "Acknowledged";
    static constexpr auto members =
        std::tuple{Member{"qpn", &Acknowledged::qpn}, Member{"psn", &Acknowledged::psn},
                   Member{"syndrome", &Acknowledged::syndrome}, Member{"msn", &Acknowledged::msn}};
};
struct Retried {                  ///< the requester went back
    std::uint32_t qpn, psn, left; ///< left: tries that remain
    RetryReason reason;
    static constexpr std::string_view name = "Retried";
    static constexpr auto members = std::tuple{Member{"qpn", &Retried::qpn}, Member{"psn", &Retried::psn},
                                               Member{"left", &Retried::left}, Member{"reason", &Retried::reason}};
};
// --- hca/completion, hca/event ---
struct CompletionWritten { ///< opcode and syndrome as in the CQE
    std::uint32_t cqn, qpn;
    std::uint8_t opcode, syndrome;
    std::uint16_t wqe_counter;
    std::uint32_t byte_count;
    static constexpr std::string_view name = "CompletionWritten";
    static constexpr auto members = std::tuple{Member{"cqn", &CompletionWritten::cqn},
                                               Member{"qpn", &CompletionWritten::qpn},
                                               Member{"opcode", &CompletionWritten::opcode},
                                               Member{"syndrome", &CompletionWritten::syndrome},
                                               Member{"wqe_counter", &CompletionWritten::wqe_counter},
                                               Member{"byte_count", &CompletionWritten::byte_count}};
};
struct CompletionOverrun {
    std::uint32_t cqn;
    static constexpr std::string_view name = "CompletionOverrun";
    static constexpr auto members = std::tuple{Member{"cqn", &CompletionOverrun::cqn}};
};
struct EventWritten {
    std::uint32_t eqn;
    std::uint8_t type, subtype;
    std::uint32_t number; ///< cqn, qpn, port or command vector, by type
    static constexpr std::string_view name = "EventWritten";
    static constexpr auto members =
        std::tuple{Member{"eqn", &EventWritten::eqn}, Member{"type", &EventWritten::type},
                   Member{"subtype", &EventWritten::subtype}, Member{"number", &EventWritten::number}};
};
struct EventLost { ///< the event queue was full; otherwise as EventWritten
    std::uint32_t eqn;
    std::uint8_t type, subtype;
    std::uint32_t number;
    static constexpr std::string_view name = "EventLost";
    static constexpr auto members =
        std::tuple{Member{"eqn", &EventLost::eqn}, Member{"type", &EventLost::type},
                   Member{"subtype", &EventLost::subtype}, Member{"number", &EventLost::number}};
};
struct InterruptRaised {
    std::uint16_t vector;
    static constexpr std::string_view name = "InterruptRaised";
    static constexpr auto members = std::tuple{Member{"vector", &InterruptRaised::vector}};
};
// --- firmware ---
struct CommandExecuted { ///< why is empty when status is 0, else the rule that was broken
    std::uint16_t opcode, op_mod;
    std::uint8_t status;
    std::uint32_t syndrome;
    std::string_view command, why;
    std::uint8_t delivery = 0; ///< of the queue entry, as abi::prm::DeliveryStatus: not 0 where there was no command.
                               ///< Said by `why` already: no member of its own
    static constexpr std::string_view name = "CommandExecuted";
    static constexpr auto members =
        std::tuple{Member{"opcode", &CommandExecuted::opcode},   Member{"op_mod", &CommandExecuted::op_mod},
                   Member{"status", &CommandExecuted::status},   Member{"syndrome", &CommandExecuted::syndrome},
                   Member{"command", &CommandExecuted::command}, Member{"why", &CommandExecuted::why}};
};
struct CommandInput { ///< 16 bytes of the input of a refused command, big endian; said before its CommandExecuted,
                      ///< without pieces that are zero
    std::uint16_t opcode, offset;
    std::uint64_t first, second;
    static constexpr std::string_view name = "CommandInput";
    static constexpr auto members =
        std::tuple{Member{"opcode", &CommandInput::opcode}, Member{"offset", &CommandInput::offset},
                   Member{"first", &CommandInput::first}, Member{"second", &CommandInput::second}};
};
// --- hca/completion ---
struct CompletionFailed { ///< what CompletionWritten does not say of an error CQE; flushed work requests have none
    std::uint32_t cqn, qpn;
    std::uint8_t opcode, syndrome, vendor, send_opcode;
    std::uint16_t wqe_counter;
    static constexpr std::string_view name = "CompletionFailed";
    static constexpr auto members = std::tuple{Member{"cqn", &CompletionFailed::cqn},
                                               Member{"qpn", &CompletionFailed::qpn},
                                               Member{"opcode", &CompletionFailed::opcode},
                                               Member{"syndrome", &CompletionFailed::syndrome},
                                               Member{"vendor", &CompletionFailed::vendor},
                                               Member{"send_opcode", &CompletionFailed::send_opcode},
                                               Member{"wqe_counter", &CompletionFailed::wqe_counter}};
};

// --- pcie, iommu ---
struct RemappingFault { ///< requester as bus, device, function; pasid ~0: none; access: read, write, atomic, page
                        ///< request; type as AT; fault as VT-d numbers it
    std::uint16_t requester;
    std::uint32_t pasid;
    std::uint64_t address;
    std::uint8_t access, type, fault;
    bool is_recorded;                ///< in a fault record: tables or an overflow may suppress it
    std::string_view reason() const; ///< the name of the fault
    static constexpr std::string_view name = "RemappingFault";
    static constexpr auto members = std::tuple{Member{"requester", &RemappingFault::requester},
                                               Member{"pasid", &RemappingFault::pasid},
                                               Member{"address", &RemappingFault::address},
                                               Member{"access", &RemappingFault::access},
                                               Member{"type", &RemappingFault::type},
                                               Member{"fault", &RemappingFault::fault},
                                               Member{"is_recorded", &RemappingFault::is_recorded},
                                               Member{"reason", &RemappingFault::reason}};
};
struct InvalidationStopped { ///< the invalidation queue stands; device is the one that did not answer, where that is
                             ///< why
    std::uint16_t device;
    std::uint8_t error;              ///< as VT-d numbers them; 0: no descriptor is wrong
    std::string_view reason() const; ///< the name of the error, or that the device is silent
    static constexpr std::string_view name = "InvalidationStopped";
    static constexpr auto members =
        std::tuple{Member{"device", &InvalidationStopped::device}, Member{"error", &InvalidationStopped::error},
                   Member{"reason", &InvalidationStopped::reason}};
};
struct RequestBlocked { ///< a port did not let a memory request pass; both as bus, device, function
    std::uint16_t requester, port;
    std::uint64_t address;
    std::uint8_t type; ///< as AT
    BlockReason reason;
    static constexpr std::string_view name = "RequestBlocked";
    static constexpr auto members =
        std::tuple{Member{"requester", &RequestBlocked::requester}, Member{"port", &RequestBlocked::port},
                   Member{"address", &RequestBlocked::address}, Member{"type", &RequestBlocked::type},
                   Member{"reason", &RequestBlocked::reason}};
};
// --- hca/paging ---
struct PageFaulted { ///< software was told of a page that an access needs; type as abi::prm::PageFaultType, the range
                     ///< as the access named it
    std::uint32_t qpn;
    std::uint8_t type;
    std::uint32_t key;
    std::uint64_t address, length;
    static constexpr std::string_view name = "PageFaulted";
    static constexpr auto members = std::tuple{
        Member{"qpn", &PageFaulted::qpn}, Member{"type", &PageFaulted::type}, Member{"key", &PageFaulted::key},
        Member{"address", &PageFaulted::address}, Member{"length", &PageFaulted::length}};
};
struct PageFaultAnswered { ///< by software: the pages are there, or will never be
    std::uint32_t qpn;
    std::uint8_t type;
    bool is_error;
    static constexpr std::string_view name = "PageFaultAnswered";
    static constexpr auto members =
        std::tuple{Member{"qpn", &PageFaultAnswered::qpn}, Member{"type", &PageFaultAnswered::type},
                   Member{"is_error", &PageFaultAnswered::is_error}};
};
// --- platform/observe ---
struct StaleAccess { ///< a DMA went where its mapping no longer should lead; page is the host's address; owners are
                     ///< text of whoever keeps them; key 0: none; times ~0: never
    std::uint16_t requester;
    std::uint32_t key;
    std::uint64_t address, page, length;
    bool is_write;
    StaleMapping mapping;
    std::string_view owner_then, owner_now;
    std::uint64_t mapped_ps, unmapped_ps, invalidated_ps, changed_ps;
    static constexpr std::string_view name = "StaleAccess";
    static constexpr auto members = std::tuple{
        Member{"requester", &StaleAccess::requester},     Member{"key", &StaleAccess::key},
        Member{"address", &StaleAccess::address},         Member{"page", &StaleAccess::page},
        Member{"length", &StaleAccess::length},           Member{"is_write", &StaleAccess::is_write},
        Member{"mapping", &StaleAccess::mapping},         Member{"owner_then", &StaleAccess::owner_then},
        Member{"owner_now", &StaleAccess::owner_now},     Member{"mapped_ps", &StaleAccess::mapped_ps},
        Member{"unmapped_ps", &StaleAccess::unmapped_ps}, Member{"invalidated_ps", &StaleAccess::invalidated_ps},
        Member{"changed_ps", &StaleAccess::changed_ps}};
};
// --- port/dma ---
struct WriteLost { ///< a part of a posted write that was sent, and refused on its way or by its target; status as
                   ///< model::port::DmaStatus
    std::uint16_t requester;
    std::uint64_t address, length;
    std::uint8_t status;
    static constexpr std::string_view name = "WriteLost";
    static constexpr auto members =
        std::tuple{Member{"requester", &WriteLost::requester}, Member{"address", &WriteLost::address},
                   Member{"length", &WriteLost::length}, Member{"status", &WriteLost::status}};
};

// --- net ---
struct PacketForwarded { ///< by a switch, which has it ready for the outgoing cable then; ports count from 1
    std::uint32_t ingress, egress, destination_lid;
    static constexpr std::string_view name = "PacketForwarded";
    static constexpr auto members =
        std::tuple{Member{"ingress", &PacketForwarded::ingress}, Member{"egress", &PacketForwarded::egress},
                   Member{"destination_lid", &PacketForwarded::destination_lid}};
};

// --- hca/ingress ---
struct FrameDropped { ///< a plain frame; of one that is too short for an EtherType that is 0
    std::uint32_t length;
    std::uint16_t ethertype;
    Reason reason;
    static constexpr std::string_view name = "FrameDropped";
    static constexpr auto members =
        std::tuple{Member{"length", &FrameDropped::length}, Member{"ethertype", &FrameDropped::ethertype},
                   Member{"reason", &FrameDropped::reason}};
};

using Event =
    std::variant<DoorbellRung, DoorbellIgnored, CompletionArmed, QueueScheduled, WqeFetched, QueueStateChanged,
                 Translated, Refused, DmaRead, DmaWritten, PacketSent, PacketReceived, PacketDropped, LinkFault,
                 Accepted, Duplicate, Naked, Acknowledged, Retried, CompletionWritten, CompletionOverrun, EventWritten,
                 InterruptRaised, CommandExecuted, KeyChanged, KeyChangeRefused, KeyInvalidated, CommandInput,
                 CompletionFailed, RemappingFault, InvalidationStopped, RequestBlocked, PageFaulted, PageFaultAnswered,
                 StaleAccess, WriteLost, PacketForwarded, FrameDropped, NvmeDoorbellRung, NvmeDoorbellIgnored,
                 NvmeCommandFetched, NvmeCommandRefused, NvmeCommandCompleted, NvmeStateChanged, NvmeFailed,
                 NvmeNamespaceChanged, NvmeEventReported, EventLost>;

} // namespace traces
