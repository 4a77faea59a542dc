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

NvmeConfig settled(NvmeConfig config) {
    if (!config.timed) {
        config.fetch_latency = config.command_latency = config.ready_latency = Time{};
        config.self_test_time = config.sanitize_time = Time{};
        config.space.timing = {};
    }
    config.memory_buffer = config.memory_buffer / abi::nvme::memory_buffer_unit * abi::nvme::memory_buffer_unit;
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
      dma_(ports.dma, config_.memory_buffer, config_.memory_buffer_uses), spaces_(config_.space),
      io_(config_.io, spaces_, dma_), health_(config_.error_entries, config_.temperature),
      queues_(config_, dma_, ports.interrupts, *this, events),
      admin_(config_, queues_, in_flight_, spaces_, io_, health_, events) {
    io_.data().walker().set_memory(dma_);
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
    const auto page = std::uint64_t{4096} << cc.view().get<"mps">();
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
    if (config_.ready_latency == Time{})
        become_ready(at);
    else
        wake_at(ready_at_, at + config_.ready_latency);
}

void Controller::become_ready(Time now) {
    ready_at_ = port::never;
    const auto r = registers();
    const auto cc = fields_of(r.get<"cc">());
    const auto page = std::uint32_t{4096} << cc.view().get<"mps">();
    queues_.reset();
    queues_.set_format(page, cc.view().get<"ams">() != 0);
    queues_.start_admin(r.get<"asq">(), r.get<"asqs">() + 1u, r.get<"acq">(), r.get<"acqs">() + 1u);
    admin_.set_page_bytes(page);
    io_.data().set_rules({.page_bytes = page, .takes_sgl = config_.has_sgl});
    admin_.apply_features(now);
    state_ = State::running;
    r.set<"rdy">(true);
    events_.emit(now, traces::NvmeStateChanged{"ready"});
}

/// Controller Reset: nothing more comes of what was under way. AQA, ASQ, ACQ and CMBMSC keep their values.
void Controller::stop(Time at) {
    state_ = State::disabled;
    events_.emit(at, traces::NvmeStateChanged{"disabled"});
    queues_.reset();
    in_flight_.clear();
    admin_.reset(at);
    ready_at_ = run_at_ = interrupt_at_ = port::never;
    registers().set<"cc">(0).set<"rdy">(false).set<"cfs">(false).set<"shst">(0);
}

/// The base address of the memory buffer is kept, too, which a function-level reset should clear: the stock driver of
/// Linux does not write it again, and goes on to use queues there (NVMe base 2.0 "Controller Level Reset").
void Controller::reset(Time at) {
    stop(at);
    registers().set<"asqs">(0).set<"acqs">(0).set<"asq">(0).set<"acq">(0);
}

/// What was fetched ends, what was written is durable, and nothing starts any more.
void Controller::shut_down(Time at) {
    if (state_ == State::running) {
        while (const auto entry = in_flight_.take(port::never - Time{1}))
            queues_.post(*entry, at);
        queues_.raise(at);
    }
    if (state_ != State::failed)
        state_ = State::stopped;
    ready_at_ = run_at_ = port::never;
    static_cast<void>(spaces_.flush(at));
    registers().set<"shst">(static_cast<std::uint32_t>(ShutdownStatus::complete));
    events_.emit(at, traces::NvmeStateChanged{"shut down"});
}

/// Nothing goes on until a reset. If the admin queue still takes it, a host that waits for events is told first.
void Controller::fatal(traces::ControllerFailure why, std::uint64_t address, Time at) {
    if (state_ == State::failed)
        return;
    const bool was_running = state_ == State::running;
    state_ = State::failed;
    registers().set<"cfs">(true);
    const traces::Cause cause(events_, events_.emit(at, traces::NvmeFailed{why, address}));
    events_.emit(at, traces::NvmeStateChanged{"failed"});
    if (!was_running)
        return;
    admin_.events().note(abi::nvme::EventType::error, abi::nvme::ErrorEvent::persistent_internal,
                         abi::nvme::LogPage::error);
    if (const auto event = admin_.events().next()) {
        queues_.post({.sqid = 0, .cid = event->first, .dw0 = event->second}, at);
        queues_.raise(at);
    }
}

/// The controller goes on. A host that has asked for events is told, and the error log says more.
void Controller::bad_doorbell(const Doorbell& doorbell, traces::DoorbellMistake why, Time at) {
    events_.emit(at, traces::NvmeDoorbellIgnored{static_cast<std::uint16_t>(doorbell.queue), doorbell.is_completion,
                                                 doorbell.value, why});
    constexpr traces::DoorbellMistake no_queue = "no such queue";
    health_.note_no_command();
    admin_.events().note(abi::nvme::EventType::error,
                         why == no_queue ? abi::nvme::ErrorEvent::invalid_doorbell_register
                                         : abi::nvme::ErrorEvent::invalid_doorbell_value,
                         abi::nvme::LogPage::error);
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

void Controller::run(Time now) {
    if (is_running_)
        return;
    is_running_ = true;
    run_at_ = port::never;
    for (unsigned commands = 0; state_ == State::running && in_flight_.size() < config_.outstanding;) {
        if (commands >= commands_a_turn && queues_.has_work()) {
            run_at_ = now + between_turns;
            break;
        }
        const auto batch = queues_.fetch(now);
        if (!batch || state_ != State::running)
            break;
        const traces::Cause cause(events_, batch->cause);
        constexpr auto bytes = abi::nvme::command_bytes;
        for (std::size_t at = 0; at < batch->entries.size() && state_ == State::running; at += bytes, ++commands)
            execute(batch->sqid, batch->entries.subspan(at).first<bytes>(), batch->at + config_.command_latency, now);
    }
    if (state_ == State::running)
        interrupt_at_ = queues_.raise(now);
    is_running_ = false;
}

std::uint64_t Controller::emit_fetched(std::uint16_t sqid, abi::ConstView<abi::nvme::Command> command, Time at) const {
    if (!events_.is_on()) [[likely]]
        return 0;
    return events_.emit(
        at, traces::NvmeCommandFetched{sqid, command.get<"cid">(), command.get<"opcode">(), command.get<"nsid">()});
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
        const abi::ConstView<abi::nvme::Command> waiting(*first);
        if (fuse == abi::nvme::fused_second) {
            const auto [compared, written] = io_.execute_fused(*first, entry, at);
            complete(sqid, waiting, compared, now);
            return complete(sqid, command, written, now);
        }
        complete(sqid, waiting, io_.execute(*first, at), now); // alone: refused
    }
    if (fuse == abi::nvme::fused_first)
        return in_flight_.hold(sqid, entry);
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
    if (outcome.done <= now)
        queues_.post(entry, now);
    else
        in_flight_.add(entry, outcome.done);
}

/// The whole command goes with the event: nobody else has it any more.
void Controller::explain(std::uint16_t sqid, abi::ConstView<abi::nvme::Command> command, const Outcome& outcome,
                         Time at) const {
    if (!events_.is_on())
        return;
    const auto bytes = command.bytes();
    const auto qword = [&](std::size_t offset) {
        return abi::load<std::uint64_t, abi::Endian::little>(bytes.data() + offset);
    };
    events_.emit(at, traces::NvmeCommandRefused{.sqid = sqid,
                                                .cid = command.get<"cid">(),
                                                .opcode = command.get<"opcode">(),
                                                .flags = std::to_integer<std::uint8_t>(bytes[1]),
                                                .nsid = command.get<"nsid">(),
                                                .metadata = command.get<"mptr">(),
                                                .prp1 = command.get<"prp1">(),
                                                .prp2 = command.get<"prp2">(),
                                                .dwords_2_3 = qword(8),
                                                .dwords_10_11 = qword(40),
                                                .dwords_12_13 = qword(48),
                                                .dwords_14_15 = qword(56),
                                                .status = static_cast<std::uint16_t>(outcome.status),
                                                .parameter = outcome.parameter,
                                                .lba = outcome.lba});
}

void Controller::count(abi::ConstView<abi::nvme::Command> command) {
    using abi::nvme::IoOpcode;
    const auto opcode = static_cast<IoOpcode>(command.get<"opcode">());
    if (opcode == IoOpcode::write || opcode == IoOpcode::copy || opcode == IoOpcode::write_zeroes ||
        opcode == IoOpcode::write_uncorrectable)
        admin_.background().has_written();
    if (opcode != IoOpcode::read && opcode != IoOpcode::write)
        return;
    const auto* space = spaces_.allocated(command.get<"nsid">());
    const auto blocks = (command.get<"cdw12">() & 0xffff) + 1;
    const auto bytes = space != nullptr ? std::uint64_t{blocks} * space->shape().data_bytes() : 0;
    opcode == IoOpcode::read ? health_.has_read(bytes) : health_.has_written(bytes);
}

void Controller::post_due(Time now) {
    while (state_ == State::running) {
        const auto entry = in_flight_.take(now);
        if (!entry)
            return;
        queues_.post(*entry, now);
    }
}

void Controller::wake(Time now) {
    const traces::Cause cause(events_, traces::Access::timer);
    if (ready_at_ <= now)
        become_ready(now);
    admin_.advance(now);
    if (state_ == State::running) {
        const bool was_busy = in_flight_.size() >= config_.outstanding;
        post_due(now);
        report_events(now);
        queues_.recheck(now);
        if (run_at_ <= now || was_busy || (run_at_ == port::never && queues_.has_work()))
            run(now);
        else
            interrupt_at_ = queues_.raise(now);
    }
    schedule();
}

void Controller::wake_at(Time& what, Time at) { what = std::min(what, at); }

void Controller::schedule() {
    if (state_ != State::running && state_ != State::starting)
        return;
    const auto next = std::min(
        {ready_at_, run_at_, interrupt_at_, in_flight_.next(), queues_.recheck_time(), admin_.background().next()});
    if (next != port::never)
        ports_.clock.wake_at(next);
}

bool Controller::is_quiet() const {
    return ready_at_ == port::never && run_at_ == port::never && in_flight_.is_empty();
}

} // namespace model::nvme
