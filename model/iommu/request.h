// A request as it reaches the remapping unit, and what becomes of it.
#pragma once

#include "abi/iommu/fault.h"
#include "abi/pcie/tlp.h"
#include "model/port/dma.h"
#include "model/port/time.h"

#include <cstdint>

namespace model::iommu {

enum class Access : std::uint8_t { read, write, atomic };
using abi::pcie::AddressType;

using abi::pcie::no_pasid;

struct Request {
    std::uint16_t requester = 0; ///< bus, device, function
    std::uint32_t pasid = no_pasid;
    std::uint64_t address = 0;
    std::uint64_t length = 0; ///< bytes; 0 is a zero-length read
    Access access = Access::read;
    AddressType type = AddressType::untranslated;
    bool is_privileged = false, is_execute = false; ///< of the PASID prefix
    std::uint32_t packets = 1; ///< packets on the link: each is looked up, and only the first can miss
};

/// The first part of a request, translated: `length` bytes from the request's address on are at `address`. A request
/// that crosses a page needs another call for the rest.
///
/// For a translation request this is the completion: R and W are the rights, both clear where there is no page, and
/// `shift` is the size of the translated range.
struct Translation {
    port::DmaStatus status = port::DmaStatus::ok; ///< unless ok, the request ends with this; a write is dropped
    abi::iommu::FaultReason fault{};
    std::uint64_t address = 0;
    std::uint64_t length = 0;
    std::uint8_t shift = 0; ///< the page that holds it has 2^shift bytes; 64: no page, everything goes through
    bool is_readable = false, is_writable = false;
    bool is_interrupt = false;         ///< a write into the interrupt range: no memory address
    bool is_untranslated_only = false; ///< bit U of a translation completion: use the address untranslated
    std::uint8_t reads = 0;            ///< of tables
    port::Time ready{};                ///< when the translation is known
    bool is_ok() const { return status == port::DmaStatus::ok; }
};

} // namespace model::iommu
