// Memory as a device reaches it: bus addresses, through its PCIe link. A core never sees TLM, routing or the IOMMU; it
// gets the bytes, or the completion status of the specification, and the time at which the transaction was done.
#pragma once

#include "abi/types.h"
#include "model/port/payload.h"
#include "model/port/time.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace model::port {

/// Completion status of a request (PCIe 6.0 §2.2.9); `timeout` where no completion ever came.
enum class DmaStatus : std::uint8_t { ok, unsupported_request, completer_abort, timeout };

/// What the bytes are for. Changes nothing but the counters: descriptors, contexts and completions are control; what an
/// application asked to move is payload.
enum class Purpose : std::uint8_t { control, payload };

struct DmaResult {
    DmaStatus status = DmaStatus::ok;
    Time done{}; ///< when the last byte of a read is there; when that of a posted write has left the function
    constexpr bool is_ok() const { return status == DmaStatus::ok; }
};

/// Bytes of a read that need not be copied: `data` points into the memory itself. It stays valid for the simulation;
/// its content may change as memory does. `data == nullptr` with status ok means "not plain memory, use read()".
struct Loan {
    const std::byte* data = nullptr;
    DmaResult result;
};

class Dma {
public:
    virtual ~Dma() = default;
    /// Reads `into.size()` bytes at `address`, starting no earlier than `at`. Any length and alignment.
    virtual DmaResult read(abi::BusAddress address, std::span<std::byte> into, Time at,
                           Purpose purpose = Purpose::control) = 0;
    /// Writes (posted). Device reads see the bytes when the call returns. The processor sees a function's writes in the
    /// order in which they are issued, which is that of `at` (PCIe 6.0 §2.4.1): over timed links control writes when
    /// they are across; payload at once, or then when an earlier write does not show yet. The status says what the
    /// function itself knows: an error is the function's own (bus mastering or PASIDs are off, its TLB has no such
    /// page), and the rest of the write was not sent. A write that was sent has no completion (§2.2.9), so that nobody
    /// is told when it is there: what must come after it is sent after it, and is kept in order on the way. What a
    /// port, a remapping unit or the target refuses is silently dropped, and the status is `ok`.
    virtual DmaResult write(abi::BusAddress address, std::span<const std::byte> from, Time at,
                            Purpose purpose = Purpose::control) = 0;
    /// As read(), charged in the same way, but lends the memory instead of copying it.
    virtual Loan lend(abi::BusAddress address, std::size_t length, Time at, Purpose purpose = Purpose::control) = 0;

    /// lend() and write() of payload, `unit` bytes after `unit` bytes, where doing it at once makes no difference to
    /// anybody: plain memory behind links that take no time, requests that end where units end, nobody who looks at
    /// them. Elsewhere nothing is done: nullptr, false.
    virtual const std::byte* lend_units(abi::BusAddress, std::size_t /*length*/, std::uint32_t /*unit*/) {
        return nullptr;
    }
    virtual bool write_units(abi::BusAddress, std::span<const std::byte>, std::uint32_t /*unit*/) { return false; }

    /// When a read that is asked for at `now` would leave: later while all of the function's tags are taken (PCIe 6.0
    /// §2.2.6.2). Whoever could ask for much more than the host can answer waits until then.
    virtual Time next_read(Time now) { return now; }

    /// Payload that refers to bytes from lend(): the borrower enters it here. Whoever takes memory away from this port,
    /// or the way to it, drains the book before the memory may get another owner.
    LoanBook& loans() { return loans_; }

    /// When the last of the writes that were made goes out. What is written from then on shows after all of them.
    Time all_issued() const { return issued_; }

protected:
    /// To be called by each write.
    void note_issued(Time at) { issued_ = std::max(issued_, at); }

private:
    Time issued_{};
    LoanBook loans_;
};

} // namespace model::port
