// What one core of a node does: posts on its queue pairs as long as there is room and something to send, polls for
// completions, gives receives again, and looks at the bytes of what has arrived. The body of a thread of the
// simulation; it returns when the load is over and nothing is under way any more.
#pragma once

#include "testbench/load/messages.h"

#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

namespace load {

class Worker {
public:
    Worker(Node& node, std::size_t number, std::uint32_t core, Shared& shared);
    void run();

private:
    bool post_all();
    bool post_on(End& end);
    void post(End& end, std::uint32_t count);
    bool has_room(const End& end) const;
    bool has_something(const End& end) const;
    /// What can be posted now may be less than a batch where arrivals decide.
    std::uint32_t batch_of(const End& end) const;
    std::size_t poll_sent();
    std::size_t poll_received();
    void flush();
    void flush(End& end);
    /// Nothing new will be sent on it: its list is over, or its flow has left.
    bool is_spent(const End& end) const;
    void arrive();
    void expect(End& end);
    void await(End& end, model::port::Time at);
    bool waits_for_its_time() const;
    void wait();
    void make_ready(End& end);

    Node& node_;
    const std::size_t number_;
    Core& core_;
    Shared& shared_;
    const Work& work_;
    Messages messages_;
    const model::port::Time begun_;
    std::vector<End*> ready_; ///< that may have room, in the order in which they had it
    std::vector<Done> done_;  ///< found by one poll
    std::vector<sw::verbs::SendRequest> requests_;
    std::vector<sw::verbs::Sge> sges_;
    using Arrival = std::pair<model::port::Time, std::size_t>; ///< and the end, among those of the core
    std::priority_queue<Arrival, std::vector<Arrival>, std::greater<>> arrivals_;
    bool is_flushed_ = false;
};

} // namespace load
