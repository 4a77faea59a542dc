// A simple HCA for tests that take any.
#pragma once

#include "abi/types.h"
#include "model/simple/device.h"
#include "sw/simple/verbs_face.h"
#include "testbench/harness/verbs_hosts.h"

#include <cstdint>

namespace harness {

inline AnyHca simple_hca(std::uint8_t number, model::simple::SimpleConfig config = {}) {
    config.mac = sw::verbs::mac_of(0x02'00'00'00'00'00u + number);
    config.lid = number;
    return {.function = model::simple::Device::function_config(config),
            .make =
                [config](const auto& ports, traces::Events events) {
                    return std::make_unique<model::simple::Device>(config, ports, events);
                },
            .open = [](auto& transport) { return sw::simple::open_verbs(transport); }};
}

} // namespace harness
