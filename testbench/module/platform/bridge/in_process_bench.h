// A driver in a thread of a simulated host, and a card that acts when a test wants it to.
#pragma once

#include "platform/bridge/in_process.h"
#include "testbench/harness/pcie_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <functional>

namespace in_process_test {

using namespace testbench;
using model::port::Time;
using platform::bridge::InProcessTransport;
using namespace std::chrono_literals;

/// The driver of the first card, as a thread of the host.
struct Driver {
    PcieMachine machine;
    Thread thread;

    Driver(bool timed, std::function<void(PcieMachine&, InProcessTransport&)> body,
           const platform::host::HostConfig& config = {})
        : machine(timed, config), thread("driver", [this, body] {
              InProcessTransport transport(machine.host, machine.found(1).bdf);
              body(machine, transport);
          }) {}
    void run() {
        sc_core::sc_start(sc_core::sc_time(10, sc_core::SC_MS));
        REQUIRE(thread.is_finished());
    }
};

/// Lets the card act at a later time.
class Later final : public sc_core::sc_module {
public:
    Later(sc_core::sc_module_name name, Time at, std::function<void()> body) : sc_module(name), at_(at), body_(body) {
        SC_HAS_PROCESS(Later);
        SC_THREAD(run);
    }

private:
    void run() {
        wait(sc_core::sc_time(static_cast<double>(at_.count()), sc_core::SC_PS));
        body_();
    }
    Time at_;
    std::function<void()> body_;
};

inline std::uint32_t read32(InProcessTransport& transport, unsigned bar, std::uint64_t offset) {
    std::array<std::byte, 4> bytes;
    transport.mmio_read(bar, offset, bytes);
    return abi::load<std::uint32_t, std::endian::little>(bytes.data());
}

} // namespace in_process_test
