// What runs of several scenarios do alike: they look for the parts of a host, build the platform, and let a program of
// each of two hosts do its part.
#pragma once

#include "platform/topology/description.h"
#include "platform/topology/platform_module.h"
#include "sw/base/result.h"
#include "testbench/scenario/context.h"
#include "testbench/scenario/out_of_band.h"

#include <array>
#include <cstddef>
#include <expected>
#include <functional>
#include <optional>
#include <string>

namespace scenario {

/// The first part of each kind in a host.
struct HostParts {
    std::optional<platform::topology::PartAt> hca{}, gpu{}, drive{};
};
HostParts first_parts(const platform::topology::Description& described, std::size_t host);
bool is_drive(const platform::topology::Part& part);

/// Refuses a part whose host is served: somebody else drives it then.
std::expected<void, std::string> is_driven_here(const platform::topology::Description& described,
                                                const platform::topology::PartAt& part);

/// Builds the platform of a run and taps its cables where somebody captures. `events`: who listens. The error is one
/// line for a person: the machine that we run on, or a file that a device keeps its bytes in, cannot do it. `is_here`:
/// which hosts are in this process; empty: all.
std::expected<void, std::string> build(std::optional<platform::topology::Platform>& built, const Context& context,
                                       traces::Sink* events, std::function<bool(std::size_t host)> is_here = {});

/// Runs two programs that talk out of band, `program_A` and `program_B`, until both have returned or the run is
/// stopped. The first failure is the result's: it is the cause, since the other side is told and gives up.
void run_pair(const Context& context, const std::array<std::string, 2>& hosts,
              const std::function<sw::Result<void>(unsigned i, OutOfBand& peer)>& program, Result& result);

} // namespace scenario
