// What passes the boundary of devices, written down in the order in which it happens. All boundaries of one recording
// share a journal, which counts the accesses from outside (the gate) and knows what led to what.
#pragma once

#include "model/port/dma.h"
#include "model/port/time.h"
#include "traces/codec/signal.h"
#include "traces/codec/writer.h"

#include <cstdint>
#include <span>
#include <vector>

namespace platform::record {

using RecordNumber = std::uint32_t; ///< 0: none, or lost

class Journal {
public:
    explicit Journal(traces::codec::Writer& writer) : writer_(writer) {}
    traces::codec::Writer& writer() { return writer_; }

    /// A record that is caused by the call in progress.
    RecordNumber put(std::uint32_t interface, traces::codec::RecordKind kind, traces::codec::Direction direction,
                     model::port::Time at, std::span<const std::byte> head, std::span<const std::byte> payload = {});
    /// One that is caused by another.
    RecordNumber put(std::uint32_t interface, traces::codec::RecordKind kind, traces::codec::Direction direction,
                     model::port::Time at, RecordNumber cause, std::span<const std::byte> head,
                     std::span<const std::byte> payload = {});
    RecordNumber put(std::uint32_t interface, traces::codec::RecordKind kind, traces::codec::Direction direction,
                     model::port::Time at, RecordNumber cause, std::span<const std::byte> head,
                     const traces::codec::Reference& payload);

    /// A call of a device: what happens until it is over is caused by it.
    class Call {
    public:
        /// The next access at the gate, unless the call is made in the course of another.
        explicit Call(Journal& journal) : journal_(journal), outer_(journal.cause_) {
            if (journal_.depth_++ == 0)
                ++journal_.gate_;
        }
        ~Call() {
            --journal_.depth_;
            journal_.cause_ = outer_;
        }
        Call(const Call&) = delete;
        Call& operator=(const Call&) = delete;
        void is(RecordNumber record) { journal_.cause_ = record; }

    private:
        Journal& journal_;
        RecordNumber outer_;
    };
    RecordNumber cause() const { return cause_; }
    std::uint64_t gate() const { return gate_; }

private:
    traces::codec::Mark mark(traces::codec::RecordKind kind, traces::codec::Direction direction,
                             RecordNumber cause) const {
        return {.kind = kind, .direction = direction, .gate = gate_, .cause = cause};
    }

    traces::codec::Writer& writer_;
    std::uint64_t gate_ = 0;
    unsigned depth_ = 0;
    RecordNumber cause_ = 0;
};

/// The link of one function: accesses as TLPs, and signals.
class LinkLog {
public:
    using Direction = traces::codec::Direction;

    LinkLog(Journal& journal, std::uint32_t interface) : journal_(journal), interface_(interface) {}
    Journal& journal() { return journal_; }

    RecordNumber write(Direction direction, std::uint64_t address, std::span<const std::byte> bytes,
                       model::port::Time at);
    RecordNumber read(Direction direction, std::uint64_t address, std::size_t length, model::port::Time at);
    /// The answer to the read `request`, in the direction against it.
    void answer(Direction direction, std::uint64_t address, std::span<const std::byte> bytes,
                model::port::DmaResult result, RecordNumber request);

    struct Told {
        std::uint16_t port = 0;
        std::uint32_t number = 0;
        std::uint64_t value = 0;
    };
    RecordNumber signal(Direction direction, traces::codec::Signal signal, model::port::Time at, Told told);

private:
    template <class Header>
    RecordNumber put_data(Direction direction, std::uint64_t address, std::span<const std::byte> bytes,
                          model::port::Time at, traces::codec::RecordKind kind, RecordNumber cause, Header&& header);

    Journal& journal_;
    std::uint32_t interface_;
    std::uint8_t tag_ = 0;
    std::vector<std::byte> padded_;
};

} // namespace platform::record
