#include "sw/memory/fence.h"

#include <fmt/format.h>

#include <cerrno>

namespace sw::memory {

bool Fence::is_signaled() {
    if (error_)
        return true;
    if (!progress_ || is_inside_)
        return false;
    is_inside_ = true;
    const auto outcome = progress_();
    is_inside_ = false;
    if (outcome && !error_) // somebody may have ended it in the meantime
        (void)signal(*outcome);
    return error_.has_value();
}

Result<void> Fence::signal(int error) {
    if (error_)
        return failure(EINVAL,
                       fmt::format("signal the fence of a {}: it is signalled already, and that is for good", what_));
    error_ = error;
    if (!is_inside_) // what the work held on to may go; the work itself must not, while it runs
        progress_ = {};
    return {};
}

} // namespace sw::memory
