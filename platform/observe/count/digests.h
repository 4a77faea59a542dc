// The digests by which two runs are held against each other: of all events, of each component's, and, at places of the
// run, of all until there. Where the last places with equal digests are, the runs were still the same. Costs a second
// hash an event.
#pragma once

#include "platform/observe/count/digest.h"

#include <memory>
#include <vector>

namespace platform::observe::count {

class Digests final : public traces::Sink {
public:
    struct Mark {
        std::uint64_t events = 0; ///< so many of them
        std::uint64_t number = 0; ///< of the last one, as the log has it
        std::int64_t time_ps = 0;
        std::string digest{}; ///< of all events until there
    };
    /// Marks kept, all equally far apart: when there are so many, every second one goes. The distance is a power of
    /// two, so that of two runs the longer one has no mark that the shorter one would not have there, too.
    static constexpr std::size_t most_marks = 128;

    void on(const traces::Stamp& stamp, const traces::Event& event) override;

    const Digest& all() const { return all_; }
    /// Of the events of one component, without the number that it has: other components do not change it. Null: it has
    /// said nothing.
    const Digest* of(std::uint16_t source) const;
    std::size_t sources() const { return parts_.size(); }
    const std::vector<Mark>& marks() const { return marks_; }

private:
    static constexpr std::uint64_t first_distance = 16;

    Digest all_;
    std::vector<std::unique_ptr<Digest>> parts_; ///< by source
    std::vector<Mark> marks_;
    std::uint64_t distance_ = first_distance;
    Bytes encoded_{512};
};

} // namespace platform::observe::count
