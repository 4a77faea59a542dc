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
        if (pause)
            pause();
    }
    bool is_requested() const { return !why_.empty(); }
    /// For a person: "interrupted (SIGINT)".
    const std::string& why() const { return why_; }

    std::function<void()> pause; ///< while a simulation runs

private:
    std::string why_;
};

} // namespace scenario
