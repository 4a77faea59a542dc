#include "testbench/scenario/runs.h"

#include "testbench/scenario/counting.h"
#include "testbench/scenario/programs.h"

#include <fmt/format.h>

#include <exception>
#include <utility>

namespace scenario {

using platform::topology::Description;
using platform::topology::PartAt;
using platform::topology::PartKind;
using platform::topology::Platform;

bool is_drive(const platform::topology::Part& part) {
    return part.kind == PartKind::device && part.other().kind().name == "nvme";
}

HostParts first_parts(const Description& described, std::size_t host) {
    HostParts found;
    const auto& parts = described.hosts[host].parts;
    for (std::size_t part = 0; part < parts.size(); ++part) {
        const auto& one = parts[part];
        auto* place = one.kind == PartKind::hca   ? &found.hca
                      : one.kind == PartKind::gpu ? &found.gpu
                      : is_drive(one)             ? &found.drive
                                                  : nullptr;
        if (place != nullptr && !*place)
            *place = PartAt{host, part};
    }
    return found;
}

std::expected<void, std::string> is_driven_here(const Description& described, const PartAt& part) {
    const auto& host = described.hosts[part.host];
    if (!host.is_served)
        return {};
    return std::unexpected(
        fmt::format("host {} is served, and this scenario drives {} itself", host.name, described.name_of(part)));
}

std::expected<void, std::string> build(std::optional<Platform>& built, const Context& context, traces::Sink* events,
                                       std::function<bool(std::size_t host)> is_here) {
    try {
        built.emplace(context.config, events, context.sources, platform::topology::Served::as_described,
                      context.recording, std::move(is_here));
    } catch (const std::exception& error) {
        return std::unexpected(fmt::format("the platform cannot be built: {}", error.what()));
    }
    if (context.config.scenario.name != "traffic") // which has a begin of its own
        built->begin_failures({});
    if (context.capture != nullptr)
        tap(*built, *context.capture);
    return {};
}

void run_pair(const Context& context, const std::array<std::string, 2>& hosts,
              const std::function<sw::Result<void>(unsigned i, OutOfBand& peer)>& program, Result& result) {
    MessageQueues queues;
    Programs programs;
    for (unsigned i = 0; i < hosts.size(); ++i)
        programs.add(fmt::format("program_{}", hosts[i]), [&, i] {
            if (const auto done = program(i, queues.end(i)); !done && result.failure.empty())
                result.failure = done.error().what;
            queues.close(i);
        });
    if (const auto ended = programs.run(context.stop); !ended && result.failure.empty())
        result.failure = ended.error();
    if (context.stop != nullptr)
        result.stopped = context.stop->why();
}

} // namespace scenario
