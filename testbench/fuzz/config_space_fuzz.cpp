// A machine whose software does anything: configuration writes at any function and register, accesses of the processor
// and of a card at any address, interrupts at any vector. Nothing may crash or hang; and whatever was done, a reset of
// the bus and a new enumeration give the machine back as it was.
#include "testbench/fuzz/require.h"
#include "testbench/fuzz/tape.h"
#include "testbench/harness/pcie_bench.h"

#include <algorithm>

using namespace testbench;
using abi::pcie::Bdf;
using abi::pcie::VendorGateway;
using model::port::Purpose;

namespace {

using fuzz::require;
using fuzz::Tape;

PcieMachine& machine() {
    static PcieMachine the_machine(false, {}, {.entries = 8, .has_page_requests = true, .pasid_bits = 8});
    return the_machine;
}

void restart() {
    auto& host = machine().host;
    auto& root = host.root_complex();
    const auto port = model::pcie::RootComplex::bdf_of(0);
    root.config_write(port, 0x44, 2, 0, {}); // D0
    root.config_write(port, 0x3e, 1, 0, {});
    root.config_write(port, 0x3e, 1, 0x40, {}); // reset of the secondary bus: switch and cards
    root.config_write(port, 0x3e, 1, 0, {});
    host.enumerate();
}

/// An address that means something, or one that does not.
std::uint64_t address(Tape& tape) {
    const auto kind = tape.take<std::uint8_t>();
    const auto offset = tape.take<std::uint32_t>();
    const auto& functions = machine().host.enumeration().functions;
    switch (kind % 6) {
    case 0: return offset % (1 << 22); // DRAM
    case 1: return 0xfee0'0000 + offset % 0x10'0000;
    case 2: return machine().host.root_complex().core().map().ecam + offset % abi::pcie::ecam_bytes;
    case 3: return tape.take<std::uint64_t>();
    default: {
        const auto& function = functions[kind / 6 % functions.size()];
        const auto& bar = function.bars[offset % 3];
        return bar.address + offset / 3 % (bar.size + 8); // a little beyond the end too
    }
    }
}

Bdf target(Tape& tape) {
    const auto choice = tape.take<std::uint8_t>();
    const auto& functions = machine().host.enumeration().functions;
    return choice < functions.size() ? functions[choice].bdf : Bdf{tape.take<std::uint16_t>()};
}

void step(Tape& tape) {
    static std::array<std::byte, 8192> buffer;
    auto& root = machine().host.root_complex();
    auto& card = tape.take<std::uint8_t>() % 2 == 0 ? machine().first : machine().second;
    const auto action = tape.take<std::uint8_t>() % 9;
    const auto data = [&] { return std::span(buffer).first(tape.take<std::uint16_t>() % buffer.size()); };
    switch (action) {
    case 0:
    case 1: {
        const auto bdf = target(tape);
        const auto any = static_cast<std::uint16_t>(tape.take<std::uint16_t>() % 4100);
        const auto offset =
            any < 4096 ? any : static_cast<std::uint16_t>(model::pcie::gateway_offset + 4 * any % VendorGateway::size);
        const auto bytes = 1u << tape.take<std::uint8_t>() % 4;
        root.config_write(bdf, offset, bytes, tape.take<std::uint32_t>(), {});
        return;
    }
    case 2: {
        const auto bdf = target(tape);
        const auto offset = tape.take<std::uint16_t>();
        const auto bytes = tape.take<std::uint8_t>() % 6;
        const auto once = root.config_read(bdf, offset, bytes, {});
        const auto twice = root.config_read(bdf, offset, bytes, {});
        const bool is_counter =
            offset / 4 == (model::pcie::gateway_offset + VendorGateway::field<"counter">::offset) / 4;
        require((is_counter || once.value == twice.value) && once.status == twice.status,
                "a configuration read changed something");
        return;
    }
    case 3: {
        const auto from = address(tape);
        root.processor().fetch(from, data(), {}, Purpose::control);
        return;
    }
    case 4: {
        const auto to = address(tape);
        const auto bytes = data();
        std::ranges::fill(bytes, tape.take<std::byte>());
        root.processor().store(to, bytes, model::port::Time{}, Purpose::control);
        return;
    }
    case 5: {
        const abi::BusAddress from{address(tape)};
        card.endpoint.dma().read(from, data(), {}, Purpose::payload);
        return;
    }
    case 6: {
        const abi::BusAddress to{address(tape)};
        card.endpoint.dma().write(to, data(), {}, Purpose::control);
        return;
    }
    case 7: {
        const abi::BusAddress from{address(tape)};
        const auto length = tape.take<std::uint16_t>();
        const auto loan = card.endpoint.dma().lend(from, length, {});
        if (loan.data != nullptr && length != 0) { // every byte lent can be read
            [[maybe_unused]] static volatile std::byte sink;
            sink = loan.data[0];
            sink = loan.data[length - 1u];
        }
        return;
    }
    default: card.endpoint.interrupts().raise(tape.take<std::uint16_t>(), {}); return;
    }
}

/// What every input must leave possible.
void check() {
    const auto& found = machine().host.enumeration();
    require(found.problems.empty() && found.functions.size() == 6, "enumeration does not find the machine again");
    for (const std::uint16_t device : {1, 2}) {
        require(found.find(0x1234, device) != nullptr, "a card is lost");
        require(machine().found(device).bars[2].size == 1 << 20, "a BAR has another size");
    }
    machine().enable_master(1);
    const std::array mark{std::byte{0x5a}, std::byte{0xa5}};
    auto& memory = machine().second.function.memory;
    memory[0x123] = memory[0x124] = memory[0x125] = std::byte{};
    const auto up = machine().host.upstream_link()->traffic(model::pcie::Direction::upstream);
    require(machine().first.endpoint.dma().write(abi::BusAddress{machine().bar(2, 2) + 0x123}, mark, {}).is_ok(),
            "peer to peer does not work");
    require(memory[0x123] == mark[0] && memory[0x124] == mark[1] && memory[0x125] == std::byte{},
            "peer to peer writes elsewhere");
    require(machine().host.upstream_link()->traffic(model::pcie::Direction::upstream) == up,
            "peer to peer leaves the switch");
}

} // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
    machine();
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    restart();
    Tape tape(data, size);
    for (unsigned steps = 0; !tape.is_over() && steps < 200; ++steps)
        step(tape);
    restart();
    check();
    return 0;
}
