// A recording, read some way ahead: the calls that are to be made again, what is expected of the device, and what it
// will find in memory.
#pragma once

#include "platform/record/expectations.h"
#include "platform/record/memory_image.h"

#include <deque>
#include <map>
#include <optional>
#include <vector>

namespace platform::record {

/// Something that the outside did to the device.
struct Input {
    Step step;
    std::optional<Steps::BarPlace> bar;
    std::optional<Step> answer{}; ///< of the recorded device, to a read
    /// When the recorded device last did something by itself before it. Software's clock may be ahead: then the device
    /// did something behind it at an earlier time.
    model::port::Time own{};
};

class Script {
public:
    using Time = model::port::Time;

    /// How much is held of what a recording has up to the next call, and of the memory that it implies. A short file
    /// can say much: many long accesses whose bytes it has once.
    static constexpr std::size_t most_held_bytes = std::size_t{512} << 20;

    Script(traces::codec::Reader& reader, const DeviceInterfaces& interfaces, std::size_t most_held = most_held_bytes);

    Expectations& expectations() { return expectations_; }
    MemoryImage& memory() { return memory_; }
    /// The next call to be made; nullptr: there is none. What the recorded device did up to it is expected.
    const Input* next();
    Input take();
    /// The record of the next call; behind all, when there is none.
    std::uint64_t next_record();
    /// Reads on, though nothing asks for a call. False: there is no more, or it is too far ahead.
    bool read_ahead();
    /// What the cable has answered to the device's questions, in their order; the last one stays.
    std::uint64_t wire_answer(std::size_t port, traces::codec::Signal signal, std::uint64_t otherwise);

    std::size_t calls_ahead() const { return inputs_.size(); } ///< that were read, and are to be made
    Time end() const { return end_; }                          ///< time of the last record that was read
    std::uint64_t records() const { return steps_.records(); }
    const std::optional<traces::codec::Fault>& fault() const { return fault_ ? fault_ : steps_.fault(); }

private:
    /// What the device has done and the outside has not answered; a call may be made meanwhile.
    using Waiting = std::map<std::size_t, std::vector<Step>>;

    bool read_one();
    void call(const Step& step);
    void answer(const Step& step);
    void deed(const Step& step);
    std::size_t held_bytes() const;
    std::size_t footprint_bytes() const;
    std::optional<Step> answered(Waiting& waiting, std::size_t place);

    Steps steps_;
    Deeds deeds_; ///< as the recorded device did them
    Expectations expectations_;
    MemoryImage memory_;
    std::deque<Input> inputs_;
    Waiting reads_, writes_, frames_;  ///< by function, by port
    std::map<std::size_t, Time> sent_; ///< when the last frame of a port was out
    std::map<std::pair<std::size_t, traces::codec::Signal>, std::deque<std::uint64_t>> wire_answers_;
    std::map<std::uint64_t, std::uint32_t> queue_pairs_; ///< of received frames, by their records
    std::size_t most_held_, input_bytes_ = 0;
    std::size_t waiting_ = 0; ///< steps in reads_, writes_, frames_
    std::optional<traces::codec::Fault> fault_;
    Time end_{}, own_{}; ///< own_: when the device was last woken, or found room on a wire
};

} // namespace platform::record
