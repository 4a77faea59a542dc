// The TLB that a function has of its own, as software sees it: the ATS capability (PCIe 6.0 §10.5.1). What the unit
// must know of it is in Unit::attach; the function's drivers need not know.
#pragma once

#include "sw/base/result.h"
#include "sw/transport/transport.h"

namespace sw::memory::iommu {

/// Whether the function can translate its addresses itself.
bool has_device_tlb(transport::Transport& function);
bool is_device_tlb_on(transport::Transport& function);
/// From now on it asks the unit for translations and keeps them; its context lets that in already. ENODEV where there
/// is no such TLB, EIO when the function does not take the setting.
Result<void> enable_device_tlb(transport::Transport& function);
/// It keeps none any more, and its requests are as of a function without one.
void disable_device_tlb(transport::Transport& function);

} // namespace sw::memory::iommu
