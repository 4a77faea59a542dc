// The seed of a randomised test: HCA_SEED of the environment repeats a run.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <random>

namespace testbench {

inline std::uint64_t random_seed() {
    const char* given = std::getenv("HCA_SEED");
    return given != nullptr ? std::strtoull(given, nullptr, 0) : std::random_device{}();
}

} // namespace testbench
