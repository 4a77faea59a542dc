#include "platform/host/interrupts.h"

#include "model/tlm/time.h"

#include <algorithm>

namespace platform::host {

using model::port::Time;

std::optional<std::uint32_t> Interrupts::allocate() {
    auto line = std::ranges::find(lines_, false, [](const auto& l) { return l->is_allocated; });
    if (line == lines_.end()) {
        if (lines_.size() == max_vectors)
            return {};
        lines_.push_back(std::make_unique<Line>());
        line = std::prev(lines_.end());
    }
    (*line)->is_allocated = true;
    (*line)->arrivals.clear();
    return static_cast<std::uint32_t>(line - lines_.begin());
}

void Interrupts::release(std::uint32_t vector) { lines_[vector]->is_allocated = false; }

void Interrupts::message(std::uint64_t address, std::uint32_t data, Time at) {
    if (address != message_address || data >= lines_.size() || !lines_[data]->is_allocated) {
        ++spurious_;
        return;
    }
    // What was written before it shows first (PCIe 6.0 §2.4.1), also at the same instant.
    if (at > model::tlm::kernel_now())
        at += Time{1};
    auto& line = *lines_[data];
    if (line.arrivals.size() < max_waiting)
        line.arrivals.insert(std::ranges::upper_bound(line.arrivals, at), at);
    model::tlm::notify_now(line.event);
}

bool Interrupts::take(std::uint32_t vector, Time now) {
    auto& arrivals = lines_[vector]->arrivals;
    bool is_taken = false;
    while (!arrivals.empty() && arrivals.front() <= now)
        arrivals.pop_front(), is_taken = true;
    return is_taken;
}

Time Interrupts::next(std::uint32_t vector) const {
    const auto& arrivals = lines_[vector]->arrivals;
    return arrivals.empty() ? model::port::never : arrivals.front();
}

} // namespace platform::host
