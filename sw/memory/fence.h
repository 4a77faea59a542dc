// A promise that work on a buffer will end: a copy by a GPU, a move between memories (Linux "DMA Fences"). Signalled
// once, with an error or without. Waiting is polling, and a poll may do a piece of the work: in a program of
// cooperating threads no other thread would.
#pragma once

#include "sw/base/result.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace sw::memory {

class Fence {
public:
    /// Does a bounded piece of the work, or asks the device how far it is. Gives 0 or an errno value once it is over.
    using Progress = std::function<std::optional<int>()>;

    /// `what` is work for a message: "move of 2 MiB to system memory". Without `progress` somebody calls signal().
    explicit Fence(std::string what, Progress progress = {}) : what_(std::move(what)), progress_(std::move(progress)) {}
    Fence(const Fence&) = delete;
    Fence& operator=(const Fence&) = delete;

    /// Polls, and does one piece of the work. While one thread is inside, the answer to others is "not yet".
    bool is_signaled();
    /// Signals the fence. EINVAL when it was signalled before.
    Result<void> signal(int error = 0);
    /// The same, but does no work.
    bool has_ended() const { return error_.has_value(); }
    /// errno value with which the work ended; 0 while it goes on.
    int error() const { return error_.value_or(0); }
    const std::string& what() const { return what_; }

private:
    std::string what_;
    Progress progress_;
    bool is_inside_ = false;
    std::optional<int> error_;
};

using FenceHandle = std::shared_ptr<Fence>;

} // namespace sw::memory
