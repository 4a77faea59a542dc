// Which queue pairs may have something to send, in the order of their turns, and from when on others may.
#pragma once

#include "model/simple/agenda.h"
#include "model/simple/queue_pair.h"

namespace model::simple {

class ReadyList {
public:
    explicit ReadyList(Agenda& agenda) : agenda_(agenda) {}

    void add(QueuePair& qp) {
        if (qp.is_ready)
            return;
        qp.is_ready = true;
        qp.next_ready = nullptr;
        (first_ != nullptr ? last_->next_ready : first_) = &qp;
        last_ = &qp;
    }
    /// Adds it at `at`, or now where that has come.
    void add_at(QueuePair& qp, port::Time at) {
        if (at <= agenda_.now())
            return add(qp);
        if (at >= qp.wake)
            return;
        qp.wake = at;
        agenda_.add(at, qp.number.value, qp.serial, Agenda::What::work);
    }
    /// The agenda says that its time has come.
    void come(QueuePair& qp, port::Time at) {
        if (qp.wake > at)
            return; // it was woken before
        qp.wake = port::never;
        add(qp);
    }
    /// A deadline for the acknowledgement of what has been sent.
    void watch(QueuePair& qp, port::Time deadline) {
        qp.deadline = deadline;
        if (deadline == port::never || qp.is_deadline_watched)
            return;
        qp.is_deadline_watched = true;
        agenda_.add(deadline, qp.number.value, qp.serial, Agenda::What::deadline);
    }
    bool is_empty() const { return first_ == nullptr; }
    QueuePair& take() {
        auto& first = *first_;
        first_ = first.next_ready;
        first.is_ready = false;
        return first;
    }
    /// It is about to go.
    void forget(const QueuePair& qp) {
        QueuePair* before = nullptr;
        for (auto* one = first_; one != nullptr; before = one, one = one->next_ready) {
            if (one != &qp)
                continue;
            (before != nullptr ? before->next_ready : first_) = one->next_ready;
            if (last_ == one)
                last_ = before;
            return;
        }
    }
    void clear() { first_ = last_ = nullptr; }

private:
    Agenda& agenda_;
    QueuePair *first_ = nullptr, *last_ = nullptr;
};

} // namespace model::simple
