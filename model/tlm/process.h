// Calls into a device that may have to wait for bytes from outside of the simulation. Such calls are processes of the
// kernel (threads), so that everything else goes on while they wait. A device takes part in one chain of calls at a
// time, since its core knows nothing of waiting.
#pragma once

#include "model/tlm/time.h"

#include <systemc>

#include <cassert>
#include <cstdint>

namespace model::tlm {

/// Whether calls into a device return at once, or may wait for the outside.
enum class Calls : bool { at_once, may_wait };

/// Stack size of a process that may hold a whole chain of calls.
inline constexpr int process_stack_bytes = 1 << 20;

/// Whether the calling process may wait.
inline bool is_in_thread() { return sc_core::sc_get_curr_process_kind() == sc_core::SC_THREAD_PROC_; }

/// A device that is in one chain of calls at a time. Other chains wait until this one has ended, and have their turns
/// in the order in which they came: who comes again and again, as a client that writes without end, keeps nobody out.
class Turn {
public:
    explicit Turn(Calls calls) : is_taken_in_turn_(calls == Calls::may_wait) {}
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    /// Whether a call may come later than it was meant to, as others waited before it.
    bool can_delay() const { return is_taken_in_turn_; }
    /// Whether a chain that comes now need not wait.
    bool is_free() const { return depth_ == 0 && served_ == issued_; }
    /// Whether the calling process is in the chain that has the turn.
    bool is_callers() const { return depth_ != 0 && holder_ == sc_core::sc_get_current_process_b(); }

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
        if (is_callers()) {
            ++depth_;
            return;
        }
        // Who cannot wait passes those who have been waiting, as long as none of them has begun.
        if (!is_free() && (depth_ != 0 || is_in_thread())) {
            assert(is_in_thread() && "what meets a device that waits can wait itself");
            const auto number = issued_++;
            do
                sc_core::wait(free_);
            while (depth_ != 0 || number != served_);
            ++served_;
        }
        holder_ = sc_core::sc_get_current_process_b();
        depth_ = 1;
    }
    void leave() {
        if (--depth_ == 0 && served_ != issued_)
            notify_at_once(free_);
    }

    bool is_taken_in_turn_;
    const sc_core::sc_process_b* holder_ = nullptr;
    unsigned depth_ = 0;
    std::uint64_t issued_ = 0, served_ = 0; ///< numbers of those who had to wait
    sc_core::sc_event free_;
};

} // namespace model::tlm
