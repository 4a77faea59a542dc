// The remapping unit in a root complex: its own way to memory, and the time that translations cost. The root complex
// asks it about each request that comes up; software reaches its registers by the processor's memory accesses.
#pragma once

#include "model/iommu/iommu.h"
#include "model/tlm/initiator.h"

#include <functional>
#include <tlm>

namespace model::iommu {

struct IommuModuleConfig {
    IommuConfig core;
    port::Time hit_latency{};  ///< of every translation
    port::Time miss_latency{}; ///< of one that reads tables, beyond the reads themselves
    port::Time read_latency{}; ///< of each of these reads; the root complex sets its own
};

class IommuModule final : private Listener {
public:
    /// memory     where the unit's own accesses go: host memory and interrupt messages, nothing else
    /// paths_gone is called when direct paths that were found before must not be used any more
    IommuModule(const IommuModuleConfig& config, tlm::Fabric& memory, std::function<void()> paths_gone);

    /// Replaces the payload's address by the translated one; ok, or how the request ends. A request does not cross a
    /// page (PCIe 6.0 §2.2.7: nor 4 KiB).
    port::DmaStatus translate(::tlm::tlm_generic_payload& payload, const tlm::Extension& request,
                              sc_core::sc_time& delay);
    /// While requests are translated one by one there are no direct paths.
    bool is_enabled() const { return iommu_.translator().is_enabled(); }

    /// A register access of the processor.
    port::DmaStatus access(std::uint64_t offset, ::tlm::tlm_generic_payload& payload, const sc_core::sc_time& delay);

    const Iommu& core() const { return iommu_; }

private:
    void translations_gone(const Gone& gone) override;

    IommuModuleConfig config_;
    tlm::Initiator memory_;
    std::function<void()> paths_gone_;
    Iommu iommu_;
    bool was_enabled_ = false;
};

} // namespace model::iommu
