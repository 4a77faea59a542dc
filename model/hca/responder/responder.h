// The responder of the RC transport (IBA 9.7.3 to 9.7.5): takes request packets in order, refuses what breaks a rule
// with the right NAK, answers again what it has seen before. Receives packets from the port and turns from the
// scheduler; gives writes to memory, receive completions and answers. The parts: responder (order), receive (SEND),
// remote_memory (WRITE, READ, atomics), answer (ACKs and responses), replay (duplicates).
#pragma once

#include "abi/wire/infiniband.h"
#include "model/hca/data_path.h"
#include "model/hca/paging/page_faults.h"
#include "model/hca/completion/failure.h"
#include "model/hca/queue/queue_pair.h"
#include "model/hca/responder/placement.h"
#include "model/hca/umr/umr.h"

#include <optional>
#include <vector>

namespace model::hca::responder {

class Responder {
public:
    Responder(DataPath& path, completion::WorkCompletions& completions, completion::Failure& failure, umr::Umr& umr,
              paging::PageFaults& page_faults)
        : path_(path), completions_(completions), failure_(failure), umr_(umr), page_faults_(page_faults) {}

    /// One request packet.
    void receive(queue::QueuePair& qp, port::Packet& packet, port::Time at);
    /// The batch is over: acknowledgements that were held back to be merged go out.
    void received_all(port::Time at);
    /// Sends up to `packets` answers. True when more can go at once.
    bool answer(queue::QueuePair& qp, std::uint32_t packets, port::Time at);
    /// The receiving side starts: INIT to RTR.
    void start(queue::QueuePair& qp);
    /// The queue pair goes: nothing here may refer to it afterwards.
    void forget(queue::QueuePair& qp);
    /// Software has answered a page fault of the receiving side.
    void resume(queue::QueuePair& qp, abi::prm::PageFaultType type, bool is_error, port::Time at);
    void set_host_order(bool host_order) { host_order_ = host_order; }

private:
    // What carries a packet out returns when that is done; nothing: it was refused, and the peer has its answer.
    void receive_unreliable(queue::QueuePair& qp, port::Packet& packet, port::Time at);
    bool select_shared_queue(queue::QueuePair& qp, const port::Packet& packet);
    void execute(queue::QueuePair& qp, port::Packet& packet, port::Time at);
    bool is_in_order(const queue::QueuePair& qp, const port::Packet& packet) const;
    void say_accepted(const queue::QueuePair& qp, const port::Packet& packet, port::Time at) const;
    void finish_packet(queue::QueuePair& qp, const port::Packet& packet, port::Time at);
    void complete_receive(queue::QueuePair& qp, const port::Packet& packet, std::uint32_t bytes, port::Time at);
    // receive.cpp
    std::optional<port::Time> take_receive(queue::QueuePair& qp, port::Time at);
    std::optional<port::Time> send(queue::QueuePair& qp, port::Packet& packet, port::Time at);
    bool is_received_in_cqe(const queue::QueuePair& qp, const port::Packet& packet) const;
    void fail_receive(queue::QueuePair& qp, const PlacementError& error, port::Time at);
    // remote_memory.cpp
    std::optional<port::Time> write(queue::QueuePair& qp, port::Packet& packet, port::Time at);
    bool begin_write(queue::QueuePair& qp, const port::Packet& packet, port::Time at);
    void read(queue::QueuePair& qp, const port::Packet& packet, port::Time at);
    void atomic(queue::QueuePair& qp, const port::Packet& packet, port::Time at);
    static tpt::Request remote_access(const queue::QueuePair& qp, abi::Key key, std::uint64_t address,
                                      std::uint64_t length, tpt::Access access, abi::Pd pd);
    void refuse_access(queue::QueuePair& qp, const memory::Denied& denied, const paging::RemotePageFault& fault,
                       port::Time at);
    bool may_access(const tpt::Request& access, port::Time at);
    bool lacks_page(const tpt::Request& first_packet);
    // paging.cpp
    void wait_or_refuse(queue::QueuePair& qp, const paging::RemotePageFault& fault, const tpt::Request& access,
                        port::Time at);
    bool wait_to_place(queue::QueuePair& qp, std::uint32_t packet, const tpt::Request& access, port::Time at);
    bool wait_to_respond(queue::QueuePair& qp, queue::Response& response, std::uint32_t packet,
                         const tpt::Request& access, port::Time at);
    void ask_for_patience(queue::QueuePair& qp, port::Time at);
    // replay.cpp
    void duplicate(queue::QueuePair& qp, const port::Packet& packet, port::Time at);
    bool read_again(queue::QueuePair& qp, const port::Packet& packet, const queue::Replay& replay, port::Time at);
    void remember(queue::QueuePair& qp, const queue::Replay& replay);
    const queue::Replay* find_replay(const queue::QueuePair& qp, abi::Psn psn) const;
    // answer.cpp
    void owe_ack(queue::QueuePair& qp, port::Time at);
    void respond(queue::QueuePair& qp, queue::Response response, port::Time at);
    void refuse(queue::QueuePair& qp, std::uint8_t syndrome, port::Time at);
    void refuse(queue::QueuePair& qp, std::uint8_t syndrome, abi::Psn psn, std::uint32_t msn, port::Time at);
    void refuse_and_fail(queue::QueuePair& qp, abi::wire::NakCode code, port::Time at);
    void fail(queue::QueuePair& qp, abi::wire::NakCode code, port::Time at);
    void fail_read(queue::QueuePair& qp, abi::wire::NakCode code, port::Time at);
    void send_simple(queue::QueuePair& qp, const queue::Response& response, port::Time at);
    enum class Sent : std::uint8_t { part, all, nothing };
    Sent send_read(queue::QueuePair& qp, queue::Response& response, port::Time at);
    bool is_read_limit_reached(const queue::QueuePair& qp, bool counts_repeats) const;

    DataPath& path_;
    completion::WorkCompletions& completions_;
    completion::Failure& failure_;
    umr::Umr& umr_;
    paging::PageFaults& page_faults_;
    Placement placement_{path_};
    std::vector<queue::QueuePair*> owing_; ///< queue pairs with ack_pending
    bool host_order_ = false;
};

} // namespace model::hca::responder
