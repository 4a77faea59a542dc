// The lock and the fences of a buffer (Linux "Reservation Objects"). Whoever moves a buffer, maps it or pins it
// holds the lock and proves it: such functions take the lock as an argument. Threads cooperate, so a wait lets others
// run, and a lock that is not released in time is reported as an error.
#pragma once

#include "sw/base/result.h"
#include "sw/memory/fence.h"
#include "sw/transport/transport.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace sw::memory {

/// What a fence stands for. Waiting for one kind waits for those before it too.
enum class Usage : std::uint8_t {
    kernel,   ///< memory management: the contents are not there before this has ended
    write,    ///< by a user of the buffer
    read,     ///< by a user of the buffer
    bookkeep, ///< anything else that must end before the memory goes away
};

/// How long somebody waits for the lock of a buffer, for its fences, and for importers to give their mappings back.
inline constexpr std::chrono::nanoseconds lock_patience = std::chrono::seconds{10},
                                          fence_patience = std::chrono::seconds{60},
                                          unmap_patience = std::chrono::seconds{1};

class Reservation {
    struct State {
        bool is_locked = false;
    };

public:
    /// Proof that the lock is held; its destructor releases the lock.
    class Lock {
    public:
        Lock() = default;
        Lock(Lock&& other) noexcept : state_(std::move(other.state_)) {}
        Lock& operator=(Lock&& other) noexcept {
            if (this != &other) {
                unlock();
                state_ = std::move(other.state_);
            }
            return *this;
        }
        ~Lock() { unlock(); }
        void unlock() {
            if (state_)
                state_->is_locked = false;
            state_.reset();
        }
        explicit operator bool() const { return state_ != nullptr; }

    private:
        friend class Reservation;
        explicit Lock(std::shared_ptr<State> state) : state_(std::move(state)) {}
        std::shared_ptr<State> state_; // the lock may outlive the buffer it belonged to
    };

    /// The lock if it is free, else an empty one.
    Lock try_lock();
    /// The lock, after waiting for it. EDEADLK when it is not released in time: then the caller itself may hold it.
    Result<Lock> lock(transport::Transport& machine, std::chrono::nanoseconds patience = lock_patience);
    /// Checks what the kernel asserts. `operation` begins the message: "pin". EINVAL for an empty lock and for another
    /// buffer's.
    Result<void> require(const Lock& lock, std::string_view operation) const;
    bool is_locked() const { return state_->is_locked; }

    Result<void> add_fence(const Lock& lock, FenceHandle fence, Usage usage);
    /// Polls once the fences of `usage` and of the kinds before it; each may do a piece of its work.
    bool is_signaled(Usage usage);
    /// Waits for them. ETIMEDOUT names the fence that is left. Does not say how the work ended, as in the kernel.
    Result<void> wait(transport::Transport& machine, Usage usage, std::chrono::nanoseconds patience = fence_patience);
    /// Fences of `usage` and before that have not ended, oldest first.
    std::vector<FenceHandle> pending(Usage usage) const;

private:
    std::shared_ptr<State> state_ = std::make_shared<State>();
    std::vector<std::pair<Usage, FenceHandle>> fences_;
};

using Lock = Reservation::Lock;

} // namespace sw::memory
