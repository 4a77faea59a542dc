// Interrupt vectors of one host: takes messages from the root complex, wakes whoever waits for the vector. A message
// that says it arrives later (timed links) is seen then and not before.
#pragma once

#include "abi/pcie/capability.h"
#include "model/pcie/root_complex_module.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <systemc>
#include <vector>

namespace platform::host {

class Interrupts final : public model::pcie::InterruptSink {
public:
    /// Where every message goes: an interrupt controller's address as on a PC.
    static constexpr std::uint64_t message_address = abi::pcie::interrupts_begin;
    static constexpr std::uint32_t max_vectors = 1 << 16;

    /// A vector number of its own: the data of its message. Nothing when all are taken.
    std::optional<std::uint32_t> allocate();
    void release(std::uint32_t vector);

    void message(std::uint64_t address, std::uint32_t data, model::port::Time at) override;

    /// Consumes everything of this vector that has arrived by `now`; returns whether there was something.
    bool take(std::uint32_t vector, model::port::Time now);
    /// When the next message of this vector arrives; port::never without one.
    model::port::Time next(std::uint32_t vector) const;
    /// Notified when a message for the vector is under way; look at next() then.
    const sc_core::sc_event& event(std::uint32_t vector) const { return lines_[vector]->event; }
    /// Messages with no vector behind them.
    std::uint64_t spurious() const { return spurious_; }

private:
    static constexpr std::size_t max_waiting = 64; ///< further messages of one vector merge: nobody counts them

    struct Line {
        bool is_allocated = false;
        std::deque<model::port::Time> arrivals; ///< ascending
        sc_core::sc_event event;
    };
    std::vector<std::unique_ptr<Line>> lines_;
    std::uint64_t spurious_ = 0;
};

} // namespace platform::host
