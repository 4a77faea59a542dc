// Which fault reason belongs to a mistake: legacy mode and each stage of scalable mode have their own reasons. And how
// a translation request of a device ends for each reason. VT-d "Address Translation Faults".
#pragma once

#include "abi/iommu/fault.h"
#include "model/iommu/address_space.h"
#include "model/port/dma.h"

#include <cstdint>

namespace model::iommu {

/// What can be wrong with an address, apart from the walk.
enum class AddressError : std::uint8_t { beyond_width, interrupt_range };

constexpr abi::iommu::FaultReason reason_of(WalkError error, Stage stage) {
    using enum abi::iommu::FaultReason;
    const auto pick = [stage](auto legacy, auto second, auto first) {
        return stage == Stage::legacy ? legacy : stage == Stage::second_stage ? second : first;
    };
    switch (error) {
    case WalkError::access: return pick(paging_access, second_stage_access, first_stage_access);
    case WalkError::reserved: return pick(paging_reserved, second_stage_reserved, first_stage_reserved);
    case WalkError::not_present: return pick(no_read, second_stage_no_right, first_stage_not_present);
    case WalkError::no_read: return pick(no_read, second_stage_no_right, sm_no_read);
    case WalkError::no_write: return pick(no_write, second_stage_no_right, sm_no_write);
    case WalkError::no_user: return no_user;
    }
    return none;
}

constexpr abi::iommu::FaultReason reason_of(AddressError error, const AddressSpace& space) {
    using enum abi::iommu::FaultReason;
    const bool is_legacy = space.stage == Stage::legacy;
    if (error == AddressError::interrupt_range)
        return is_legacy ? interrupt_range : sm_interrupt_range;
    if (is_legacy)
        return beyond_width;
    return space.stage == Stage::first_stage ? not_canonical
           : space.is_pass_through           ? beyond_host_width
                                             : sm_beyond_width;
}

/// How a translation request ends: a page that is not there or does not allow anything is an answer, which the device
/// may follow with a page request; tables that are not set up are Unsupported Request, broken ones Completer Abort.
constexpr port::DmaStatus translation_status(abi::iommu::FaultReason reason) {
    using enum abi::iommu::FaultReason;
    using port::DmaStatus;
    switch (reason) {
    case beyond_width:
    case no_read:
    case no_write:
    case first_stage_not_present:
    case second_stage_no_right:
    case not_canonical:
    case no_user:
    case beyond_host_width:
    case sm_beyond_width:
    case sm_no_read:
    case sm_no_write: return DmaStatus::ok;
    case root_not_present:
    case context_not_present:
    case blocked:
    case table_mode_invalid:
    case pasid_in_legacy_mode:
    case sm_root_not_present:
    case sm_context_not_present:
    case device_tlb_disabled:
    case pasid_disabled:
    case pasid_too_large:
    case pasid_directory_not_present:
    case pasid_not_present: return DmaStatus::unsupported_request;
    default: return DmaStatus::completer_abort;
    }
}

} // namespace model::iommu
