// A completion queue with a writer, an event queue and a memory of their own, for the tests of this room.
#pragma once

#include "abi/prm/cqe.h"
#include "abi/prm/eqe.h"
#include "model/hca/completion/cqe_writer.h"
#include "model/hca/event/event_queue.h"
#include "model/port/memory_dma.h"
#include "testbench/harness/test_ports.h"

#include <array>
#include <cstdint>
#include <vector>

namespace completion_test {

using namespace harness;
using namespace model::hca;
using namespace model::hca::completion;
using model::hca::queue::CompletionQueueAttributes;
using model::hca::queue::CompletionState;
using model::hca::queue::ModerationLimits;

struct Bench {
    static constexpr std::uint64_t ring = 0x10000, record = 0x20000, eq_ring = 0x30000;
    static constexpr abi::Cqn cqn{0x4c2};
    static constexpr abi::Eqn eqn{5};
    static constexpr std::uint16_t vector = 9;
    static constexpr unsigned log_eq = 6;

    explicit Bench(unsigned log_size = 2, unsigned log_entry = 6, bool overrun_ignore = false,
                   const HcaConfig& c = untimed())
        : config(c), writer(config, dma, clock, contexts, event_queues, counters, trace),
          cq(cqn, attributes(log_size, log_entry, overrun_ignore)) {
        for (std::uint64_t i = 1; i <= 1ull << log_size; ++i) // the driver's mark: invalid, not software's
            dma.poke(ring + (i << log_entry) - 1, std::array{std::byte{0xf1}});
        event::Attributes a;
        a.buffer = {{abi::BusAddress{eq_ring}}, 16, 0};
        a.log_size = log_eq;
        a.vector = vector;
        a.events = ~0ull;
        event_queues.create(eqn, a).is_armed = true;
    }
    static HcaConfig untimed() {
        HcaConfig config;
        config.timed = false;
        return config;
    }
    static CompletionQueueAttributes attributes(unsigned log_size, unsigned log_entry, bool overrun_ignore) {
        return {.buffer = {{abi::BusAddress{ring}}, 16, 0},
                .log_size = static_cast<std::uint8_t>(log_size),
                .log_entry_bytes = static_cast<std::uint8_t>(log_entry),
                .overrun_ignore = overrun_ignore,
                .doorbell_record = abi::BusAddress{record},
                .eqn = eqn};
    }

    bool write(const Completion& completion, Time at = {}) { return writer.write(cq, completion, at); }
    bool write(std::uint16_t index) {
        return write(Completion{.opcode = CqeOpcode::req, .qpn = abi::Qpn{0x1150}, .wqe_counter = index});
    }
    bool write_solicited() { return write(Completion{.opcode = CqeOpcode::resp_send, .solicited = true}); }
    bool write_error() {
        return write(Completion{.opcode = CqeOpcode::req_err, .syndrome = CqeSyndrome::wr_flush_err});
    }
    bool arm(std::uint32_t consumer, bool solicited_only = false, std::uint8_t sequence = 0) {
        return writer.arm(cq, {.consumer = consumer & 0xffffff, .solicited_only = solicited_only, .sequence = sequence},
                          {});
    }
    /// Software has taken entries up to `consumer`.
    void consume(std::uint32_t consumer) {
        std::array<std::byte, 4> bytes;
        abi::store<std::uint32_t, abi::Endian::big>(bytes.data(), consumer & 0xffffff);
        dma.poke(record, bytes);
    }
    abi::Block<abi::prm::Cqe64> entry(std::uint32_t slot) {
        abi::Block<abi::prm::Cqe64> cqe;
        const auto log_entry = cq.attributes.log_entry_bytes;
        dma.peek(ring + ((slot + std::uint64_t{1}) << log_entry) - 64, cqe.bytes);
        return cqe;
    }
    /// The events since the last call.
    std::vector<abi::Block<abi::prm::Eqe>> take_events() {
        std::vector<abi::Block<abi::prm::Eqe>> all;
        auto& eq = *event_queues.table().find(eqn.value);
        for (; seen_events != eq.producer; ++seen_events) {
            abi::Block<abi::prm::Eqe> eqe;
            dma.peek(eq_ring + seen_events % (1u << log_eq) * 64, eqe.bytes);
            all.push_back(eqe);
        }
        eq.consumer = seen_events & 0xffffff;
        return all;
    }
    std::size_t events() { return take_events().size(); }

    HcaConfig config;
    model::port::MemoryDma dma;
    TestClock clock;
    InterruptLog interrupts;
    EventLog log;
    traces::Events trace{&log, 1};
    Counters counters;
    icm::ContextMemory contexts{config, dma, counters};
    event::EventQueues event_queues{dma, interrupts, counters, trace};
    CqeWriter writer;
    CompletionQueue cq;
    std::uint32_t seen_events = 0;
};

} // namespace completion_test
