// TLPs of a function's link as accesses: what is read or written where, and which bytes. Completions carry no address;
// it is that of the request which their mark names. Knows nothing of what the bytes mean.
#pragma once

#include "traces/codec/trace.h"

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <unordered_map>

namespace traces::tool {

struct Access {
    enum class Kind : std::uint8_t {
        write,
        read,   ///< the request
        answer, ///< bytes for a read
        refusal ///< a completion without bytes
    };
    Kind kind = Kind::read;
    bool is_by_device = false;        ///< DMA; else software accesses the device
    std::uint64_t address = 0;        ///< on the bus
    std::uint64_t length = 0;         ///< bytes that this TLP means
    std::span<const std::byte> bytes; ///< of a write and of an answer; as long as the record
    // Of an answer and a refusal; zero where the trace has no request.
    std::uint64_t request = 0; ///< number of its record
    std::int64_t asked_ps = 0;
    bool is_last = false;    ///< nothing of the access is left
    std::uint8_t status = 0; ///< of a refusal, as in the completion
};

/// A memory request, by the address and the byte enables of its header (PCIe 6.0 §2.2.5).
struct MemoryRequest {
    bool is_write = false;
    std::uint64_t address = 0;
    std::uint32_t length = 0, lead = 0; ///< lead: bytes of the first dword in front of the address
};
std::optional<MemoryRequest> read_memory_request(std::span<const std::byte> head);

/// Follows the reads of all links that wait for their answers.
class Accesses {
public:
    /// What a record of a PCIe link does; nothing: it is no access to memory, or its request is unknown.
    std::optional<Access> take(const codec::Record& record);

private:
    struct Waiting {
        std::uint64_t address, length, answered;
        std::int64_t asked_ps;
        bool is_by_device;
    };
    std::optional<Access> request(const codec::Record& record, const MemoryRequest& request);
    std::optional<Access> completion(const codec::Record& record);

    std::unordered_map<std::uint64_t, Waiting> waiting_; ///< by the number of the first request
    std::deque<std::uint64_t> order_;                    ///< of the same, so that those without an answer leave
    std::unordered_map<std::uint32_t, std::uint64_t>
        last_read_; ///< of each interface: what a continuation goes on with
};

} // namespace traces::tool
