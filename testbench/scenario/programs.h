// Programs of simulated hosts: each runs as a thread (SC_THREAD) of its host, and they talk out of band over in-memory
// queues. Runs the simulation until the last one has returned.
#pragma once

#include "testbench/scenario/out_of_band.h"
#include "testbench/scenario/stop.h"

#include <systemc>

#include <array>
#include <deque>
#include <expected>
#include <functional>
#include <string>
#include <vector>

namespace scenario {

/// Two ends of an out-of-band connection between threads of the simulation.
class MessageQueues {
public:
    OutOfBand& end(unsigned i) { return ends_[i]; }
    /// The program at end `i` has returned: whoever waits for it is told.
    void close(unsigned i) { ends_[i].close(); }

private:
    class End final : public OutOfBand {
    public:
        explicit End(End& other) : other_(other) {}
        void send(std::span<const std::byte> message) override;
        std::vector<std::byte> receive() override;
        bool has_something() override { return !waiting_.empty() || is_peer_gone_; }
        void close();

    private:
        End& other_;
        std::deque<std::vector<std::byte>> waiting_;
        bool is_peer_gone_ = false;
        sc_core::sc_event changed_;
    };
    std::array<End, 2> ends_{End{ends_[1]}, End{ends_[0]}};
};

class Programs {
public:
    /// To be called during elaboration.
    void add(std::string name, std::function<void()> body);
    /// Runs until every program has returned, or until `stop` is requested. Otherwise a failure for a person: the
    /// simulation ran dry, a program waits for ever.
    std::expected<void, std::string> run(Stop* stop = nullptr);
    /// Every program has returned. For whoever runs the simulation by itself.
    bool are_done() const { return running_ == 0; }
    /// When the last one has.
    sc_core::sc_time done_at() const { return done_at_; }
    /// Has the kernel say nothing of its end, which is no news for anybody.
    static void keep_quiet();

private:
    struct Program {
        std::string name;
        std::function<void()> body;
        bool is_done = false;
    };
    std::deque<Program> programs_;
    std::size_t running_ = 0;
    sc_core::sc_time done_at_{};
};

} // namespace scenario
