// What the tables in memory say of a requester, or of one of its PASIDs. Legacy and scalable mode both lead to this.
#pragma once

#include "abi/iommu/fault.h"
#include "model/iommu/page_table.h"

#include <array>
#include <cstdint>

namespace model::iommu {

/// Which set of fault reasons applies.
enum class Stage : std::uint8_t { legacy, second_stage, first_stage };

struct AddressSpace {
    abi::iommu::FaultReason fault{}; ///< unless `none`, every request ends with this fault
    bool is_recorded = true;         ///< whether faults are recorded: FPD is clear in every entry on the way
    Stage stage = Stage::legacy;
    bool is_pass_through = false;
    bool has_device_tlb = false; ///< requests with other address types than untranslated are let in
    bool is_supervisor = false;  ///< requests without PASID count as a supervisor's
    bool allows_supervisor = false;
    std::uint16_t domain = 0;
    unsigned address_bits = 0; ///< of the requester's addresses
    TableRoot tables;
};

inline AddressSpace refusal(abi::iommu::FaultReason reason, bool is_recorded = true, Stage stage = Stage::legacy) {
    AddressSpace space;
    space.fault = reason, space.is_recorded = is_recorded, space.stage = stage;
    return space;
}

/// Reads one structure of a table; false when the memory did not answer.
template <class Structure> bool read_entry(port::Dma& memory, std::uint64_t address, Structure& out, WalkCost& cost) {
    std::array<std::byte, Structure::size> bytes;
    const auto result = memory.read(abi::BusAddress{address}, bytes, cost.at);
    cost.at = result.done;
    ++cost.reads;
    if (result.is_ok())
        out = Structure::from(bytes);
    return result.is_ok();
}

} // namespace model::iommu
