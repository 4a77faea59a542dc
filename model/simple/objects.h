// All that software has made on the card.
#pragma once

#include "model/simple/card_memory.h"
#include "model/simple/completions.h"
#include "model/simple/config.h"
#include "model/simple/numbers.h"
#include "model/simple/queue_pair.h"
#include "model/simple/regions.h"

namespace model::simple {

struct Objects {
    explicit Objects(const SimpleConfig& config)
        : memory(config.memory_bytes), regions(config.log_max_region), completion_queues(0, 1u << config.log_max_cq),
          queue_pairs(first_qpn, 1u << config.log_max_qp) {}

    void clear() {
        queue_pairs.clear(), completion_queues.clear(), regions.clear();
        memory.give_back_all();
    }

    static constexpr std::uint32_t first_qpn = 2; ///< 0 and 1 are for management (IBA 10.2.4), which this card has not

    CardMemory memory;
    Regions regions;
    Numbered<CompletionQueue> completion_queues;
    Numbered<QueuePair> queue_pairs;
};

} // namespace model::simple
