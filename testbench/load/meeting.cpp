#include "testbench/load/meeting.h"

#include <algorithm>
#include <utility>

namespace load {

using model::port::Time;
using model::tlm::kernel_now;
using platform::ranks::Reader;
using platform::ranks::Topic;
using platform::ranks::Writer;

Meeting::Meeting(std::size_t here, platform::ranks::Post* post)
    : here_(here), post_(post), words_(post != nullptr ? post->ranks() : 1),
      clock_([this](Time) { begin(); }, model::tlm::Calls::at_once, model::tlm::Precedence::first) {
    if (post_ != nullptr)
        post_->on(Topic::meeting, [this](unsigned from, Reader& message) { return take(from, message); });
    if (here_ == 0) // nobody is waited for
        close_doors();
}

void Meeting::come(std::span<const std::byte> words) {
    brought_.insert(brought_.end(), words.begin(), words.end());
    if (++come_ == here_)
        close_doors();
    for (const auto mine = number_; number_ == mine;)
        sc_core::wait(met_);
}

/// All hosts of this process have come.
void Meeting::close_doors() {
    const auto words = std::exchange(brought_, {});
    const auto now = kernel_now();
    if (post_ == nullptr)
        return note(0, now, words);
    post_->send_to_all(Topic::meeting, now + latency, [&](Writer& writer) {
        writer.put(number_);
        writer.put(now);
        writer.put(std::span(words));
    });
}

bool Meeting::take(unsigned from, Reader& message) {
    const auto number = message.get<std::uint32_t>();
    const auto at = message.get_time();
    const auto words = message.get_bytes();
    if (!message.is_good() || number != number_ || at + latency <= kernel_now())
        return false;
    note(from, at, words);
    return true;
}

void Meeting::note(unsigned from, Time at, std::span<const std::byte> words) {
    words_[from].assign(words.begin(), words.end());
    last_ = std::max(last_, at);
    if (++processes_ == words_.size())
        clock_.wake_at(last_ + latency);
}

void Meeting::begin() {
    processes_ = come_ = 0;
    last_ = {};
    const auto met = number_++;
    if (on_met)
        on_met(met, words_);
    model::tlm::notify_now(met_);
    if (here_ == 0)
        close_doors();
}

} // namespace load
