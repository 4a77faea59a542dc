// The digests by which two runs are held against each other: of all events, of each component's, and, at places of the
// run, of all until there. Where the last places with equal digests are, the runs were still the same.
//
// Each component's events are hashed in their order, and the digest of all is a hash over the components' in the order
// of their numbers. Which of two components has said something first at one time is not in it: that is an order of
// the simulator, and a run whose components are spread over processes has none. The ends of a cable are two components
// in that, since each may be in a process of its own.
#pragma once

#include "platform/observe/count/digest.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace platform::observe::count {

/// A digest as a value.
struct DigestValue {
    std::uint64_t events = 0, value = 0;
    bool operator==(const DigestValue&) const = default;
    /// 16 hexadecimal digits.
    std::string text() const;
};

class Digests final : public traces::Sink {
public:
    struct Mark {
        std::uint64_t events = 0; ///< so many of them
        std::uint64_t number = 0; ///< of the last one, as the log has it
        std::int64_t time_ps = 0;
        std::string digest{}; ///< of all events until there
    };
    /// A component's events, without the number that it has; those of a cable's second end are a part of their own.
    struct Part {
        std::uint16_t source = 0;
        std::uint8_t end = 0;
        DigestValue digest{};
    };
    /// Marks kept, all equally far apart: when there are so many, every second one goes. The distance is a power of
    /// two, so that of two runs the longer one has no mark that the shorter one would not have there, too.
    static constexpr std::size_t most_marks = 128;

    void on(const traces::Stamp& stamp, const traces::Event& event) override;

    /// Of all components.
    DigestValue all() const;
    /// Of the events of one component: other components do not change it. None: it has said nothing.
    std::optional<DigestValue> of(std::uint16_t source) const;
    std::size_t sources() const { return (parts_.size() + 1) / ends; }
    const std::vector<Mark>& marks() const { return marks_; }

    /// What was said here, by component and end.
    std::vector<Part> parts() const;
    /// A part that was said elsewhere, in another process of the same run. False: it is here already. Such a run has no
    /// marks, since nobody has seen all events in one order.
    bool add(const Part& part);
    void leave_out_marks() { has_marks_ = false; }

private:
    static constexpr std::uint64_t first_distance = 16;
    static constexpr std::size_t ends = 2;
    std::optional<DigestValue> value_of(std::size_t number) const;

    std::uint64_t events_ = 0;
    std::vector<std::unique_ptr<Digest>> parts_;     ///< by source and end
    std::vector<std::optional<DigestValue>> others_; ///< of other processes, by the same
    std::vector<Mark> marks_;
    std::uint64_t distance_ = first_distance;
    bool has_marks_ = true;
};

} // namespace platform::observe::count
