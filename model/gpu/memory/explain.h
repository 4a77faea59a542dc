// Says in words what a load has seen and what a cache holds back: for whoever waits and wants to know why.
#pragma once

#include "model/gpu/memory/hierarchy.h"

#include <string>

namespace model::gpu::memory {

std::string_view name(Profile profile);
std::string_view name(Mechanism mechanism);

/// Why the load of `outcome` did not see what is in memory, and what would have released it; empty: it was not stale.
std::string explain(const Outcome& outcome, const MemoryConfig& config);
/// What GL2 holds back: a line a sentence, those that are meant for PCIe first; empty: nothing.
std::string explain_held(Hierarchy& caches, port::Time now);

} // namespace model::gpu::memory
