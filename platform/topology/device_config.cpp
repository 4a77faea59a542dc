#include "platform/topology/device_config.h"

#include "model/gpu/vram.h"
#include "model/hca/address/identity.h"

#include <algorithm>
#include <cassert>

namespace platform::topology {

card::DeviceConfig device_config(const Config& config, const Part& part) {
    assert(part.is_card() && "switches and root ports are no devices");
    if (part.kind == PartKind::hca) {
        auto hca = part.hca();
        hca.core.is_managed = config.fabric.is_managed;
        auto made = device_config(hca);
        made.set_timed(config.timed);
        return made;
    }
    if (part.kind == PartKind::gpu) {
        model::gpu::VramConfig vram;
        vram.bytes = part.gpu().vram_bytes;
        vram.timed = config.timed;
        return vram;
    }
    return part.other();
}

card::DeviceConfig device_config(const HcaPart& hca) {
    if (hca.model == HcaModel::connectx)
        return hca.core;
    auto simple = hca.simple;
    simple.is_ethernet = hca.core.is_ethernet;
    simple.mac = model::hca::address::mac_of_guid(hca.core.node_guid);
    simple.lid = hca.core.lid;
    return simple;
}

model::pcie::TlpSizes tlp_sizes(const DescribedHost& host) {
    std::uint32_t payload = 4096, read_request = 128; // PCIe 6.0 §7.5.3.4
    for (const auto& part : host.parts) {
        if (part.kind == PartKind::root_port)
            continue;
        payload = std::min(payload, part.link.mps_bytes);
        if (part.is_card())
            read_request = std::max(read_request, part.link.mrrs_bytes);
    }
    return model::pcie::TlpSizes::of(payload, read_request);
}

} // namespace platform::topology
