// Events of a device: waiting for them, and which object each belongs to.
#include "sw/mlx/completion/cq.h"
#include "sw/mlx/device/device.h"
#include "sw/mlx/memory/pager.h"

#include <algorithm>

namespace sw::mlx {

using namespace abi::prm;

namespace {

constexpr std::size_t events_kept = 65'536; // when nobody collects events, the oldest are dropped

} // namespace

EventQueue& Device::completion_eq(unsigned i) {
    return completion_eqs_.empty() ? *async_eq_ : *completion_eqs_[i % completion_eqs_.size()];
}

unsigned Device::completion_vector(unsigned i) const {
    return completion_eqs_.empty() ? command_vector : completion_eqs_[i % completion_eqs_.size()]->vector();
}

unsigned Device::service_events(unsigned vector) {
    unsigned total = 0;
    for (std::size_t i = 0; i < eqs_.size(); ++i) { // a handler may wait for a command, but makes no queue
        auto& queue = *eqs_[i];
        if (queue.vector() != vector)
            continue;
        const auto count = queue.poll([this](abi::ConstView<Eqe> event) { dispatch(event); });
        total += count;
        if (count)
            queue.arm(); // an armed queue gives one interrupt: arm it for the next
    }
    if (auto supplied = pages_->service(); !supplied)
        commands_->fail(supplied.error()); // without its pages the device may never answer again
    return total;
}

unsigned Device::wait_events(unsigned vector, std::chrono::nanoseconds timeout) {
    if (const auto count = service_events(vector))
        return count;
    if (!transport_.wait_interrupt(vector, timeout))
        return 0;
    const auto count = service_events(vector);
    if (count == 0) // the interrupt of events we had taken before it came: ask for the next one
        for (const auto& queue : eqs_)
            if (queue->vector() == vector)
                queue->arm();
    return count;
}

CompletionQueue* Device::wait_completion_event(unsigned i, std::chrono::nanoseconds timeout) {
    const auto deadline = transport_.now() + timeout;
    service_events(completion_vector(i));
    for (;;) {
        while (!completion_events_.empty()) {
            const auto cqn = completion_events_.front();
            completion_events_.pop_front();
            if (auto* cq = cqs_.find(cqn.value))
                return cq;
        }
        const auto now = transport_.now();
        if (now >= deadline || !health_.look_now_and_then())
            return nullptr;
        wait_events(completion_vector(i), std::min<std::chrono::nanoseconds>(deadline - now, Health::period));
    }
}

std::optional<AsyncEvent> Device::wait_async_event(std::chrono::nanoseconds timeout) {
    const auto deadline = transport_.now() + timeout;
    service_events(command_vector);
    for (;;) {
        if (!async_events_.empty()) {
            const auto event = async_events_.front();
            async_events_.pop_front();
            return event;
        }
        const auto now = transport_.now();
        if (now >= deadline)
            return std::nullopt;
        wait_events(command_vector, deadline - now);
    }
}

void Device::forget_completion_events(abi::Cqn cqn) { std::erase(completion_events_, cqn); }

void Device::add_async(AsyncEvent event) {
    async_events_.push_back(event);
    if (async_events_.size() > events_kept)
        async_events_.pop_front();
}

void Device::dispatch(abi::ConstView<Eqe> event) {
    const auto type = event.get<"event_type">();
    switch (type) {
    case EventType::command: return commands_->complete(event_data<CommandEventData>(event).get<"vector">());
    case EventType::page_request:
        return pages_->request(static_cast<std::int32_t>(event_data<PageRequestEventData>(event).get<"num_pages">()));
    case EventType::completion: {
        const abi::Cqn cqn{event_data<CompletionEventData>(event).get<"cqn">()};
        auto* cq = cqs_.find(cqn.value);
        if (!cq) {
            ++unexpected_events_;
            return;
        }
        cq->on_event();
        completion_events_.push_back(cqn); // a queue has at most one event for each time that it was armed
        return;
    }
    case EventType::cq_error: {
        const auto data = event_data<CqErrorEventData>(event);
        return add_async({type, data.get<"cqn">(), static_cast<std::uint8_t>(data.get<"syndrome">())});
    }
    case EventType::port_change:
        return add_async({type, event_data<PortChangeEventData>(event).get<"port_num">(),
                          static_cast<std::uint8_t>(event.get<"event_sub_type">())});
    case EventType::page_fault:
        if (pager_)
            pager_->take(event);
        return;
    case EventType::internal_error: return add_async({type, 0, 0});
    case EventType::path_migrated:
    case EventType::communication_established:
    case EventType::sq_drained:
    case EventType::wq_catastrophic_error:
    case EventType::path_migration_failed:
    case EventType::wq_invalid_request:
    case EventType::wq_access_error:
    case EventType::srq_catastrophic_error:
    case EventType::srq_last_wqe:
    case EventType::srq_limit: return add_async({type, event_data<QueueEventData>(event).get<"qp_srq_n">(), 0});
    default: ++unexpected_events_; return;
    }
}

} // namespace sw::mlx
