// The remapping unit in a root complex: its own way to memory, and the time that translations cost. The root complex
// asks it about each request that comes up; software reaches its registers by the processor's memory accesses.
#pragma once

#include "model/iommu/iommu.h"
#include "model/pcie/remapper.h"
#include "model/time/server.h"
#include "model/tlm/initiator.h"

#include <functional>
#include <tlm>

namespace model::iommu {

struct IommuModuleConfig {
    IommuConfig core;
    port::Time hit_latency{};  ///< of every translation
    port::Time miss_latency{}; ///< of a table walk, in addition to its reads
    unsigned walkers = 0;      ///< table walks at a time; others wait for one to end. 0: any number
    port::Time read_latency{}; ///< of each read of a walk; set by the root complex
};

class IommuModule final : public pcie::Remapper, private Listener {
public:
    /// memory     where the unit's own accesses go: host memory and interrupt messages, nothing else
    /// paths_gone is called when direct paths that were found before must not be used any more
    /// writes_landed  says when every write that has come up to now is in memory
    /// send_down  sends a message to the device that it names, and sets its status
    using SendDown = std::function<void(tlm::Request& message, sc_core::sc_time& delay)>;
    IommuModule(const IommuModuleConfig& config, tlm::Fabric& memory, std::function<void()> paths_gone,
                std::function<port::Time()> writes_landed, SendDown send_down);

    /// Called for every request that comes up a root port, on direct paths too, so that each is counted, timed and
    /// answered from the caches as they are. Packets behind the first of a request are hits. While the unit is off, the
    /// address stays as it is.
    Remapped remap(const Remapper::Request& request, port::Time at) override;
    /// As remap(): replaces the payload's address by the translated one; ok, or how the request ends. A request does
    /// not cross a page (PCIe 6.0 §2.2.7: nor 4 KiB).
    port::DmaStatus translate(::tlm::tlm_generic_payload& payload, tlm::Extension& request, sc_core::sc_time& delay);
    /// A translation request: what its completion says, or how else it ends.
    port::DmaStatus complete_translation(::tlm::tlm_generic_payload& payload, tlm::Extension& request,
                                         sc_core::sc_time& delay);
    void request_page(const ::tlm::tlm_generic_payload& payload, const tlm::Extension& request,
                      const sc_core::sc_time& delay);
    bool is_enabled() const { return iommu_.translator().is_enabled(); }
    /// Called when translations were invalidated, before software is told that they were.
    void set_invalidated(std::function<void(const Gone&)> invalidated) { invalidated_ = std::move(invalidated); }

    /// A register access of the processor.
    port::DmaStatus access(std::uint64_t offset, ::tlm::tlm_generic_payload& payload, const sc_core::sc_time& delay);

    void set_events(traces::Events events) { iommu_.set_events(events); }
    const Iommu& core() const { return iommu_; }
    /// Calls `use(account)` for what requests may have to wait for: the walkers, where their number is limited.
    template <class Use> void for_each_account(Use&& use) const {
        if (config_.walkers != 0)
            use(walkers_.account());
    }

private:
    void translations_gone(const Gone& gone) override;
    std::optional<port::Time> invalidate_device(const DeviceInvalidation& invalidation, port::Time at) override;
    void page_response(const PageResponse& response, port::Time at) override;
    port::Time writes_landed() const override { return writes_landed_(); }
    Translation look_up(const Remapper::Request& request, port::Time at);

    IommuModuleConfig config_;
    tlm::Initiator memory_;
    std::function<void()> paths_gone_;
    std::function<port::Time()> writes_landed_;
    std::function<void(const Gone&)> invalidated_;
    SendDown send_down_;
    Iommu iommu_;
    time::Server walkers_; ///< with one unit that nobody uses where there is any number of them
    bool was_enabled_ = false;
};

} // namespace model::iommu
