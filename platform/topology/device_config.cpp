#include "platform/topology/device_config.h"

#include "model/gpu/vram.h"

#include <cassert>

namespace platform::topology {

card::DeviceConfig device_config(const Config& config, const Part& part) {
    assert(part.is_card() && "switches and root ports are no devices");
    if (part.kind == PartKind::hca) {
        auto hca = part.hca().core;
        hca.timed = config.timed;
        hca.is_managed = config.fabric.is_managed;
        return hca;
    }
    if (part.kind == PartKind::gpu) {
        model::gpu::VramConfig vram;
        vram.bytes = part.gpu().vram_bytes;
        vram.timed = config.timed;
        return vram;
    }
    return part.other();
}

} // namespace platform::topology
