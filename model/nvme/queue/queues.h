// The queues of a controller: doorbells come in, entries are fetched in the order of arbitration, completions go out
// with their phase, and then an interrupt. Queue memory is the host's: what is in it is copied before it is looked at,
// and a queue that cannot be reached is fatal. NVMe base 2.0 "Queue Management", "Command Arbitration"; NVMe over PCIe
// transport 1.0 "Doorbells".
#pragma once

#include "abi/nvme/command.h"
#include "abi/nvme/feature.h"
#include "abi/nvme/registers.h"
#include "model/nvme/config.h"
#include "model/nvme/controller_memory.h"
#include "model/nvme/data/command_grants.h"
#include "model/nvme/queue/queue.h"
#include "model/port/interrupt.h"
#include "traces/events.h"

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace model::nvme {

/// What goes wrong beside commands.
class QueueListener {
public:
    virtual ~QueueListener() = default;
    /// Memory that the controller cannot do without is not there.
    virtual void fatal(traces::ControllerFailure why, std::uint64_t address, port::Time at) = 0;
    struct Doorbell {
        std::uint32_t queue = 0;
        bool is_completion = false;
        std::uint32_t value = 0;
    };
    virtual void bad_doorbell(const Doorbell& doorbell, traces::DoorbellMistake why, port::Time at) = 0;
};

class Queues {
public:
    static constexpr std::size_t most_fetched = 16; ///< entries by one read

    Queues(const NvmeConfig& config, ControllerMemory& dma, port::Interrupts& interrupts, QueueListener& listener,
           traces::Events events);

    /// Controller Level Reset: no queue, no shadow, features as they were.
    void reset();
    void start_admin(std::uint64_t submission, std::uint32_t submission_entries, std::uint64_t completion,
                     std::uint32_t completion_entries, port::Time at);
    /// Is told of the memory of each queue when it is used. It outlives the queues.
    void set_grants(CommandGrants& grants) { grants_ = &grants; }
    /// What CC said when the controller was enabled.
    void set_format(std::uint32_t page_bytes, bool is_weighted) {
        page_bytes_ = page_bytes, is_weighted_ = is_weighted;
    }

    Refusal create(abi::ConstView<abi::nvme::CreateCq> command, unsigned entry_shift, port::Time at);
    Refusal create(abi::ConstView<abi::nvme::CreateSq> command, unsigned entry_shift, port::Time at);
    Refusal delete_submission(std::uint16_t id);
    Refusal delete_completion(std::uint16_t id);
    bool has_submission(std::uint16_t id) const { return id < submission_.size() && submission_[id] != nullptr; }
    /// Set Features 07h: numbers of I/O queues that may be created.
    void allocate(std::uint32_t submission, std::uint32_t completion) {
        submission_limit_ = submission, completion_limit_ = completion;
    }
    std::uint32_t submission_limit() const { return submission_limit_; }
    std::uint32_t completion_limit() const { return completion_limit_; }
    bool has_io_queues() const;

    /// Doorbell Buffer Config: both addresses are pages.
    void set_shadow(std::uint64_t doorbells, std::uint64_t events, port::Time at);

    /// A write to the doorbells, `offset` bytes behind the first.
    void ring(std::uint64_t offset, std::uint32_t value, port::Time at);
    struct Batch {
        std::uint16_t sqid = 0;
        std::span<const std::byte> entries{}; ///< whole ones; valid until the next call
        port::Time at{};                      ///< when they are there
        std::uint32_t first = 0;              ///< number of the first one in its queue
        std::uint64_t cause = 0;              ///< event of the doorbell
    };
    /// When the host has rung for an entry, where somebody watches grants.
    port::Time rung_at(std::uint16_t sqid, std::uint32_t entry) const {
        const auto* queue = submission_[sqid].get();
        return queue != nullptr && entry < queue->rung.size() ? queue->rung[entry] : port::Time{};
    }
    /// Whose entries there is room for.
    struct Room {
        bool has_admin = true, has_io = true;
    };
    /// The next entries, from the queue whose turn it is; none: nothing waits that there is room for.
    std::optional<Batch> fetch(port::Time now, Room room);
    bool has_work() const;
    void post(const CompletionEntry& entry, port::Time at);
    /// Raises what is due. Returns when the next interrupt is that waits for others.
    port::Time raise(port::Time now);
    /// When a shadow doorbell must be looked at again, since what told the host is there by then.
    port::Time recheck_time() const { return recheck_; }
    void recheck(port::Time now);

    void set_arbitration(std::uint32_t value) { arbitration_ = value; }
    void set_coalescing(std::uint32_t value) { coalescing_ = value; }
    void set_vector(std::uint16_t vector, bool is_immediate) { immediate_[vector] = is_immediate; }
    bool is_immediate(std::uint32_t vector) const { return immediate_[vector]; }

private:
    enum Class : std::uint8_t { urgent = 0, high = 1, medium = 2, low = 3, admin = 4, classes = 5 };
    void list(SubmissionQueue& queue);
    void list_all(const CompletionQueue& queue);
    SubmissionQueue* pick(Room room);
    std::uint32_t burst() const;
    void ring_submission(std::uint32_t id, std::uint32_t value, port::Time at);
    void ring_completion(std::uint32_t id, std::uint32_t value, port::Time at);
    bool check_tail(const SubmissionQueue& queue, std::uint32_t tail, port::Time at);
    void take_tail(SubmissionQueue& queue, std::uint32_t tail, port::Time at);
    bool take_head(CompletionQueue& queue, std::uint32_t head, port::Time at);
    bool refresh_tail(SubmissionQueue& queue, port::Time at);
    void refresh_head(CompletionQueue& queue, port::Time at);
    void arm(SubmissionQueue& queue, port::Time at);
    void arm(CompletionQueue& queue, port::Time at);
    void drain(CompletionQueue& queue, port::Time at);
    bool write(CompletionQueue& queue, const CompletionEntry& entry, port::Time at);
    void shadow(SubmissionQueue& queue, port::Time at);
    void shadow(CompletionQueue& queue, port::Time at);
    bool fits_shadow(std::uint32_t id) const;
    void note_rung(SubmissionQueue& queue, std::uint32_t tail, port::Time at) const;
    port::Time write_dword(std::uint64_t address, std::uint32_t value, port::Time at);
    port::Time show_event(std::uint64_t address, std::uint32_t value, port::Time at);
    std::optional<std::uint32_t> read_dword(std::uint64_t address, port::Time at);
    std::uint64_t slot(std::uint32_t id, bool is_completion) const;

    const NvmeConfig& config_;
    ControllerMemory& dma_;
    port::Interrupts& interrupts_;
    QueueListener& listener_;
    traces::Events events_;
    CommandGrants nobody_; ///< where nobody has asked
    CommandGrants* grants_ = &nobody_;
    std::vector<std::unique_ptr<SubmissionQueue>> submission_;
    std::vector<std::unique_ptr<CompletionQueue>> completion_;
    std::uint32_t submission_limit_ = 0, completion_limit_ = 0;
    std::uint32_t page_bytes_ = abi::nvme::least_page_bytes;
    bool is_weighted_ = false;
    std::array<Waiting, classes> waiting_;
    std::array<std::uint32_t, classes> credits_{};
    std::uint32_t arbitration_ = 0, coalescing_ = 0;
    std::vector<bool> immediate_; ///< vectors whose interrupts do not wait for others
    std::vector<std::uint16_t> due_;
    bool has_shadow_ = false;
    std::uint64_t shadow_doorbells_ = 0, shadow_events_ = 0;
    port::Time shadow_since_{};
    port::Time recheck_ = port::never;
    std::array<std::byte, most_fetched * abi::nvme::command_bytes> batch_{};
};

} // namespace model::nvme
