// The simple HCA through its registers and its port alone: software and a peer that need keep no rule.
#pragma once

#include "abi/simple/command.h"
#include "abi/simple/queue.h"
#include "testbench/harness/simple_hca.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace harness {

using namespace abi::simple;

/// A device whose registers are written by hand, and whose cable leads to nobody but the test.
struct Bare : model::port::Receiver {
    explicit Bare(model::simple::SimpleConfig config = {}) : hca(simple_hca(1, config)), host(hca, clock, link, 0, {}) {
        link.attach(1, *this);
        host.step = [this](Time until) { run(until); };
    }
    void run(Time until) {
        for (auto next = std::min(clock.next(), until); next < until; next = std::min(clock.next(), until)) {
            clock.set(next);
            link.wake(next);
            host.wake();
        }
        clock.set(until);
        link.wake(until);
        host.wake();
    }
    void write(std::uint64_t offset, std::uint32_t value) {
        std::array<std::byte, 4> bytes;
        abi::store<std::uint32_t, abi::Endian::little>(bytes.data(), value);
        host.mmio_write(0, offset, bytes);
    }
    std::uint32_t read(std::uint64_t offset) {
        std::array<std::byte, 4> bytes;
        host.mmio_read(0, offset, bytes);
        return abi::load<std::uint32_t, abi::Endian::little>(bytes.data());
    }
    template <class Arguments> Status run(Command command, const abi::Block<Arguments>& arguments) {
        for (std::size_t i = 0; i < Arguments::size; i += 4)
            host.mmio_write(0, arguments_offset + i, std::span(arguments.bytes).subspan(i, 4));
        write(0x40, static_cast<std::uint32_t>(command));
        while ((read(0x44) & 1) != 0)
            run(clock.now() + 1us);
        return static_cast<Status>(read(0x44) >> 8 & 0xff);
    }
    std::uint32_t result() { return read(0x48); }
    Status run_with(Command command, std::uint32_t number) {
        abi::Block<OneNumber> arguments;
        arguments.view().set<"number">(number);
        return run(command, arguments);
    }
    const model::simple::Device& device() { return static_cast<const model::simple::Device&>(*host.device); }

    std::uint32_t make_cq() {
        abi::Block<CreateCq> arguments;
        arguments.view().set<"ring">(0x10000).set<"log_entries">(6);
        CHECK(run(Command::create_cq, arguments) == Status::ok);
        return result();
    }
    abi::Block<CreateQp> qp_arguments(std::uint32_t cqn) const {
        abi::Block<CreateQp> arguments;
        arguments.view()
            .set<"send_ring">(0x20000)
            .set<"receive_ring">(0x30000)
            .set<"pd">(1)
            .set<"log_sends">(4)
            .set<"log_receives">(4)
            .set<"send_cqn">(cqn)
            .set<"receive_cqn">(cqn);
        return arguments;
    }
    std::uint32_t make_qp(std::uint32_t cqn) {
        CHECK(run(Command::create_qp, qp_arguments(cqn)) == Status::ok);
        return result();
    }
    static abi::Block<ConnectQp> connect_arguments(std::uint32_t qpn) {
        abi::Block<ConnectQp> arguments;
        arguments.view()
            .set<"qpn">(qpn)
            .set<"remote_qpn">(77)
            .set<"mtu">(3)
            .set<"remote_write">(true)
            .set<"remote_read">(true)
            .set<"reads_sent">(4)
            .set<"reads_taken">(4)
            .set<"ack_timeout">(4)
            .set<"retry_count">(1);
        return arguments;
    }
    abi::Block<CreateRegion> region_arguments() {
        for (std::uint64_t i = 0; i < 4; ++i) {
            std::array<std::byte, 8> entry;
            abi::store<std::uint64_t, abi::Endian::little>(entry.data(), 0x100000 + i * 0x1000);
            std::ranges::copy(entry, host.memory.at(0x40000 + i * 8));
        }
        abi::Block<CreateRegion> arguments;
        arguments.view()
            .set<"iova">(0x5000)
            .set<"length">(0x4000)
            .set<"page_list">(0x40000)
            .set<"pd">(1)
            .set<"local_write">(true)
            .set<"remote_write">(true)
            .set<"remote_read">(true)
            .set<"log_page_size">(12);
        return arguments;
    }

    // Receiver: the other end of the cable keeps what comes
    void receive(model::port::Packet& packet, Time) override { received.push_back(packet.rdma()); }
    void received_all(Time) override {}
    void ready(Time) override {}

    TestClock clock;
    model::net::Link link{{}, clock, {}};
    AnyHca hca;
    VerbsHost host;
    std::vector<model::port::RdmaHeaders> received;
};

} // namespace harness
