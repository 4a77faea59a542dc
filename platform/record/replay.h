// A recorded device alone on a bench: the recording is its outside. What was done to it is done again, its questions
// are answered as they were, and everything that it does is compared. Stops at the first difference: the call is let
// come to its end, with answers as far as the recording has some, to see what kind of difference it is.
#pragma once

#include "platform/record/accesses.h"
#include "platform/record/divergence.h"

#include <memory>
#include <optional>
#include <string>

namespace platform::record {

class Replay {
public:
    enum class Mode : std::uint8_t {
        strict, ///< bytes, order, simulated time
        /// Bytes and order. The device is woken when it asks to be, and not when it was; an answer takes as long as it
        /// took, and what comes from outside waits until the device has done what it did before.
        untimed,
    };
    /// The reader is open, and stands before the first record.
    /// sizes   of the TLPs on the link, then and now: others are another thing that the device does
    Replay(traces::codec::Reader& reader, const DeviceInterfaces& interfaces, Mode mode, LinkSizes sizes = {});
    ~Replay();

    /// For the device, which is made with them: what it does then is compared, too. Valid as long as this.
    const model::pcie::DevicePorts& ports() const { return ports_; }

    struct Result {
        std::uint64_t records = 0; ///< of the trace, that were looked at
        std::uint64_t calls = 0;   ///< of the device
        std::optional<Divergence> divergence;
        std::optional<traces::codec::Fault> fault; ///< the trace cannot be read on
        bool is_same() const { return !divergence && !fault; }
    };
    /// Plays all of it on `device`.
    Result run(model::pcie::Device& device);

private:
    class Dma;
    class Clock;
    class Interrupts;
    class Wire;

    const Step* peek();
    bool wake();
    bool is_unasked(const Step* step) const;
    model::port::Time now() const;
    bool has_stopped() const { return divergence_ || inquiry_ || steps_.fault(); }
    void diverge(Divergence::Kind kind, const Step* expected, std::string actual, const Step* actual_step = nullptr);
    bool is_cut_otherwise(const Step& expected, const Step& actual, std::uint64_t address);
    void inquire();
    bool expect(const Step& actual);
    const Step* answer(std::size_t place, traces::codec::Signal signal, Step::What what, const char* question);
    void call(Step step);
    void read_bar(model::pcie::Function& function, const Step& step, Steps::BarPlace at);
    void receive(const Step& step);
    void signal(model::pcie::Function& function, const Step& step);
    void port_signal(const Step& step);
    Step outbound(traces::codec::Signal signal, model::port::Time at, LinkLog::Told told, std::size_t place = 0);

    Steps steps_;
    Mode mode_;
    LinkSizes sizes_;
    DeviceInterfaces interfaces_;
    model::pcie::Device* device_ = nullptr;
    std::optional<Divergence> divergence_;
    std::optional<Inquiry> inquiry_;       ///< since the first difference, until the call is over
    const Step* inquired_ = nullptr;       ///< what that knows as the answer to what the device has just done
    std::uint64_t records_ = 0, next_ = 0; ///< up to the first difference; the one that comes then
    std::uint64_t gate_ = 0;               ///< number of the access in whose course the device is
    std::uint64_t calls_ = 0, call_ = 0;   ///< how many, and the record of the last one that began
    model::port::Time now_{}, wake_ = model::port::never; ///< of a device without recorded time
    model::port::Time late_{};                            ///< how much later the device did what was last compared
    std::vector<std::unique_ptr<model::port::Packet>> packets_; ///< one for each call that is in the course of another
    std::size_t depth_ = 0;

    std::vector<std::unique_ptr<Dma>> dmas_;
    std::vector<std::unique_ptr<Interrupts>> interrupts_;
    std::vector<std::unique_ptr<Wire>> wires_;
    std::unique_ptr<Clock> clock_;
    std::vector<model::port::Wire*> wire_pointers_;
    std::vector<model::pcie::FunctionPorts> functions_;
    model::pcie::DevicePorts ports_;
};

} // namespace platform::record
