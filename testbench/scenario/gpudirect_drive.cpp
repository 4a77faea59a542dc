#include "testbench/scenario/gpudirect_drive.h"

#include "testbench/harness/cable_address.h"
#include "testbench/scenario/thread_queues.h"

#include <fmt/format.h>

#include <chrono>
#include <mutex>
#include <thread>
#include <utility>

namespace scenario {

namespace {

using Wall = std::chrono::steady_clock;

double seconds(Wall::duration duration) { return std::chrono::duration<double>(duration).count(); }

Transfer transfer(const StepReport& step) {
    Transfer row;
    row.name = direction_of(step.name);
    row.verified = step.is_verified;
    row.sha256_target = step.sha256;
    row.bytes = step.bytes;
    row.messages = step.messages;
    row.completions_ok = step.messages;
    row.wall_seconds = seconds(step.took);
    return row;
}

} // namespace

std::string_view direction_of(std::string_view step) {
    constexpr std::array directions{std::pair{"WRITE", "WRITE A -> B"}, std::pair{"READ", "READ  B -> A"},
                                    std::pair{"SEND", "SEND  A -> B"}};
    for (const auto& [name, text] : directions)
        if (step == name)
            return text;
    return step;
}

Result drive_gpudirect(const std::array<Cards, 2>& machines, GpuDirectOptions options, bool is_ipv6) {
    const auto begin = Wall::now();
    Result result;
    result.scenario = "gpudirect";
    result.payload_bytes = options.payload.size();
    GpuDirectReport report;
    ThreadQueues queues;
    std::mutex first;
    const auto program = [&](unsigned i) {
        const Machine machine{.name = machines[i].name,
                              .gid = harness::cable_address(i, is_ipv6),
                              .hca = machines[i].hca,
                              .gpu = machines[i].gpu,
                              .peer = queues.end(i)};
        const auto outcome = i == 0 ? initiate(machine, options, report) : respond(machine, options);
        // The first failure is the cause: the other side is told and gives up.
        if (const std::lock_guard lock(first); !outcome && result.failure.empty())
            result.failure = outcome.error().what;
        queues.close(i);
    };
    {
        const std::jthread responder(program, 1);
        program(0);
    }

    result.sha256_source = report.source_sha256;
    result.sha256_target = report.steps.back().sha256;
    for (const auto& step : report.steps) {
        if (step.name.empty())
            continue;
        result.transfers.push_back(transfer(step));
        result.completions_ok += step.messages;
        if (result.failure.empty() && !step.is_verified)
            result.failure = fmt::format("the bytes that came by {} differ from the source", step.name);
    }
    result.verified = result.failure.empty() && report.is_verified();
    result.wall_seconds = seconds(Wall::now() - begin);
    return result;
}

} // namespace scenario
