// GPU programs are coroutines: a program, and each function of it that touches memory, returns a Task. Who awaits a
// task goes on when it has returned. Frames lie in the Frames of whoever is among the arguments and has some: the
// thread, or an object that speaks for it. GCC 12 lays out the frame of a function wrongly that has a co_await in the
// condition of a loop, and others go wrong inside of larger expressions: what is awaited goes into a variable first.
#pragma once

#include "model/gpu/wave/frames.h"

#include <cassert>
#include <concepts>
#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

namespace model::gpu::wave {

/// Where one thread is in its program.
struct Flow {
    std::coroutine_handle<> at; ///< what is resumed next
    bool is_waiting = false;    ///< for memory or time; the scheduler has it
    bool has_returned = false;
    std::exception_ptr error{};
};

template <class T>
concept HasFrames = requires(T& t) {
    { t.frames() } -> std::same_as<Frames&>;
};

/// An argument of a coroutine, as far as it says where frames lie.
struct Argument {
    Argument() = default;
    template <class T>
        requires(!std::same_as<std::remove_cv_t<T>, Argument>)
    Argument(T& argument) {
        if constexpr (HasFrames<T>)
            frames = &argument.frames();
    }
    Frames* frames = nullptr;
};

class PromiseBase {
public:
    /// Up to eight arguments, an object's own among them. (A template would say this better, but GCC 12 takes its
    /// operator delete for another one's.)
    static void* operator new(std::size_t bytes, Argument a, Argument b = {}, Argument c = {}, Argument d = {},
                              Argument e = {}, Argument f = {}, Argument g = {}, Argument h = {}) {
        for (const auto& one : {a, b, c, d, e, f, g, h})
            if (one.frames != nullptr)
                return one.frames->take(bytes);
        assert(false && "a Thread, or what has its frames(), is among the arguments");
        std::terminate();
    }
    static void operator delete(void* frame) { Frames::give_back(frame); }

    std::suspend_always initial_suspend() noexcept { return {}; }
    auto final_suspend() noexcept {
        // The caller is resumed by the scheduler's loop and not from here, so that loops of calls need no stack.
        struct Return {
            bool await_ready() noexcept { return false; }
            void await_suspend(std::coroutine_handle<>) noexcept {
                if (promise.caller_)
                    promise.flow_->at = promise.caller_;
                else
                    promise.flow_->has_returned = true;
            }
            void await_resume() noexcept {}
            PromiseBase& promise;
        };
        return Return{*this};
    }
    void unhandled_exception() {
        if (!caller_)
            flow_->error = std::current_exception();
        error_ = std::current_exception();
    }
    void rethrow() const {
        if (error_)
            std::rethrow_exception(error_);
    }

    Flow* flow_ = nullptr;
    std::coroutine_handle<> caller_;

private:
    std::exception_ptr error_;
};

template <class T> class Promise : public PromiseBase {
public:
    void return_value(T value) { value_.emplace(std::move(value)); }
    T take() {
        rethrow();
        return std::move(*value_);
    }

private:
    std::optional<T> value_;
};
template <> class Promise<void> : public PromiseBase {
public:
    void return_void() {}
    void take() { rethrow(); }
};

template <class T = void> class [[nodiscard]] Task {
public:
    struct promise_type : Promise<T> {
        Task get_return_object() { return Task{std::coroutine_handle<promise_type>::from_promise(*this)}; }
    };

    Task() = default;
    Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
    Task& operator=(Task&& other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~Task() { end(); }

    /// The outermost task of a thread: `flow` says from now on where it is.
    void start(Flow& flow) {
        handle_.promise().flow_ = &flow;
        flow = {.at = handle_};
    }
    void end() {
        if (handle_)
            std::exchange(handle_, {}).destroy();
    }

    bool await_ready() const noexcept { return false; }
    template <class Caller> void await_suspend(std::coroutine_handle<Caller> caller) noexcept {
        auto& promise = handle_.promise();
        promise.flow_ = caller.promise().flow_;
        promise.caller_ = caller;
        promise.flow_->at = handle_;
    }
    T await_resume() { return handle_.promise().take(); }

private:
    explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
    std::coroutine_handle<promise_type> handle_;
};

} // namespace model::gpu::wave
