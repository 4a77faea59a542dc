#include "model/nvme/flash/dies.h"

#include <algorithm>
#include <cassert>
#include <optional>
#include <string>

namespace model::nvme {

using port::Time;

Dies::Dies(const FlashConfig& config)
    : config_(config), dies_("dies", config.channels * config.dies, config.read), waiting_(dies_.units()) {
    channels_.reserve(config.channels);
    for (std::uint32_t i = 0; i < config.channels; ++i)
        channels_.emplace_back("channel " + std::to_string(i), config.channel_rate);
}

Time Dies::read(unsigned die, std::uint64_t bytes, Time at) {
    begin_programs(die, at);
    return channel_of(die).use(dies_.use_unit(die, at, config_.read).done, bytes).done;
}

void Dies::program(unsigned die, std::uint32_t page, Time ready) {
    waiting_[die].waiting.push_back({page, ready});
    next_begin_ = std::min(next_begin_, begin_of(die));
}

/// A block is erased before its first page is programmed; each die begins with one that is.
void Dies::begin_program(unsigned die) {
    auto& one = waiting_[die];
    const auto begin = begin_of(die);
    const auto page = one.waiting.front().page;
    one.waiting.pop_front();
    auto erased = begin;
    if (one.programmed != 0 && one.programmed % config_.block_pages == 0)
        erased = dies_.use_unit(die, begin, config_.erase).done;
    const auto across = channel_of(die).use(erased, config_.page_bytes).done;
    ++one.programmed;
    one.done = std::max(one.done, dies_.use_unit(die, across, config_.program).done);
    assert(listener_ != nullptr && "somebody wants to know");
    listener_->programmed(page, one.done);
}

void Dies::begin_programs(unsigned die, Time now) {
    while (!waiting_[die].waiting.empty() && begin_of(die) <= now)
        begin_program(die);
}

void Dies::begin_programs(Time now) {
    if (now < next_begin_)
        return;
    next_begin_ = port::never;
    for (unsigned die = 0; die < count(); ++die) {
        begin_programs(die, now);
        if (!waiting_[die].waiting.empty())
            next_begin_ = std::min(next_begin_, begin_of(die));
    }
}

bool Dies::begin_next_program() {
    std::optional<unsigned> first;
    for (unsigned die = 0; die < count(); ++die)
        if (!waiting_[die].waiting.empty() && (!first || begin_of(die) < begin_of(*first)))
            first = die;
    if (first)
        begin_program(*first);
    return first.has_value();
}

Time Dies::finish_programs(unsigned die) {
    while (!waiting_[die].waiting.empty())
        begin_program(die);
    return waiting_[die].done;
}

Time Dies::finish_programs() {
    Time done{};
    for (unsigned die = 0; die < count(); ++die)
        done = std::max(done, finish_programs(die));
    return done;
}

void Dies::accounts(std::vector<time::Account>& rows) const {
    rows.push_back(dies_.account());
    rows.push_back(time::sum("channels", channels_));
}

} // namespace model::nvme
