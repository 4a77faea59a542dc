// The driver's own queue for changing memory keys while they are in use (PRM "UMR work request"): one queue pair of
// type REG_UMR with a completion queue of its own, made when first needed. When a call returns the change is in force,
// and no access by the old contents of the key is under way any more. Several threads may wait at once.
#pragma once

#include "abi/layout.h"
#include "abi/prm/mkey.h"
#include "abi/prm/wqe.h"
#include "abi/types.h"
#include "sw/base/result.h"
#include "sw/memory/buffer.h"
#include "sw/mlx/completion/cq.h"
#include "sw/mlx/device/capabilities.h"
#include "sw/mlx/memory/access.h"
#include "sw/mlx/queue/qp.h"

#include <chrono>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>

namespace sw::mlx {

/// How long the driver waits for what a device that works does in no time.
inline constexpr std::chrono::nanoseconds device_patience = std::chrono::seconds{10};

class Device;
class MemoryRegion;

class UmrQueue {
public:
    static Result<std::unique_ptr<UmrQueue>> create(Device& device);
    UmrQueue(const UmrQueue&) = delete;
    UmrQueue& operator=(const UmrQueue&) = delete;
    ~UmrQueue();
    /// Takes queue pair, completion queue and protection domain away from the device.
    Result<void> destroy();

    /// Sets the key free and moves it to the queue's own protection domain: every use from now on is refused, and its
    /// number stays taken until it is destroyed. The key must have been made with umr_en.
    Result<void> revoke(abi::Key key);
    /// New rights and protection domain for a key that is not free.
    Result<void> change_access(abi::Key key, abi::Pd pd, Access access);

    /// Translation entries of the key from number `first` on: bus addresses with rights in bits 0 and 1, or 0 for pages
    /// that are not there. `first` and their count are multiples of entries_per_unit.
    Result<void> write_pages(abi::Key key, std::uint64_t first, std::span<const std::uint64_t> entries);
    /// The same with all of them 0.
    Result<void> clear_pages(abi::Key key, std::uint64_t first, std::uint64_t count);
    static constexpr std::uint64_t entries_per_unit = 8; ///< PRM "UMR", alignment of translations

    /// A mistake on purpose, for tests of tools that must find it: the next `count` revocations are omitted.
    void plant_missing_revocations(unsigned count) { missing_revocations_ = count; }

    std::uint64_t executed() const { return executed_; }
    std::uint64_t recoveries() const { return recoveries_; }
    QueuePair& queue_pair() { return *qp_; }

private:
    struct Change {
        abi::Block<abi::prm::WqeUmrCtrl> control{};
        abi::Block<abi::prm::Mkc> context{};
        std::optional<abi::Block<abi::prm::WqeData>> list{}; ///< where its translations are
    };
    /// Memory for translations under way.
    struct List {
        memory::Buffer memory;
        bool is_taken = false;
    };
    Result<List*> take_list();
    Result<void> make_memory_key();
    explicit UmrQueue(Device& device);
    Result<void> start();
    Result<void> ready();
    Result<void> execute(abi::Key key, const Change& change);
    Result<Completion> wait(std::uint64_t wr_id);
    Result<void> recover(abi::Key key, const Change& change);
    Result<std::uint64_t> post(abi::Key key, const Change& change);

    Device& device_;
    abi::Pd pd_{};
    bool has_pd_ = false;
    std::unique_ptr<CompletionQueue> cq_;
    std::unique_ptr<QueuePair> qp_;
    std::unique_ptr<MemoryRegion> memory_; ///< a key for all of the bus, through which lists are read
    std::list<List> lists_;
    std::uint64_t next_id_ = 1;
    std::map<std::uint64_t, Completion> finished_; ///< polled by one thread for another
    std::uint32_t in_flight_ = 0;
    bool is_recovering_ = false;
    bool is_broken_ = false;
    unsigned missing_revocations_ = 0;
    std::uint64_t executed_ = 0;
    std::uint64_t recoveries_ = 0;
};

/// Rights as the context of a key has them, relaxed ordering as far as the device can.
void write_access(const Capabilities& capabilities, Access access, abi::View<abi::prm::Mkc> context);

} // namespace sw::mlx
