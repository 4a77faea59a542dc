// Cards that translate their own addresses, for the tests of what they reach by that: one with a device-TLB, and one
// that asks for pages and has PASIDs.
#pragma once

#include "abi/iommu/page_request.h"
#include "testbench/harness/remapped_machine.h"

namespace testbench {

inline constexpr std::uint16_t ats_control = 0x106;
inline constexpr std::uint32_t ats_enable = 0x8000;

/// The first card has a device-TLB, which software has enabled on both sides unless told not to.
struct Translating : RemappedMachine {
    explicit Translating(platform::host::HostConfig host = {}, bool is_enabled = true, bool timed = false,
                         model::iommu::IommuConfig core = {})
        : RemappedMachine(timed, with_device_tlb(std::move(host), core),
                          {.entries = 16, .has_page_requests = true, .pasid_bits = 20}) {
        attach(1, IommuBench::context(1, tables).set<"tt">(abi::iommu::TranslationType::with_device_tlb));
        enable();
        if (is_enabled)
            control(ats_control, ats_enable);
    }
    static platform::host::HostConfig with_device_tlb(platform::host::HostConfig host, model::iommu::IommuConfig core) {
        core.device_tlb = true;
        return with_unit(std::move(host), {.core = core, .miss_latency = miss});
    }
    void control(std::uint16_t offset, std::uint32_t value, unsigned bytes = 2) {
        machine.host.root_complex().config_write(machine.found(1).bdf, offset, bytes, value, {});
    }
    std::uint32_t status(std::uint16_t offset, unsigned bytes = 2) {
        return machine.host.root_complex().config_read(machine.found(1).bdf, offset, bytes, {}).value;
    }
    const model::iommu::CacheCounters& tlb() const { return machine.first.endpoint.tlb().counters(); }
    void invalidate_device(std::uint64_t address) {
        submit(abi::iommu::DeviceTlbDescriptor{}
                   .set<"type">(3)
                   .set<"sid">(machine.found(1).bdf.value)
                   .set<"addr">(address));
    }
    std::uint64_t upstream_tlps() {
        return machine.host.upstream_link()->traffic(model::pcie::Direction::upstream).tlps;
    }
};

/// In scalable mode, with the card's page requests on.
struct Asking : Translating {
    std::uint64_t queue_page = 0;
    explicit Asking(bool timed = false)
        : Translating({}, false, timed, {.scalable_mode = true, .first_stage = true, .page_requests = true}) {
        using namespace abi::iommu;
        write(Register::gcmd, 0);
        const auto bdf = machine.found(1).bdf;
        const auto contexts = allocate(), directory = allocate(), table = allocate();
        const auto lower = (bdf.value & 0x80) == 0;
        put(root + bdf.bus() * 16u, lower ? ScalableRootEntry{}.set<"lp">(true).set<"lctp">(contexts)
                                          : ScalableRootEntry{}.set<"up">(true).set<"uctp">(contexts));
        put(contexts + (bdf.value & 0x7fu) * 32u, ScalableContextEntry{}
                                                      .set<"p">(true)
                                                      .set<"dte">(true)
                                                      .set<"paside">(true)
                                                      .set<"pre">(true)
                                                      .set<"pasiddirptr">(directory));
        put(directory, PasidDirectoryEntry{}.set<"p">(true).set<"smptblptr">(table));
        put(table, IommuBench::second_stage(1, tables));
        other = allocate();
        put(table + 5 * 64, IommuBench::second_stage(2, other_tables()));
        queue_page = allocate();
        write(Register::rtaddr, RootTableAddress{}.set<"rta">(root).set<"ttm">(TableMode::scalable).value(), 8);
        write(Register::iqa, QueueAddress{}.set<"iqa">(queue).set<"dw">(true).value(), 8);
        write(Register::pqa, queue_page, 8);
        write(Register::gcmd, GlobalCommand::mask<"srtp">);
        write(Register::gcmd, GlobalCommand::mask<"qie"> | GlobalCommand::mask<"te">);
        control(ats_control, ats_enable);
        control(0x11c, 8, 4); // allocation
        control(0x114, 1);
        control(0x126, 1);
    }
    std::uint64_t other = 0; ///< what PASID 5 sees at `iova`
    std::uint64_t other_tables() {
        const auto mine = tables;
        const auto theirs = tables = allocate();
        map(iova, other);
        tables = mine;
        return theirs;
    }
    template <class D> void answer(const D& descriptor) {
        put(queue, descriptor);
        write(Register::iqt, 32);
    }
};

} // namespace testbench
