#include "testbench/scenario/race_nvme_run.h"

#include "model/nvme/controller.h"
#include "model/tlm/time.h"
#include "testbench/harness/must.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace scenario::race {

using harness::must;
using model::tlm::kernel_now;
using namespace nvme_rows;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t page = sw::nvme::page_bytes;
constexpr auto gap = 1500ns; ///< between two commands
constexpr auto patience = 20ms;

} // namespace

NvmeRace::NvmeRace(const Ground& ground, const Setup& setup, Outcome& outcome)
    : sources_(ground.sources), setup_(setup), outcome_(outcome),
      operation_(static_cast<const NvmeOperation&>(*setup.operation)), size_((setup.bytes + page - 1) / page * page),
      machine_(ground.machine()), drive_card_(machine_.cards.back()), gpu_card_(machine_.cards.front()),
      moment_(ground.log, setup, outcome) {}

NvmeRace::~NvmeRace() = default;

bool NvmeRace::has(const Action& action) const {
    return std::ranges::find(setup_.actions, &action) != setup_.actions.end();
}

void NvmeRace::fill(unsigned kind) {
    const auto bytes = memory();
    for (std::uint64_t i = 0; i < bytes.size(); ++i)
        bytes[i] = content(kind, i);
}

void NvmeRace::make_memory() {
    offset_ = page;
    const auto bytes = total() + 2 * offset_;
    if (is_in_vram()) {
        gpu_.emplace(must(sw::gpu::Gpu::open(*gpu_function_)));
        buffer_ = must(gpu_->allocate(bytes));
        mapping_ = must(harness::DeviceMapping::make(*gpu_, *buffer_, *drive_function_,
                                                     functions_->space(drive_card_.bdf()), "NVMe driver"));
        bus_ = mapping_->bus() + offset_;
        all_ = gpu_card_.vram().bytes();
        offset_ += buffer_->ranges().front().offset;
    } else {
        host_ = must(drive_function_->allocate(bytes));
        bus_ = host_->bus + offset_;
        all_ = host_->bytes();
    }
}

void NvmeRace::make_drive() {
    controller_ = must(sw::nvme::Controller::open(*drive_function_, {.queue_pairs = 2, .has_interrupts = false}));
    space_ = must(sw::nvme::Namespace::open(*controller_, 1));
    queue_ = must(controller_->create_queue_pair());
}

/// Of the drive, where the commands go: by memory of their own.
void NvmeRace::write_blocks(unsigned kind) {
    auto scratch = must(sw::memory::Buffer::allocate(*drive_function_, total()));
    for (std::uint64_t i = 0; i < total(); ++i)
        scratch.bytes()[i] = content(kind, i);
    const std::array data{sw::nvme::Segment{scratch.bus(), total()}};
    must(space_->write(*queue_, 0, data));
    must(space_->flush(*queue_)); // what the write cache still had would be read at once
}

NvmeRace::Bytes NvmeRace::read_blocks() {
    if (has(flr)) { // what is known of the function is gone
        controller_.reset();
        make_drive();
    } else if (!queue_) {
        queue_ = must(controller_->create_queue_pair());
    }
    const auto scratch = must(sw::memory::Buffer::allocate(*drive_function_, total()));
    const std::array data{sw::nvme::Segment{scratch.bus(), total()}};
    must(space_->read(*queue_, 0, data));
    return {scratch.bytes().begin(), scratch.bytes().begin() + static_cast<std::ptrdiff_t>(total())};
}

void NvmeRace::set_up() {
    functions_ = must(harness::HostFunctions::open(*machine_.host));
    gpu_function_ = must(functions_->function(gpu_card_.bdf()));
    drive_function_ = must(functions_->function(drive_card_.bdf()));
    make_memory();
    make_drive();
    // What comes is where it comes from.
    write_blocks(brings_bytes() ? sent : before);
    // The drive has used the memory before: whatever translates its addresses knows them.
    const std::array all{sw::nvme::Segment{bus_, total()}};
    must(space_->read(*queue_, 0, all));
    fill(brings_bytes() ? before : sent);
    around_.assign(all_.begin(), all_.end());
    if (setup_.plant == &missing_drain)
        drive_card_.module->as<model::nvme::Controller>().plant_missing_drains();
    if (has(flr) && !setup_.is_bare)
        reset_.emplace(*drive_function_);
    for (unsigned i = 0; i < commands; ++i)
        commands_.push_back({.begin = i * size_});
}

template <class Body> void NvmeRace::with_queue(Body&& body) {
    if (queue_ == nullptr || is_queue_gone_)
        return;
    is_busy_ = true;
    body(*queue_);
    is_busy_ = false;
}

void NvmeRace::post() {
    moment_.open([this](const Action& action) {
        if (setup_.plant == &missing_invalidation)
            functions_->unit()->plant_missing_invalidations(1);
        static_cast<const NvmeAction&>(action).perform(*this);
    });
    for (auto& command : commands_) {
        with_queue([&](sw::nvme::QueuePair& queue) {
            const auto blocks = size_ / space_->block_bytes();
            const sw::nvme::Blocks where{command.begin / space_->block_bytes(), blocks};
            auto sqe = brings_bytes() ? space_->read(where) : space_->write(where);
            const std::array data{sw::nvme::Segment{bus_ + command.begin, size_}};
            command.id = must(queue.submit(sqe, data));
            queue.ring();
        });
        sc_core::wait(model::tlm::to_sc(gap));
    }
    await();
    moment_.close();
}

/// The commands' completions; a queue that is gone owes none.
void NvmeRace::await() {
    const auto is_missing = [](const Command& command) { return !command.completion; };
    const auto deadline = kernel_now() + patience;
    while (std::ranges::any_of(commands_, is_missing) && !is_queue_gone_ && kernel_now() < deadline) {
        with_queue([&](sw::nvme::QueuePair& queue) {
            std::array<sw::nvme::Completion, commands> found;
            const auto count = queue.poll(found);
            for (const auto& completion : std::span(found).first(count))
                for (auto& command : commands_)
                    if (command.id == completion.id && !command.completion)
                        command.completion = completion;
        });
        sc_core::wait(model::tlm::to_sc(200ns));
    }
}

/// The memory is somebody else's from this instant on.
void NvmeRace::give_back(std::string_view who) {
    moment_.note_end();
    if (is_given_back_)
        return;
    is_given_back_ = true;
    snapshot_.assign(memory().begin(), memory().end());
    if (!who.empty()) { // the pages have another owner, and the drive's address space still leads there
        if (auto* listener = drive_function_->ownership_listener(); listener != nullptr && host_)
            listener->own_memory(host_->data, host_->size, who);
        if (auto* listener = gpu_function_->ownership_listener(); listener != nullptr && buffer_)
            listener->own(gpu_function_->bar_address(gpu_->vram_bar()) + buffer_->ranges().front().offset,
                          buffer_->ranges().front().size, who);
    }
    fill(next_content());
}

/// Host memory is given back with the commands under way: the driver's mistake, which the remapping unit has to stop.
/// When this returns the same pages are somebody else's.
void NvmeRace::release_memory() {
    const auto before_release = *host_;
    host_.reset();
    is_memory_gone_ = true;
    drive_function_->release(before_release);
    next_ = must(functions_->unit()->machine().allocate(before_release.size));
    if (next_->data != before_release.data)
        throw std::runtime_error("the next owner has other pages");
    snapshot_.clear(); // what lay there is lost
    is_given_back_ = true;
    moment_.note_end();
    fill(next_content());
    around_.assign(all_.begin(), all_.end());
}

void NvmeRace::revoke_buffer() {
    is_memory_gone_ = true;
    must(gpu_->revoke(*buffer_));
    give_back({});
}

void NvmeRace::delete_queue() {
    while (is_busy_)
        sc_core::wait(model::tlm::to_sc(10ns));
    is_queue_gone_ = true;
    must(controller_->destroy(std::move(queue_)));
    give_back("the next owner");
}

void NvmeRace::reset_controller() {
    while (is_busy_)
        sc_core::wait(model::tlm::to_sc(10ns));
    is_queue_gone_ = true;
    must(controller_->reset());
    queue_.reset();
    give_back("the next owner");
}

/// The drive has let go when the write of the register has returned.
void NvmeRace::reset_function() {
    while (is_busy_)
        sc_core::wait(model::tlm::to_sc(10ns));
    is_queue_gone_ = true;
    reset_->begin();
    give_back("the next owner");
    reset_->finish();
    queue_.reset();
}

void NvmeRace::let_it_end() {
    moment_.settle();
    sc_core::wait(model::tlm::to_sc(1ms)); // what is late lands now
    if (!is_given_back_)
        snapshot_.assign(memory().begin(), memory().end());
}

/// An access of the drive to the memory.
bool NvmeRace::is_touch(const traces::Stamp& stamp, const traces::Event& event) const {
    if (!sources_.name(stamp.source).starts_with(drive_card_.name))
        return false;
    const auto is_inside = [&](const auto* access) { return access != nullptr && access->address - bus_ < total(); };
    return is_inside(std::get_if<traces::DmaRead>(&event)) || is_inside(std::get_if<traces::DmaWritten>(&event));
}

void NvmeRace::measure() {
    moment_.measure([this](const auto& stamp, const auto& event) { return is_touch(stamp, event); });
    outcome_.has_begun = moment_.begun() > moment_.first();
}

void NvmeRace::take_down() {
    queue_.reset();
    space_.reset();
    if (controller_)
        must(controller_->close());
    controller_.reset();
    mapping_.reset();
    buffer_.reset();
    if (host_)
        drive_function_->release(*host_);
    if (next_)
        functions_->unit()->machine().release(*next_);
    gpu_.reset();
    drive_function_.reset();
    gpu_function_.reset();
    functions_.reset();
}

void NvmeRace::run() {
    set_up();
    post();
    let_it_end();
    measure();
    check_status();
    check_memory();
    check_around();
    check_blocks();
    if (machine_.ownership)
        for (const auto& finding : machine_.ownership->take_findings())
            violate(to_string(finding));
    take_down();
}

} // namespace scenario::race
