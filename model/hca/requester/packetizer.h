// Cuts a work request into packets (IBA 9.7.3, 11.2): which operation code each packet carries, and where its payload
// lies. Receives a loaded work request and a position; fills one packet. Where the application's memory is plain memory
// the payload is lent from it, and copied elsewhere.
#pragma once

#include "model/hca/address/identity.h"
#include "model/hca/memory/application_memory.h"
#include "model/hca/queue/queue_pair.h"

#include <cstdint>

namespace model::hca::requester {

class Packetizer {
public:
    Packetizer(const address::Identity& identity, memory::ApplicationMemory& memory)
        : identity_(identity), memory_(memory) {}

    /// Fills what stands at the sending position, which is in `message`, into a packet that has its head. Returns when
    /// its payload is there.
    memory::Moved fill(queue::QueuePair& qp, const queue::Outstanding& message, port::Packet& packet, port::Time at);

    /// The same for up to `most` packets of a WRITE as one, where that makes no difference but in wall time. Returns
    /// how many; 0: nothing has happened.
    std::uint32_t fill_train(queue::QueuePair& qp, const queue::Outstanding& message, port::Packet& packet,
                             std::uint32_t most);

private:
    void address(const queue::QueuePair& qp, const queue::Datagram& datagram, port::Packet& packet) const;
    static bool is_answer_wanted(const queue::QueuePair& qp, abi::Psn psn);
    memory::Moved gather(queue::QueuePair& qp, std::uint32_t length, port::Packet& packet, port::Time at);

    const address::Identity& identity_;
    memory::ApplicationMemory& memory_;
};

} // namespace model::hca::requester
