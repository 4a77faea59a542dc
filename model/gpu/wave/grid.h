// A grid: many threads of one GPU program, in waves, interleaved by a seeded scheduler in simulated time. Each thread
// goes on when what it waits for is done; of several at the same time the seed decides. A page fault ends its wave, a
// reset of the GPU all of them, and a grid of which no thread gets anywhere for a bounded time is stuck and says where.
// Lanes of a wave run on their own here, each at its own pace: lockstep only takes interleavings away.
#pragma once

#include "model/gpu/wave/held_stores.h"
#include "model/gpu/wave/order_book.h"
#include "model/gpu/wave/thread.h"

#include <deque>
#include <functional>
#include <random>
#include <vector>

namespace model::gpu::wave {

struct StoreOrder {
    bool is_adversarial = false; ///< stores reach memory late, shuffled and merged, and loads early, as far as is legal
    port::Time hold_max = std::chrono::microseconds{1};
};

struct GridConfig {
    unsigned threads = 1;
    unsigned wave_size = 32;
    std::uint64_t seed = 1;
    port::Time issue = std::chrono::nanoseconds{1}; ///< of each instruction; above zero, so that a poll takes time
    port::Time jitter{};                            ///< at most so much more, drawn for each
    port::Time stuck_after = std::chrono::milliseconds{10};
    port::Time give_up_after = std::chrono::seconds{10}; ///< of the whole grid: a loop that always finds something new
    StoreOrder stores{};
    memory::Scope acquire = memory::Scope::system, release = memory::Scope::system;
    std::size_t frame_bytes = 4096; ///< for the coroutine frames of a thread
};

enum class State : std::uint8_t { ready, running, ended, stuck, gpu_reset };

class Grid {
public:
    using Program = std::function<Task<>(Thread&)>;

    /// views  of the CUs: waves are dealt to them in turn; they outlive the grid. One or more.
    Grid(const GridConfig& config, std::vector<memory::MemoryView*> views, Program program);
    Grid(const Grid&) = delete;
    Grid& operator=(const Grid&) = delete;
    ~Grid();

    void launch(port::Time at);
    /// Runs all that is due by `now`. Whoever drives the grid calls it at next_due().
    void run(port::Time now);
    port::Time next_due() const;
    /// Is called when next_due() has become earlier than it was, while nobody runs the grid.
    void set_alarm(std::function<void()> alarm) { alarm_ = std::move(alarm); }
    /// The GPU is reset: all waves end, and stores that have not arrived never will.
    void reset(port::Time at);

    State state() const { return state_; }
    bool is_over() const { return state_ > State::running; }
    /// When it was over; a kernel that ends releases first.
    port::Time ended_at() const { return ended_at_; }
    unsigned threads() const { return config_.threads; }
    const Record& record(unsigned thread) const { return threads_[thread].record(); }
    std::uint64_t steps() const { return steps_; }
    /// What was done to each thread's stores and loads.
    const OrderBook& order() const { return order_; }
    /// Stores that reached memory before an older one of their thread.
    std::uint64_t overtakes() const { return held_.overtakes(); }
    /// Frames that did not fit where they should.
    std::uint64_t frame_overflows() const;

private:
    friend class Thread;
    struct Turn {
        port::Time at;
        std::uint64_t lot; ///< decides between equal times
        unsigned thread;
        bool operator<(const Turn& other) const { // the greatest of a heap comes first
            return at != other.at ? at > other.at : lot > other.lot;
        }
    };
    struct KnownPage {
        std::uint64_t number = ~std::uint64_t{0};
        memory::Mtype mtype{};
    };
    static constexpr unsigned page_shift = 12;

    void execute(Thread& thread, Request& request);
    void load(Thread& thread, Request& request);
    void look_early(Thread& thread, const Request& request);
    void make_early(Thread& thread, const Request& request);
    void note_stale(const Thread& thread, std::uint64_t address, const memory::Outcome& outcome, port::Time at);
    void issue_load(Thread& thread, Request& request);
    void store(Thread& thread, const Request& request);
    void atomic(Thread& thread, Request& request);
    void fence(Thread& thread, Request& request);
    port::Time drain(Thread& thread, port::Time at);
    bool waits_for_held(Thread& thread, Request& request);
    void find_own_stores(const Thread& thread, std::uint64_t address, std::size_t length);
    void perform(const HeldStores::Store& store, port::Time at);
    bool is_good(Thread& thread, const memory::Outcome& outcome, std::uint64_t address, bool is_write, port::Time at);
    bool combines(std::uint64_t address, std::size_t length) const;
    void learn(std::uint64_t address, const memory::Outcome& outcome);
    static void note_look(Thread& thread, const Request& request, const memory::Outcome& outcome);
    void wait_for_change(Thread& thread, const Request& request);
    void awake(Thread& thread, port::Time at);
    void awake_late(port::Time now);
    void resume_at(Thread& thread, port::Time at);
    void watch(Thread& thread);
    void step(const Turn& turn);
    void end(Thread& thread, End how, port::Time at);
    void end_wave(const Thread& faulting, std::uint64_t address, bool is_write, port::Time at);
    void end_all(State state, End how, port::Time at);
    void settle(port::Time at);
    memory::MemoryView& view(const Thread& thread) { return *views_[thread.wave() % views_.size()]; }
    auto performer() {
        return [this](const HeldStores::Store& store, port::Time at) { perform(store, at); };
    }

    GridConfig config_;
    std::vector<memory::MemoryView*> views_;
    Program program_;
    std::mt19937_64 random_;
    std::deque<Thread> threads_;
    std::vector<Turn> turns_; ///< a heap; one of each thread that lives and is awake, besides the one that runs
    port::Time look_again_ = port::never; ///< no later than any thread that is asleep has to look again
    std::function<void()> alarm_;
    HeldStores held_;
    OrderBook order_;
    std::array<KnownPage, 64> known_pages_{};
    State state_ = State::ready;
    port::Time launched_at_{}, ended_at_{}, progress_{};
    unsigned alive_ = 0, stuck_ = 0;
    bool is_busy_ = false;     ///< inside run(): coroutines may not be destroyed from within
    bool was_killed_ = false;  ///< some thread was, since they were looked through
    std::exception_ptr error_; ///< that a program let out
    std::uint64_t steps_ = 0;
};

} // namespace model::gpu::wave
