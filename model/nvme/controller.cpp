#include "model/nvme/controller.h"

#include <algorithm>

namespace model::nvme {

using abi::nvme::ControllerConfiguration;
using abi::nvme::ShutdownStatus;
using port::Time;

namespace {
/// Software rings once for as many commands as a queue has: others work in between.
constexpr unsigned commands_a_turn = 64;
/// Turns have times of their own, even where work takes none: a served machine returns between two instants only.
constexpr Time between_turns{1};
/// Admin commands that are fetched and not completed: as many as the longest admin queue has entries (AQA.ASQS).
constexpr std::size_t most_admin = 4096;
/// MDTS counts in powers of two of the smallest page, and 0 is no limit: there is no smaller limit than two pages.
constexpr std::uint64_t least_transfer = 8192;

NvmeConfig settled(NvmeConfig config) {
    if (!config.timed) {
        config.fetch_latency = config.command_latency = config.ready_latency = Time{};
        config.self_test_time = config.sanitize_time = Time{};
        config.flash.timed = false;
    }
    std::uint64_t bytes = 0;
    for (const auto& one : config.space.namespaces)
        bytes += one.bytes;
    config.space.capacity = std::max(config.space.capacity, bytes);
    config.memory_buffer = config.memory_buffer / abi::nvme::memory_buffer_unit * abi::nvme::memory_buffer_unit;
    if (config.io.max_transfer_bytes != 0)
        config.io.max_transfer_bytes = std::max(config.io.max_transfer_bytes, least_transfer);
    config.io.has_fused &= config.io.has_compare; // the one pair that there is
    return config;
}
abi::Block<ControllerConfiguration> fields_of(std::uint32_t cc) {
    abi::Block<ControllerConfiguration> block;
    abi::store<std::uint32_t, abi::Endian::little>(block.bytes.data(), cc);
    return block;
}
} // namespace

Controller::Controller(const NvmeConfig& config, const pcie::DevicePorts& ports, traces::Events events)
    : config_(settled(config)), ports_(ports), events_(events),
      dma_(ports.dma, config_.memory_buffer, config_.memory_buffer_uses),
      processors_("processors", config_.processors, config_.command_latency),
      flash_(config_.flash, config_.space.capacity, config_.space.identity, ports.dma), spaces_(config_.space, &flash_),
      io_(config_.io, spaces_, dma_), health_(config_.error_entries, config_.temperature, spaces_.kept().counters),
      queues_(config_, dma_, ports.interrupts, *this, events),
      admin_(config_, queues_, in_flight_, spaces_, io_, health_, flash_.host_buffer(), events) {
    io_.data().walker().set_memory(dma_);
    io_.data().walker().set_grants(grants_);
    queues_.set_grants(grants_);
    set_capabilities();
}

void Controller::configure(std::uint32_t value, Time at) {
    const auto before = fields_of(registers().get<"cc">()), after = fields_of(value);
    registers().set<"cc">(value);
    // Software may set the sizes of entries at any time before it creates queues.
    admin_.set_entries(after.view().get<"iosqes">(), after.view().get<"iocqes">());
    if (before.view().get<"en">() && !after.view().get<"en">()) {
        stop(at);
        return;
    }
    if (!before.view().get<"en">() && after.view().get<"en">())
        start(at);
    if (after.view().get<"shn">() != 0 && before.view().get<"shn">() == 0)
        shut_down(at);
}

bool Controller::can_start() {
    const auto r = registers();
    const auto cc = fields_of(r.get<"cc">());
    const auto page = std::uint64_t{abi::nvme::least_page_bytes} << cc.view().get<"mps">();
    const bool is_weighted = cc.view().get<"ams">() != 0;
    return cc.view().get<"mps">() <= r.get<"mpsmax">() && cc.view().get<"css">() == 0 && cc.view().get<"ams">() <= 1 &&
           (!is_weighted || config_.has_weighted_round_robin) && r.get<"asqs">() != 0 && r.get<"acqs">() != 0 &&
           r.get<"asq">() % page == 0 && r.get<"acq">() % page == 0;
}

void Controller::start(Time at) {
    events_.emit(at, traces::NvmeStateChanged{"enabled"});
    if (!can_start())
        return fatal("it was enabled with what it does not support", registers().get<"cc">(), at);
    state_ = State::starting;
    registers().set<"shst">(0); // of a shutdown while it was disabled
    if (config_.ready_latency == Time{})
        become_ready(at);
    else
        wake_at(ready_at_, at + config_.ready_latency);
}

void Controller::become_ready(Time now) {
    ready_at_ = port::never;
    if (!can_start()) // it was asked for when it was enabled; software may have changed it since
        return fatal("it was enabled with what it does not support", registers().get<"cc">(), now);
    if (health_.is_shut_down()) {
        health_.set_shut_down(false);
        keep_counters(now);
    }
    const auto r = registers();
    const auto cc = fields_of(r.get<"cc">());
    const auto page = abi::nvme::least_page_bytes << cc.view().get<"mps">();
    queues_.reset();
    queues_.set_format(page, cc.view().get<"ams">() != 0);
    queues_.start_admin(r.get<"asq">(), r.get<"asqs">() + 1u, r.get<"acq">(), r.get<"acqs">() + 1u, now);
    admin_.set_page_bytes(page);
    io_.data().set_rules({.page_bytes = page, .takes_sgl = config_.has_sgl});
    admin_.apply_features(now);
    state_ = State::running;
    r.set<"rdy">(true);
    events_.emit(now, traces::NvmeStateChanged{"ready"});
}

/// Controller Reset: nothing more comes of what was under way. AQA, ASQ, ACQ and CMBMSC keep their values. The error
/// log is empty afterwards (NVMe base 2.0 "Error Information").
void Controller::stop(Time at) {
    state_ = State::disabled;
    health_.clear_errors();
    keep_counters(at);
    events_.emit(at, traces::NvmeStateChanged{"disabled"});
    queues_.reset();
    in_flight_.clear();
    admin_.reset(at);
    ready_at_ = run_at_ = interrupt_at_ = stopped_at_ = port::never;
    registers().set<"cc">(0).set<"rdy">(false).set<"cfs">(false).set<"shst">(0);
}

/// The base address of the memory buffer is kept, too, which a function-level reset should clear: the stock driver of
/// Linux does not write it again, and goes on to use queues there (NVMe base 2.0 "Controller Level Reset").
void Controller::reset(Time at) {
    stop(at);
    registers().set<"asqs">(0).set<"acqs">(0).set<"asq">(0).set<"acq">(0);
}

void Controller::keep_counters(Time at) {
    health_.pass(at);
    static_cast<void>(spaces_.save()); // there is nobody to be told if it fails
}

/// Nothing more is fetched: a first half that waits is one without its partner (NVMe base 2.0 "Fused Operations").
void Controller::end_halves(Time at) {
    for (const auto& [sqid, half] : in_flight_.take_halves()) {
        const traces::Cause cause(events_, half.cause);
        complete(sqid, abi::ConstView<abi::nvme::Command>(half.command), io_.execute(half.command, at), at);
    }
    queues_.set_coalescing(0); // an interrupt that waits for others would wait for good
    interrupt_at_ = queues_.raise(at);
}

/// What was fetched ends, then what was written is made durable, and nothing starts any more.
void Controller::shut_down(Time at) {
    const bool was_running = state_ == State::running;
    if (was_running)
        end_halves(at);
    if (state_ != State::failed)
        state_ = was_running ? State::stopping : State::stopped;
    ready_at_ = run_at_ = port::never;
    auto done = at;
    static_cast<void>(spaces_.flush(done));
    if (!was_running || (done <= at && in_flight_.is_empty()))
        return end_shutdown(at);
    registers().set<"shst">(static_cast<std::uint32_t>(ShutdownStatus::occurring));
    stopped_at_ = std::max({at, done, in_flight_.last()});
    interrupt_at_ = std::min(interrupt_at_, at);
}

void Controller::end_shutdown(Time at) {
    stopped_at_ = port::never;
    if (state_ != State::failed)
        state_ = State::stopped;
    health_.set_shut_down(true);
    keep_counters(at);
    registers().set<"shst">(static_cast<std::uint32_t>(ShutdownStatus::complete));
    events_.emit(at, traces::NvmeStateChanged{"shut down"});
}

void Controller::report_events(Time at) {
    while (state_ == State::running) {
        const auto event = admin_.events().next();
        if (!event)
            return;
        events_.emit(at, traces::NvmeEventReported{static_cast<std::uint8_t>(event->second & 7),
                                                   static_cast<std::uint8_t>(event->second >> 8),
                                                   static_cast<std::uint8_t>(event->second >> 16)});
        queues_.post({.sqid = 0, .cid = event->first, .dw0 = event->second}, at);
    }
}

/// The admin queue has a limit of its own: however many I/O commands a medium never ends, Abort and Delete I/O
/// Submission Queue are fetched, by which the host takes them back.
Queues::Room Controller::room() const {
    return {.has_admin = in_flight_.admin_size() < most_admin, .has_io = in_flight_.io_size() < config_.outstanding};
}

void Controller::run(Time now) {
    if (is_running_)
        return;
    is_running_ = true;
    run_at_ = port::never;
    for (unsigned commands = 0; state_ == State::running;) {
        if (commands >= commands_a_turn && queues_.has_work()) {
            run_at_ = now + between_turns;
            break;
        }
        const auto batch = queues_.fetch(now, room());
        if (!batch || state_ != State::running)
            break;
        const traces::Cause cause(events_, batch->cause);
        constexpr auto bytes = abi::nvme::command_bytes;
        for (std::size_t at = 0; at < batch->entries.size() && state_ == State::running; at += bytes, ++commands) {
            const auto entry = batch->entries.subspan(at).first<bytes>();
            if (grants_.is_watched()) [[unlikely]]
                grants_.begin(batch->sqid, abi::ConstView<abi::nvme::Command>(entry).get<"cid">(),
                              queues_.rung_at(batch->sqid, batch->first + static_cast<std::uint32_t>(at / bytes)));
            execute(batch->sqid, entry, begin_of_command(batch->at), now);
        }
    }
    if (state_ == State::running)
        interrupt_at_ = queues_.raise(now);
    is_running_ = false;
}

void Controller::execute(std::uint16_t sqid, Sqe entry, Time at, Time now) {
    if (!queues_.has_submission(sqid))
        return; // deleted by a command before this one
    const abi::ConstView<abi::nvme::Command> command(entry);
    const traces::Cause cause(events_, emit_fetched(sqid, command, now));
    if (sqid != 0)
        return execute_io(sqid, entry, at, now);
    const auto outcome = admin_.execute(command, at);
    if (!admin_.is_parked())
        complete(sqid, command, outcome, now);
    report_events(at);
}

/// NVMe base 2.0 "Fused Operations": the partner of a first command is the next entry of its queue, and no other. Both
/// are executed in one go, so nothing comes in between.
void Controller::execute_io(std::uint16_t sqid, Sqe entry, Time at, Time now) {
    const abi::ConstView<abi::nvme::Command> command(entry);
    const auto fuse = config_.io.has_fused ? command.get<"fuse">() : 0;
    if (const auto first = in_flight_.take_half(sqid)) {
        const abi::ConstView<abi::nvme::Command> waiting(first->command);
        if (fuse == abi::nvme::fused_second) {
            grants_.begin_pair(waiting.get<"cid">(), first->since);
            const auto [compared, written] = io_.execute_fused(first->command, entry, at);
            {
                const traces::Cause cause(events_, first->cause);
                complete(sqid, waiting, compared, now);
            }
            return complete(sqid, command, written, now);
        }
        const traces::Cause cause(events_, first->cause);
        complete(sqid, waiting, io_.execute(first->command, at), now); // alone: refused
    }
    if (fuse == abi::nvme::fused_first)
        return in_flight_.hold(sqid, InFlight::untouched(entry, grants_.since(), events_.cause()));
    begin(sqid, entry, at, now);
}

/// A read waits for the drive; what becomes of it is seen when its data is there.
void Controller::begin(std::uint16_t sqid, Sqe entry, Time at, Time now) {
    const auto ready = io_.ready(entry, at);
    const abi::ConstView<abi::nvme::Command> command(entry);
    if (!ready)
        return complete(sqid, command, io_.execute(entry, at), now);
    if (*ready > at)
        return in_flight_.wait(sqid, InFlight::untouched(entry, grants_.since(), events_.cause()), *ready);
    const Flash::Paid paid(flash_);
    complete(sqid, command, io_.execute(entry, at), now);
}

void Controller::complete(std::uint16_t sqid, abi::ConstView<abi::nvme::Command> command, const Outcome& outcome,
                          Time now) {
    CompletionEntry entry{.sqid = sqid,
                          .cid = command.get<"cid">(),
                          .status = outcome.status,
                          .dnr = outcome.dnr,
                          .dw0 = outcome.dw0,
                          .cause = events_.cause()};
    if (!outcome.is_ok()) {
        entry.more = true;
        explain(sqid, command, outcome, now);
        health_.note({.sqid = sqid, .cid = entry.cid, .nsid = command.get<"nsid">(), .opcode = command.get<"opcode">()},
                     outcome);
    } else if (sqid != 0)
        count(command);
    // Of an admin command that takes a queue away: what its commands write goes out before anybody is told.
    const auto done = sqid == 0 ? std::max(outcome.done, dma_.all_issued()) : outcome.done;
    if (done <= now)
        queues_.post(entry, now);
    else
        in_flight_.add(entry, done);
}

void Controller::count(abi::ConstView<abi::nvme::Command> command) {
    using abi::nvme::IoOpcode;
    const auto opcode = static_cast<IoOpcode>(command.get<"opcode">());
    if (opcode == IoOpcode::write || opcode == IoOpcode::copy || opcode == IoOpcode::write_zeroes ||
        opcode == IoOpcode::write_uncorrectable)
        admin_.background().has_written();
    const bool is_read = opcode == IoOpcode::read || opcode == IoOpcode::compare;
    if (!is_read && opcode != IoOpcode::write)
        return;
    const auto* space = spaces_.allocated(command.get<"nsid">());
    const auto blocks = (command.get<"cdw12">() & 0xffff) + 1;
    const auto bytes = space != nullptr ? std::uint64_t{blocks} * space->shape().data_bytes() : 0;
    is_read ? health_.has_read(bytes) : health_.has_written(bytes);
}

void Controller::post_due(Time now) {
    is_running_ = true; // who is told of a completion may ring at once
    while (has_queues() || in_flight_.has_orphans()) {
        const auto due = in_flight_.take(now);
        if (!due)
            break;
        if (!due->waiting) {
            queues_.post(due->entry, now);
            continue;
        }
        const Flash::Paid paid(flash_);
        const auto& [entry, since, fetched] = *due->waiting;
        const traces::Cause cause(events_, fetched);
        grants_.begin(due->entry.sqid, due->entry.cid, since);
        const auto outcome = io_.execute(entry, now);
        if (!due->is_orphan)
            complete(due->entry.sqid, abi::ConstView<abi::nvme::Command>(entry), outcome, now);
    }
    is_running_ = false;
}

void Controller::wake(Time now) {
    const traces::Cause cause(events_, traces::Access::timer);
    if (ready_at_ <= now)
        become_ready(now);
    admin_.advance(now);
    if (state_ == State::running) {
        const auto before = room();
        const bool was_busy = !before.has_admin || !before.has_io;
        post_due(now);
        report_events(now);
        queues_.recheck(now);
        if (run_at_ <= now || was_busy || (run_at_ == port::never && queues_.has_work()))
            run(now);
        else
            interrupt_at_ = queues_.raise(now);
    } else if (state_ == State::stopping) {
        post_due(now);
        interrupt_at_ = queues_.raise(now);
    } else if (in_flight_.has_orphans()) {
        post_due(now);
    }
    if (stopped_at_ <= now && has_queues() && !in_flight_.is_empty())
        stopped_at_ = in_flight_.last();
    else if (stopped_at_ <= now)
        end_shutdown(now);
    schedule();
}

void Controller::wake_at(Time& what, Time at) { what = std::min(what, at); }

void Controller::schedule() {
    auto next = stopped_at_; // all that comes of one that has failed in the middle of a shutdown
    if (state_ == State::starting || has_queues() || in_flight_.has_orphans()) {
        const auto recheck = state_ == State::stopping ? port::never : queues_.recheck_time();
        next =
            std::min({next, ready_at_, run_at_, interrupt_at_, recheck, in_flight_.next(), admin_.background().next()});
    }
    if (next != port::never)
        ports_.clock.wake_at(next);
}

bool Controller::is_quiet() const {
    if (state_ == State::failed) // what was under way stays so
        return stopped_at_ == port::never;
    return ready_at_ == port::never && run_at_ == port::never && stopped_at_ == port::never && in_flight_.is_empty();
}

void Controller::accounts(std::vector<time::Account>& rows) const {
    rows.push_back(processors_.account());
    flash_.accounts(rows);
}

} // namespace model::nvme
