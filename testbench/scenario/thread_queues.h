// Two ends of an out-of-band connection between threads of one process: for programs whose devices are elsewhere.
#pragma once

#include "testbench/scenario/out_of_band.h"

#include <array>
#include <condition_variable>
#include <deque>
#include <mutex>

namespace scenario {

class ThreadQueues {
public:
    OutOfBand& end(unsigned i) { return ends_[i]; }
    /// The program at end `i` has returned: whoever waits for it is told.
    void close(unsigned i) { ends_[1 - i].peer_has_gone(); }

private:
    class End final : public OutOfBand {
    public:
        explicit End(End& other) : other_(other) {}
        void send(std::span<const std::byte> message) override { other_.take(message); }
        std::vector<std::byte> receive() override;
        bool has_something() override;
        void peer_has_gone();

    private:
        void take(std::span<const std::byte> message);

        End& other_;
        std::mutex mutex_;
        std::condition_variable changed_;
        std::deque<std::vector<std::byte>> waiting_;
        bool is_peer_gone_ = false;
    };
    std::array<End, 2> ends_{End{ends_[1]}, End{ends_[0]}};
};

} // namespace scenario
