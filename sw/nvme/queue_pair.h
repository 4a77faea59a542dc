// A submission queue and the completion queue that is its own (NVMe base 2.0 "Submission Queue & Completion Queue"):
// commands go in with identifiers and data pointers of their own, completions come out. Doorbells are registers, or
// words of memory that the controller reads (its "shadow doorbells"), with a register write only where it asks for one.
// Not for several threads at once.
#pragma once

#include "abi/nvme/command.h"
#include "sw/base/result.h"
#include "sw/memory/buffer.h"
#include "sw/nvme/completion.h"
#include "sw/nvme/data_pointer.h"
#include "sw/nvme/queue_memory.h"
#include "sw/transport/transport.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace sw::nvme {

struct QueueOptions {
    std::uint32_t entries = 64;            ///< of each queue; one less can be under way
    std::optional<std::uint16_t> vector{}; ///< that it interrupts by; none: it is polled
    std::uint64_t largest_transfer = 1 << 20;
    unsigned priority = 0; ///< 0 urgent to 3 low, where the controller arbitrates by weight
    /// Without size: memory of the host that the queue allocates.
    QueueMemory submissions{}, completions{};
};

/// The two pages of shadow doorbells and event indexes; none: doorbells are registers.
struct ShadowDoorbells {
    std::byte *doorbells = nullptr, *events = nullptr;
};

class QueuePair {
public:
    using Command = abi::Block<abi::nvme::Command>;

    /// Memory for a queue of `number`, which the controller does not know yet. `stride` as in CAP.DSTRD.
    static Result<std::unique_ptr<QueuePair>> make(transport::Transport& transport, std::uint16_t number,
                                                   unsigned stride, const ShadowDoorbells& shadow,
                                                   const QueueOptions& options);
    QueuePair(const QueuePair&) = delete;
    QueuePair& operator=(const QueuePair&) = delete;

    /// Puts a command into the queue; the controller sees it at ring(). Identifier and data pointer are written into
    /// it here. Returns the identifier; EAGAIN: as many are under way as may be.
    Result<std::uint16_t> submit(Command& command, std::span<const Segment> data = {}, Scheme scheme = Scheme::prp);
    /// Tells the controller of all that was submitted.
    void ring();
    /// The same done by somebody else, who writes what this returns to the submission doorbell. Not where doorbells are
    /// shadowed.
    std::uint32_t let_ring() { return told_tail_ = static_cast<std::uint16_t>(tail_); }
    /// Completions that have come; how many.
    std::size_t poll(std::span<Completion> into);
    /// Until there is one, by interrupt or by looking again; 0: the time is over.
    std::size_t wait(std::span<Completion> into, std::chrono::nanoseconds timeout);
    /// submit, ring, wait for it alone: nothing else is under way. ETIMEDOUT: it did not end.
    Result<Completion> execute(Command& command, std::span<const Segment> data = {}, Scheme scheme = Scheme::prp,
                               std::chrono::nanoseconds timeout = std::chrono::seconds{10});

    transport::Transport& transport() { return *transport_; }
    std::uint16_t number() const { return number_; }
    std::uint32_t entries() const { return entries_; }
    std::optional<std::uint16_t> vector() const { return vector_; }
    unsigned priority() const { return priority_; }
    std::uint64_t largest_transfer() const { return largest_transfer_; }
    std::size_t under_way() const { return under_way_; }
    /// How many more can be submitted.
    std::size_t room() const { return free_.size(); }
    const QueueMemory& submissions() const { return submissions_; }
    const QueueMemory& completions() const { return completions_; }
    /// Writes of doorbell registers so far.
    std::uint64_t register_writes() const { return register_writes_; }
    /// Completions that belonged to no command: the controller's mistake.
    std::uint64_t strays() const { return strays_; }

private:
    QueuePair(transport::Transport& transport, std::uint16_t number, unsigned stride, const ShadowDoorbells& shadow,
              const QueueOptions& options);
    bool is_posted(std::uint32_t slot) const;
    void move_doorbell(bool is_completion, std::uint16_t& told, std::uint32_t value);

    transport::Transport* transport_;
    std::uint16_t number_;
    unsigned stride_;
    ShadowDoorbells shadow_;
    std::uint32_t entries_;
    std::optional<std::uint16_t> vector_;
    unsigned priority_;
    std::uint64_t largest_transfer_;
    memory::Buffer own_submissions_, own_completions_, lists_;
    QueueMemory submissions_, completions_;
    std::size_t list_bytes_ = 0; ///< of each command
    std::uint32_t tail_ = 0, head_ = 0;
    std::uint16_t told_tail_ = 0, told_head_ = 0;
    bool phase_ = true;
    std::vector<std::uint16_t> free_; ///< identifiers
    std::vector<bool> is_under_way_;  ///< by identifier
    std::size_t under_way_ = 0;
    std::uint64_t register_writes_ = 0, strays_ = 0;
};

} // namespace sw::nvme
