// A hostile driver: bytes are taken as a script of command queue entries, mailboxes, doorbells and register accesses,
// against a device in one of its phases. Nothing may crash, hang or allocate without bound, and after a reset the
// device must come up as if nothing had happened.
#include "testbench/fuzz/require.h"
#include "testbench/harness/command_bench.h"

#include <algorithm>

namespace {

using fuzz::require;

using namespace harness;
using prm::Opcode;

/// Takes values from the front of the input; zeros when it is used up.
class Script {
public:
    explicit Script(std::span<const std::byte> bytes) : bytes_(bytes) {}
    bool is_over() const { return bytes_.empty(); }
    std::uint8_t byte() { return bytes_.empty() ? 0 : std::to_integer<std::uint8_t>(take(1)[0]); }
    std::uint32_t dword() {
        return std::uint32_t{byte()} << 24 | std::uint32_t{byte()} << 16 | std::uint32_t{byte()} << 8 | byte();
    }
    std::span<const std::byte> take(std::size_t count) {
        const auto part = bytes_.first(std::min(count, bytes_.size()));
        bytes_ = bytes_.subspan(part.size());
        return part;
    }

private:
    std::span<const std::byte> bytes_;
};

void start(CommandBench& bench, unsigned phase) {
    if (phase == 1)
        bench.enable();
    if (phase == 2)
        bench.boot();
    if (phase < 3)
        return;
    bench.initialize();
    bench.set_gid();
    const auto objects = bench.make_objects();
    const auto qpn = bench.make_qp(objects);
    bench.run<prm::CreateMkeyOut>(CommandBench::mkey_input(objects.pd, 0x1000, 0x2000, 2));
    if (phase == 4)
        for (const auto opcode : {Opcode::rst2init_qp, Opcode::init2rtr_qp, Opcode::rtr2rts_qp})
            bench.transit(opcode, qpn);
}

/// A well-formed command of the table with the script's bytes behind its header.
void known_command(CommandBench& bench, Script& script) {
    const auto commands = firmware::commands();
    const auto& command = commands[script.byte() % commands.size()];
    Input<prm::CommandIn> in(command.opcode, script.byte() & 7);
    // Zeros with a few bytes of the script among them reach further than noise from end to end.
    in.bytes.resize(command.in_size + script.byte() * std::size_t{8});
    for (unsigned patches = script.byte() % 16; patches != 0; --patches) {
        const auto at = 4 + (std::size_t{script.byte()} << 2 | (script.byte() & 3)) % (in.bytes.size() - 4);
        const auto bytes = script.take(1 + script.byte() % 8);
        std::copy_n(bytes.begin(), std::min(bytes.size(), in.bytes.size() - at),
                    in.bytes.begin() + static_cast<std::ptrdiff_t>(at));
    }
    const auto slot = script.byte() % 32u;
    bench.fill(in.bytes, command.out_size + script.byte() * std::size_t{16}, slot);
    bench.ring(1u << slot);
}

void step(CommandBench& bench, Script& script) {
    const auto slot = script.byte() % 32u;
    switch (script.byte() % 8) {
    case 0:
    case 1: known_command(bench, script); return;
    case 2: { // an entry of noise
        std::array<std::byte, 64> entry{};
        std::ranges::copy(script.take(64), entry.begin());
        bench.memory.poke(CommandBench::queue + slot * 64, entry);
        bench.ring(1u << slot);
        return;
    }
    case 3: { // a good entry, then some of its bytes spoilt
        std::vector<std::byte> input(script.dword() % 2048 + 16);
        std::ranges::copy(script.take(16), input.begin());
        bench.fill(input, script.byte() * std::size_t{8}, slot);
        bench.memory.poke(CommandBench::queue + slot * 64 + script.byte() % 64, script.take(script.byte() % 16));
        bench.ring(1u << slot);
        return;
    }
    case 4: // bytes of a mailbox
        bench.memory.poke(CommandBench::in_box(slot, script.byte() % 8) + script.dword() % 576,
                          script.take(script.byte()));
        return;
    case 5: bench.ring(script.dword()); return;
    case 6: { // registers
        std::vector<std::byte> bytes(script.byte() % 65);
        const auto offset = script.dword() % 0x12000;
        bench.card.bar_read(0, offset, bytes, bench.clock.now());
        bench.card.bar_write(0, offset, script.take(bytes.size()), bench.clock.now());
        return;
    }
    default: // time
        bench.clock.set(bench.clock.now() + Time{script.dword()});
        bench.card.wake(bench.clock.now());
        return;
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Script script(std::as_bytes(std::span(data, size)));
    auto config = untimed();
    const auto choice = script.byte();
    config.timed = (choice & 1) != 0;
    config.is_ethernet = (choice & 2) != 0;
    config.log_max_mkey = config.log_max_qp = config.log_max_cq = 5;
    config.mtt_cache_entries = config.mkey_cache_entries = 64;
    CommandBench bench(config);
    start(bench, script.byte() % 5u);
    for (int steps = 0; steps < 64 && !script.is_over(); ++steps)
        step(bench, script);

    const auto& state = bench.device.state();
    std::size_t in_pages = 0;
    for (const auto& kind : state.registry.counts()) {
        require(kind.agrees, "every object has a number and somebody who holds it");
        in_pages += kind.takes_pages ? kind.objects : 0;
    }
    require(state.pages.objects() == in_pages, "every object is accounted for");
    bench.memory.poke(CommandBench::queue, std::vector<std::byte>(2048));
    bench.device.reset();
    bench.set_queue_address();
    require(bench.initialize(), "a reset device comes up");
    return 0;
}
