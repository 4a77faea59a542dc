// One queue of a target, and its connection: command capsules come in, data are fetched from the host or are in the
// capsule, the drive carries the command out, data go to the host, and a response capsule ends it (NVMe over RDMA
// transport 1.0 "Command/Data Ordering"). Each command that came is answered once, or its connection is over; then
// nothing of it is left: no command at the drive, no memory in use.
#pragma once

#include "sw/nvme/queue_pair.h"
#include "sw/nvmf/capsule.h"
#include "sw/nvmf/channel.h"
#include "sw/nvmf/payload.h"
#include "sw/nvmf/target_controller.h"

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sw::nvmf {

/// What was moved, and from when to when.
struct Stage {
    std::uint64_t commands = 0, bytes = 0;
    std::optional<std::chrono::nanoseconds> begin{};
    std::chrono::nanoseconds end{};
    void starts(std::chrono::nanoseconds now) { begin = begin.value_or(now); }
    void ends(std::uint64_t moved, std::chrono::nanoseconds now) { ++commands, bytes += moved, end = now; }
    std::chrono::nanoseconds took() const { return begin ? end - *begin : std::chrono::nanoseconds{}; }
};

struct TargetCounters {
    /// Data of I/O commands: by RDMA READ, to the drive, from the drive, by RDMA WRITE.
    Stage fetched, written, read, sent;
    std::uint64_t capsules = 0, in_capsule_bytes = 0;
    std::uint64_t answers = 0, refused = 0; ///< responses posted; of those, with another status than success
    std::uint64_t dropped = 0;              ///< commands whose connection ended before their answer
};

class TargetQueue;

/// Whoever knows what commands mean that are not for the drive's I/O queues.
class TargetQueueOwner {
public:
    virtual ~TargetQueueOwner() = default;
    virtual Answer connect(TargetQueue& queue, abi::ConstView<abi::nvme::Connect> command,
                           std::span<const std::byte> data) = 0;
    virtual Answer administer(TargetQueue& queue, TargetController::Command command, const AdminData& data) = 0;
    virtual const nvme::Namespace* find(std::uint32_t nsid) const = 0;
    /// The queue lets go of its queue pair of the drive; its commands end with it.
    virtual void release(std::unique_ptr<nvme::QueuePair> queue) = 0;
};

class TargetQueue {
public:
    /// `entries` of the host's submission queue. `admin` is for data of Connect and of admin commands, `payload` for
    /// those of I/O commands.
    static Result<std::unique_ptr<TargetQueue>> make(const RdmaPort& port, TargetQueueOwner& owner,
                                                     nvme::Controller& drive, PayloadPool& admin, PayloadPool& payload,
                                                     TargetCounters& counters, std::uint16_t number,
                                                     std::uint32_t entries, std::uint32_t in_capsule_bytes);
    TargetQueue(const TargetQueue&) = delete;
    TargetQueue& operator=(const TargetQueue&) = delete;
    ~TargetQueue() { end("the target goes"); }

    Channel& channel() { return *channel_; }
    std::uint16_t number() const { return number_; }
    std::uint32_t entries() const { return entries_; }
    /// Its Connect command was carried out: for the controller of that number.
    void belong_to(std::uint16_t controller, std::unique_ptr<nvme::QueuePair> queue) {
        controller_ = controller, drive_queue_ = std::move(queue);
        slot_of_.assign(drive_queue_ ? drive_queue_->entries() : 0, 0);
    }
    std::uint16_t controller() const { return controller_; } ///< 0: of none yet

    /// Takes what has come, and goes on with what can. Whether there was anything.
    bool poll();
    /// Commands that came and were not answered; parked ones, too.
    std::size_t under_way() const;
    /// Answers what is parked: it was aborted.
    void abort_parked();
    void end(const std::string& why);
    bool is_over() const { return channel_ == nullptr; }
    const std::string& why() const { return why_; }

private:
    enum class State : std::uint8_t { expected, waiting, fetching, at_drive, answering, parked };
    struct Slot {
        State state = State::expected;
        abi::Block<abi::nvme::Command> command{};
        Flow flow = Flow::none;
        CapsuleData data{};
        std::uint32_t bytes = 0; ///< of data
        std::optional<std::uint32_t> piece{};
        Answer answer{};
    };

    TargetQueue(TargetQueueOwner& owner, nvme::Controller& drive, PayloadPool& admin, PayloadPool& payload,
                TargetCounters& counters, std::uint16_t number, std::uint32_t entries, std::uint32_t in_capsule_bytes)
        : owner_(owner), drive_(drive), admin_(admin), payload_(payload), counters_(counters), number_(number),
          entries_(entries), in_capsule_bytes_(in_capsule_bytes), slots_(entries) {}

    bool poll_channel();
    bool poll_drive();
    bool go_on();
    void came(std::uint32_t number, std::uint32_t bytes);
    /// What is wrong with the command itself; else how many bytes of data it has is known.
    std::optional<Answer> check(Slot& slot, std::uint32_t capsule_bytes);
    std::optional<Answer> check_io(Slot& slot);
    /// Waits for a piece of memory, or fetches, or carries out.
    bool prepare(std::uint32_t number);
    bool fetch(std::uint32_t number);
    void carry_out(std::uint32_t number);
    Answer execute(Slot& slot, std::span<std::byte> in_capsule);
    void submit(std::uint32_t number);
    void answer(std::uint32_t number, const Answer& answer);
    bool send_answer(std::uint32_t number);
    bool is_for_drive(const Slot& slot) const;
    PayloadPool& pool(const Slot& slot) { return is_for_drive(slot) ? payload_ : admin_; }
    void give_piece(Slot& slot);
    std::chrono::nanoseconds now() { return channel_->transport().now(); }

    TargetQueueOwner& owner_;
    nvme::Controller& drive_;
    PayloadPool &admin_, &payload_;
    TargetCounters& counters_;
    std::uint16_t number_, controller_ = 0;
    std::uint32_t entries_, in_capsule_bytes_;
    std::vector<Slot> slots_;           ///< by capsule
    std::deque<std::uint32_t> waiting_; ///< slots whose command waits for memory, or for room in the send queue
    std::deque<std::uint32_t> answers_; ///< slots whose answer waits for room in the send queue
    std::uint16_t head_ = 0;            ///< of the host's submission queue
    std::unique_ptr<Channel> channel_;
    std::uint64_t capsules_for_drive_ = 0; ///< where the drive has the memory of capsules
    bool is_mapped_ = false;
    std::unique_ptr<nvme::QueuePair> drive_queue_;
    std::vector<std::uint32_t> slot_of_; ///< by identifier of the drive's command
    std::string why_;
};

} // namespace sw::nvmf
