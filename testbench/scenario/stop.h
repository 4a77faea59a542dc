// The wish that a run ends before its programs have: a signal, an output that cannot be written. Whoever runs the
// simulation says how it is stopped; the first wish counts.
#pragma once

#include <functional>
#include <string>
#include <utility>

namespace scenario {

class Stop {
public:
    void request(std::string why) {
        if (is_requested())
            return;
        why_ = std::move(why);
        if (pause_)
            pause_();
    }
    bool is_requested() const { return !why_.empty(); }
    /// For a person: "interrupted (SIGINT)".
    const std::string& why() const { return why_; }

    /// Asks who may have a wish: a simulation that emits no event gives nobody an occasion to request it.
    void ask() {
        if (on_ask)
            on_ask();
    }
    std::function<void()> on_ask{};                    ///< may be empty
    std::function<void(bool is_running)> on_running{}; ///< a simulation begins, or stands again; may be empty

private:
    friend class Running;
    std::function<void()> pause_; ///< while a simulation runs
    std::string why_;
};

/// As long as it lives, a simulation runs. When it stands, wishes of which it has told nobody are asked for.
class Running {
public:
    /// `stop`: nullptr: nobody ends it. `pause`: has the simulation stand; empty: whoever runs it looks by himself.
    explicit Running(Stop* stop, std::function<void()> pause = {}) : stop_(stop) {
        if (stop_ == nullptr)
            return;
        stop_->pause_ = std::move(pause);
        if (stop_->on_running)
            stop_->on_running(true);
    }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    ~Running() {
        if (stop_ == nullptr)
            return;
        stop_->pause_ = nullptr;
        stop_->ask();
        if (stop_->on_running)
            stop_->on_running(false);
    }

private:
    Stop* stop_;
};

} // namespace scenario
