// Where the points of a study are run: here, or by somebody else's scheduler (slurm_engine.h).
#pragma once

#include "testbench/study/commands.h"
#include "testbench/study/study.h"

#include <functional>
#include <span>

namespace study {

class Engine {
public:
    Engine() = default;
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;
    virtual ~Engine() = default;

    /// Runs each of the points by its words, and tells of each one how it has ended, in any order. When `goes_on` says
    /// no, those that are under way come to their end and the others are not begun. Throws std::runtime_error.
    virtual void run(std::span<const Point> points, const Commands::Words& words, const Commands::Done& done,
                     const std::function<bool()>& goes_on) = 0;
};

/// As processes of this machine.
class LocalEngine final : public Engine {
public:
    /// `jobs` at a time, each within `seconds` of wall time.
    LocalEngine(unsigned jobs, unsigned seconds) : jobs_(jobs), seconds_(seconds) {}
    void run(std::span<const Point> points, const Commands::Words& words, const Commands::Done& done,
             const std::function<bool()>& goes_on) override {
        Commands(jobs_, seconds_).run(points.size(), words, done, goes_on);
    }

private:
    unsigned jobs_, seconds_;
};

} // namespace study
