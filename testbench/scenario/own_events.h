// Lets through what the components of this process say. Those of other processes are built here, too, since a platform
// is described as a whole; what they say while they come up, they say where they run.
#pragma once

#include "platform/observe/event.h"

#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace scenario {

class OwnEvents final : public traces::Sink {
public:
    /// `to`: nullptr: nobody listens.
    OwnEvents(traces::Sink* to, const platform::observe::Sources& sources) : to_(to), sources_(sources) {}

    /// Whether a component of that name is one of this process; events that came before are decided now.
    void keep(std::function<bool(std::string_view component)> is_own) {
        is_own_ = std::move(is_own);
        for (const auto& [stamp, event] : std::exchange(early_, {}))
            on(stamp, event);
    }
    void on(const traces::Stamp& stamp, const traces::Event& event) override {
        if (to_ == nullptr)
            return;
        if (!is_own_) {
            early_.emplace_back(stamp, event);
            return;
        }
        if (stamp.source >= known_.size())
            known_.resize(stamp.source + std::size_t{1});
        auto& known = known_[stamp.source];
        if (!known)
            known = is_own_(sources_.name(stamp.source));
        if (*known)
            to_->on(stamp, event);
    }

private:
    traces::Sink* to_;
    const platform::observe::Sources& sources_;
    std::function<bool(std::string_view)> is_own_;
    std::vector<std::optional<bool>> known_; ///< by source
    std::vector<std::pair<traces::Stamp, traces::Event>> early_;
};

} // namespace scenario
