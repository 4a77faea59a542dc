// A recording of one device as steps: what was called, done and answered, with accesses put together again from their
// TLPs. Reads ahead by one access, no further.
#pragma once

#include "platform/record/recorded_device.h"
#include "traces/codec/reader.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace platform::record {

struct Step {
    enum class What : std::uint8_t {
        write,  ///< an access, inbound to a BAR or outbound to memory
        read,   ///< likewise
        data,   ///< the answer to a read, with its bytes or a status that says why not
        frame,  ///< at a network port
        signal, ///< see traces/codec/signal.h
    };
    std::uint64_t record = 0; ///< its first one
    std::uint64_t gate = 0;   ///< number of the access at the gate in whose course it happened
    std::uint64_t cause = 0;  ///< record of the call in whose course it happened; 0: none, or it is one
    What what = What::signal;
    traces::codec::Direction direction = traces::codec::Direction::none;
    model::port::Time at{};
    std::size_t place = 0; ///< number of the function, or of the port of a frame
    std::uint64_t address = 0, length = 0;
    std::vector<std::byte> bytes;
    model::port::DmaStatus status = model::port::DmaStatus::ok;
    traces::codec::Signal signal{};
    LinkLog::Told told;

    bool is(traces::codec::Direction whose, What which) const { return direction == whose && what == which; }
    bool is(traces::codec::Direction whose, traces::codec::Signal which) const {
        return is(whose, What::signal) && signal == which;
    }
    /// Something that the outside did to the device, not the answer to something that the device did.
    bool is_call() const;
};

/// "a write of 64 bytes to 0x80000000 at 2500.000 ns: 00 01 02 ..."
std::string describe(const Step& step);

class Steps {
public:
    /// Of one access: what software moves to or from a BAR in one store or load, a whole file for example, is one.
    static constexpr std::size_t most_access_bytes = std::size_t{256} << 20;

    Steps(traces::codec::Reader& reader, DeviceInterfaces interfaces, std::size_t most_access = most_access_bytes)
        : reader_(reader), interfaces_(std::move(interfaces)), most_access_(most_access) {}

    /// The next one; nullptr at the end, or where the trace cannot be read on (fault()).
    const Step* peek();
    void take() { has_step_ = false; }
    const std::optional<traces::codec::Fault>& fault() const { return fault_; }
    std::uint64_t records() const { return reader_.records(); }
    std::uint64_t blocks() const { return reader_.blocks(); }

    /// Which BAR of a function an address is in, as the recording has told so far, and where.
    struct BarPlace {
        unsigned bar;
        std::uint64_t offset;
    };
    std::optional<BarPlace> bar_of(std::size_t function, std::uint64_t address) const;
    /// What the device's clock says: changed by calls, and where the recording says so.
    model::port::Time now() const { return now_; }
    void now_is(model::port::Time now) { now_ = now; }

private:
    struct Raw {
        std::uint64_t number;
        std::uint32_t interface;
        model::port::Time at;
        traces::codec::Mark mark;
        std::vector<std::byte> head, payload;
    };
    bool load();
    bool build();
    bool build_tlp();
    bool refuse(std::string reason, traces::codec::FaultKind kind = traces::codec::FaultKind::corrupt);

    traces::codec::Reader& reader_;
    DeviceInterfaces interfaces_;
    std::size_t most_access_;
    std::optional<Raw> raw_; ///< read, and not yet part of a step
    Step step_;
    bool has_step_ = false, is_at_end_ = false;
    std::optional<traces::codec::Fault> fault_;
    std::map<std::pair<std::size_t, unsigned>, std::uint64_t> bars_;
    model::port::Time now_{};
};

} // namespace platform::record
