// What the cores of a measuring workload do: one posts requests and polls for their completions, one gives receives,
// two play ping-pong. Each is the body of a thread of the simulation, and returns when the window is over.
#pragma once

#include "testbench/calibrate/meter.h"
#include "testbench/calibrate/side.h"
#include "testbench/calibrate/traffic.h"

#include <cstdint>
#include <random>
#include <vector>

namespace calibrate {

class Requester {
public:
    Requester(Side& own, const Side& peer, const Traffic& traffic, std::uint32_t core, Meter& meter);
    void run();

private:
    struct Queue {
        std::uint64_t posted = 0, done = 0;
        std::vector<model::port::Time> since; ///< when each message under way was posted
    };
    bool has_room(const Queue& queue) const;
    void post(std::size_t number);
    void fill(sw::mlx::SendRequest& request, sw::mlx::Sge& sge, std::uint64_t id);
    std::uint64_t next_offset();
    std::size_t poll();

    Core& core_;
    Side& own_;
    const Side& peer_;
    const Traffic& traffic_;
    Meter& meter_;
    std::vector<Queue> queues_;
    std::vector<sw::mlx::SendRequest> requests_;
    std::vector<sw::mlx::Sge> sges_;
    std::uint64_t offset_ = 0;
    std::mt19937_64 random_;
};

/// The receives that a side has before anything is sent.
void give_receives(Side& side, const Traffic& traffic);
/// Gives one more for each that was used.
void serve_receives(Side& own, const Traffic& traffic, std::uint32_t core, Meter& meter);

/// One of the two players. The one who begins counts.
void play(Side& own, const Side& peer, const Traffic& traffic, bool begins, Meter& meter);

} // namespace calibrate
