// The policy of sw/gpu/queue.h for a processor: addresses are pointers, every access is done when it is awaited, and
// functions run to their end when they are called.
#pragma once

#include "sw/gpu/queue.h"

#include <array>
#include <atomic>
#include <cassert>
#include <concepts>
#include <coroutine>
#include <cstddef>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <utility>

namespace sw::gpu {

/// Memory for the frames of nested calls of one owner: no call of a queue allocates.
class CallFrames {
public:
    CallFrames() = default;
    /// A copy has calls of its own.
    CallFrames(const CallFrames&) {}
    CallFrames& operator=(const CallFrames&) { return *this; }

    void* take(std::size_t bytes) {
        const auto whole = sizeof(Head) + (bytes + alignof(Head) - 1) / alignof(Head) * alignof(Head);
        if (whole > memory_.size() - top_)
            return new (::operator new(whole)) Head{} + 1;
        auto* head = new (&memory_[top_]) Head{this, top_};
        top_ += whole;
        return head + 1;
    }
    /// Calls nest, and a function has ended when it returns: the last one taken is the first to be given back.
    static void give_back(void* frame) {
        auto* head = static_cast<Head*>(frame) - 1;
        if (head->frames == nullptr)
            return ::operator delete(head);
        head->frames->top_ = head->begin;
    }

private:
    struct alignas(16) Head {
        CallFrames* frames = nullptr;
        std::size_t begin = 0;
    };
    alignas(16) std::array<std::byte, 2048> memory_;
    std::size_t top_ = 0;
};

/// An argument of a function that awaits, as far as it has frames.
struct CallArgument {
    CallArgument() = default;
    template <class T>
        requires(!std::same_as<std::remove_cv_t<T>, CallArgument>)
    CallArgument(T& argument) {
        if constexpr (requires {
                          { argument.frames() } -> std::same_as<CallFrames&>;
                      })
            frames = &argument.frames();
    }
    CallFrames* frames = nullptr;
};

class HostMemory {
    /// An access that is done already.
    template <class T> struct Done {
        T value;
        bool await_ready() const noexcept { return true; }
        void await_suspend(std::coroutine_handle<>) const noexcept {}
        T await_resume() const noexcept { return value; }
    };
    struct Nothing {};

    class PromiseBase {
    public:
        static void* operator new(std::size_t bytes, CallArgument object, CallArgument = {}, CallArgument = {}) {
            assert(object.frames != nullptr && "functions of an object with frames() only");
            return object.frames->take(bytes);
        }
        static void operator delete(void* frame) { CallFrames::give_back(frame); }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        [[noreturn]] void unhandled_exception() { std::terminate(); }
    };

public:
    template <class T = void> class [[nodiscard]] Task;

    Done<std::uint32_t> poll(std::uint64_t address) const {
        return {std::atomic_ref(*reinterpret_cast<std::uint32_t*>(address)).load(std::memory_order_relaxed)};
    }
    Done<Nothing> read(std::uint64_t address, std::span<std::byte> into) const {
        std::memcpy(into.data(), reinterpret_cast<const std::byte*>(address), into.size());
        return {};
    }
    Done<Nothing> write(std::uint64_t address, std::span<const std::byte> from) const {
        std::memcpy(reinterpret_cast<std::byte*>(address), from.data(), from.size());
        return {};
    }
    template <class T> Done<Nothing> ring(std::uint64_t address, T value) const {
        std::atomic_ref(*reinterpret_cast<T*>(address)).store(value, std::memory_order_relaxed);
        return {};
    }
    Done<Nothing> release(Fence) const {
        std::atomic_thread_fence(std::memory_order_release);
        return {};
    }
    Done<Nothing> acquire(Fence) const {
        std::atomic_thread_fence(std::memory_order_acquire);
        return {};
    }
    Done<Nothing> pause() const { return {}; }
    CallFrames& frames() { return frames_; }

private:
    CallFrames frames_;
};

/// A function that has ended when it was called.
template <class T> class HostMemory::Task {
public:
    struct promise_type : PromiseBase {
        std::optional<T> value;
        void return_value(T given) { value.emplace(std::move(given)); }
        Task get_return_object() { return Task{std::coroutine_handle<promise_type>::from_promise(*this)}; }
    };
    Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
    ~Task() {
        if (handle_)
            handle_.destroy();
    }
    /// Its value, for callers that are no coroutines.
    T get() { return std::move(*handle_.promise().value); }
    bool await_ready() const noexcept { return true; }
    void await_suspend(std::coroutine_handle<>) const noexcept {}
    T await_resume() { return get(); }

private:
    explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
    std::coroutine_handle<promise_type> handle_;
};
template <> class HostMemory::Task<void> {
public:
    struct promise_type : PromiseBase {
        void return_void() {}
        Task get_return_object() { return Task{std::coroutine_handle<promise_type>::from_promise(*this)}; }
    };
    Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
    ~Task() {
        if (handle_)
            handle_.destroy();
    }
    void get() const {}
    bool await_ready() const noexcept { return true; }
    void await_suspend(std::coroutine_handle<>) const noexcept {}
    void await_resume() const noexcept {}

private:
    explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
    std::coroutine_handle<promise_type> handle_;
};

} // namespace sw::gpu
