// A window: at most n outstanding at a time. Tags of a PCIe function, miss registers, slots of a write buffer. Who has
// to wait goes on in the order of arrival.
#pragma once

#include "model/time/usage.h"

#include <algorithm>
#include <functional>
#include <vector>

namespace model::time {

/// Somebody who waits for an end that nobody knows yet. Not copied: the window has its address until it is let in.
class Waiter {
public:
    Waiter() = default;
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;
    virtual ~Waiter() = default;
    /// It is inside from `begin` on, and leaves as everybody does.
    virtual void enter(port::Time begin) = 0;

private:
    friend class Window;
    Waiter* next_ = nullptr;
    port::Time since_{};
};

class Window {
public:
    Window(std::string name, unsigned places) : meter_(std::move(name)), places_(std::max(1u, places)) {
        ends_.reserve(places_);
    }

    /// When one that arrives at `at` gets in; it must leave(). `never`: all places belong to users whose end is not
    /// known yet, or others wait already; it is not inside, and may wait().
    port::Time enter(port::Time at) {
        if (first_ != nullptr || (open_ == places_))
            return port::never;
        auto begin = at;
        if (open_ + ends_.size() == places_)
            begin = std::max(at, take_first_end());
        // Who had to wait does not overtake who waited before.
        if (begin > at)
            begin = last_waited_ = std::max(begin, last_waited_);
        ++open_;
        meter_.count(at, begin);
        return begin;
    }
    /// One that got in at `begin` is gone at `done`, which may lie ahead. Lets in who waits. There is one leave() for
    /// each that got in.
    void leave(port::Time begin, port::Time done) {
        meter_.add_busy(done - begin);
        --open_;
        if (first_ == nullptr) {
            ends_.push_back(done);
            std::ranges::push_heap(ends_, std::greater{});
            return;
        }
        auto* waiter = first_;
        first_ = waiter->next_;
        if (first_ == nullptr)
            last_ = nullptr;
        const auto at = waiter->since_;
        const auto in = last_waited_ = std::max({at, done, last_waited_});
        ++open_;
        meter_.count(at, in);
        waiter->enter(in);
    }
    /// After enter() has said never: `waiter` is told when it is inside. It lives until then, or until forget().
    void wait(Waiter& waiter, port::Time at) {
        waiter.next_ = nullptr;
        waiter.since_ = at;
        (last_ != nullptr ? last_->next_ : first_) = &waiter;
        last_ = &waiter;
    }
    /// Takes a waiter back out, if it waits.
    void forget(const Waiter& waiter) {
        Waiter* before = nullptr;
        for (auto* one = first_; one != nullptr; before = one, one = one->next_) {
            if (one != &waiter)
                continue;
            (before != nullptr ? before->next_ : first_) = one->next_;
            if (last_ == one)
                last_ = before;
            return;
        }
    }

    unsigned places() const { return places_; }
    unsigned inside_without_end() const { return open_; }
    const Usage& usage() const { return meter_.usage(); }
    Account account() const { return {meter_.name(), Kind::window, places_, meter_.usage()}; }

private:
    port::Time take_first_end() {
        std::ranges::pop_heap(ends_, std::greater{});
        const auto end = ends_.back();
        ends_.pop_back();
        return end;
    }

    Meter meter_;
    unsigned places_;
    unsigned open_ = 0;            ///< inside, end not known yet
    std::vector<port::Time> ends_; ///< of places that are taken until then; a heap, the earliest first
    port::Time last_waited_{};     ///< begin of the last one that had to wait
    Waiter *first_ = nullptr, *last_ = nullptr;
};

} // namespace model::time
