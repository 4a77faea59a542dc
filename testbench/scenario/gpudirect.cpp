#include "testbench/scenario/gpudirect.h"

#include "testbench/scenario/endpoint.h"

#include <fmt/format.h>

#include <cerrno>

namespace scenario {

using sw::failure;
using sw::Result;
using sw::mlx::SendOperation;

#define TRY(expression)                                                                                                \
    if (auto outcome = (expression); !outcome)                                                                         \
    return std::unexpected(outcome.error())

namespace {

/// What the two sides say between the steps.
enum class Word : char { written = 'W', send_now = 'S', done = 'D' };

/// The digest the peer found in its VRAM; empty when it has gone.
std::string receive_text(OutOfBand& peer) {
    const auto bytes = peer.receive();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
void send_text(OutOfBand& peer, const std::string& text) { peer.send(std::as_bytes(std::span(text))); }

Result<void> expect(OutOfBand& peer, Word wanted, const std::string& who) {
    Word word{};
    if (!peer.receive_value(word) || word != wanted)
        return failure(EPIPE, who + ": the peer gave up");
    return {};
}

} // namespace

Result<void> initiate(const Machine& machine, const GpuDirectOptions& options, GpuDirectReport& report) {
    auto opened = Endpoint::open(machine, options);
    if (!opened)
        return std::unexpected(opened.error());
    auto& endpoint = **opened;
    const auto bytes = options.payload.size();
    {
        auto source = endpoint.make_vram(bytes);
        auto back = endpoint.make_vram(bytes);
        if (!source || !back)
            return std::unexpected(!source ? source.error() : back.error());
        TRY(endpoint.fill(*source, options.payload));
        report.source_sha256 = endpoint.hash(*source, bytes);
        TRY(endpoint.connect(*source));

        const auto step = [&](std::size_t number, std::string_view name, SendOperation operation, const RegisteredVram& local) -> Result<void> {
            auto& into = report.steps[number];
            const auto boundary = [&](bool is_over) {
                if (options.boundary)
                    options.boundary(number, is_over);
            };
            boundary(false);
            into.name = name;
            into.begin = endpoint.now();
            const auto messages = endpoint.move(operation, local, name);
            into.end = endpoint.now();
            into.bytes = bytes;
            into.messages = messages.value_or(0);
            boundary(true);
            TRY(messages);
            return {};
        };
        TRY(step(0, "WRITE", SendOperation::write, *source));
        machine.peer.send_value(Word::written);
        if (report.steps[0].sha256 = receive_text(machine.peer); report.steps[0].sha256.empty())
            return failure(EPIPE, machine.name + ": the peer gave up after the WRITEs");

        TRY(step(1, "READ", SendOperation::read, *back));
        report.steps[1].sha256 = endpoint.hash(*back, bytes);

        machine.peer.send_value(Word::send_now);
        TRY(expect(machine.peer, Word::send_now, machine.name));
        TRY(step(2, "SEND", SendOperation::send, *source));
        if (report.steps[2].sha256 = receive_text(machine.peer); report.steps[2].sha256.empty())
            return failure(EPIPE, machine.name + ": the peer gave up after the SENDs");
        for (auto& one : report.steps)
            one.is_verified = one.sha256 == report.source_sha256;
    }
    machine.peer.send_value(Word::done);
    TRY(endpoint.close());
    return expect(machine.peer, Word::done, machine.name);
}

Result<void> respond(const Machine& machine, const GpuDirectOptions& options) {
    auto opened = Endpoint::open(machine, options);
    if (!opened)
        return std::unexpected(opened.error());
    auto& endpoint = **opened;
    const auto bytes = options.payload.size();
    {
        auto target = endpoint.make_vram(bytes);
        if (!target)
            return std::unexpected(target.error());
        TRY(endpoint.connect(*target));
        TRY(expect(machine.peer, Word::written, machine.name));
        send_text(machine.peer, endpoint.hash(*target, bytes));

        // The READs come in the meantime: this host has nothing to do for them.
        TRY(expect(machine.peer, Word::send_now, machine.name));
        endpoint.clear(*target);
        TRY(endpoint.receive(*target, [&] { machine.peer.send_value(Word::send_now); }));
        send_text(machine.peer, endpoint.hash(*target, bytes));
        TRY(expect(machine.peer, Word::done, machine.name));
    }
    TRY(endpoint.close());
    machine.peer.send_value(Word::done);
    return {};
}

} // namespace scenario
