#include "testbench/scenario/race_gpu_pages_run.h"

#include "abi/gpu/sdma.h"
#include "model/tlm/time.h"
#include "sw/transport/mmio.h"
#include "testbench/harness/must.h"
#include "testbench/scenario/gpu_kernel.h"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <utility>

namespace scenario::race {

using abi::gpu::Mtype;
using abi::gpu::sdma::QueueRegister;
using harness::must;
using model::gpu::wave::Grid;
using model::gpu::wave::Task;
using model::gpu::wave::Thread;
using model::tlm::kernel_now;
using namespace pages_rows;
using namespace std::chrono_literals;
namespace sdma = abi::gpu::sdma;

namespace {

constexpr std::uint64_t page = 4096;
constexpr unsigned engine = 1, queue = 0; ///< the driver has the other engine
constexpr std::uint64_t ring_bytes = 64 << 10;
constexpr auto patience = 20ms;

std::uint64_t whole(std::uint64_t bytes, std::uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

} // namespace

GpuPagesRace::GpuPagesRace(const Ground& ground, const Setup& setup, Outcome& outcome)
    : sources_(ground.sources), machine_(ground.machine()), setup_(setup), outcome_(outcome),
      operation_(static_cast<const PagesOperation&>(*setup.operation)), total_(whole(setup.bytes, page)),
      side_(machine_), moment_(ground.log, setup, outcome) {}

GpuPagesRace::Place GpuPagesRace::make_place(bool in_vram) {
    const auto bytes = whole(total_ + 2 * margin, sw::gpu::vram_block);
    Place place;
    if (in_vram) {
        place.vram.emplace(must(side_.gpu().allocate(bytes)));
        place.all = side_.device().bytes().subspan(place.vram->ranges().front().offset, bytes);
    } else {
        place.host = must(side_.function().allocate(bytes));
        place.all = place.host->bytes();
    }
    put(place, 0, std::vector<std::byte>(bytes, untouched));
    return place;
}

std::uint64_t GpuPagesRace::map(const Place& place, Mtype mtype) {
    return must(place.vram ? side_.space().map(*place.vram, mtype)
                           : side_.space().map_host(place.host->bus, place.all.size(), mtype));
}

/// At once, as what comes from PCIe is there at last: no cache of memory's side has older bytes.
void GpuPagesRace::put(const Place& place, std::uint64_t begin, std::span<const std::byte> bytes) {
    if (place.vram)
        side_.device().block().caches().below().write_vram(place.vram->ranges().front().offset + begin, bytes,
                                                           kernel_now());
    else
        std::ranges::copy(bytes, place.all.begin() + static_cast<std::ptrdiff_t>(begin));
}

void GpuPagesRace::fill(const Place& place, unsigned kind) {
    std::vector<std::byte> bytes(total_);
    for (std::uint64_t i = 0; i < total_; ++i)
        bytes[i] = content(kind, i);
    put(place, margin, bytes);
}

void GpuPagesRace::own(const Place& place, std::string_view who) {
    if (place.vram)
        side_.own_bar(side_.function().bar_address(side_.gpu().vram_bar()) + place.vram->ranges().front().offset,
                      place.all.size(), who);
    else
        side_.own_memory(*place.host, who);
}

void GpuPagesRace::set_up() {
    const bool in_vram = setup_.victim == &vram;
    place_ = make_place(in_vram);
    other_ = make_place(!in_vram);
    peer_ = make_place(false);
    fill(place_, operation_.to_memory ? before : sent);
    fill(peer_, operation_.to_memory ? sent : before);
    // The victim's pages are such as GL2 keeps: what is stored there rests there.
    address_ = map(place_, Mtype::nc);
    peer_address_ = map(peer_, Mtype::uc);
    const auto parts = operation_.by_engine ? 1u : threads;
    for (std::uint64_t i = 0; i < parts; ++i) {
        const auto begin = total_ / chunk * i / parts * chunk, end = total_ / chunk * (i + 1) / parts * chunk;
        slices_.push_back({.begin = begin, .bytes = end - begin});
    }
    if (operation_.by_engine)
        make_ring();
}

// --- the transfer ---

Task<> GpuPagesRace::move_slice(Thread& thread) {
    auto& slice = slices_[thread.index()];
    std::array<std::byte, chunk> bytes{};
    for (; slice.done < slice.bytes; slice.done += chunk) {
        const auto at = slice.begin + slice.done;
        co_await thread.load(from() + at, std::span(bytes), model::gpu::memory::all_bits);
        co_await thread.store(to() + at, std::span<const std::byte>(bytes));
    }
}

void GpuPagesRace::run_waves() {
    const Views views(side_.device().block(), side_.space().vmid());
    Grid grid(side_.grid(threads), views.pointers(), [this](Thread& thread) { return move_slice(thread); });
    run_grid(grid);
    std::vector<model::gpu::wave::Record> records;
    for (unsigned i = 0; i < threads; ++i)
        records.push_back(grid.record(i));
    moment_.close();
    moment_.settle();
    check_ends(records);
}

std::uint32_t GpuPagesRace::read(std::uint32_t offset) {
    return sw::transport::read32<abi::Endian::little>(side_.function(), model::gpu::Gpu::register_bar, offset);
}
void GpuPagesRace::set(QueueRegister which, std::uint64_t value) {
    sw::transport::write32<abi::Endian::little>(side_.function(), model::gpu::Gpu::register_bar,
                                                sdma::queue_register(engine, queue, which),
                                                static_cast<std::uint32_t>(value));
}

/// With one packet: the transfer, by addresses of the address space.
void GpuPagesRace::make_ring() {
    ring_ = must(side_.gpu().allocate(ring_bytes));
    const auto ring = must(side_.space().map(*ring_, Mtype::uc));
    abi::Block<sdma::CopyLinear> packet;
    abi::View<sdma::Header>(std::span(packet.bytes).first(sdma::Header::size))
        .set<"op">(sdma::Opcode::copy)
        .set<"sub_op">(sdma::copy_linear);
    packet.view().set<"count">(static_cast<std::uint32_t>(total_ - 1)).set<"src_addr">(from()).set<"dst_addr">(to());
    must(side_.gpu().upload(*ring_, 0, packet.bytes));
    side_.space().flush_host_path();
    set(QueueRegister::rb_base, ring >> 8);
    set(QueueRegister::rb_base_hi, ring >> 40);
    set(QueueRegister::rb_cntl, sdma::RingControl{}
                                    .set<"rb_enable">(true)
                                    .set<"rb_size">(std::countr_zero(ring_bytes / 4))
                                    .set<"rb_vmid">(side_.space().vmid())
                                    .value());
}

void GpuPagesRace::run_engine() {
    set(QueueRegister::rb_wptr, sdma::CopyLinear::size);
    const auto is_over = [&] {
        is_whole_ = read(sdma::queue_register(engine, queue, QueueRegister::rb_rptr)) == sdma::CopyLinear::size;
        has_faulted_ = sdma::EngineControl{read(sdma::control_register(engine))}.get<"halt">();
        return is_whole_ || has_faulted_;
    };
    for (const auto deadline = kernel_now() + patience; !is_over() && kernel_now() < deadline;)
        sc_core::wait(model::tlm::to_sc(1us));
    moment_.close();
    moment_.settle();
    check_engine();
    must(side_.gpu().rinse()); // what the engine has stored is nowhere else at the end of its work, as of a kernel's
}

// --- what gets in its way ---

/// The memory is somebody else's from this instant on.
void GpuPagesRace::give_back() {
    moment_.note_end();
    is_given_back_ = true;
    const auto held = middle(place_);
    snapshot_.assign(held.begin(), held.end());
    for (auto& slice : slices_)
        slice.done_then = slice.done;
    own(place_, "the next owner");
    fill(place_, next_content());
}

void GpuPagesRace::unmap() {
    must(side_.space().unmap(address_));
    give_back();
}

/// Nobody writes while it is copied, and nobody finds it half copied.
void GpuPagesRace::move() {
    must(side_.space().protect(address_));
    put(other_, 0, place_.all);
    must(other_.vram ? side_.space().move(address_, *other_.vram)
                     : side_.space().move_to_host(address_, other_.host->bus));
    give_back();
}

// --- afterwards ---

/// An access of the GPU to the other end, of which there is one for each piece that is moved.
bool GpuPagesRace::is_touch(const traces::Stamp& stamp, const traces::Event& event) const {
    if (!sources_.name(stamp.source).starts_with(machine_.cards.front().name))
        return false;
    const auto is_inside = [&](const auto* access) {
        return access != nullptr && access->address - peer_.host->bus - margin < total_;
    };
    return is_inside(std::get_if<traces::DmaRead>(&event)) || is_inside(std::get_if<traces::DmaWritten>(&event));
}

void GpuPagesRace::take_down() {
    if (ring_)
        set(QueueRegister::rb_cntl, 0);
    if (!is_given_back_ || has(pages_rows::move))
        must(side_.space().unmap(address_));
    must(side_.space().unmap(peer_address_));
    for (const auto* place : {&place_, &other_, &peer_})
        if (place->host)
            side_.function().release(*place->host);
}

void GpuPagesRace::run() {
    set_up();
    moment_.open([this](const Action& action) {
        side_.plant(setup_.plant);
        static_cast<const PagesAction&>(action).perform(*this);
    });
    operation_.by_engine ? run_engine() : run_waves();
    sc_core::wait(model::tlm::to_sc(1ms)); // what is late lands now
    moment_.measure([this](const auto& stamp, const auto& event) { return is_touch(stamp, event); });
    outcome_.has_begun = outcome_.touched != 0;
    if (auto mistake = side_.check_record(has_faulted_, address_ + margin, total_); !mistake.empty())
        violate(std::move(mistake));
    check_memory();
    check_peer();
    check_around();
    if (machine_.ownership)
        for (const auto& finding : machine_.ownership->take_findings())
            violate(to_string(finding));
    take_down();
}

} // namespace scenario::race
