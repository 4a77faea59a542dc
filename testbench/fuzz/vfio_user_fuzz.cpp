// A vfio-user client that sends anything. Its bytes reach a session and through it a served machine with two cards, of
// which the first is the client's; what the first card does as a requester is up to the client too. Nothing may crash
// or hang, no other card may be touched, every answer has the protocol's form; and when the client has gone, the
// function serves the next one as new.
#include "platform/bridge/vfio_user/session.h"

#include "testbench/fuzz/require.h"
#include "testbench/fuzz/tape.h"
#include "testbench/harness/guest_bench.h"
#include "testbench/harness/vfio_user_client.h"

#include <fcntl.h>

using namespace testbench;
namespace bridge = platform::bridge::vfio_user;
namespace client = testbench::vfio_user;

namespace {

using fuzz::require;
using fuzz::Tape;

constexpr std::size_t ram_bytes = 1 << 20;
constexpr unsigned max_exchanges = 16; ///< of one input: a client may refuse for ever

struct Bench {
    GuestMachine machine;
    GuestRam ram{ram_bytes}, loose{ram_bytes, 0};
    EventCounter event;
};
Bench& bench() {
    static Bench the_bench;
    return the_bench;
}

/// What a client may hand over: memory that keeps its size, memory that does not, an eventfd, and no file at all.
bridge::Descriptor descriptor(unsigned kind) {
    switch (kind % 4) {
    case 0: return bench().ram.descriptor();
    case 1: return bench().loose.descriptor();
    case 2: return bench().event.descriptor();
    default: return bridge::Descriptor(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0));
    }
}

/// A connection without a socket; memory by messages is answered, refused or left alone as the input has it.
struct Wire final : bridge::MessageSink, bridge::MessageDma {
    bridge::Session session{bench().machine.port(0), *this};
    std::vector<std::byte> asked;
    unsigned exchanges = 0;
    std::uint8_t mood = 0;

    void send(std::vector<std::byte> message, int) override {
        const auto header = client::header_of(message);
        require(header.get<"size">() == message.size() && message.size() <= bridge::max_message,
                "a wrong size was sent");
        require(!header.get<"is_error">() || (message.size() == client::Header::size && header.get<"error">() != 0),
                "an error is not a header with a number");
        if (header.get<"type">() == client::MessageType::command)
            asked = std::move(message);
    }
    model::port::DmaStatus read(std::uint64_t address, std::span<std::byte> into) override {
        return exchange(client::Command::dma_read, address, into.size(), {});
    }
    model::port::DmaStatus write(std::uint64_t address, std::span<const std::byte> from) override {
        return exchange(client::Command::dma_write, address, from.size(), from);
    }
    model::port::DmaStatus exchange(client::Command command, std::uint64_t address, std::uint64_t count,
                                    std::span<const std::byte> data) {
        if (++exchanges > max_exchanges || !session.fault().empty())
            return model::port::DmaStatus::unsupported_request;
        session.begin_exchange(command, address, count, data);
        if (mood % 4 == 1) { // a register is read and a reset asked for meanwhile
            std::array<std::byte, 4> seen;
            bench().machine.port(0).read(client::config_region, 0, seen);
            bench().machine.port(0).reset();
        }
        if (mood % 4 != 2)
            session.receive(client::dma_reply(
                asked, std::vector<std::byte>(command == client::Command::dma_read ? count + mood % 4 / 3 : 0)));
        return session.end_exchange() ? model::port::DmaStatus::ok : model::port::DmaStatus::timeout;
    }
    void abandon() override {} // its exchanges are over before anybody could
};

void step(Wire& wire, Tape& tape) {
    auto& card = bench().machine.first;
    const auto action = tape.take<std::uint8_t>();
    wire.mood = tape.take<std::uint8_t>();
    switch (action % 8) {
    case 0: { // a whole message, as the header has it
        const auto command = static_cast<client::Command>(tape.take<std::uint8_t>() % 20);
        const auto files = tape.take<std::uint8_t>();
        const auto body = tape.take_bytes(tape.take<std::uint8_t>());
        std::vector<bridge::Descriptor> handed;
        for (unsigned i = 0; i < files % 4u; ++i)
            handed.push_back(descriptor(files / 4 + i));
        return wire.session.receive(client::message(command, body, 1, (files & 0x80) != 0), std::move(handed));
    }
    case 1: { // memory that can be used
        std::vector<bridge::Descriptor> handed;
        if (const auto kind = tape.take<std::uint8_t>() % 3; kind != 2)
            handed.push_back(descriptor(kind));
        const auto page = tape.take<std::uint8_t>();
        return wire.session.receive(client::dma_map(page * 4096ull, (tape.take<std::uint8_t>() % 16 + 1) * 4096ull,
                                                    tape.take<std::uint8_t>() * 4096ull, tape.take<std::uint8_t>() % 4),
                                    std::move(handed));
    }
    case 2:
        return wire.session.receive(
            client::dma_unmap(tape.take<std::uint8_t>() * 4096ull, (tape.take<std::uint8_t>() % 16 + 1) * 4096ull));
    case 3: { // the card at work
        std::array<std::byte, 64> data{};
        const abi::BusAddress at{tape.take<std::uint32_t>() % (2u << 20)};
        const auto part = std::span(data).first(tape.take<std::uint8_t>() % data.size());
        if (action & 8)
            card.endpoint.dma().write(at, part, {});
        else
            card.endpoint.dma().read(at, part, {});
        return wire.session.work();
    }
    case 4: return card.endpoint.interrupts().raise(tape.take<std::uint8_t>() % 10, {});
    case 5: { // configuration space, where it does most
        const auto offset = tape.take<std::uint8_t>();
        return wire.session.receive(client::region_write(client::config_region, offset % 4 == 3 ? 4u : offset,
                                                         tape.take_bytes(tape.take<std::uint8_t>() % 9)));
    }
    case 6: {
        std::vector<bridge::Descriptor> handed;
        const auto count = tape.take<std::uint8_t>() % 4u;
        for (unsigned i = 0; i < count; ++i)
            handed.push_back(descriptor(2 + (tape.take<std::uint8_t>() == 0)));
        const auto flags = tape.take<std::uint8_t>();
        const auto start = tape.take<std::uint8_t>() % 10u;
        return wire.session.receive(client::set_irqs(flags, client::msix, start, count), std::move(handed));
    }
    default: return wire.session.receive(tape.take_bytes(tape.take<std::uint8_t>())); // bytes, cut anywhere
    }
}

} // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
    bench();
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    auto& machine = bench().machine;
    auto& port = machine.port(0);
    const auto others = machine.second.function.writes;
    {
        Wire wire;
        port.set_messages(&wire);
        Tape tape(data, size);
        if (tape.take<std::uint8_t>() % 16 != 0) // most inputs get past the handshake
            wire.session.receive(client::version(0, 0, client::qemu_capabilities));
        for (unsigned steps = 0; !tape.is_over() && steps < 100 && wire.session.fault().empty(); ++steps)
            step(wire, tape);
        port.set_messages(nullptr);
        port.disconnect();
    }
    require(machine.second.function.writes == others, "another card was written to");
    require(port.memory().size() == 0, "memory of a client that has gone is kept");
    machine.files.sweep();
    require(machine.files.size() == 0, "a mapping of a client that has gone is kept");

    machine.enable(0);
    require(port.map({0, 4096, 0, true, true}, bench().ram.descriptor()) == 0, "the next client cannot map memory");
    const std::array mark{std::byte{0x5a}};
    bench().ram.bytes()[7] = std::byte{};
    require(machine.first.endpoint.dma().write(abi::BusAddress{7}, mark, {}).is_ok(), "the next client's DMA fails");
    require(bench().ram.bytes()[7] == mark[0], "the next client's DMA goes elsewhere");
    port.disconnect();
    return 0;
}
