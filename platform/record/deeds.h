// What a device does at its boundary, as far as somebody outside can tell: what is compared when time, splitting and
// coalescing are the device's own. A deed belongs to a stream, in which order counts; streams among themselves are
// ordered only where one deed may not come before another (fact: PCIe 6.0 §2.4.1, IBA 9.7).
#pragma once

#include "platform/record/steps.h"
#include "traces/monitor/function_state.h"

#include "abi/types.h"

#include <compare>
#include <cstdint>
#include <map>
#include <vector>

namespace platform::record {

enum class DeedKind : std::uint8_t {
    bytes,           ///< a write to memory that is none of the following
    completion,      ///< an entry of a completion queue
    event,           ///< an entry of an event queue
    hand_over,       ///< the end of a command
    interrupt,       ///< an MSI-X vector
    frame,           ///< of a network port, except
    acknowledgement, ///< which a later one may stand for
    notification,    ///< of congestion, whose pace is time
    turn,            ///< of the link
};

/// Deeds of one stream come in one order.
struct Stream {
    DeedKind kind{};
    std::size_t place = 0;    ///< function or port
    std::uint64_t object = 0; ///< queue, slot, vector, flow
    std::uint64_t source = 0; ///< within the object: who shares it with others
    auto operator<=>(const Stream&) const = default;
};

struct Deed {
    DeedKind kind{};
    Step step;
    Stream stream;
    /// What must be the same: without time stamps, signatures, and what counts the deeds of other streams.
    std::vector<std::byte> content;

    // Bytes: whose message or command they belong to. Of others: whose bytes come before them. An interrupt has the
    // number of its event queue, an event that of its source.
    enum class Whose : std::uint8_t { nobody_known, queue_pair, command, anybody };
    Whose whose = Whose::nobody_known;
    std::uint32_t owner = 0;

    // Entries of a queue: their place in the ring and whose pass it is.
    std::uint64_t slot = 0;
    bool is_odd_pass = false;

    // Frames of a flow with packet sequence numbers.
    bool is_request = false, has_psn = false;
    abi::Psn psn{}, end{}; ///< and the one behind it, as a READ has several
};

/// What the driver has told one device, by which its deeds are told apart. Both the recorded device and the one that is
/// played have such knowledge of their own.
class Deeds {
public:
    explicit Deeds(const DeviceInterfaces& interfaces);

    /// What software does, in its order.
    void called(const Step& call, const Steps::BarPlace* bar);
    /// The device has read these bytes.
    void has_read(std::size_t function, std::uint64_t address, std::span<const std::byte> bytes);
    /// What a write, a frame, an interrupt or a turn is.
    /// queue_pair   whose packet the device works on meanwhile; 0: nobody knows
    Deed of(Step step, std::uint32_t queue_pair);
    /// The queue pair that a received frame is for; 0: no RDMA packet.
    std::uint32_t queue_pair_of(const Step& frame) const;
    /// It has network ports: what it reads and writes is what the PRM says.
    bool is_hca() const { return !interfaces_.ports.empty(); }

private:
    void write(Deed& deed);
    void entry(Deed& deed, traces::monitor::FunctionState& function, const traces::monitor::Area& area,
               std::uint64_t offset);
    void finished(std::size_t function, const traces::monitor::CommandWatch::Done& done);
    void frame(Deed& deed);
    traces::codec::InterfaceKind port_kind(std::size_t port) const;

    struct Joined {
        std::uint64_t address = 0;
        std::vector<std::byte> bytes;
    };
    DeviceInterfaces interfaces_;
    std::vector<traces::monitor::FunctionState> functions_;
    std::map<std::size_t, Joined> joined_; ///< the last reads of a function, as far as one goes on with the other
    std::map<std::uint32_t, std::uint32_t> epochs_; ///< how often a queue pair was connected with this remote one
    std::map<std::pair<std::size_t, std::uint16_t>, std::uint32_t> vectors_; ///< event queue by vector
};

} // namespace platform::record
