// What is due at the kernel's times, in an order that is the same in every run: whatever is due at one time is done in
// the order of construction of those who asked. The kernel's own order of events at one time depends on all events that
// it has, so that a part of a platform in a process of its own would have another one than the whole in one process.
// Under run() and run_for() the agenda goes on by itself, ahead of the kernel's time, until the kernel has something to
// do: a process of the kernel still runs at its own time and in its own order, and most of what is due wakes none.
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
    void call_first();
    void arm(port::Time at);
    port::Time kernel_next() const;
    /// Goes on to what is due next without the kernel, where that has nothing to do before.
    bool goes_ahead();

    friend void run();
    friend void run_for(port::Time span);
    friend void pause();
    friend void notify_when_there(sc_core::sc_event& event, bool at_once);
    static inline port::Time goes_ahead_until_{};

    static constexpr std::uint32_t nowhere = ~0u;
    struct Asker {
        std::function<void()> on_due;
        Precedence precedence{};
        std::uint32_t place = nowhere; ///< in heap_
    };
    /// Goes by value, in registers: who read it whole from where its members were just stored would wait for all that
    /// was stored before, which may be a packet's payload.
    struct Due {
        port::Time at;
        std::uint32_t order; ///< at one time: the least first
        std::uint32_t number;
        bool is_before(const Due& other) const { return at != other.at ? at < other.at : order < other.order; }
    };
    Due due_of(std::uint32_t number, port::Time at) const;
    void rise(std::size_t place, Due due);
    void sink(std::size_t place, Due due);
    void put(std::size_t place, Due due) {
        heap_[place] = due;
        askers_[due.number].place = static_cast<std::uint32_t>(place);
    }

    sc_core::sc_event next_;
    port::Time armed_ = port::never;
    struct Notification {
        sc_core::sc_event* event;
        bool at_once; ///< in the evaluation, otherwise in the next delta
    };
    std::vector<Notification> to_be_notified_; ///< when the kernel has come to agenda_time
    std::vector<Asker> askers_;
    std::vector<Due> heap_;                    ///< the earliest first; who asks is in it once
    std::uint32_t called_ = nowhere;           ///< who is being called, and keeps the first place meanwhile
    port::Time asked_by_called_ = port::never; ///< for its next call
};

/// Runs the kernel until it has nothing to do, or pause().
void run();
/// Runs the kernel for so long, or until pause().
void run_for(port::Time span);
/// Has run() return when what runs now is done. Whoever is called by the agenda pauses by this only.
void pause();

} // namespace model::tlm
