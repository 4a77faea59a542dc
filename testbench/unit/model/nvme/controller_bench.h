// A controller with memory around it, and a host of a few lines: queues with phases, commands one at a time.
#pragma once

#include "abi/nvme/completion.h"
#include "model/nvme/controller.h"
#include "model/port/memory_dma.h"
#include "testbench/harness/test_ports.h"

#include <array>
#include <map>
#include <optional>
#include <vector>

namespace nvme_test {

using namespace harness;
using namespace model::nvme;
using abi::nvme::Register;

inline NvmeConfig small() {
    NvmeConfig config;
    config.timed = false;
    config.queue_pairs = 4, config.vectors = 5;
    config.space.namespaces[0].bytes = 1 << 20;
    return config;
}

struct Bench {
    static constexpr std::uint64_t admin_sq = 0x10000, admin_cq = 0x20000, buffer = 0x100000;
    struct Queue {
        std::uint64_t sq = 0, cq = 0;
        std::uint32_t size = 0, tail = 0, head = 0;
        bool phase = true;
    };

    model::port::MemoryDma memory;
    TestClock clock;
    InterruptLog interrupts;
    Controller controller;
    std::map<std::uint16_t, Queue> queues;
    std::uint16_t next_cid = 1;

    explicit Bench(const NvmeConfig& config = small(), traces::Events events = {})
        : controller(config, {memory, clock, interrupts}, events) {}

    std::uint32_t get(std::uint64_t offset) {
        std::array<std::byte, 4> bytes{};
        controller.bar_read(0, offset, bytes, clock.now());
        return abi::load<std::uint32_t, abi::Endian::little>(bytes.data());
    }
    std::uint32_t get(Register which) { return get(static_cast<std::uint64_t>(which)); }
    void set(std::uint64_t offset, std::uint32_t value) {
        std::array<std::byte, 4> bytes{};
        abi::store<std::uint32_t, abi::Endian::little>(bytes.data(), value);
        controller.bar_write(0, offset, bytes, clock.now());
    }
    void set(Register which, std::uint32_t value) { set(static_cast<std::uint64_t>(which), value); }
    void enable(std::uint32_t cc = 0x0046'0001) {
        start(cc);
        run();
    }
    void start(std::uint32_t cc = 0x0046'0001) {
        set(Register::aqa, 0x001f'001f);
        set(Register::asq, admin_sq), set(0x2c, 0);
        set(Register::acq, admin_cq), set(0x34, 0);
        memory.poke(admin_cq, std::vector<std::byte>(32 * 16));
        set(Register::cc, cc);
        queues.clear();
        queues[0] = {.sq = admin_sq, .cq = admin_cq, .size = 32};
    }
    void run() {
        while (clock.next() != model::port::never) {
            clock.set(clock.next());
            controller.wake(clock.now());
        }
    }
    void place(std::uint16_t id, const abi::Block<abi::nvme::Command>& command) {
        auto& queue = queues[id];
        memory.poke(queue.sq + queue.tail * 64ull, command.bytes);
        queue.tail = (queue.tail + 1) % queue.size;
    }
    void ring(std::uint16_t id) { set(0x1000 + id * 8ull, queues[id].tail); }
    std::optional<abi::Block<abi::nvme::Completion>> next(std::uint16_t id) {
        auto& queue = queues[id];
        abi::Block<abi::nvme::Completion> entry;
        memory.peek(queue.cq + queue.head * 16ull, entry.bytes);
        if (entry.view().get<"p">() != queue.phase)
            return std::nullopt;
        if (++queue.head == queue.size)
            queue.head = 0, queue.phase = !queue.phase;
        set(0x1004 + id * 8ull, queue.head);
        return entry;
    }
    /// One command, up to its completion.
    abi::Block<abi::nvme::Completion> submit(std::uint16_t id, abi::Block<abi::nvme::Command> command) {
        command.view().set<"cid">(next_cid++);
        place(id, command), ring(id), run();
        return next(id).value();
    }
    static abi::Block<abi::nvme::Command> command(std::uint8_t opcode, std::uint32_t nsid = 0, std::uint32_t cdw10 = 0,
                                                  std::uint32_t cdw11 = 0, std::uint32_t cdw12 = 0) {
        abi::Block<abi::nvme::Command> block;
        block.view().set<"opcode">(opcode).set<"nsid">(nsid).set<"prp1">(buffer);
        block.view().set<"cdw10">(cdw10).set<"cdw11">(cdw11).set<"cdw12">(cdw12);
        return block;
    }
    template <class Opcode>
    Status ask(std::uint16_t id, Opcode opcode, std::uint32_t nsid = 0, std::uint32_t cdw10 = 0,
               std::uint32_t cdw11 = 0, std::uint32_t cdw12 = 0) {
        return submit(id, command(static_cast<std::uint8_t>(opcode), nsid, cdw10, cdw11, cdw12))
            .view()
            .template get<"status">();
    }
    Status create(abi::nvme::AdminOpcode opcode, std::uint64_t base, std::uint32_t cdw10, std::uint32_t cdw11) {
        auto block = command(static_cast<std::uint8_t>(opcode), 0, cdw10, cdw11);
        block.view().set<"prp1">(base);
        return submit(0, block).view().get<"status">();
    }
    /// Queue pair `id` with `size` entries.
    void create_pair(std::uint16_t id, std::uint32_t size = 16) {
        const std::uint64_t sq = 0x200000 + id * 0x20000ull, cq = sq + 0x10000;
        memory.poke(cq, std::vector<std::byte>(size * 16));
        create(abi::nvme::AdminOpcode::create_cq, cq, (size - 1) << 16 | id, std::uint32_t{id} << 16 | 3);
        create(abi::nvme::AdminOpcode::create_sq, sq, (size - 1) << 16 | id, std::uint32_t{id} << 16 | 1);
        queues[id] = {.sq = sq, .cq = cq, .size = size};
    }
};

} // namespace nvme_test
