// What is due at the kernel's times, in an order that is the same in every run: whatever is due at one time is done in
// the order of construction of those who asked. The kernel's own order of events at one time depends on all events that
// it has, so that a part of a platform in a process of its own would have another one than the whole in one process.
#pragma once

#include "model/port/time.h"

#include <systemc>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace model::tlm {

/// Which of those that are due at one time comes first.
enum class Precedence : bool { in_turn, first };

class Agenda {
public:
    /// The one of the simulation, as the kernel is one. Made by the first call, which is during elaboration.
    static Agenda& of_simulation();
    Agenda(const Agenda&) = delete;
    Agenda& operator=(const Agenda&) = delete;

    /// `on_due` is called at each time that was asked for, in a process of the kernel (SC_METHOD). Returns the number
    /// under which to ask.
    std::uint32_t add(std::function<void()> on_due, Precedence precedence = Precedence::in_turn);
    /// `number` asks no more.
    void remove(std::uint32_t number);
    /// Asks for a call no later than `at`; an earlier request stays.
    void ask(std::uint32_t number, port::Time at);

private:
    Agenda();
    void ring();
    void arm(port::Time at);

    struct Asker {
        std::function<void()> on_due;
        port::Time next = port::never; ///< when it is called
        Precedence precedence{};
    };
    struct Due {
        port::Time at;
        std::uint32_t order; ///< at one time: the least first
        std::uint32_t number;
        bool operator>(const Due& other) const { return at != other.at ? at > other.at : order > other.order; }
    };

    sc_core::sc_event next_;
    port::Time armed_ = port::never;
    bool is_ringing_ = false;
    std::vector<Asker> askers_;
    std::vector<Due> heap_; ///< the earliest first; what was asked anew for an earlier time is in it twice
};

} // namespace model::tlm
