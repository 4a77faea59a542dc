// The workloads by the name that a configuration's [scenario] gives them: drivers on a platform, run by the program and
// by tests. A new one is a function and a row of the table in registry.cpp.
#pragma once

#include "testbench/scenario/context.h"

#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>

namespace scenario {

/// The error is one line for a person: the configuration cannot carry this workload ("the payload, 3 GiB, does not fit
/// into gpu.vram = 2 GiB"). What goes wrong inside the simulation is in the result.
using Run = std::expected<Result, std::string> (*)(const Context&);

struct Scenario {
    std::string_view name, summary;
    Run run;
    /// Whether the configuration can carry it, and a payload of so many bytes; nullptr: always.
    std::expected<void, std::string> (*fits)(const platform::topology::Config&, std::uint64_t payload_bytes) = nullptr;
    bool moves_payload = true;        ///< a file; false: bytes of its own
    bool runs_on_every_model = false; ///< of HCAs; false: where it uses one, that is of hca.model = connectx
    bool runs_in_processes = false;   ///< hosts may be spread over several (Context::exchange)
    bool uses_wire = true;            ///< an HCA's; false: nothing leaves a host
};

/// Whether the configuration can carry the scenario, and a payload of so many bytes. The error is one line.
std::expected<void, std::string> look_at(const Scenario& scenario, const platform::topology::Config& config,
                                         std::uint64_t payload_bytes);

std::span<const Scenario> scenarios();
/// nullptr when there is none of that name.
const Scenario* find_scenario(std::string_view name);

} // namespace scenario
