// What passes the boundary of devices, written down in the order in which it happens. All boundaries of one recording
// share a journal, which counts the accesses from outside (the gate) and knows what led to what.
#pragma once

#include "model/port/dma.h"
#include "model/port/time.h"
#include "traces/codec/signal.h"
#include "traces/codec/record_sink.h"

#include <cstdint>
#include <list>
#include <span>
#include <vector>

namespace platform::record {

using RecordNumber = std::uint32_t;                        ///< 0: none, or lost
inline constexpr std::uint32_t not_recorded = 0xffff'ffff; ///< in the place of an interface: what would go there

class Journal {
public:
    explicit Journal(traces::codec::RecordSink& sink) : sink_(sink) {}
    Journal(const Journal&) = delete;
    Journal& operator=(const Journal&) = delete;

    /// Where calls of devices may wait while others go on: which of the chains of calls is running. What another one
    /// does is not in the course of the one that waits.
    using Running = const void* (*)();
    void tell_chains_apart(Running running) { running_ = running; }

    /// A record that is caused by the call in progress.
    RecordNumber put(std::uint32_t interface, traces::codec::RecordKind kind, traces::codec::Direction direction,
                     model::port::Time at, std::span<const std::byte> head, std::span<const std::byte> payload = {});
    /// One that says itself what caused it; its access at the gate is the one in progress.
    RecordNumber put(std::uint32_t interface, traces::codec::Mark mark, model::port::Time at,
                     std::span<const std::byte> head, std::span<const std::byte> payload = {});
    /// As RecordSink has it.
    void share(std::span<const std::byte> whole) { sink_.share(whole); }

private:
    /// What is being done, one call in the course of another.
    struct Chain {
        const void* running = nullptr;
        unsigned depth = 0;
        std::uint64_t gate = 0;
        RecordNumber cause = 0;
    };

public:
    /// A call of a device: what happens until it is over is caused by it.
    class Call {
    public:
        /// The next access at the gate, unless the call is made in the course of another.
        explicit Call(Journal& journal) : journal_(journal), chain_(journal.enter()), outer_(chain_->cause) {}
        ~Call() {
            chain_->cause = outer_;
            journal_.leave(chain_);
        }
        Call(const Call&) = delete;
        Call& operator=(const Call&) = delete;
        void is(RecordNumber record) { chain_->cause = record; }

    private:
        Journal& journal_;
        std::list<Chain>::iterator chain_;
        RecordNumber outer_;
    };
    RecordNumber cause() const { return current().cause; }
    std::uint64_t gate() const { return current().gate; }

private:
    std::list<Chain>::iterator enter();
    void leave(std::list<Chain>::iterator chain);
    const Chain& current() const;

    traces::codec::RecordSink& sink_;
    Running running_ = nullptr;
    std::list<Chain> chains_, idle_; ///< those that are under way, which are few; memory for more
    Chain none_;                     ///< between two calls: the gate is that of the last one
};

/// The link of one function: accesses as TLPs, and signals.
class LinkLog {
public:
    using Direction = traces::codec::Direction;

    LinkLog(Journal& journal, std::uint32_t interface) : journal_(journal), interface_(interface) {}
    Journal& journal() { return journal_; }

    /// flags  of the records (traces/codec/layouts.h)
    RecordNumber write(Direction direction, std::uint64_t address, std::span<const std::byte> bytes,
                       model::port::Time at, std::uint8_t flags = 0);
    /// A read that waits for its answer.
    struct Asked {
        RecordNumber record = 0;
        std::uint8_t tag = 0; ///< of its first request; the others have those behind it
    };
    Asked read(Direction direction, std::uint64_t address, std::size_t length, model::port::Time at);
    /// The answer, in the direction against the read: a completion for each of its requests, with that one's tag.
    void answer(Direction direction, std::uint64_t address, std::span<const std::byte> bytes,
                model::port::DmaResult result, Asked asked);

    struct Told {
        std::uint16_t port = 0;
        std::uint32_t number = 0;
        std::uint64_t value = 0;
    };
    RecordNumber signal(Direction direction, traces::codec::Signal signal, model::port::Time at, Told told);

private:
    template <class Header>
    RecordNumber put_data(std::uint64_t address, std::span<const std::byte> bytes, model::port::Time at,
                          const traces::codec::Mark& mark, Header&& header);

    Journal& journal_;
    std::uint32_t interface_;
    std::uint8_t tag_ = 0;
    std::vector<std::byte> padded_;
};

} // namespace platform::record
