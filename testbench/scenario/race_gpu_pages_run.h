// One run of a race of pages of a GPU (race_gpu_pages.h): threads, or a copy engine, move bytes between memory of the
// victim and memory of the host; an action begins at its point, and everything is looked at afterwards.
// race_gpu_pages_run.cpp goes through it, race_gpu_pages_checks.cpp has what must be true.
#pragma once

#include "testbench/scenario/race_content.h"
#include "testbench/scenario/race_gpu.h"
#include "testbench/scenario/race_gpu_pages.h"
#include "testbench/scenario/race_moment.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace scenario::race {

class GpuPagesRace {
public:
    GpuPagesRace(const Ground& ground, const Setup& setup, Outcome& outcome);
    GpuPagesRace(const GpuPagesRace&) = delete;
    GpuPagesRace& operator=(const GpuPagesRace&) = delete;

    void run();

    // For actions (race_gpu_pages.cpp):
    void unmap();
    void move();

private:
    /// Memory in VRAM or of the host, of which the middle is moved to or from.
    struct Place {
        std::optional<sw::gpu::VramBuffer> vram{};
        std::optional<sw::transport::DmaMemory> host{};
        std::span<std::byte> all{};
    };
    /// One thread's part, or all of it.
    struct Slice {
        std::uint64_t begin = 0, bytes = 0;
        std::uint64_t done = 0;      ///< by the thread; an engine does not say
        std::uint64_t done_then = 0; ///< when the memory was given back
    };

    // --- race_gpu_pages_run.cpp ---
    void set_up();
    Place make_place(bool in_vram);
    std::uint64_t map(const Place& place, abi::gpu::Mtype mtype);
    std::span<std::byte> middle(const Place& place) const { return place.all.subspan(margin, total_); }
    void put(const Place& place, std::uint64_t begin, std::span<const std::byte> bytes);
    void fill(const Place& place, unsigned kind);
    void own(const Place& place, std::string_view who);
    void give_back();
    void make_ring();
    std::uint32_t read(std::uint32_t offset);
    void set(abi::gpu::sdma::QueueRegister which, std::uint64_t value);
    void run_waves();
    void run_engine();
    model::gpu::wave::Task<> move_slice(model::gpu::wave::Thread& thread);
    bool is_touch(const traces::Stamp& stamp, const traces::Event& event) const;
    void take_down();
    // --- race_gpu_pages_checks.cpp ---
    bool may_fault() const;
    void check_ends(std::span<const model::gpu::wave::Record> records);
    void check_engine();
    void note_end(bool has_faulted, std::string mistake);
    void check_memory();
    void check_peer();
    void check_around();
    static bool has_part(std::span<const std::byte> bytes, const Slice& slice, std::uint64_t least, std::uint64_t most);

    void violate(std::string what) { outcome_.violations.push_back(std::move(what)); }
    bool has(const Action& action) const { return setup_.actions[0] == &action; }
    unsigned next_content() const { return setup_.has_alike_owner ? sent : after; }
    std::uint64_t from() const { return (operation_.to_memory ? peer_address_ : address_) + margin; }
    std::uint64_t to() const { return (operation_.to_memory ? address_ : peer_address_) + margin; }
    static constexpr std::uint64_t margin = 4096, chunk = model::gpu::wave::Thread::max_bytes;
    static constexpr unsigned threads = 4;
    static constexpr std::byte untouched{0xee};

    const platform::observe::Sources& sources_;
    platform::topology::Machine& machine_;
    const Setup& setup_;
    Outcome& outcome_;
    const PagesOperation& operation_;
    std::uint64_t total_; ///< bytes that are moved
    GpuSide side_;
    Place place_, other_, peer_;                   ///< the victim's, where it moves to, and what is at the other end
    std::uint64_t address_ = 0, peer_address_ = 0; ///< of their first bytes, in the address space
    std::optional<sw::gpu::VramBuffer> ring_;
    std::vector<Slice> slices_;
    std::vector<std::byte> snapshot_; ///< of the middle, when it was unmapped
    bool is_given_back_ = false, has_faulted_ = false, is_whole_ = false;
    Moment moment_;
};

} // namespace scenario::race
