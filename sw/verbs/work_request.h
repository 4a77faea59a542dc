// What a program asks of a queue pair and what it gets back: work requests, scatter/gather elements, completions. Plain
// data in the shape of the verbs (IBA 11.4; ibv_send_wr, ibv_wc). Every driver takes and gives these.
#pragma once

#include "abi/types.h"

#include <cstdint>
#include <string_view>

namespace sw::verbs {

struct Sge {
    std::uint64_t address = 0; ///< within the region: its iova and more; for inline data the processor's address
    std::uint32_t length = 0;
    std::uint32_t lkey = 0;
};

enum class SendOperation : std::uint8_t {
    nop,
    send,
    send_imm,
    write,
    write_imm,
    read,
    compare_swap,
    fetch_add,
};

namespace send_flag {
inline constexpr std::uint32_t signaled = 1u << 0;    ///< a completion on success too
inline constexpr std::uint32_t solicited = 1u << 1;   ///< wakes a receiver that waits for solicited completions
inline constexpr std::uint32_t fence = 1u << 2;       ///< after the READs and atomics posted before
inline constexpr std::uint32_t inline_data = 1u << 3; ///< the bytes travel in the WQE; the buffer is free on return
inline constexpr std::uint32_t small_fence = 1u << 4; ///< after the request before
} // namespace send_flag

/// One element of a list; `next` ends it with nullptr.
struct SendRequest {
    std::uint64_t wr_id = 0; ///< comes back in the completion
    const SendRequest* next = nullptr;
    const Sge* sge = nullptr;
    std::uint32_t sge_count = 0;
    SendOperation operation = SendOperation::send;
    std::uint32_t flags = 0; ///< send_flag
    std::uint32_t immediate = 0;
    std::uint32_t rkey = 0;
    std::uint64_t remote_address = 0;
    std::uint64_t compare = 0;     ///< compare_swap
    std::uint64_t swap_or_add = 0; ///< new value of compare_swap, addend of fetch_add
};

struct ReceiveRequest {
    std::uint64_t wr_id = 0;
    const ReceiveRequest* next = nullptr;
    const Sge* sge = nullptr;
    std::uint32_t sge_count = 0;
};

/// Outcome of a work request (ibv_wc_status). The device's syndrome is kept beside it.
enum class CompletionStatus : std::uint8_t {
    success,
    local_length_error,
    local_qp_operation_error,
    local_protection_error,
    flushed,
    memory_window_bind_error,
    bad_response,
    local_access_error,
    remote_invalid_request,
    remote_access_error,
    remote_operation_error,
    transport_retry_exceeded,
    rnr_retry_exceeded,
    remote_aborted,
    unknown_error,
};
std::string_view name(CompletionStatus status);

/// What completed.
enum class CompletionOperation : std::uint8_t {
    nop,
    send,
    write,
    read,
    compare_swap,
    fetch_add, ///< requester
    receive,
    receive_write_imm, ///< responder
    key_change,        ///< UMR of the driver's own queue
};
std::string_view name(CompletionOperation operation);

struct Completion {
    std::uint64_t wr_id = 0;
    CompletionStatus status = CompletionStatus::success;
    CompletionOperation operation = CompletionOperation::send; ///< meaningless after an error
    bool has_immediate = false;
    bool is_solicited = false;
    std::uint8_t syndrome = 0;        ///< of an error, as the CQE has it
    std::uint8_t vendor_syndrome = 0; ///< of an error
    std::uint16_t wqe_counter = 0;
    std::uint32_t byte_count = 0; ///< READ, atomics and receives
    std::uint32_t immediate = 0;
    abi::Qpn qpn{};
    abi::Qpn source_qpn{};        ///< receives
    std::uint16_t source_lid = 0; ///< receives on InfiniBand
    std::uint64_t timestamp = 0;  ///< device clock
};

} // namespace sw::verbs
