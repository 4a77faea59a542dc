// What a record means, for rules: a record becomes no fact, one or several. What they refer to is valid while the
// record is being looked at.
#pragma once

#include "abi/nvme/command.h"
#include "abi/nvme/completion.h"
#include "abi/prm/cqe.h"
#include "abi/prm/doorbell.h"
#include "abi/prm/eqe.h"
#include "abi/prm/mkey.h"
#include "abi/prm/wqe.h"
#include "traces/codec/trace.h"
#include "traces/monitor/objects.h"

#include <cstdint>
#include <span>
#include <variant>

namespace traces::monitor {

using codec::Direction;
using Bytes = std::span<const std::byte>;

/// Which record says it, on which link (or port), and which record led to it.
struct At {
    std::uint64_t record = 0;
    std::uint32_t interface = 0;
    std::uint64_t cause = 0;
};

/// A request that reads. An access may be several requests; it has the number of the first one.
struct ReadAsked {
    At at;
    Direction direction;
    std::uint64_t access = 0, address = 0;
    std::uint32_t length = 0;
    std::uint16_t requester = 0;
    std::uint8_t tag = 0;
};
/// A completion, or word that none will come.
struct ReadAnswered {
    At at;
    std::uint64_t access = 0;  ///< 0: no read waits for it
    std::uint64_t request = 0; ///< the one of them that it answers
    std::uint8_t tag = 0;
    bool is_last = false; ///< nothing is outstanding of the access
};
/// What of the driver's lies in a piece of host memory, as far as it is looked at.
enum class Place : std::uint8_t { elsewhere, completion_queue, event_queue, send_queue, command_interface };
/// The device has read host memory: the whole access.
struct MemoryRead {
    At at;
    std::uint64_t access = 0, address = 0;
    Bytes bytes;
    Place place = Place::elsewhere;
};
/// The device has written host memory: what one TLP says.
struct MemoryWritten {
    At at;
    std::uint64_t address = 0;
    Bytes bytes;
    Place place = Place::elsewhere;
};
struct Interrupted {
    At at;
    std::uint16_t vector = 0;
    bool are_queues_known = false; ///< each event queue that has the vector was made in the trace, and where it lies
    bool are_nvme_queues_known = false; ///< a completion queue of an NVMe controller has the vector
};

struct EqeWritten {
    At at;
    const EventQueue& queue;
    abi::ConstView<abi::prm::Eqe> entry;
    const CompletionQueue* completions = nullptr; ///< that a completion event is about; nullptr: there is none
};
struct CqeWritten {
    At at;
    const CompletionQueue& queue;
    abi::ConstView<abi::prm::Cqe64> entry;
};
/// Software has said how far it is, and perhaps that it wants an interrupt.
struct EqRung {
    At at;
    const EventQueue& queue;
    std::uint32_t consumer = 0;
    bool is_arm = false;
};
struct CqArmed {
    At at;
    const CompletionQueue& queue;
    std::uint32_t consumer = 0;
    bool is_solicited_only = false;
};
/// The device may know that work requests are posted up to, without, `end`, modulo 2^16.
struct Posted {
    At at;
    const QueuePair& qp;
    bool is_send = false;
    std::uint16_t end = 0;
};

/// The device has read a work request that changes a memory key (PRM "UMR work request"), and may have done it any time
/// from now on until the completion of it, or of a later one of its queue.
struct UmrFetched {
    At at;
    const QueuePair& qp;
    std::uint16_t index = 0; ///< as its completion has it
    std::uint32_t key = 0;   ///< index of the key
    abi::ConstView<abi::prm::WqeUmrCtrl> control;
    abi::ConstView<abi::prm::Mkc> context;
};

/// A packet at a network port. `qp`: the end of it in the recorded device, nullptr where that is not known.
struct PacketSeen {
    At at;
    Direction direction;
    const Packet& packet;
    const QueuePair* qp = nullptr;
    bool is_request() const { return packet.traits().is_request(); }
};

/// A command has succeeded, and its answer is in memory.
struct CommandDone {
    At at;
    abi::prm::Opcode opcode{};
    Bytes in, out;
};
struct QpConnected { ///< it may send from now on
    At at;
    const QueuePair& qp;
};
/// The object does not exist any more, or is as new.
struct ObjectGone {
    At at;
    ObjectKind kind;
    std::uint32_t number = 0;
};

/// Software has told an NVMe controller how far it is: the tail of submissions, the head of completions.
struct NvmeRung {
    At at;
    const NvmeQueue& queue;
    std::uint32_t value = 0;
};
struct NvmeFetched {
    At at;
    const NvmeQueue& queue;
    std::uint32_t slot = 0;
    abi::ConstView<abi::nvme::Command> command;
};
struct NvmeCompleted {
    At at;
    const NvmeQueue& queue;
    std::uint32_t slot = 0;
    abi::ConstView<abi::nvme::Completion> entry;
    const NvmeQueue* submissions = nullptr; ///< that the entry names; nullptr: there is none
};
struct NvmeQueueGone {
    At at;
    bool is_completion = false;
    std::uint16_t number = 0;
};

/// The function is as new: nothing that a command gave it before counts.
struct FunctionReset {
    At at;
};

using Fact = std::variant<FunctionReset, ReadAsked, ReadAnswered, MemoryRead, MemoryWritten, Interrupted, EqeWritten,
                          CqeWritten, EqRung, CqArmed, Posted, UmrFetched, PacketSeen, CommandDone, QpConnected,
                          ObjectGone, NvmeRung, NvmeFetched, NvmeCompleted, NvmeQueueGone>;

} // namespace traces::monitor
