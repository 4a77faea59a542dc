// WRITE, READ and atomics: what the peer does to this host's memory (IBA 9.7.4.1.4 to .7, 9.4.3 to 9.4.5). Receives a
// request packet in its turn; moves its bytes, or says what the answer will be.
#pragma once

#include "model/hca/memory/application_memory.h"
#include "model/hca/queue/queue_pair.h"
#include "model/hca/responder/answers.h"
#include "model/hca/responder/patience.h"
#include "model/hca/responder/receives.h"

#include <cstdint>
#include <optional>

namespace model::hca::responder {

inline constexpr std::uint32_t max_message = 1u << 31;

/// A READ or an atomic that was carried out, or will be packet by packet.
struct Answered {
    queue::Response response; ///< without the number of messages, which counts this request, too
    queue::Replay replay;     ///< in case it is asked for again
    port::Time at{};          ///< when the answer can go
};

/// Functions return nothing, or what is not done, when the request was refused. The peer's answer is queued then.
class RemoteMemory {
public:
    RemoteMemory(const HcaConfig& config, memory::ApplicationMemory& memory, Receives& receives, Answers& answers,
                 Patience& patience)
        : memory_(memory), receives_(receives), answers_(answers), patience_(patience), locks_(config) {}

    /// One packet of a WRITE; returns when its bytes have left.
    CarriedOut write(queue::QueuePair& qp, port::Packet& packet, port::Time at);
    /// The same for a train of them. False when it cannot be taken as one; then nothing has happened.
    bool write_train(queue::QueuePair& qp, const port::Packet& packet);
    std::optional<Answered> read(queue::QueuePair& qp, const port::Packet& packet, port::Time at);
    std::optional<Answered> atomic(queue::QueuePair& qp, const port::Packet& packet, port::Time at);
    void set_host_order(bool host_order) { host_order_ = host_order; }
    void reset() { locks_.reset(); }
    /// Of the locks of atomics.
    time::Account account() const { return locks_.account(); }

    /// Whether the key allows an access. An empty one names no memory, and its key is not looked at (IBA 9.7.4.1.5).
    bool may_access(const tpt::Request& access, port::Time at);
    /// Whether a READ would have to wait for a page of its first packet. Such a READ is not accepted yet, and the peer
    /// repeats it. For pages behind the first packet the response waits on its way.
    bool lacks_page(const tpt::Request& first_packet) const;

private:
    bool begin_write(queue::QueuePair& qp, const port::Packet& packet, port::Time at);
    static void note_write(queue::QueuePair& qp, const port::Reth& reth);

    memory::ApplicationMemory& memory_;
    Receives& receives_;
    Answers& answers_;
    Patience& patience_;
    memory::AtomicLocks locks_;
    bool host_order_ = false;
};

} // namespace model::hca::responder
