#include "sw/verbs/work_request.h"

namespace sw::verbs {

std::string_view name(CompletionStatus status) {
    switch (status) {
    case CompletionStatus::success: return "success";
    case CompletionStatus::local_length_error: return "local length error";
    case CompletionStatus::local_qp_operation_error: return "local QP operation error";
    case CompletionStatus::local_protection_error: return "local protection error";
    case CompletionStatus::flushed: return "work request flushed";
    case CompletionStatus::memory_window_bind_error: return "memory window bind error";
    case CompletionStatus::bad_response: return "bad response";
    case CompletionStatus::local_access_error: return "local access error";
    case CompletionStatus::remote_invalid_request: return "remote invalid request";
    case CompletionStatus::remote_access_error: return "remote access error";
    case CompletionStatus::remote_operation_error: return "remote operation error";
    case CompletionStatus::transport_retry_exceeded: return "transport retry counter exceeded";
    case CompletionStatus::rnr_retry_exceeded: return "RNR retry counter exceeded";
    case CompletionStatus::remote_aborted: return "remote aborted";
    case CompletionStatus::unknown_error: return "unknown error";
    }
    return {};
}

std::string_view name(CompletionOperation operation) {
    switch (operation) {
    case CompletionOperation::nop: return "NOP";
    case CompletionOperation::send: return "SEND";
    case CompletionOperation::write: return "WRITE";
    case CompletionOperation::read: return "READ";
    case CompletionOperation::compare_swap: return "compare and swap";
    case CompletionOperation::fetch_add: return "fetch and add";
    case CompletionOperation::receive: return "receive";
    case CompletionOperation::receive_write_imm: return "receive of a WRITE with immediate";
    case CompletionOperation::key_change: return "UMR";
    }
    return {};
}

} // namespace sw::verbs
