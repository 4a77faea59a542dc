// A completion queue: the ring the device writes CQEs to, what was consumed of it, and the arm protocol (PRM
// "Completion queue"). Turns CQEs into completions with the program's wr_id; asks queue pairs for nothing but that.
#pragma once

#include "abi/layout.h"
#include "abi/prm/cqe.h"
#include "abi/types.h"
#include "sw/base/result.h"
#include "sw/memory/buffer.h"
#include "sw/mlx/device/device.h"
#include "sw/mlx/doorbell/doorbell_record.h"
#include "sw/mlx/queue/queue_place.h"
#include "sw/mlx/queue/work_request.h"
#include "sw/verbs/verbs.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace sw::mlx {

struct CqOptions {
    std::uint32_t entries = 256;    ///< at least; rounded up to a power of two
    unsigned completion_eq = 0;     ///< to which completion event queue it reports
    bool verify_signatures = false; ///< check the XOR of every CQE; a wrong one counts and completes with unknown_error
    bool ignore_overrun = false;    ///< the device overwrites unread entries instead of going to error
    std::uint16_t moderation_count = 0;  ///< events only every so many completions ...
    std::uint16_t moderation_period = 0; ///< ... or so many microseconds
    /// Given: its owner has made all entries invalid (opcode 0xf) and polls; here nothing is found, nor armed.
    QueuePlace place{};
};

class CompletionQueue final : public verbs::CompletionQueue {
public:
    static Result<std::unique_ptr<CompletionQueue>> create(Device& device, const CqOptions& options);
    CompletionQueue(const CompletionQueue&) = delete;
    CompletionQueue& operator=(const CompletionQueue&) = delete;
    ~CompletionQueue() override;
    /// Takes the queue away from the device; no queue pair may use it any more.
    Result<void> destroy();

    /// Takes up to `into.size()` completions, oldest first, and returns how many there were.
    std::size_t poll(std::span<Completion> into) override;
    /// Asks for one event: at the next completion, or at the next solicited one or error. Completions that are there
    /// already but were not polled count (PRM "CQ doorbell").
    void request_notification(bool solicited_only = false);

    abi::Cqn number() const { return number_; }
    std::uint32_t entries() const { return mask_ + 1; }
    unsigned completion_eq() const { return options_.completion_eq; }
    std::uint64_t events() const { return events_; }
    std::uint64_t bad_signatures() const { return bad_signatures_; }
    /// CQEs that named no queue pair of ours and were skipped.
    std::uint64_t unknown_completions() const { return unknown_; }

    /// The device reported an event of this queue.
    void on_event() {
        ++events_;
        ++arm_sequence_;
    }
    /// Drops the entries of queue pair `qpn` that are still in the ring. Called when it is destroyed or goes back to
    /// RST, since its number may be given to another queue pair.
    void forget(abi::Qpn qpn);

private:
    CompletionQueue(Device& device, const CqOptions& options) : device_(device), options_(options) {}
    std::byte* entry(std::uint32_t index) const { return ring_.data() + (index & mask_) * abi::prm::Cqe64::size; }
    bool is_ready(std::uint32_t index) const;
    Result<std::vector<std::uint64_t>> ring_pages(unsigned& log_page);
    bool complete(const std::byte* cqe, Completion& into);

    Device& device_;
    CqOptions options_;
    memory::Buffer ring_;
    DoorbellRecord record_;
    std::uint32_t mask_ = 0;
    unsigned log_size_ = 0;
    std::uint32_t consumer_ = 0;
    std::uint32_t arm_sequence_ = 0;
    abi::Cqn number_{};
    bool exists_ = false;
    std::uint64_t events_ = 0;
    std::uint64_t bad_signatures_ = 0;
    std::uint64_t unknown_ = 0;
};

} // namespace sw::mlx
