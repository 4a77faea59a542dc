#include "model/tlm/posted_requests.h"

#include <algorithm>
#include <utility>

namespace model::tlm {

PostedRequests* Neighbours::caller() const {
    const auto at = std::ranges::find_if(all_, &PostedRequests::is_callers);
    return at != all_.end() ? *at : nullptr;
}

PostedRequests::PostedRequests(Neighbours& neighbours, Turn& turn) : neighbours_(neighbours), turn_(turn) {
    neighbours_.all_.push_back(this);
    sc_core::sc_spawn_options options;
    options.set_stack_size(process_stack_bytes);
    sc_core::sc_spawn([this] { carry_out(); }, sc_core::sc_gen_unique_name("posted"), &options);
}

bool PostedRequests::may_enter() {
    const auto* source = neighbours_.caller();
    if (source == nullptr)
        await_credit();
    return waiting_.empty() && (source == nullptr ? turn_.is_free() : source == this);
}

void PostedRequests::post(const void* to, std::size_t bytes, std::function<void()> call) {
    auto* source = neighbours_.caller();
    if (source != nullptr)
        ++source->requests_, source->bytes_ += bytes;
    waiting_.push_back({to, bytes, source, std::move(call)});
    const auto number = ++posted_;
    notify_at_once(is_posted_);
    if (source == nullptr && is_in_thread())
        while (done_ < number)
            sc_core::wait(is_done_);
}

/// The process of the card. Cards that write to each other without end let time pass, even where nothing they do takes
/// any: a simulation that is paced from outside returns between two instants only.
void PostedRequests::carry_out() {
    const auto instant = sc_core::sc_time::from_value(1);
    for (;;) {
        while (waiting_.empty())
            sc_core::wait(is_posted_);
        sc_core::wait(instant);
        for (auto left = waiting_.size(); left != 0; --left)
            do_next();
    }
}

/// Needs no credit: what gives credit back does not wait for any.
void PostedRequests::do_next() {
    const Turn::Hold hold(turn_);
    const auto next = std::move(waiting_.front());
    waiting_.pop_front();
    if (next.to != nullptr)
        next.call();
    ++done_;
    notify_at_once(is_done_);
    if (next.source == nullptr)
        return;
    --next.source->requests_, next.source->bytes_ -= next.bytes;
    notify_at_once(next.source->has_credit_again_);
}

bool PostedRequests::push() {
    if (is_empty() || !is_in_thread())
        return true;
    if (is_callers()) // and does what was posted, or the device's own work
        return waiting_.empty();
    if (is_waiting_for_caller())
        return false;
    auto* source = neighbours_.caller();
    if (source != nullptr)
        source->awaited_ = this;
    for (const auto before = posted_; done_ < before;)
        sc_core::wait(is_done_);
    if (source != nullptr)
        source->awaited_ = nullptr;
    return true;
}

/// Whoever holds this card waits, directly or through others, for the end of the caller's chain. There is no circle
/// that the caller is not in: each read asked this before it waited.
bool PostedRequests::is_waiting_for_caller() const {
    const auto* card = awaited_;
    while (card != nullptr && !card->is_callers())
        card = card->awaited_;
    return card != nullptr;
}

void PostedRequests::drop(const void* to) {
    for (auto& request : waiting_)
        if (request.to == to)
            request.to = nullptr;
}

void PostedRequests::await_credit() {
    while (!has_credit() && is_in_thread() && neighbours_.caller() == nullptr)
        sc_core::wait(has_credit_again_);
}

} // namespace model::tlm
