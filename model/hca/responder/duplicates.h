// Requests that come a second time (IBA 9.7.5.1.4 and 9.7.5.2): SENDs and WRITEs are acknowledged again, and READs are
// executed again. An atomic is never executed twice: its result was kept, and is sent again.
#pragma once

#include "model/hca/config.h"
#include "model/hca/queue/queue_pair.h"
#include "model/hca/report.h"
#include "model/hca/responder/answers.h"
#include "model/hca/responder/patience.h"
#include "model/hca/responder/remote_memory.h"

namespace model::hca::responder {

class Duplicates {
public:
    Duplicates(const HcaConfig& config, RemoteMemory& memory, Answers& answers, Patience& patience,
               const Report& report)
        : is_selective_(config.selective_repeat), memory_(memory), answers_(answers), patience_(patience),
          report_(report) {}

    /// A READ or an atomic was accepted: it may be asked for again.
    static void remember(queue::QueuePair& qp, const queue::Replay& replay);
    /// Answers a request that was seen before.
    void receive(queue::QueuePair& qp, const port::Packet& packet, port::Time at);

private:
    bool read_again(queue::QueuePair& qp, const port::Packet& packet, const queue::Replay& replay, port::Time at);

    bool is_selective_; ///< selective repeat
    RemoteMemory& memory_;
    Answers& answers_;
    Patience& patience_;
    Report report_;
};

} // namespace model::hca::responder
