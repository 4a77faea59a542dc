// Calls into a device that may have to wait for bytes from outside of the simulation. Such calls are processes of the
// kernel (threads), so that everything else goes on while they wait. A device takes part in one chain of calls at a
// time, since its core knows nothing of waiting.
#pragma once

#include <systemc>

#include <cassert>

namespace model::tlm {

/// Whether calls into a device return at once, or may wait for the outside.
enum class Calls : bool { at_once, may_wait };

/// Stack size of a process that may hold a whole chain of calls.
inline constexpr int process_stack_bytes = 1 << 20;

/// Whether the calling process may wait.
inline bool is_in_thread() { return sc_core::sc_get_curr_process_kind() == sc_core::SC_THREAD_PROC_; }

/// A device that is in one chain of calls at a time. Other chains wait until this one has ended, in no fixed order:
/// each comes from another source (its clock, its cable, its client), and a source keeps its own order.
class Turn {
public:
    explicit Turn(Calls calls) : is_taken_in_turn_(calls == Calls::may_wait) {}
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    /// Whether a call may come later than it was meant to, as others waited before it.
    bool can_delay() const { return is_taken_in_turn_; }

    /// Held while the device is called. Calls inside the same chain need not wait.
    class [[nodiscard]] Hold {
    public:
        explicit Hold(Turn& turn) : turn_(turn.is_taken_in_turn_ ? &turn : nullptr) {
            if (turn_ != nullptr) [[unlikely]]
                turn_->enter();
        }
        ~Hold() {
            if (turn_ != nullptr) [[unlikely]]
                turn_->leave();
        }
        Hold(const Hold&) = delete;
        Hold& operator=(const Hold&) = delete;

    private:
        Turn* turn_;
    };

private:
    void enter() {
        const auto* self = sc_core::sc_get_current_process_b();
        for (++waiting_; depth_ != 0 && holder_ != self;) {
            assert(is_in_thread() && "what meets a device that waits can wait itself");
            sc_core::wait(free_);
        }
        --waiting_;
        holder_ = self;
        ++depth_;
    }
    void leave() {
        if (--depth_ == 0 && waiting_ != 0)
            free_.notify();
    }

    bool is_taken_in_turn_;
    const sc_core::sc_process_b* holder_ = nullptr;
    unsigned depth_ = 0, waiting_ = 0;
    sc_core::sc_event free_;
};

} // namespace model::tlm
