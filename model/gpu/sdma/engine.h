// A copy engine: takes packets from the rings of its queues in turn, one after the other, and moves bytes between VRAM,
// memory of the host and BARs of peers. A packet begins when all that the one before has written is there. An access
// that faults, a packet that means nothing and a write pointer that leaves the ring halt the engine; other engines, and
// whatever else the GPU does, go on.
#pragma once

#include "model/gpu/sdma/memory.h"
#include "model/port/clock.h"
#include "model/port/interrupt.h"
#include "model/time/server.h"
#include "model/time/window.h"

#include <array>
#include <string_view>
#include <vector>

namespace model::gpu::sdma {

struct EngineConfig {
    bool timed = true;
    port::Time packet = std::chrono::nanoseconds{100}; ///< to take a packet apart, once it has been fetched
    unsigned outstanding = 64;                         ///< pieces that are read and not yet written
    std::uint32_t piece_bytes = 512;                   ///< read and written at a time; a power of two

    bool operator==(const EngineConfig&) const = default;
};

/// Why an engine has halted by itself.
enum class Halt : std::uint8_t {
    none,
    page_fault,  ///< of the ring, of what is copied, or of a fence
    bus_error,   ///< a completion said so, or there is no memory
    bad_packet,  ///< an opcode or a form that it does not know, or a packet that is not whole
    bad_pointer, ///< the write pointer is more than a ring ahead, or behind
};
std::string_view name(Halt halt);

struct Counters {
    std::uint64_t packets = 0, bytes_copied = 0, bytes_filled = 0, fences = 0, traps = 0;
};

class Engine {
public:
    /// `number` of the GPU's engines, which is also its interrupt vector.
    Engine(unsigned number, const EngineConfig& config, Memory& memory, port::Clock& clock,
           port::Interrupts& interrupts);

    // Registers of queue `queue`
    std::uint32_t read(unsigned queue, abi::gpu::sdma::QueueRegister which) const;
    void write(unsigned queue, abi::gpu::sdma::QueueRegister which, std::uint32_t value, port::Time at);
    // And of the engine
    std::uint32_t control() const;
    void set_control(std::uint32_t value, port::Time at);
    std::uint32_t status() const;

    /// A store of 4 or 8 bytes to the doorbell BAR: the write pointer of whichever queue has its doorbell there.
    void ring(std::uint64_t offset, std::span<const std::byte> from, port::Time at);

    void wake(port::Time now);
    port::Time next_due() const { return due_; }
    /// As after power-on; what was under way is not finished.
    void reset();

    bool is_halted() const { return is_halted_; }
    Halt halt_reason() const { return halt_; }
    const Counters& counters() const { return counters_; }
    std::array<time::Account, 2> accounts() const { return {packets_.account(), pieces_.account()}; }

private:
    static constexpr std::size_t longest_packet = 28; ///< without data that follow

    struct Queue {
        std::uint32_t control = 0, doorbell = 0, doorbell_offset = 0;
        std::uint64_t base = 0, read = 0, write = 0, read_address = 0;

        std::uint64_t ring_bytes() const {
            return std::uint64_t{4} << abi::gpu::sdma::RingControl{control}.get<"rb_size">();
        }
        unsigned vmid() const { return static_cast<unsigned>(abi::gpu::sdma::RingControl{control}.get<"rb_vmid">()); }
        bool has_work() const { return abi::gpu::sdma::RingControl{control}.get<"rb_enable">() && read != write; }
    };
    /// One end of a transfer.
    struct Side {
        bool is_virtual = true;
        std::uint64_t address = 0;
        Place place{}; ///< of a physical one
    };
    enum class Step : std::uint8_t { idle, fetch, decode, move, finish };

    void look_for_work(port::Time at);
    void fetch(port::Time now);
    void decode(port::Time now);
    bool understand();
    bool understand_copy(std::uint32_t kind);
    bool carry_out(port::Time now);
    static Side physical(std::uint64_t address, bool is_system, std::uint32_t mtype);
    void move(port::Time now);
    /// Moves the next piece, and returns whether the engine may go on.
    bool move_piece(port::Time at);
    void finish(port::Time now);
    void wait(Step step, port::Time until);
    void halt(Halt why);
    std::optional<port::Time> read_ring(std::uint64_t position, std::span<std::byte> into, port::Time at);
    std::optional<port::Time> store(const Side& to, std::uint64_t offset, std::span<const std::byte> from,
                                    port::Purpose purpose, port::Time at);
    std::optional<port::Time> load(const Side& from, std::uint64_t offset, std::span<std::byte> into,
                                   port::Purpose purpose, port::Time at);
    std::optional<Place> find(const Side& side, std::uint64_t offset, bool is_write, port::Time at);
    Queue& current() { return queues_[queue_]; }

    unsigned number_;
    EngineConfig config_;
    Memory& memory_;
    port::Clock& clock_;
    port::Interrupts& interrupts_;
    time::Server packets_;
    time::Window pieces_;
    std::array<Queue, abi::gpu::sdma::queues> queues_{};
    bool is_halted_ = false;
    Halt halt_ = Halt::none;

    // The packet under way:
    Step step_ = Step::idle;
    port::Time due_ = port::never;
    unsigned queue_ = 0;
    std::array<std::byte, longest_packet> packet_{};
    std::uint64_t packet_bytes_ = 0; ///< with what follows it
    abi::gpu::sdma::Opcode what_ = abi::gpu::sdma::Opcode::nop;
    Side from_, to_;
    std::uint64_t bytes_ = 0, moved_ = 0;
    std::uint32_t pattern_ = 0; ///< of a fill
    bool raises_ = false;       ///< an interrupt, at its end
    port::Time landed_{};       ///< when the last write so far is there
    std::vector<std::byte> piece_;
    Counters counters_;
};

} // namespace model::gpu::sdma
