// The requester of the RC transport (IBA 9.7.3 to 9.7.7): sends a queue pair's messages, takes in acknowledgements and
// responses, completes work requests in order. Receives turns from the scheduler and packets from the port; gives
// packets and completions. What goes wrong on the way is in retry.
#pragma once

#include "model/hca/data_path.h"
#include "model/hca/completion/failure.h"
#include "model/hca/queue/queue_pair.h"
#include "model/hca/paging/page_faults.h"
#include "model/hca/requester/packetize.h"
#include "model/hca/umr/umr.h"

#include <cstddef>
#include <optional>
#include <span>

namespace model::hca::requester {

class Requester {
public:
    Requester(DataPath& path, completion::WorkCompletions& completions, completion::Failure& failure, umr::Umr& umr,
              paging::PageFaults& page_faults)
        : path_(path), completions_(completions), failure_(failure), umr_(umr), page_faults_(page_faults) {}

    /// Sends up to `packets` packets of this queue pair's messages. True when there is more to send at once.
    bool advance(queue::QueuePair& qp, std::uint32_t packets, port::Time at);
    /// An acknowledge, negative acknowledge, READ response or atomic acknowledge arrived.
    void receive(queue::QueuePair& qp, port::Packet& packet, port::Time at);
    /// The queue pair's deadline has passed: the RNR pause is over, or no answer came.
    void expire(queue::QueuePair& qp, port::Time at);
    /// The sending side starts: RTR to RTS.
    void start(queue::QueuePair& qp);
    /// Software has answered a page fault of the sending side: the queue goes on, or its message fails.
    void resume(queue::QueuePair& qp, abi::prm::PageFaultType type, bool is_error, port::Time at);
    void set_host_order(bool host_order) { host_order_ = host_order; }

private:
    // Sending
    std::optional<port::Time> load(queue::QueuePair& qp, port::Time at);
    std::optional<port::Time> admit(queue::QueuePair& qp, port::Time at);
    bool waits_for_earlier(const queue::QueuePair& qp, bool is_data) const;
    port::Wire& outlet(queue::QueuePair& qp);
    void send(queue::QueuePair& qp, port::Wire& wire, port::Time at);
    void echo(const port::Packet& packet, const port::Wire& wire, port::Time at);
    void stop(queue::QueuePair& qp, const completion::LocalError& error, port::Time at);
    void count_local(const queue::QueuePair& qp, const completion::LocalError& error);
    // Answers
    void acknowledge(queue::QueuePair& qp, abi::Psn psn, port::Time at);
    void negative(queue::QueuePair& qp, const port::Packet& packet, port::Time at);
    void read_response(queue::QueuePair& qp, port::Packet& packet, port::Time at);
    void atomic_response(queue::QueuePair& qp, const port::Packet& packet, port::Time at);
    bool answers_front(queue::QueuePair& qp, abi::Psn psn, port::Time at);
    void ask_again(queue::QueuePair& qp, port::Time at);
    std::optional<port::Time> load_response(queue::QueuePair& qp, port::Time at);
    bool is_answered_in_cqe(queue::QueuePair& qp) const;
    void answer_in_cqe(queue::QueuePair& qp, std::span<const std::span<const std::byte>> pieces, port::Time at);
    void retire(queue::QueuePair& qp, port::Time at, std::span<const std::byte> answer = {});
    void complete_front(queue::QueuePair& qp, port::Time at, std::span<const std::byte> answer);
    void fail_front(queue::QueuePair& qp, const completion::LocalError& error, port::Time at);
    bool place_answer(queue::QueuePair& qp, std::uint32_t offset, std::span<const std::span<const std::byte>> pieces,
                      port::Time at);
    // paging.cpp
    bool wait_to_send(queue::QueuePair& qp, const tpt::Request& access, port::Time at);
    bool wait_to_place(queue::QueuePair& qp, std::uint32_t offset, std::uint32_t bytes, const tpt::Request& access,
                       port::Time at);
    // retry.cpp
    void progress(queue::QueuePair& qp, port::Time at);
    void watch(queue::QueuePair& qp, port::Time at);
    void go_back(queue::QueuePair& qp, abi::Psn psn, port::Time at);
    void retry(queue::QueuePair& qp, abi::Psn psn, traces::RetryReason reason, port::Time at);
    void wait_for_receiver(queue::QueuePair& qp, abi::Psn psn, std::uint8_t timer, port::Time at);

    DataPath& path_;
    completion::WorkCompletions& completions_;
    completion::Failure& failure_;
    umr::Umr& umr_;
    paging::PageFaults& page_faults_;
    bool host_order_ = false;
};

} // namespace model::hca::requester
