// An event queue: the ring the device writes events to, its consumer index and its interrupt (PRM "Event queue"). Gives
// entries to whoever polls, one by one, already copied; what an event means is decided elsewhere.
#pragma once

#include "abi/layout.h"
#include "abi/prm/eqe.h"
#include "abi/types.h"
#include "sw/base/barrier.h"
#include "sw/base/result.h"
#include "sw/memory/buffer.h"
#include "sw/mlx/command/command.h"
#include "sw/mlx/doorbell/uar.h"
#include "sw/transport/transport.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>

namespace sw::mlx {

struct EqOptions {
    unsigned log_size = 8; ///< entries
    unsigned vector = 0;   ///< MSI-X
    std::initializer_list<abi::prm::EventType>
        events{}; ///< asynchronous events that go here; completions need no mention
};

class EventQueue {
public:
    /// Creates the queue in the device; it is not armed yet.
    static Result<std::unique_ptr<EventQueue>> create(transport::Transport& transport, CommandChannel& commands,
                                                      const Uar& uar, const EqOptions& options);
    EventQueue(const EventQueue&) = delete;
    EventQueue& operator=(const EventQueue&) = delete;

    abi::Eqn number() const { return number_; }
    unsigned vector() const { return vector_; }
    std::uint32_t consumer_index() const { return consumer_; }

    /// Calls `handle(ConstView<Eqe>)` for each event written so far and returns how many there were. A handler may wait
    /// for commands and so come back here: each entry is consumed before it is handled.
    template <class Handle> unsigned poll(Handle&& handle) {
        unsigned count = 0;
        abi::Block<abi::prm::Eqe> event;
        while (take(event)) {
            handle(abi::ConstView<abi::prm::Eqe>(event.bytes));
            ++count;
        }
        return count;
    }
    /// Asks for an interrupt when an event beyond those consumed exists, now or later.
    void arm() { uar_->update_eq(number_, consumer_, true); }

    /// Takes the queue away from the device.
    Result<void> destroy();

private:
    /// Consumes at most so many entries, and half a ring, before it says so to the device, lest the ring looks full.
    static constexpr std::uint32_t update_interval = 64;

    EventQueue() = default;
    std::byte* entry(std::uint32_t index) const { return ring_.data() + (index & mask_) * abi::prm::Eqe::size; }
    bool take(abi::Block<abi::prm::Eqe>& into) {
        const auto* at = entry(consumer_);
        const auto owner =
            std::to_integer<std::uint32_t>(static_cast<const volatile std::byte*>(at)[abi::prm::eqe_owner_offset]) & 1;
        if (owner != (consumer_ >> log_size_ & 1))
            return false;
        base::dma_rmb(); // owner before entry: the device writes the owner last
        std::memcpy(into.bytes.data(), at, into.bytes.size());
        ++consumer_;
        if (consumer_ % std::clamp((mask_ + 1) / 2, 1u, update_interval) == 0)
            uar_->update_eq(number_, consumer_, false);
        return true;
    }

    CommandChannel* commands_ = nullptr;
    const Uar* uar_ = nullptr;
    memory::Buffer ring_;
    abi::Eqn number_{};
    unsigned vector_ = 0;
    unsigned log_size_ = 0;
    std::uint32_t mask_ = 0;
    std::uint32_t consumer_ = 0;
};

} // namespace sw::mlx
