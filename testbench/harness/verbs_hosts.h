// Two hosts with an HCA each, of any kind, and a cable between them; no bus and no SystemC. Drivers reach them over the
// verbs face, so that a test runs on each architecture, and on one of either kind at the two ends.
#pragma once

#include "model/net/link.h"
#include "model/pcie/device.h"
#include "model/pcie/endpoint_space.h"
#include "model/simple/device.h"
#include "sw/transport/transport.h"
#include "sw/verbs/verbs.h"
#include "testbench/harness/flat_memory.h"
#include "testbench/harness/must.h"
#include "testbench/harness/test_ports.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace harness {

/// How an HCA of some kind is made, and opened by its driver.
struct AnyHca {
    model::pcie::FunctionConfig function;
    std::function<std::unique_ptr<model::pcie::Device>(const model::pcie::DevicePorts&, traces::Events)> make;
    std::function<sw::Result<std::unique_ptr<sw::verbs::Context>>(sw::transport::Transport&)> open;
};

class VerbsHost final : public sw::transport::Transport, private model::port::Interrupts {
public:
    VerbsHost(const AnyHca& hca, TestClock& clock, model::net::Link& link, unsigned end, traces::Events events)
        : function_(hca.function), clock_(clock), link_(link), wires_{&link.end(end)},
          device(hca.make({memory, clock, *this, wires_}, events)) {
        link.attach(end, *device->receiver(0));
    }

    std::uint32_t config_read(std::uint16_t offset, unsigned bytes) override {
        if (offset == 0)
            return std::uint32_t{function_.identity.device_id} << 16 | function_.identity.vendor_id;
        std::uint32_t value = 0;
        std::memcpy(&value, config_space_.data() + offset, bytes);
        return value;
    }
    void config_write(std::uint16_t offset, unsigned bytes, std::uint32_t value) override {
        std::memcpy(config_space_.data() + offset, &value, bytes);
    }
    std::uint64_t bar_size(unsigned bar) override { return function_.bars[bar].size; }
    std::uint64_t bar_address(unsigned bar) override { return bar == 0 ? 0xf000'0000 : 0; }
    void mmio_read(unsigned bar, std::uint64_t offset, std::span<std::byte> into) override {
        device->bar_read(bar, offset, into, clock_.now());
    }
    void mmio_write(unsigned bar, std::uint64_t offset, std::span<const std::byte> from) override {
        device->bar_write(bar, offset, from, clock_.now());
        flush();
    }
    void wake() {
        device->wake(clock_.now());
        flush();
    }
    sw::Result<sw::transport::DmaMemory> allocate(std::size_t bytes, std::size_t alignment) override {
        const auto address = (next_ + alignment - 1) & ~(std::uint64_t{alignment} - 1);
        if (address + bytes > memory.size())
            return sw::failure(ENOMEM, "the test's memory is used up");
        next_ = address + bytes;
        ++live_allocations;
        return sw::transport::DmaMemory{memory.at(address), address, bytes};
    }
    void release(const sw::transport::DmaMemory&) override { --live_allocations; } // its place is not used again
    sw::Result<std::uint64_t> map_peer(std::uint64_t bus, std::size_t) override { return bus; }
    void unmap_peer(std::uint64_t, std::size_t) override {}
    sw::Result<void> enable_interrupts(unsigned) override { return {}; }
    void disable_interrupts() override {}
    bool wait_interrupt(unsigned vector, std::chrono::nanoseconds timeout) override {
        for (const auto deadline = now() + timeout; !is_raised(vector) && now() < deadline;)
            relax();
        return std::exchange(raised_.at(vector), false);
    }
    /// To when something is due, or a little on.
    void relax() override {
        step(std::clamp<Time>(clock_.next(), clock_.now() + Time{1us}, clock_.now() + Time{20us}));
    }
    std::chrono::nanoseconds now() override {
        return std::chrono::duration_cast<std::chrono::nanoseconds>(clock_.now());
    }

    std::size_t live_allocations = 0; ///< DMA memory that the driver has not given back
    /// Lets everything that is due by `until` happen.
    std::function<void(Time until)> step;
    FlatMemory memory{48 << 20};

private:
    void raise(std::uint16_t vector, Time) override { raised_.at(vector) = true; }
    bool is_raised(unsigned vector) const { return raised_.at(vector); }
    void flush() {
        do
            link_.pump(clock_.now());
        while (device->settle());
    }
    model::pcie::FunctionConfig function_;
    TestClock& clock_;
    model::net::Link& link_;
    std::array<model::port::Wire*, 1> wires_;
    std::array<std::byte, 4096> config_space_{};
    std::array<bool, 2048> raised_{};
    std::uint64_t next_ = 0x10000;

public:
    std::unique_ptr<model::pcie::Device> device;
};

struct VerbsHosts {
    TestClock clock;
    EventLog log;
    model::net::Link link;
    VerbsHost a, b;

    VerbsHosts(const AnyHca& one, const AnyHca& other, const model::net::LinkConfig& cable = {})
        : link(cable, clock, {}), a(one, clock, link, 0, {&log, 1}), b(other, clock, link, 1, {&log, 2}) {
        a.step = b.step = [this](Time until) { run(until); };
    }
    /// One time at which something is due after the other.
    void run(Time until) {
        while (clock.next() <= until) {
            clock.set(clock.next());
            wake();
        }
        clock.set(until);
        wake();
    }

private:
    void wake() {
        link.wake(clock.now());
        a.wake();
        b.wake();
    }
};

/// An open HCA with a port, a protection domain, completion queues, and memory that the peer may reach.
struct VerbsEnd {
    static constexpr std::size_t bytes = 1 << 20;

    VerbsEnd(VerbsHost& host, const AnyHca& hca, std::uint32_t address, std::uint32_t depth = 64)
        : context(must(hca.open(host))), path(must(context->open_port(sw::verbs::gid_of_ipv4(address)))),
          pd(must(context->alloc_pd())), buffer(must(context->allocate(bytes))),
          region(must(context->reg_mr(pd, buffer.memory(), 0, bytes, {.access = sw::verbs::all_access}))),
          cq(must(context->create_cq(4 * depth))) {
        make_qp(depth);
    }
    void make_qp(std::uint32_t depth) {
        qp = must(context->create_qp(
            {.pd = pd, .send_cq = cq.get(), .receive_cq = cq.get(), .max_send = depth, .max_receive = depth}));
    }
    void connect(const VerbsEnd& peer, const sw::verbs::ConnectOptions& options = {}) {
        must(context->connect(*qp,
                              {.path = peer.path,
                               .qpn = peer.qp->number(),
                               .psn = peer.first_psn,
                               .reads = peer.context->reads_answered(options)},
                              first_psn, options));
    }
    sw::verbs::Sge sge(std::uint64_t offset, std::uint32_t length) const {
        return {.address = region->iova().value + offset, .length = length, .lkey = region->lkey()};
    }
    std::span<std::byte> at(std::uint64_t offset, std::size_t length) const {
        return buffer.bytes().subspan(offset, length);
    }
    /// Everything that comes until there are `count`, or 20 ms are over.
    std::vector<sw::verbs::Completion> wait(std::size_t count) const {
        std::vector<sw::verbs::Completion> all;
        const auto deadline = context->transport().now() + std::chrono::milliseconds{20};
        while (all.size() < count && context->transport().now() < deadline) {
            sw::verbs::Completion one;
            if (cq->poll({&one, 1}) == 1)
                all.push_back(one);
            else
                context->transport().relax();
        }
        return all;
    }

    std::unique_ptr<sw::verbs::Context> context;
    sw::verbs::AddressPath path;
    abi::Pd pd;
    sw::memory::Buffer buffer;
    std::unique_ptr<sw::verbs::MemoryRegion> region;
    std::unique_ptr<sw::verbs::CompletionQueue> cq;
    std::unique_ptr<sw::verbs::QueuePair> qp;
    abi::Psn first_psn{0xfffffe}; ///< the numbers wrap round soon
};

} // namespace harness
