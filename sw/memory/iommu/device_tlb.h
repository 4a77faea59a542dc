// A function's own TLB as software sees it: the ATS capability (PCIe 6.0 §10.5.1). Unit::attach tells the remapping
// unit of it; the function's drivers need not know.
#pragma once

#include "sw/base/result.h"
#include "sw/transport/transport.h"

namespace sw::memory::iommu {

/// Whether the function can translate its addresses itself.
bool has_device_tlb(transport::Transport& function);
bool is_device_tlb_on(transport::Transport& function);
/// From now on the function asks the unit for translations and keeps them; its context must allow that. ENODEV where
/// there is no such TLB, EIO when the function does not take the setting.
Result<void> enable_device_tlb(transport::Transport& function);
/// The function keeps no translations any more, and its requests are those of a function without a TLB.
void disable_device_tlb(transport::Transport& function);

} // namespace sw::memory::iommu
