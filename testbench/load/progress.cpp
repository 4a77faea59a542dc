#include "testbench/load/progress.h"

#include "model/tlm/kernel_clock.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace load {

namespace {

/// A packet that is lost comes again after a time-out, as often as the queue pair tries.
model::port::Time patience(const Work& work) {
    const auto retries = std::int64_t{work.how.retry_count} + 1;
    const model::port::Time timeout{work.how.ack_timeout == 0 ? 0 : std::int64_t{4'096'000} << work.how.ack_timeout};
    return std::max<model::port::Time>(std::chrono::seconds{10}, 8 * retries * timeout);
}

} // namespace

bool Progress::is_stalled(const Work& work) const { return model::tlm::kernel_now() - last_progress > patience(work); }

void Progress::look_for_progress(const Work& work, std::uint64_t under_way) {
    if (is_stalled(work))
        fail(fmt::format("nothing was completed for {} s; {} messages are under way",
                         std::chrono::duration_cast<std::chrono::seconds>(patience(work)).count(), under_way));
}

} // namespace load
