// Why a work request fails on its own side: the CQE syndrome that verbs know, and the vendor syndrome that says which
// of our rules was broken (PRM "Error CQE").
#pragma once

#include "abi/prm/cqe.h"
#include "model/hca/memory/denied.h"

#include <cstdint>

namespace model::hca::completion {

struct LocalError {
    abi::prm::CqeSyndrome syndrome{};
    std::uint8_t vendor = 0;
};

/// Classes of vendor syndromes. Where a class says so, the low four bits are a number of the room that found the error.
namespace vendor {
inline constexpr std::uint8_t wqe = 0x10;         ///< + queue::WqeFault
inline constexpr std::uint8_t translation = 0x20; ///< + tpt::Violation: local key
inline constexpr std::uint8_t bus = 0x30;         ///< + port::DmaStatus: the bus refused the data
inline constexpr std::uint8_t length = 0x40;
inline constexpr std::uint8_t nak = 0x50;      ///< + NAK code
inline constexpr std::uint8_t response = 0x60; ///< a response that does not fit the request
inline constexpr std::uint8_t retry = 0x70;
inline constexpr std::uint8_t umr = 0x80; ///< + umr::Fault
} // namespace vendor

/// How a work request fails to whose memory the key or the bus denies access.
inline LocalError local_error(const memory::Denied& denied) {
    using abi::prm::CqeSyndrome;
    return {denied.is_by_key() ? CqeSyndrome::local_prot_err : CqeSyndrome::local_qp_op_err,
            denied.vendor(vendor::translation, vendor::bus)};
}
/// How it fails when nobody brings the page that it waits for (hca/paging).
inline LocalError absent_page() { return local_error({tpt::Request{}, tpt::Violation::page_not_present}); }

} // namespace model::hca::completion
