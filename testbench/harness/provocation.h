// Driver mistakes as data: for each row of firmware/refusal.h a way to provoke it. The conformance level walks them and
// finds rows that nothing provokes, and provocations that end in another row.
#pragma once

#include "testbench/harness/command_bench.h"

#include <functional>
#include <span>
#include <string_view>

namespace harness {

enum class Start : std::uint8_t { off, enabled, booted, initialized };

struct Provocation {
    std::string_view refusal;
    std::function<std::string_view(CommandBench&)> make; ///< returns the name of the refusal that came
    Start start = Start::initialized;
    std::function<void(model::hca::HcaConfig&)> configure = {};
};

/// One list a chapter.
std::span<const Provocation> life_cycle_mistakes();
std::span<const Provocation> register_mistakes();
std::span<const Provocation> queue_mistakes();
std::span<const Provocation> mkey_mistakes();
std::span<const Provocation> qp_mistakes();
std::span<const Provocation> port_mistakes();
std::span<const Provocation> srq_mistakes();
std::span<const Provocation> user_context_mistakes();

} // namespace harness
