// Why bytes of an application's memory did not move: the rule that the key or the range breaks, or what the bus said.
#pragma once

#include "model/hca/tpt/translate.h"
#include "model/port/dma.h"

#include <cstdint>

namespace model::hca::memory {

struct Denied {
    tpt::Request request;                         ///< what was asked of the key, without what had moved before
    tpt::Violation violation{};                   ///< when `status` is ok
    port::DmaStatus status = port::DmaStatus::ok; ///< of the bus

    Denied(const tpt::Request& asked, tpt::Violation broken) : request(asked), violation(broken) {}
    Denied(const tpt::Request& asked, port::DmaStatus answer) : request(asked), status(answer) {}

    /// Whether the key refused the request, and not the bus.
    bool is_by_key() const { return status == port::DmaStatus::ok; }
    /// Whether a page is not there and the request may wait until software has brought it (hca/paging).
    bool is_page_fault() const { return is_by_key() && violation == tpt::Violation::page_fault; }
    /// What the same request is denied with when nobody brings the page.
    Denied without_wait() const {
        auto refused = *this;
        if (is_page_fault())
            refused.violation = tpt::Violation::page_not_present;
        return refused;
    }
    /// Our vendor syndrome: which rule, or which status, in a range of numbers of its own.
    std::uint8_t vendor(std::uint8_t of_key, std::uint8_t of_bus) const {
        return static_cast<std::uint8_t>(is_by_key() ? of_key + static_cast<unsigned>(violation)
                                                     : of_bus + static_cast<unsigned>(status));
    }
};

} // namespace model::hca::memory
