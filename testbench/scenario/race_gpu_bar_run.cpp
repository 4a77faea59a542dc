#include "testbench/scenario/race_gpu_bar_run.h"

#include "model/tlm/time.h"
#include "sw/transport/mmio.h"
#include "sw/transport/poll.h"
#include "testbench/harness/must.h"
#include "testbench/scenario/gpu_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <utility>

namespace scenario::race {

using abi::gpu::Mtype;
using harness::must;
using model::gpu::wave::End;
using model::gpu::wave::Grid;
using model::gpu::wave::Task;
using model::gpu::wave::Thread;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t page = sw::nvme::page_bytes;
constexpr auto gap = 2us; ///< between two doorbells of a thread
constexpr std::uint16_t command_register = 4, memory_space = 1 << 1;

} // namespace

GpuBarRace::GpuBarRace(const Ground& ground, const Setup& setup, Outcome& outcome)
    : log_(ground.log), sources_(ground.sources), machine_(ground.machine()), setup_(setup), outcome_(outcome),
      commands_(std::clamp<std::size_t>((setup.bytes + page - 1) / page, 2, 60)), drive_card_(machine_.cards.back()),
      side_(machine_), drive_(must(side_.functions().function(drive_card_.bdf()))),
      moment_(ground.log, setup, outcome) {}

void GpuBarRace::open_drive() {
    controller_ = must(sw::nvme::Controller::open(*drive_, {.queue_pairs = threads + 1, .has_interrupts = false}));
    space_ = must(sw::nvme::Namespace::open(*controller_, 1));
    queue_ = must(controller_->create_queue_pair());
}

/// Each command writes a page to a place of its own; nobody has rung for it.
void GpuBarRace::submit(Ringer& ringer, std::uint64_t first_page) {
    ringer.queue = must(controller_->create_queue_pair({.entries = static_cast<std::uint32_t>(commands_ + 1)}));
    ringer.doorbell = controller_->doorbell_offset(ringer.queue->number(), false);
    const auto blocks = page / space_->block_bytes();
    for (std::uint64_t i = 0; i < commands_; ++i) {
        auto command = space_->write({(first_page + i) * blocks, blocks});
        const std::array data{sw::nvme::Segment{data_.bus() + (first_page + i) * page, page}};
        must(ringer.queue->submit(command, data));
        ringer.tails.push_back(ringer.queue->let_ring());
    }
}

void GpuBarRace::set_up() {
    open_drive();
    const auto bytes = threads * commands_ * page;
    data_ = must(sw::memory::Buffer::allocate(*drive_, bytes));
    const std::array all{sw::nvme::Segment{data_.bus(), bytes}};
    for (const auto kind : {before, sent}) { // the drive has the one, and is sent the other
        for (std::uint64_t i = 0; i < bytes; ++i)
            data_.bytes()[i] = content(kind, i);
        if (kind == before)
            must(space_->write(*queue_, 0, all));
    }
    for (unsigned i = 0; i < threads; ++i)
        submit(ringers_.emplace_back(), i * commands_);
    side_.own_bar(drive_->bar_address(0), drive_->bar_size(0), "the drive's driver");
    export_.emplace(must(sw::memory::MmioExport::create(*drive_, 0, 0, drive_->bar_size(0))));
    bar_ = must(side_.space().import(export_->buffer(), Mtype::uc));
    bar_bus_ = side_.space().entry(bar_).value().get<"page">();
    counter_ = must(side_.gpu().allocate(page));
    counter_address_ = must(side_.space().map(*counter_, Mtype::uc));
    if (setup_.actions[0] == &bar_rows::flr)
        reset_.emplace(*drive_);
}

Task<> GpuBarRace::ring(Thread& thread, Ringer& ringer) {
    for (const auto tail : ringer.tails) {
        co_await thread.store<std::uint32_t>(bar_ + ringer.doorbell, tail, model::gpu::memory::volatile_store);
        ++ringer.rung;
        co_await thread.wait_stores();
        co_await thread.sleep(gap);
    }
}

/// The rest of the grid, which the drive does not concern.
Task<> GpuBarRace::count(Thread& thread) {
    for (std::uint64_t i = 1; i <= last_count; ++i) {
        co_await thread.store(counter_address_, i);
        co_await thread.sleep(gap);
    }
}

void GpuBarRace::ring() {
    const Views views(side_.device().block(), side_.space().vmid());
    Grid grid(side_.grid(threads + 1), views.pointers(), [this](Thread& thread) {
        return thread.index() < threads ? ring(thread, ringers_[thread.index()]) : count(thread);
    });
    run_grid(grid);
    moment_.close();
    moment_.settle();
    for (unsigned i = 0; i < threads; ++i)
        ringers_[i].record = grid.record(i);
    if (grid.record(threads).end != End::returned)
        violate("a thread that has nothing to do with the drive has not come to its end");
}

// --- what gets in its way ---

void GpuBarRace::revoke() {
    must(export_->revoke());
    moment_.note_end();
    side_.own_bar(drive_->bar_address(0), drive_->bar_size(0), "the drive's next user");
}

void GpuBarRace::disable() {
    revoke();
    const auto command = drive_->config_read(command_register, 2);
    drive_->config_write(command_register, 2, command & ~std::uint32_t{memory_space});
    sc_core::wait(model::tlm::to_sc(20us));
    drive_->config_write(command_register, 2, command);
}

void GpuBarRace::reset_function() {
    revoke();
    reset_->begin();
    reset_->finish();
}

// --- afterwards ---

/// A doorbell on its way from the GPU.
bool GpuBarRace::is_touch(const traces::Stamp& stamp, const traces::Event& event) const {
    const auto* write = std::get_if<traces::DmaWritten>(&event);
    return write != nullptr && write->address - bar_bus_ < drive_->bar_size(0) &&
           sources_.name(stamp.source).starts_with(side_.card().name);
}

void GpuBarRace::check_ends() {
    bool has_faulted = false;
    for (std::size_t i = 0; i < ringers_.size(); ++i) {
        const auto& record = ringers_[i].record;
        const auto mistake = find_fault(record, outcome_.is_reached, true, bar_ + ringers_[i].doorbell, 4);
        if (!mistake.empty())
            violate(fmt::format("thread {} {}", i, mistake));
        has_faulted |= record.end != End::returned;
        if (record.end == End::returned && ringers_[i].rung != commands_)
            violate(fmt::format("thread {} has returned before it had rung for all", i));
    }
    outcome_.completion = has_faulted ? "page fault" : "success";
    if (auto mistake = side_.check_record(has_faulted, bar_, drive_->bar_size(0)); !mistake.empty())
        violate(std::move(mistake));
    std::uint64_t counted = 0;
    std::memcpy(&counted, side_.device().bytes().data() + counter_->ranges().front().offset, sizeof counted);
    if (counted != last_count)
        violate(fmt::format("the rest of the grid has counted to {} of {}", counted, last_count));
}

/// The drive was told of each doorbell that a thread has written, in their order, and of none after it was taken back.
void GpuBarRace::check_doorbells() {
    std::vector<std::size_t> heard(ringers_.size());
    for (auto i = moment_.first(); i != log_.entries.size(); ++i) {
        const auto& [stamp, event] = log_.entries[i];
        if (moment_.ended() != 0 && i >= moment_.ended() && is_touch(stamp, event))
            return violate("a doorbell of the GPU reaches for the drive after its BAR was taken back");
        const auto* rung = std::get_if<traces::NvmeDoorbellRung>(&event);
        if (rung == nullptr || rung->is_completion)
            continue;
        for (std::size_t k = 0; k < ringers_.size(); ++k)
            if (ringers_[k].queue->number() == rung->queue &&
                (heard[k] == commands_ || ringers_[k].tails[heard[k]++] != rung->value))
                return violate(
                    fmt::format("SQ {} has a doorbell of {}, which is not the next", rung->queue, rung->value));
    }
    for (std::size_t k = 0; k < ringers_.size(); ++k)
        if (heard[k] != ringers_[k].rung)
            violate(fmt::format("thread {} has rung {} times, and the drive has heard {} of them", k, ringers_[k].rung,
                                heard[k]));
}

/// So many more commands of the queue end, and all are successful.
bool GpuBarRace::has_completed(Ringer& ringer, std::size_t count) {
    std::size_t done = 0;
    bool are_ok = true;
    const auto is_over = [&] {
        std::array<sw::nvme::Completion, 8> found;
        const auto some = ringer.queue->poll(found);
        are_ok = are_ok && std::ranges::all_of(std::span(found).first(some), &sw::nvme::Completion::is_ok);
        return (done += some) >= count;
    };
    return sw::transport::poll_until(*drive_, 20ms, is_over) && are_ok && done == count;
}

/// What the drive has of each command is what was rung for, and of a reset one no more than that.
void GpuBarRace::check_blocks(bool is_complete) {
    const std::array all{sw::nvme::Segment{data_.bus(), data_.size()}};
    must(space_->read(*queue_, 0, all));
    for (std::uint64_t i = 0; i < data_.size(); ++i) {
        const auto is_old = data_.bytes()[i] == content(before, i), is_new = data_.bytes()[i] == content(sent, i);
        const auto& ringer = ringers_[i / page / commands_];
        const bool is_rung = i / page % commands_ < ringer.rung;
        if (is_rung ? !is_new && (is_complete || !is_old) : !is_old)
            return violate(fmt::format("byte {} on the drive is {:#04x}: it is of a command that nobody has rung for, "
                                       "or that was not carried out",
                                       i, static_cast<unsigned>(data_.bytes()[i])));
    }
}

/// A reset one is disabled and knows no queue (NVMe base 2.0 "Function Level Reset"). One whose memory space was off
/// for a while has not noticed: it has carried out what was rung for, and the rest when its driver rings.
void GpuBarRace::check_drive() {
    const sw::transport::Registers<abi::nvme::Registers> registers(*drive_, 0, 0);
    if (is_reset()) {
        if (registers.get<"rdy">() || registers.get<"cc">() != 0)
            violate("the drive is not as a reset leaves it");
        for (auto& ringer : ringers_)
            ringer.queue.reset();
        queue_.reset();
        controller_.reset();
        open_drive();
        return check_blocks(false);
    }
    if (!registers.get<"rdy">() || registers.get<"cfs">())
        violate("the drive is not ready any more");
    for (auto& ringer : ringers_)
        if (!has_completed(ringer, ringer.rung))
            violate(fmt::format("SQ {} does not end the {} commands that were rung for", ringer.queue->number(),
                                ringer.rung));
    check_blocks(true);
    for (auto& ringer : ringers_) {
        if (ringer.rung == commands_)
            continue;
        sw::transport::write32<abi::Endian::little>(*drive_, 0, ringer.doorbell, ringer.tails.back());
        if (!has_completed(ringer, commands_ - ringer.rung))
            violate(fmt::format("SQ {} does not go on when its driver rings", ringer.queue->number()));
    }
}

void GpuBarRace::take_down() {
    export_.reset();
    ringers_.clear();
    queue_.reset();
    must(controller_->close());
    controller_.reset();
    data_ = {};
}

void GpuBarRace::run() {
    set_up();
    moment_.open([this](const Action& action) {
        side_.plant(setup_.plant);
        static_cast<const BarAction&>(action).perform(*this);
    });
    ring();
    sc_core::wait(model::tlm::to_sc(1ms)); // what is late lands now
    moment_.measure([this](const auto& stamp, const auto& event) { return is_touch(stamp, event); });
    outcome_.has_begun = outcome_.touched != 0;
    check_ends();
    check_doorbells();
    check_drive();
    if (machine_.ownership)
        for (const auto& finding : machine_.ownership->take_findings())
            violate(to_string(finding));
    take_down();
}

} // namespace scenario::race
