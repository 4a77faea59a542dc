// One thread of a GPU program: what the program is written against. Every access is awaited; the thread goes on when
// the time of what it waits for has come. Loads may be left outstanding and awaited later (s_waitcnt vmcnt), stores are
// posted until the thread waits for them (vscnt) or releases.
#pragma once

#include "model/gpu/memory/access.h"
#include "model/gpu/wave/early_loads.h"
#include "model/gpu/wave/poll_watch.h"
#include "model/gpu/wave/task.h"

#include <array>
#include <cstdint>
#include <span>
#include <type_traits>

namespace model::gpu::wave {

class Grid;
class Thread;

/// How a thread has ended, if it has.
enum class End : std::uint8_t { none, returned, page_fault, gpu_reset, stuck };

/// What is known of a thread's end.
struct Record {
    End end = End::none;
    port::Time at{};
    std::uint64_t address = 0;    ///< page fault: of the access
    bool is_write = false;        ///< page fault
    unsigned faulting_thread = 0; ///< page fault: one of the same wave
    Poll poll;                    ///< stuck: what it waits for
};

/// One access, as the scheduler gets it.
struct Request {
    enum class Kind : std::uint8_t {
        load,
        scalar_load,
        issue_load,
        wait_loads,
        store,
        wait_stores,
        atomic,
        fence,
        invalidate_gl0,
        invalidate_gl1,
        invalidate_scalar,
        sleep,
        wait_for_change,
    };
    Kind kind = Kind::sleep;
    std::uint64_t address = 0;
    std::span<std::byte> into{};
    std::span<const std::byte> from{};
    memory::Modifiers modifiers{};
    memory::AtomicOp op = memory::AtomicOp::swap;
    unsigned bytes = 0; ///< of an atomic
    std::uint64_t operand = 0, compare = 0, old = 0;
    memory::Order order = memory::Order::acquire;
    memory::Scope scope = memory::Scope::system;
    unsigned remaining = 0; ///< wait_loads: so many may stay outstanding
    port::Time span{};      ///< of a sleep, or between two looks
};

template <class T>
concept Register = std::is_trivially_copyable_v<T> && sizeof(T) <= 64;

class Thread {
    struct Access {
        Thread& thread;
        Request request;
        bool await_ready() const noexcept { return false; }
        void await_suspend(std::coroutine_handle<> from) { thread.wait(from, request); }
        void await_resume() const noexcept {}
    };
    template <class T> struct Load : Access {
        T value{};
        Load(Thread& of, const Request& what) : Access{of, what} {}
        void await_suspend(std::coroutine_handle<> from) {
            this->request.into = std::as_writable_bytes(std::span{&value, 1});
            this->thread.wait(from, this->request);
        }
        T await_resume() const noexcept { return value; }
    };
    template <class T> struct Store : Access {
        T value;
        Store(Thread& of, const Request& what, T given) : Access{of, what}, value(given) {}
        void await_suspend(std::coroutine_handle<> from) {
            this->request.from = std::as_bytes(std::span{&value, 1});
            this->thread.wait(from, this->request);
        }
    };
    template <class T> struct Atomic : Access {
        T await_resume() const noexcept { return static_cast<T>(this->request.old); }
    };
    using Kind = Request::Kind;

public:
    static constexpr unsigned max_loads = 16; ///< outstanding; one more waits for the oldest
    static constexpr std::size_t max_bytes = 64;

    Thread(Grid& grid, unsigned index, unsigned wave, std::size_t frame_bytes)
        : grid_(grid), index_(index), wave_(wave), frames_(frame_bytes) {}

    unsigned index() const { return index_; }
    unsigned wave() const { return wave_; }
    unsigned count() const; ///< of the grid
    port::Time now() const { return now_; }
    Frames& frames() { return frames_; }
    const Record& record() const { return record_; }

    /// Loads and waits for this load and all before it: loads return in order.
    template <Register T> auto load(std::uint64_t address, memory::Modifiers modifiers = {}) {
        return Load<T>{*this, {.kind = Kind::load, .address = address, .modifiers = modifiers}};
    }
    auto load(std::uint64_t address, std::span<std::byte> into, memory::Modifiers modifiers = {}) {
        return Access{*this, {.kind = Kind::load, .address = address, .into = into, .modifiers = modifiers}};
    }
    template <Register T> auto scalar_load(std::uint64_t address, memory::Modifiers modifiers = {}) {
        return Load<T>{*this, {.kind = Kind::scalar_load, .address = address, .modifiers = modifiers}};
    }
    /// Leaves a load of at most max_bytes outstanding. `into` has its bytes after wait_loads(); until then they are
    /// what they were, and `into` must live.
    auto issue_load(std::uint64_t address, std::span<std::byte> into, memory::Modifiers modifiers = {}) {
        return Access{*this, {.kind = Kind::issue_load, .address = address, .into = into, .modifiers = modifiers}};
    }
    /// s_waitcnt vmcnt(remaining): at most so many of the youngest loads are outstanding still.
    auto wait_loads(unsigned remaining = 0) {
        return Access{*this, {.kind = Kind::wait_loads, .remaining = remaining}};
    }
    template <Register T> auto store(std::uint64_t address, T value, memory::Modifiers modifiers = {}) {
        return Store<T>{*this, {.kind = Kind::store, .address = address, .modifiers = modifiers}, value};
    }
    auto store(std::uint64_t address, std::span<const std::byte> from, memory::Modifiers modifiers = {}) {
        return Access{*this, {.kind = Kind::store, .address = address, .from = from, .modifiers = modifiers}};
    }
    /// s_waitcnt vscnt(0).
    auto wait_stores() { return Access{*this, {.kind = Kind::wait_stores}}; }
    /// Waits for the value before.
    template <class T>
        requires(sizeof(T) == 4 || sizeof(T) == 8)
    auto atomic(memory::AtomicOp op, std::uint64_t address, T operand, T compare = {},
                memory::Modifiers modifiers = {.glc = true}) {
        return Atomic<T>{{*this,
                          {.kind = Kind::atomic,
                           .address = address,
                           .modifiers = modifiers,
                           .op = op,
                           .bytes = sizeof(T),
                           .operand = operand,
                           .compare = compare}}};
    }
    auto fence(memory::Order order, memory::Scope scope = memory::Scope::system) {
        return Access{*this, {.kind = Kind::fence, .order = order, .scope = scope}};
    }
    auto invalidate_gl0() { return Access{*this, {.kind = Kind::invalidate_gl0}}; }
    auto invalidate_gl1() { return Access{*this, {.kind = Kind::invalidate_gl1}}; }
    auto invalidate_scalar() { return Access{*this, {.kind = Kind::invalidate_scalar}}; }
    auto sleep(port::Time span) { return Access{*this, {.kind = Kind::sleep, .span = span}}; }
    /// Between two looks of a loop at what the last load has found: sleeps as sleep() does, but while memory knows that
    /// further looks would find the same, it goes on sleeping, until the one that may find something else.
    auto wait_for_change(port::Time between) { return Access{*this, {.kind = Kind::wait_for_change, .span = between}}; }

private:
    friend class Grid;
    struct Pending {
        std::span<std::byte> into;
        port::Time done{};
        std::array<std::byte, max_bytes> bytes;
    };

    /// What the last load has found, as far as it is short enough to wait for.
    struct Look {
        std::array<std::byte, 8> found{};
        std::size_t length = 0; ///< 0: nothing
        memory::Outcome outcome{};
        port::Time at{};
        bool is_steady = false; ///< it took as long as the one before, at the same place
    };
    class Waiter final : public memory::Watcher {
    public:
        explicit Waiter(Thread& thread) : thread_(thread) {}
        void changed(port::Time at) override;
        port::Time next{}, between{}; ///< the first look that is left out, and from one to the next
        port::Time last{};            ///< when it looks again at the latest
        bool is_asleep = false;       ///< and has no turn

    private:
        Thread& thread_;
    };

    void wait(std::coroutine_handle<> from, Request& request);
    void deliver(unsigned remaining) {
        for (; loads_ > remaining; --loads_, ++first_load_) {
            const auto& load = pending_[first_load_ % max_loads];
            std::ranges::copy_n(load.bytes.begin(), static_cast<std::ptrdiff_t>(load.into.size()), load.into.begin());
        }
    }

    Grid& grid_;
    unsigned index_, wave_;
    Frames frames_;
    Task<> task_; ///< after frames_: it is gone before them
    Flow flow_;
    port::Time now_{}, loads_done_{}, stores_done_{};
    std::array<Pending, max_loads> pending_;
    unsigned first_load_ = 0, loads_ = 0;
    unsigned remaining_ = 0; ///< loads that stay outstanding when it goes on
    bool delivers_ = false;  ///< when it goes on, the others have arrived
    bool is_stuck_ = false;
    Request* again_ = nullptr; ///< what it waits with for stores that are held
    EarlyLoads early_;
    PollWatch watch_;
    Look look_;
    Waiter waiter_{*this};
    Record record_;
};

} // namespace model::gpu::wave
