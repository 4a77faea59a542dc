// Ping-pong: a message is answered by one of the other side, one at a time on each queue pair, as the latency tests of
// perftest have it.
#pragma once

#include "testbench/load/worker.h"

#include <cstddef>
#include <cstdint>

namespace load {

/// What core `core` of a node does. Those who begin count half of the time from one message to the next. A WRITE is
/// sent with immediate data, whose completion the other side polls: programs that measure poll the payload itself, but
/// that shows in our hosts' memory when the packet has arrived, and not only when it has crossed PCIe. READs and
/// atomics have no answer, so one is sent when the one before is done.
void play(Node& node, std::size_t number, std::uint32_t core, Shared& shared);

} // namespace load
