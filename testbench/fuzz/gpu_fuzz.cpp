// What software and peers may do to a GPU: any registers, any bytes where page tables are looked for, waves that load,
// store and fence anywhere by them, and time. Nothing may crash, hang or read without end; an address space that was
// never switched on reaches nothing; no answer is earlier than its request; and a driver that does it right afterwards
// reads what was written.
#include "testbench/fuzz/require.h"
#include "testbench/fuzz/tape.h"
#include "testbench/harness/gpu_bench.h"

using namespace harness;
using namespace model::gpu::memory;
using abi::gpu::Register;
using fuzz::require;
using fuzz::Tape;

namespace {

constexpr unsigned closed_vmid = 14; ///< nobody switches it on
constexpr std::size_t most_accesses = 100'000;
constexpr std::uint64_t vram_bytes = 1 << 20, clean_tables = 0xc0000, clean_page = 0xb0000;
constexpr std::array rows{Register::context0_cntl,   Register::context0_base,      Register::context0_start,
                          Register::context0_end,    Register::invalidate0_req,    Register::invalidate0_sem,
                          Register::invalidate0_ack, Register::invalidate0_range,  Register::mm_invalidate0_req,
                          Register::hdp_flush_req,   Register::fault_cntl,         Register::l2_cntl2,
                          Register::l2_gcr_cntl,     Register::gcr_general_cntl,   Register::fault_status,
                          Register::l2_cntl,         Register::mm_invalidate0_ack, Register::fault_address_low};

MemoryConfig config_of(Tape& tape) {
    const auto bits = tape.take<std::uint8_t>();
    auto config = MemoryConfig::of(static_cast<Profile>(bits % 3), static_cast<Mechanism>(bits / 3 % 3));
    config.arrays = 1, config.units_per_array = 2;
    config.gl2.bytes = 64 << 10, config.mall.bytes = 256 << 10;
    config.seed = tape.take<std::uint8_t>();
    config.timed = (bits & 0x40) == 0;
    config.has_pcie_atomics = (bits & 0x80) != 0;
    return config;
}

struct Rig {
    model::port::MemoryDma bus;
    TestClock clock;
    InterruptLog interrupts;
    model::gpu::Gpu gpu;
    std::array<std::unique_ptr<MemoryView>, 3> waves; ///< of contexts 0 and 1, and of the closed one

    explicit Rig(Tape& tape)
        : gpu("gpu_fuzz", {.bytes = vram_bytes, .memory = config_of(tape)}, {bus, clock, interrupts}) {
        bus.fail(1 << 30, ~std::uint64_t{0}, model::port::DmaStatus::unsupported_request);
        open_waves();
    }
    void open_waves() {
        for (unsigned i = 0; i < waves.size(); ++i)
            waves[i] = gpu.block().make_view(i % 2, i == 2 ? closed_vmid : i);
        // All that it lacks is to be switched on: its table is where those of the others are.
        gpu.block().spaces().context(closed_vmid) = {.base = 1, .last_page = ~std::uint64_t{0} >> 12};
    }
    /// An address that tables may lead somewhere: few bits are set, and near to those that were used before.
    static std::uint64_t address(Tape& tape) {
        const auto kind = tape.take<std::uint8_t>();
        const auto value = tape.take<std::uint32_t>();
        switch (kind % 4) {
        case 0: return value % 0x4000;
        case 1: return std::uint64_t{value} << (kind >> 2);
        default: return (value & 7) * 4096 + (value >> 3 & 0xfff);
        }
    }
    void poke(std::uint32_t offset, std::span<const std::byte> bytes) {
        constexpr auto closed = static_cast<std::uint32_t>(Register::context0_cntl) + 4 * closed_vmid;
        if (offset + bytes.size() > closed && offset < closed + 4)
            return;
        gpu.bar_write(model::gpu::Gpu::register_bar, offset, bytes, clock.now());
    }
    void write_register(Tape& tape) {
        const auto which = tape.take<std::uint8_t>();
        auto offset = static_cast<std::uint32_t>(rows[which % rows.size()]) + tape.take<std::uint8_t>() % 40 * 4u;
        if (which >= 0xf0)
            offset = tape.take<std::uint32_t>() % (model::gpu::Gpu::register_bytes - 8);
        std::array<std::byte, 8> bytes{};
        tape.fill(bytes);
        poke(offset, std::span(bytes).first(which >= 0xe0 ? 1 + which % 8 : 4));
    }
    void switch_on(Tape& tape) {
        const auto vmid = tape.take<std::uint8_t>() % 2u;
        const auto bits = tape.take<std::uint8_t>();
        auto& context = gpu.block().spaces().context(vmid);
        context = {.control = 1u | (bits & 3u) << 1,
                   .base = (bits >> 2 & 15) * 4096u | 1u | ((bits & 0x40) != 0 ? 2u : 0u),
                   .first_page = 0,
                   .last_page = ~std::uint64_t{0} >> 12};
    }
    /// Entries of tables: of the first pages of VRAM, so that they lead to each other and to themselves.
    void write_entries(Tape& tape) {
        const auto at = tape.take<std::uint16_t>() % 0x10000u & ~7u;
        const auto count = 1 + tape.take<std::uint8_t>() % 8u;
        for (unsigned i = 0; i < count; ++i) {
            auto entry = tape.take<std::uint64_t>();
            if ((entry >> 60 & 3) != 0) // an address that is in VRAM
                entry &= 0xff8f'0000'000f'ffffu;
            write(at + 8 * i, std::as_bytes(std::span(&entry, 1)));
        }
    }
    void write(std::uint64_t offset, std::span<const std::byte> bytes) {
        if (offset + bytes.size() <= vram_bytes)
            gpu.bar_write(model::gpu::Gpu::vram_bar, offset, bytes, clock.now());
    }
    void access(Tape& tape) {
        const auto which = tape.take<std::uint8_t>();
        auto& wave = *waves[which % waves.size()];
        const auto bits = tape.take<std::uint8_t>();
        const Modifiers modifiers{.glc = (bits & 1) != 0, .slc = (bits & 2) != 0, .dlc = (bits & 4) != 0};
        const auto where = address(tape);
        std::array<std::byte, 600> bytes{};
        const auto part = std::span(bytes).first(tape.take<std::uint16_t>() % bytes.size());
        const auto before = bus.log().size();
        const auto now = clock.now();
        Outcome outcome{};
        switch (bits >> 4 & 3) {
        case 0: outcome = wave.load(where, part, modifiers, now); break;
        case 1: outcome = wave.scalar_load(where, part, modifiers, now); break;
        case 2: outcome = wave.store(where, part, modifiers, now); break;
        default: {
            std::uint64_t old = 0;
            outcome = wave.atomic(static_cast<AtomicOp>(bits % 9), where, which & 12, bits, which, old, modifiers, now);
        }
        }
        require(outcome.done >= now || !outcome.is_ok(), "an answer is earlier than its request");
        if (which % waves.size() == 2 && wave.is_valid() && !part.empty()) {
            require(outcome.status == Status::page_fault, "an address space that is off was reached");
            require(bus.log().size() == before, "an access by no address space went to the bus");
        }
    }
    void order(Tape& tape) {
        const auto which = tape.take<std::uint8_t>();
        auto& wave = *waves[which % waves.size()];
        const auto now = clock.now();
        auto done = now;
        switch (which / 3 % 8) {
        case 0: done = wave.fence(Order::release, Scope::system, now); break;
        case 1: done = wave.fence(Order::acquire, Scope::agent, now); break;
        case 2: done = wave.fence(Order::acquire_release, Scope::workgroup, now); break;
        case 3: done = wave.invalidate_gl0(now); break;
        case 4: done = wave.invalidate_scalar(now); break;
        case 5: done = wave.begin_kernel(Scope::system, now); break;
        case 6: done = wave.end_kernel(Scope::system, now); break;
        default: done = gpu.block().acquire(tape.take<std::uint32_t>(), now);
        }
        require(done >= now, "an order is done before it was given");
    }
    void pass(Time time) {
        const auto until = clock.now() + time;
        for (unsigned i = 0; clock.next() <= until; ++i) {
            require(i < most_accesses, "it wakes without end");
            clock.set(clock.next());
            gpu.wake(clock.now());
        }
        clock.set(until);
        gpu.wake(until);
    }
    void step(Tape& tape) {
        const auto before = bus.log().size();
        switch (tape.take<std::uint8_t>() % 10) {
        case 0: write_register(tape); break;
        case 1:
        case 2: write_entries(tape); break;
        case 3: switch_on(tape); break;
        case 4: order(tape); break;
        case 5: pass(std::chrono::nanoseconds{tape.take<std::uint16_t>()} * 100); break;
        case 6: {
            std::array<std::byte, 64> into{};
            const auto bits = tape.take<std::uint32_t>();
            const auto part = std::span(into).first(1 + bits % into.size());
            gpu.bar_read(bits >> 31 != 0 ? model::gpu::Gpu::vram_bar : model::gpu::Gpu::register_bar,
                         (bits >> 7) % (vram_bytes - into.size()), part, clock.now());
            break;
        }
        case 7:
            if (tape.take<std::uint8_t>() % 8 == 0) {
                gpu.reset(clock.now());
                open_waves();
            }
            break;
        default: access(tape);
        }
        require(bus.log().size() < before + most_accesses, "a step goes to the bus without end");
        // A reset by a register ends all waves; others begin.
        if (!waves[0]->is_valid())
            open_waves();
    }
    /// A driver that does it right: its own tables, and what comes by PCIe is seen behind a heavy flush.
    void check() {
        pass(1s);
        gpu.reset(clock.now());
        open_waves();
        GpuTables tables(gpu.bytes(), clean_tables);
        constexpr std::uint64_t virtual_address = 0x7000'0000'0000;
        tables.map(virtual_address, clean_page, 4096, false, Mtype::uc);
        gpu.block().spaces().context(0) = {.control = 7, .base = tables.root(), .last_page = ~std::uint64_t{0} >> 12};
        // Tables were written past the caches: what these hold of before is gone after a reset.
        for (std::uint32_t value : {0x12345678u, 0x9abcdef0u}) {
            write(clean_page + 64, std::as_bytes(std::span(&value, 1)));
            pass(1s);
            std::array<std::byte, 4> one{std::byte{1}};
            poke(static_cast<std::uint32_t>(Register::hdp_flush_req), one);
            const std::array heavy{std::byte{1}, std::byte{0}, std::byte{2}, std::byte{0}};
            poke(static_cast<std::uint32_t>(Register::invalidate0_req) + 17 * 4, heavy);
            pass(1s);
            Outcome outcome;
            const auto found = load(*waves[0], virtual_address + 64, all_bits, clock.now(), &outcome);
            require(outcome.is_ok(), "a proper load fails");
            require(found == value, "a proper load finds something else");
        }
    }
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Tape tape(data, size);
    Rig rig(tape);
    for (unsigned steps = 0; !tape.is_over() && steps < 200; ++steps)
        rig.step(tape);
    rig.check();
    return 0;
}
