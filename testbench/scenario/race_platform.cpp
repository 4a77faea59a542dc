#include "testbench/scenario/race_platform.h"

#include "platform/observe/fanout.h"
#include "platform/record/recording.h"
#include "testbench/scenario/programs.h"

#include <exception>

namespace scenario::race {

Outcome run_on_platform(const platform::topology::Config& config, platform::record::Recording* recording,
                        const std::function<void(const Ground& ground, Outcome& outcome)>& race) {
    Outcome outcome;
    try {
        platform::observe::Sources sources;
        harness::EventLog log;
        platform::observe::Fanout sinks;
        sinks.add(log);
        if (recording != nullptr && recording->events() != nullptr)
            sinks.add(*recording->events());
        platform::topology::Platform platform(config, &sinks, sources, platform::topology::Served::as_described,
                                              recording);
        Programs programs;
        programs.add("race", [&] {
            try {
                race({platform, sources, log}, outcome);
            } catch (const std::exception& error) {
                outcome.violations.push_back(error.what());
            }
        });
        if (const auto ended = programs.run(); !ended)
            outcome.violations.push_back(ended.error());
    } catch (const std::exception& error) {
        outcome.violations.push_back(error.what());
    }
    return outcome;
}

} // namespace scenario::race
