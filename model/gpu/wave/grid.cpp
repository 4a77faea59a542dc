#include "model/gpu/wave/grid.h"

#include <algorithm>
#include <cassert>

namespace model::gpu::wave {

using memory::Order;
using memory::Outcome;
using memory::Status;

unsigned Thread::count() const { return grid_.threads(); }

void Thread::wait(std::coroutine_handle<> from, Request& request) {
    flow_.at = from;
    flow_.is_waiting = true;
    grid_.execute(*this, request);
}

Grid::Grid(const GridConfig& config, std::vector<memory::MemoryView*> views, Program program)
    : config_(config), views_(std::move(views)), program_(std::move(program)), random_(config.seed),
      held_(config.stores.hold_max), order_(config.threads) {
    assert(!views_.empty() && config_.wave_size > 0);
    config_.issue = std::max(config_.issue, port::Time{1});
    for (unsigned i = 0; i < config_.threads; ++i)
        threads_.emplace_back(*this, i, i / config_.wave_size, config_.frame_bytes);
    turns_.reserve(config_.threads);
}

Grid::~Grid() = default;

void Grid::launch(port::Time at) {
    assert(state_ == State::ready);
    state_ = State::running;
    launched_at_ = at;
    alive_ = config_.threads;
    const auto begin = views_.front()->begin_kernel(config_.acquire, at);
    for (auto& thread : threads_) {
        thread.task_ = program_(thread);
        thread.task_.start(thread.flow_);
        thread.now_ = begin;
        thread.watch_.begin(begin);
        resume_at(thread, begin);
    }
    settle(begin);
}

port::Time Grid::next_due() const {
    if (state_ != State::running)
        return port::never;
    return std::min({held_.next_due(), look_again_, turns_.empty() ? port::never : turns_.front().at});
}

void Grid::run(port::Time now) {
    // A store to a device may come back here by way of that device; the loop below is on its way already.
    if (is_busy_)
        return;
    while (next_due() <= now) {
        is_busy_ = true;
        const auto at = next_due();
        if (held_.next_due() <= at) {
            held_.advance(at, performer());
        } else if (look_again_ <= at) {
            awake_late(at);
        } else {
            const auto turn = turns_.front();
            std::pop_heap(turns_.begin(), turns_.end());
            turns_.pop_back();
            step(turn);
        }
        is_busy_ = false;
        settle(at);
    }
}

void Grid::step(const Turn& turn) {
    auto& thread = threads_[turn.thread];
    if (thread.record_.end != End::none)
        return;
    ++steps_;
    thread.now_ = turn.at;
    if (auto* again = std::exchange(thread.again_, nullptr))
        return execute(thread, *again);
    if (std::exchange(thread.delivers_, false))
        thread.deliver(thread.remaining_);
    auto& flow = thread.flow_;
    flow.is_waiting = false;
    while (!flow.is_waiting && !flow.has_returned)
        flow.at.resume();
    if (!flow.has_returned)
        return;
    end(thread, End::returned, turn.at);
    thread.task_.end();
    error_ = error_ ? error_ : flow.error;
}

void Grid::reset(port::Time at) {
    if (state_ == State::running)
        end_all(State::gpu_reset, End::gpu_reset, at);
    if (!is_busy_)
        settle(at);
}

/// Between steps: threads that were ended from without give their frames back, and a grid without threads is over.
void Grid::settle(port::Time at) {
    if (std::exchange(was_killed_, false)) {
        for (auto& thread : threads_)
            if (thread.record_.end != End::none)
                thread.task_.end();
    }
    if (state_ == State::running && alive_ == 0) {
        // The command processor waits for the stores of all waves before it releases.
        auto done = at;
        for (auto& thread : threads_)
            done = std::max(done, drain(thread, at));
        if (state_ == State::running) {
            state_ = State::ended;
            ended_at_ = views_.front()->end_kernel(config_.release, done);
        }
    }
    if (auto error = std::exchange(error_, nullptr))
        std::rethrow_exception(error);
}

void Grid::execute(Thread& thread, Request& request) {
    using Kind = Request::Kind;
    auto& memory = view(thread);
    const auto at = thread.now_;
    switch (request.kind) {
    case Kind::load:
    case Kind::scalar_load: load(thread, request); break;
    case Kind::issue_load: issue_load(thread, request); break;
    case Kind::wait_loads: {
        thread.delivers_ = true;
        thread.remaining_ = std::min(request.remaining, thread.loads_);
        const auto arrived = thread.loads_ - thread.remaining_;
        const auto last = (thread.first_load_ + arrived + Thread::max_loads - 1) % Thread::max_loads;
        resume_at(thread, arrived == 0 ? at : thread.pending_[last].done);
        break;
    }
    case Kind::store: store(thread, request); break;
    case Kind::wait_stores:
        if (waits_for_held(thread, request))
            break;
        resume_at(thread, memory.fence(Order::release, memory::Scope::agent, drain(thread, at)));
        break;
    case Kind::atomic: atomic(thread, request); break;
    case Kind::fence: fence(thread, request); break;
    case Kind::invalidate_gl0: resume_at(thread, memory.invalidate_gl0(at)); break;
    case Kind::invalidate_gl1: resume_at(thread, memory.invalidate_gl1(at)); break;
    case Kind::invalidate_scalar: resume_at(thread, memory.invalidate_scalar(at)); break;
    case Kind::sleep: resume_at(thread, at + std::max(request.span, port::Time{})); break;
    case Kind::wait_for_change: wait_for_change(thread, request); break;
    }
}

void Grid::load(Thread& thread, Request& request) {
    const auto at = thread.now_;
    find_own_stores(thread, request.address, request.into.size());
    const bool is_scalar = request.kind == Request::Kind::scalar_load;
    const bool is_adversarial = config_.stores.is_adversarial && !is_scalar;
    if (is_adversarial)
        look_early(thread, request);
    auto& memory = view(thread);
    const auto outcome = is_scalar ? memory.scalar_load(request.address, request.into, request.modifiers, at)
                                   : memory.load(request.address, request.into, request.modifiers, at);
    if (!is_good(thread, outcome, request.address, false, at))
        return;
    note_stale(thread, request.address, outcome, at);
    if (is_adversarial)
        make_early(thread, request);
    thread.watch_.read(request.address, request.into, outcome, at);
    note_look(thread, request, outcome);
    auto done = outcome.done;
    if (!is_scalar) {
        done = thread.loads_done_ = std::max(thread.loads_done_, done);
        thread.delivers_ = true;
        thread.remaining_ = 0;
    }
    resume_at(thread, done);
}

/// A load brings in what stands around it, for loads that the adversary does before their time.
void Grid::look_early(Thread& thread, const Request& request) {
    auto& early = thread.early_;
    // A page that ends there ends the wave when the program itself comes to it.
    if (early.wants(request.address, request.into.size()) &&
        !view(thread).load(early.block(), early.bytes(), request.modifiers, thread.now_).is_ok())
        early.forget();
}
/// The adversary may have done this load already, when the thread looked at what stands beside.
void Grid::make_early(Thread& thread, const Request& request) {
    if (!thread.early_.has(request.address, request.into.size()) || random_() % 2 == 0)
        return;
    thread.early_.give(request.address, request.into);
    order_.note(StaleLoad{thread.index(), request.address, thread.now_, true, {}});
}

void Grid::note_stale(const Thread& thread, std::uint64_t address, const Outcome& outcome, port::Time at) {
    if (outcome.is_stale)
        order_.note(StaleLoad{thread.index(), address, at, false, outcome});
}

void Grid::issue_load(Thread& thread, Request& request) {
    const auto at = thread.now_;
    auto& load = thread.pending_[(thread.first_load_ + thread.loads_) % Thread::max_loads];
    load.into = request.into.first(std::min(request.into.size(), Thread::max_bytes));
    find_own_stores(thread, request.address, load.into.size());
    const auto bytes = std::span{load.bytes}.first(load.into.size());
    const auto outcome = view(thread).load(request.address, bytes, request.modifiers, at);
    if (!is_good(thread, outcome, request.address, false, at))
        return;
    note_stale(thread, request.address, outcome, at);
    thread.watch_.read(request.address, bytes, outcome, at);
    load.done = thread.loads_done_ = std::max(thread.loads_done_, outcome.done);
    if (++thread.loads_ < Thread::max_loads)
        return resume_at(thread, at);
    // So there is always room for one more.
    thread.delivers_ = true;
    thread.remaining_ = Thread::max_loads - 1;
    resume_at(thread, thread.pending_[thread.first_load_ % Thread::max_loads].done);
}

void Grid::store(Thread& thread, const Request& request) {
    const auto at = thread.now_;
    thread.watch_.progress(at);
    thread.early_.forget();
    if (config_.stores.is_adversarial && request.from.size() <= HeldStores::max_bytes) {
        if (held_.is_full())
            held_.make_room(at, performer());
        held_.hold(thread.index(), request.address, request.from, request.modifiers,
                   combines(request.address, request.from.size()), at, random_);
        return resume_at(thread, at);
    }
    find_own_stores(thread, request.address, request.from.size());
    const auto outcome = view(thread).store(request.address, request.from, request.modifiers, at);
    if (!is_good(thread, outcome, request.address, true, at))
        return;
    thread.stores_done_ = std::max(thread.stores_done_, outcome.done);
    resume_at(thread, at);
}

void Grid::atomic(Thread& thread, Request& request) {
    const auto at = thread.now_;
    find_own_stores(thread, request.address, request.bytes);
    const auto outcome = view(thread).atomic(request.op, request.address, request.bytes, request.operand,
                                             request.compare, request.old, request.modifiers, at);
    if (!is_good(thread, outcome, request.address, true, at))
        return;
    thread.watch_.read(request.address, std::as_bytes(std::span{&request.old, 1}), outcome, at);
    thread.loads_done_ = std::max(thread.loads_done_, outcome.done);
    thread.delivers_ = true;
    thread.remaining_ = 0;
    resume_at(thread, thread.loads_done_);
}

void Grid::fence(Thread& thread, Request& request) {
    if (request.order != Order::acquire && waits_for_held(thread, request))
        return;
    // Either kind waits for the loads before it; only a release waits for stores.
    auto at = std::max(thread.now_, thread.loads_done_);
    thread.delivers_ = true;
    thread.remaining_ = 0;
    if (request.order != Order::release)
        thread.early_.forget();
    if (request.order != Order::acquire)
        at = std::max(at, drain(thread, thread.now_));
    resume_at(thread, view(thread).fence(request.order, request.scope, at));
}

/// A wait for stores makes none of them arrive earlier: it begins anew when the last one that is held has.
bool Grid::waits_for_held(Thread& thread, Request& request) {
    const auto last = held_.last_due(thread.index());
    if (!last)
        return false;
    thread.again_ = &request;
    resume_at(thread, *last);
    return true;
}

/// All stores of the thread are on their way; returns when the last one is acknowledged.
port::Time Grid::drain(Thread& thread, port::Time at) {
    if (!held_.is_empty())
        held_.drain(thread.index(), at, random_, performer());
    return std::max(at, thread.stores_done_);
}

/// A thread sees its own stores.
void Grid::find_own_stores(const Thread& thread, std::uint64_t address, std::size_t length) {
    if (!held_.is_empty())
        held_.drain_overlapping(thread.index(), address, length, thread.now_, performer());
}

/// A store that was held reaches memory. Its page may be gone by now: the wave ends then, later than the store.
void Grid::perform(const HeldStores::Store& store, port::Time at) {
    auto& thread = threads_[store.thread];
    order_.note(LateStore{store.thread, store.address, store.length, store.issued, at});
    const auto outcome =
        view(thread).store(store.address, std::span{store.bytes}.first(store.length), store.modifiers, at);
    if (is_good(thread, outcome, store.address, true, at))
        thread.stores_done_ = std::max(thread.stores_done_, outcome.done);
}

/// Whether the thread may go on after this outcome. An error on the bus is no reason to stop: the bytes are ones.
bool Grid::is_good(Thread& thread, const Outcome& outcome, std::uint64_t address, bool is_write, port::Time at) {
    if (outcome.status == Status::page_fault)
        end_wave(thread, address, is_write, at);
    else if (outcome.status == Status::gpu_reset)
        end_all(State::gpu_reset, End::gpu_reset, at);
    learn(address, outcome);
    return thread.record_.end == End::none;
}

/// Whether stores there may be combined before they leave: known of pages that were used before, and never of UC.
bool Grid::combines(std::uint64_t address, std::size_t length) const {
    const auto first = address >> page_shift, last = (address + std::max<std::size_t>(length, 1) - 1) >> page_shift;
    const auto& page = known_pages_[first % known_pages_.size()];
    return first == last && page.number == first &&
           (page.mtype == memory::Mtype::nc || page.mtype == memory::Mtype::wc);
}

void Grid::learn(std::uint64_t address, const Outcome& outcome) {
    const auto number = address >> page_shift;
    if (outcome.is_ok())
        known_pages_[number % known_pages_.size()] = {number, outcome.mtype};
}

void Grid::resume_at(Thread& thread, port::Time at) {
    // The access may have ended the thread, or all of them.
    if (thread.record_.end != End::none)
        return;
    auto next = std::max(at, thread.now_ + config_.issue);
    if (config_.jitter.count() > 0)
        next +=
            port::Time{static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(config_.jitter.count() + 1))};
    turns_.push_back({next, random_(), thread.index()});
    std::push_heap(turns_.begin(), turns_.end());
    watch(thread);
}

/// Decides whether the grid is stuck: no thread that lives has learned anything new for the bounded time.
void Grid::watch(Thread& thread) {
    const bool is_stuck = thread.now_ - thread.watch_.progress() > config_.stuck_after;
    if (is_stuck != thread.is_stuck_)
        stuck_ += is_stuck ? 1u : -1u;
    thread.is_stuck_ = is_stuck;
    // Whoever waits is given the whole time again after anybody got somewhere, or ended.
    progress_ = std::max(progress_, thread.watch_.progress());
    if ((stuck_ == alive_ && thread.now_ - progress_ > config_.stuck_after) ||
        thread.now_ - launched_at_ > config_.give_up_after)
        end_all(State::stuck, End::stuck, thread.now_);
}

void Grid::end(Thread& thread, End how, port::Time at) {
    if (thread.record_.end != End::none)
        return;
    thread.record_.end = how;
    thread.record_.at = at;
    thread.waiter_.leave();
    thread.waiter_.is_asleep = false;
    progress_ = std::max(progress_, at);
    was_killed_ |= how != End::returned;
    if (how == End::stuck)
        thread.record_.poll = thread.watch_.busiest();
    if (std::exchange(thread.is_stuck_, false))
        --stuck_;
    --alive_;
}

void Grid::end_wave(const Thread& faulting, std::uint64_t address, bool is_write, port::Time at) {
    for (auto& thread : threads_) {
        if (thread.wave() != faulting.wave() || thread.record_.end != End::none)
            continue;
        end(thread, End::page_fault, at);
        thread.record_.address = address;
        thread.record_.is_write = is_write;
        thread.record_.faulting_thread = faulting.index();
    }
}

void Grid::end_all(State state, End how, port::Time at) {
    state_ = state;
    ended_at_ = at;
    for (auto& thread : threads_)
        end(thread, how, at);
    held_.forget_all();
}

std::uint64_t Grid::frame_overflows() const {
    std::uint64_t overflows = 0;
    for (const auto& thread : threads_)
        overflows += thread.frames_.overflows();
    return overflows;
}

} // namespace model::gpu::wave
