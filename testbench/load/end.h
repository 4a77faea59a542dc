// One end of a connection: its queue pair, what it sends and what is under way, what it receives, and the slots of its
// node's memories that are its own.
#pragma once

#include "model/port/time.h"
#include "sw/verbs/verbs.h"
#include "testbench/load/memory.h"
#include "testbench/load/mix.h"
#include "testbench/load/plan.h"
#include "testbench/load/random.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

namespace load {

class Node;

/// Slots of a memory that belong to an end.
struct Area {
    std::uint64_t first = 0, count = 0;
};

/// What lies in a slot.
struct Slot {
    std::uint64_t content = 0;   ///< number of the content that was put there last, or was to be
    std::uint64_t writer = 0;    ///< message that was sent there last
    std::uint32_t bytes = 0;     ///< so many of the content have been put there
    std::uint32_t under_way = 0; ///< messages that use it
};

struct Message {
    model::port::Time since{};
    std::uint64_t number = 0; ///< in its queue pair
    Verb verb{};
    std::uint32_t bytes = 0;
    std::uint64_t near = 0, far = 0; ///< slots here and there, within their areas; of an atomic far is the counter
    std::uint64_t content = 0;
    std::uint64_t compare = 0; ///< of a compare_swap
};

/// What the next receive has to bring.
struct Expected {
    std::uint32_t bytes = 0;
    std::uint64_t content = 0;
};

struct End {
    Node* node = nullptr;
    End* peer = nullptr;
    std::size_t number = 0; ///< among all ends of the load
    std::uint32_t core = 0;
    std::size_t index = 0; ///< among the ends of its core
    std::unique_ptr<sw::verbs::QueuePair> qp{};
    std::optional<std::size_t> flow{};             ///< that it sends
    model::port::Time leaves = model::port::never; ///< from then on nothing new is sent

    // What it sends.
    Random random{0};
    std::uint64_t posted = 0, done = 0;
    bool is_flushed = false;          ///< the last ones, which have no completion of their own, have been given one
    std::vector<Message> under_way{}; ///< by number, modulo the depth
    Area out{}, landing{};            ///< of WRITEs and SENDs, of READs
    std::vector<Slot> out_slots{}, landing_slots{};
    std::uint64_t results = 0;             ///< the first of the places for what atomics return, one a message under way
    std::uint64_t reads = 0, contents = 0; ///< so many were numbered
    std::vector<std::uint64_t> believed{}; ///< of each counter, for compare_swap

    // What it is sent.
    Area target{}, source{}, receive{}; ///< of WRITEs, READs, SENDs
    std::vector<Slot> target_slots{};
    std::vector<bool> source_filled{};
    std::deque<Expected> expected{};
    std::uint64_t given = 0, received = 0; ///< receives
    bool is_ready = false;                 ///< it is in its core's list of those that may have room

    // Of an open loop.
    model::port::Time next_arrival{};
    std::deque<Request> backlog{}; ///< arrived, and not posted
    std::uint64_t arrived = 0;
    std::size_t turn = 0; ///< among the queue pairs of its flow
};

} // namespace load
