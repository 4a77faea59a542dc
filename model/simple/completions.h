// Completion queues: rings in host memory that the card writes entries to. A phase bit says which entries are new. The
// card does not know what software has taken out: a ring has room for all that its queue pairs can complete.
#pragma once

#include "abi/simple/queue.h"
#include "abi/types.h"
#include "model/port/time.h"
#include "model/simple/counters.h"
#include "model/simple/host_memory.h"
#include "traces/events.h"

#include <cstdint>

namespace model::simple {

struct CompletionQueue {
    abi::Cqn number{};
    std::uint64_t ring = 0;
    std::uint32_t entries = 0; ///< a power of two
    std::uint32_t producer = 0;
    std::uint32_t users = 0; ///< queue pairs, once for each of their rings
    port::Time written{};    ///< when the last entry was: they stay in order
};

/// An entry to be written.
struct Done {
    abi::Qpn qpn{}, source{};
    std::uint64_t cookie = 0;
    std::uint32_t index = 0, byte_count = 0, immediate = 0;
    abi::simple::Outcome outcome{};
    abi::simple::Operation operation{};
    bool is_receive = false, has_immediate = false, is_solicited = false;
};

class Completions {
public:
    Completions(HostMemory& memory, Counters& counters, const traces::Events& events)
        : memory_(memory), counters_(counters), events_(events) {}
    void write(CompletionQueue& queue, const Done& done, port::Time at);

private:
    HostMemory& memory_;
    Counters& counters_;
    const traces::Events& events_;
};

} // namespace model::simple
