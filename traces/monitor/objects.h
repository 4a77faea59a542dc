// What a driver has made by commands, as far as the rules ask: queues with the memory they live in, queue pairs with
// their peer. Numbers mean something within one function.
#pragma once

#include "abi/prm/cq.h"
#include "abi/prm/eq.h"
#include "abi/prm/mkey.h"
#include "abi/prm/qp.h"
#include "abi/types.h"
#include "traces/monitor/packet.h"

#include <cstdint>
#include <vector>

namespace traces::monitor {

/// A ring in host memory: pages, and where in the first one it begins. Without pages nobody knows where it is.
struct Ring {
    std::vector<std::uint64_t> pages;
    unsigned page_shift = 12;
    std::uint64_t first_byte = 0, bytes = 0;
};

struct EventQueue {
    abi::Eqn number;
    Ring ring;
    std::uint32_t entries = 1; ///< a power of two
    std::uint32_t uar_page = 0;
    std::uint16_t vector = 0;
    std::uint32_t producer = 0; ///< entries written so far
};

struct CompletionQueue {
    abi::Cqn number;
    Ring ring;
    std::uint32_t entries = 1, entry_bytes = 64;
    std::uint32_t uar_page = 0;
    std::uint32_t producer = 0;
};

struct QueuePair {
    abi::Qpn number;
    std::uint32_t link = 0; ///< of the function that has it
    abi::prm::QpType type{};
    bool has_own_receives = true; ///< no shared receive queue
    std::uint32_t uar_page = 0;
    std::uint64_t doorbell_record = 0; ///< 0: not known
    std::uint32_t mtu = 0;             ///< bytes; 0: not known yet
    abi::Qpn remote_qpn{};
    NetworkAddress remote_gid{};
    std::uint16_t remote_lid = 0;
    abi::Psn first_psn{}; ///< of its requests
    bool is_connected = false;
    std::uint64_t send_ring_bytes = 0; ///< 0: there is none, or nobody knows where it is
    /// A UMR of which the device has read the beginning, and where in the ring its rest will be.
    std::vector<std::byte> begun{};
    std::uint64_t begun_end = 0;
};

/// A queue of an NVMe controller, in one piece of memory.
struct NvmeQueue {
    std::uint16_t number = 0; ///< 0: of admin commands
    bool is_completion = false;
    bool interrupts = false; ///< by `vector`
    std::uint16_t vector = 0;
    std::uint64_t base = 0;
    std::uint32_t entries = 0;
    std::uint64_t bytes() const { return std::uint64_t{entries} * (is_completion ? 16 : 64); }
};

enum class ObjectKind : std::uint8_t { eq, cq, qp, mkey };

} // namespace traces::monitor
