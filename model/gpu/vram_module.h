// A GPU of VRAM only, ready to plug in: the function and its endpoint.
#pragma once

#include "model/gpu/vram.h"
#include "model/pcie/endpoint_module.h"

#include <systemc>

namespace model::gpu {

class VramModule final : public sc_core::sc_module {
public:
    VramModule(sc_core::sc_module_name name, const VramConfig& config)
        : sc_module(name), vram(this->name(), config), endpoint("pcie", Vram::function_config(config), vram) {}

    Vram vram;
    pcie::EndpointModule endpoint;
};

} // namespace model::gpu
