// The performance agent of a node (IBA 16.1): what its ports have counted, read and set back over management datagrams
// of class PerfMgt. Its node counts; the agent keeps what a manager has subtracted. Knows no packets.
#pragma once

#include "abi/wire/mad.h"
#include "model/port/time.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace model::management {

/// What a port has counted since it was built.
struct PortTotals {
    std::uint64_t data_sent = 0, data_received = 0; ///< 32-bit words, from the LRH up to the ICRC (IBA 16.1.3.5)
    std::uint64_t packets_sent = 0, packets_received = 0;
    std::uint64_t unicast_sent = 0, unicast_received = 0, multicast_sent = 0, multicast_received = 0; ///< packets
    std::uint64_t receive_errors = 0;     ///< damaged packets
    std::uint64_t relay_errors = 0;       ///< a switch: packets that no way leads on for
    std::uint64_t discards = 0;           ///< packets that the port should have sent and did not
    std::uint64_t management_dropped = 0; ///< VL15
    std::uint64_t transmit_waits = 0;     ///< ticks in which the port had data and no credit; a tick: see its node

    PortTotals& operator+=(const PortTotals& other);
};

/// Of PortXmitWait: the time of 8 bytes on the line, as in switches that say PortSamplesControl:Tick = 7; where bytes
/// take no time, the symbol time of the slowest link (IBA 16.1.3.3).
inline port::Time tick(double rate_gbps) {
    return rate_gbps > 0 ? port::Time{std::max(std::llround(64'000 / rate_gbps), 1LL)} : std::chrono::nanoseconds{4};
}

class PerformanceAgent {
public:
    using Totals = std::function<PortTotals(unsigned port)>;
    static constexpr unsigned all_ports = 255;

    /// `first` to `last`: the ports that may be asked for.
    PerformanceAgent(unsigned first, unsigned last) : first_(first), last_(last) {
        for (auto& ports : subtracted_)
            ports.resize(last + 1);
    }

    /// Carries out a Get or Set of class PerfMgt and makes `mad` its answer.
    void process(std::span<std::byte, abi::wire::mad_bytes> mad, const Totals& totals);
    /// What an attribute tells of a port, for other ways to the same counters; `clear`: as by a Set of all of them
    /// behind it.
    enum class Kind : std::uint8_t { classic, extended };
    PortTotals read(Kind kind, unsigned port, const PortTotals& total, bool clear);

private:
    struct Counter;
    struct Attribute;
    /// What was subtracted of each port's totals, by attribute: the wide counters are others than the classic ones.
    using Subtracted = std::array<std::vector<PortTotals>, 2>;
    static std::span<const Attribute> attributes();
    abi::wire::MadStatus count(const Attribute& attribute, std::span<std::byte> data, bool is_set,
                               const Totals& totals);

    unsigned first_, last_;
    Subtracted subtracted_;
};

} // namespace model::management
