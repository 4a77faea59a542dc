#include "testbench/scenario/gpudirect.h"

#include "testbench/scenario/endpoint.h"
#include "testbench/scenario/sha256.h"

#include <fmt/format.h>

#include <cerrno>
#include <utility>

namespace scenario {

using sw::failure;
using sw::mlx::SendOperation;

#define TRY(expression)                                                                                                \
    if (auto outcome = (expression); !outcome)                                                                         \
    return std::unexpected(outcome.error())

namespace {

/// What the two sides say between the steps.
enum class Word : char { written = 'W', send_now = 'S', done = 'D' };
/// What the peer says instead of a digest when it has hashed a piece that is not the last.
constexpr const char* hashed = "hashed";

/// The digest the peer found in its VRAM; empty when it has gone.
std::string receive_text(OutOfBand& peer) {
    const auto bytes = peer.receive();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
void send_text(OutOfBand& peer, const std::string& text) { peer.send(std::as_bytes(std::span(text))); }

sw::Result<void> expect(OutOfBand& peer, Word wanted, const std::string& who) {
    Word word{};
    if (!peer.receive_value(word) || word != wanted)
        return failure(EPIPE, who + ": the peer gave up");
    return {};
}

/// The program on the host that has the payload, once both are connected.
class Initiator {
public:
    Initiator(Endpoint& endpoint, const GpuDirectOptions& options, GpuDirectReport& report,
              const RegisteredVram& source, const RegisteredVram& back)
        : endpoint_(endpoint), peer_(endpoint.machine().peer), options_(options), report_(report), source_(source),
          back_(back) {}

    /// The three steps for one piece.
    sw::Result<void> move(const Piece& piece) {
        TRY(endpoint_.fill(source_, options_.payload, piece));
        endpoint_.hash(source_, piece.bytes, sent_);
        if (options_.is_last(piece))
            report_.source_sha256 = sent_.finish();
        TRY(step(0, "WRITE", SendOperation::write, source_, piece));
        peer_.send_value(Word::written);
        TRY(hear(0, "the peer gave up after the WRITEs", piece));

        TRY(step(1, "READ", SendOperation::read, back_, piece));
        endpoint_.hash(back_, piece.bytes, came_back_);
        if (options_.is_last(piece))
            judge(1, came_back_.finish());
        else
            endpoint_.clear(back_); // the next READs are to bring their bytes, not to find them there

        peer_.send_value(Word::send_now);
        TRY(expect(peer_, Word::send_now, endpoint_.machine().name));
        TRY(step(2, "SEND", SendOperation::send, source_, piece));
        return hear(2, "the peer gave up after the SENDs", piece);
    }

private:
    sw::Result<void> step(std::size_t number, std::string_view name, SendOperation operation,
                          const RegisteredVram& local, const Piece& piece) {
        auto& into = report_.steps[number];
        const auto boundary = [&](bool is_over) {
            if (options_.boundary)
                options_.boundary(number, is_over);
        };
        boundary(false);
        into.name = name;
        into.begin = endpoint_.now();
        const auto messages = endpoint_.move(operation, local, name, piece);
        into.took += endpoint_.now() - into.begin;
        into.bytes += piece.bytes;
        into.messages += messages.value_or(0);
        boundary(true);
        TRY(messages);
        return {};
    }
    /// The peer has hashed its piece; of the last one, it says what all of them were.
    sw::Result<void> hear(std::size_t number, std::string_view otherwise, const Piece& piece) {
        const auto said = receive_text(peer_);
        if (said.empty())
            return failure(EPIPE, fmt::format("{}: {}", endpoint_.machine().name, otherwise));
        if (options_.is_last(piece))
            judge(number, said);
        return {};
    }
    void judge(std::size_t number, std::string sha256) {
        report_.steps[number].is_verified = sha256 == report_.source_sha256;
        report_.steps[number].sha256 = std::move(sha256);
    }

    Endpoint& endpoint_;
    OutOfBand& peer_;
    const GpuDirectOptions& options_;
    GpuDirectReport& report_;
    const RegisteredVram &source_, &back_;
    Sha256 sent_, came_back_;
};

} // namespace

sw::Result<void> initiate(const Machine& machine, const GpuDirectOptions& options, GpuDirectReport& report) {
    auto opened = Endpoint::open(machine, options);
    if (!opened)
        return std::unexpected(opened.error());
    auto& endpoint = **opened;
    {
        auto source = endpoint.make_vram(options.largest_piece_bytes());
        auto back = endpoint.make_vram(options.largest_piece_bytes());
        if (!source || !back)
            return std::unexpected(!source ? source.error() : back.error());
        Initiator initiator(endpoint, options, report, *source, *back);
        TRY(endpoint.connect(*source));
        for (std::uint64_t offset = 0; offset < options.payload.size(); offset += options.piece_bytes())
            TRY(initiator.move(options.piece_at(offset)));
    }
    machine.peer.send_value(Word::done);
    TRY(endpoint.close());
    return expect(machine.peer, Word::done, machine.name);
}

sw::Result<void> respond(const Machine& machine, const GpuDirectOptions& options) {
    auto opened = Endpoint::open(machine, options);
    if (!opened)
        return std::unexpected(opened.error());
    auto& endpoint = **opened;
    {
        auto target = endpoint.make_vram(options.largest_piece_bytes());
        if (!target)
            return std::unexpected(target.error());
        TRY(endpoint.connect(*target));
        Sha256 written, received;
        for (std::uint64_t offset = 0; offset < options.payload.size(); offset += options.piece_bytes()) {
            const auto piece = options.piece_at(offset);
            const bool is_last = options.is_last(piece);
            TRY(expect(machine.peer, Word::written, machine.name));
            endpoint.hash(*target, piece.bytes, written);
            send_text(machine.peer, is_last ? written.finish() : hashed);

            // The READs come in the meantime: this host has nothing to do for them.
            TRY(expect(machine.peer, Word::send_now, machine.name));
            endpoint.clear(*target);
            TRY(endpoint.receive(*target, piece, [&] { machine.peer.send_value(Word::send_now); }));
            endpoint.hash(*target, piece.bytes, received);
            if (!is_last)
                endpoint.clear(*target); // the next WRITEs are to bring their bytes, not to find them there
            send_text(machine.peer, is_last ? received.finish() : hashed);
        }
        TRY(expect(machine.peer, Word::done, machine.name));
    }
    TRY(endpoint.close());
    machine.peer.send_value(Word::done);
    return {};
}

} // namespace scenario
