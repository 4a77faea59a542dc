// Says of each case when it begins, and how it ended: whether it failed, how long it took, which mutants it reached.
// Lines go to the file that HCASIM_MUTANT_LOG names; the last case without an end is the one that was stopped.
#include "testbench/mutants/mutant.h"

#include <catch2/catch_test_case_info.hpp>
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>

#include <chrono>
#include <cstdio>

namespace {

class Listener : public Catch::EventListenerBase {
public:
    using EventListenerBase::EventListenerBase;

    void testRunStarting(const Catch::TestRunInfo&) override {
        if (const char* name = std::getenv("HCASIM_MUTANT_LOG"))
            file_ = std::fopen(name, "a");
    }

    void testCaseStarting(const Catch::TestCaseInfo& test) override {
        for (auto& one : mutants::reached)
            one.store(0, std::memory_order_relaxed);
        begin_ = std::chrono::steady_clock::now();
        if (file_ == nullptr)
            return;
        std::fprintf(file_, "begin\t%s\n", test.name.c_str());
        std::fflush(file_);
    }

    void testCaseEnded(const Catch::TestCaseStats& test) override {
        if (file_ == nullptr)
            return;
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin_;
        std::fprintf(file_, "%s\t%.6f\t", test.totals.assertions.allOk() ? "passed" : "failed", took.count());
        for (int number = 0; number < mutants::most; ++number)
            if (mutants::reached[number].load(std::memory_order_relaxed))
                std::fprintf(file_, "%d ", number);
        std::fprintf(file_, "\n");
        std::fflush(file_);
    }

private:
    std::FILE* file_ = nullptr;
    std::chrono::steady_clock::time_point begin_;
};

} // namespace

CATCH_REGISTER_LISTENER(Listener)
