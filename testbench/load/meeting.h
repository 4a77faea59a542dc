// Hosts meet out of band, as by a network for management: each brings some words, and all go on when the last one has
// come and its words have reached everybody. Hosts may be in several processes; that a message takes its time is what
// lets these go on apart. A thread of the simulation speaks for each host.
#pragma once

#include "model/tlm/kernel_clock.h"
#include "platform/ranks/post.h"

#include <systemc>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace load {

class Meeting {
public:
    /// Of a message from a host to all others.
    static constexpr model::port::Time latency = std::chrono::microseconds{10};

    /// `here`: so many hosts of this process meet. `post`: to the other processes; nullptr: there are none. To be made
    /// during elaboration.
    Meeting(std::size_t here, platform::ranks::Post* post);
    Meeting(const Meeting&) = delete;
    Meeting& operator=(const Meeting&) = delete;

    /// A host has come. Returns when all have, at the same time in all processes.
    void come(std::span<const std::byte> words);
    /// Called at that time in each process, before anything else happens then, with the number of the meeting, from 0,
    /// and what its hosts have brought, by process. May be empty.
    std::function<void(unsigned number, const std::vector<platform::ranks::Bytes>& words)> on_met{};

private:
    void close_doors();
    bool take(unsigned from, platform::ranks::Reader& message);
    void note(unsigned from, model::port::Time at, std::span<const std::byte> words);
    void begin();

    const std::size_t here_;
    platform::ranks::Post* post_;
    std::uint32_t number_ = 0;
    std::size_t come_ = 0;      ///< hosts of this process
    std::size_t processes_ = 0; ///< of which all hosts have come
    platform::ranks::Bytes brought_;
    std::vector<platform::ranks::Bytes> words_; ///< by process
    model::port::Time last_{};
    sc_core::sc_event met_;
    model::tlm::KernelClock clock_;
};

} // namespace load
