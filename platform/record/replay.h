// A recorded device alone on a bench: the recording is its outside. What was done to it is done again, its questions
// are answered as they were, and everything that it does is compared. Stops at the first difference; from there on the
// device gets answers that say nothing, until its call returns.
#pragma once

#include "platform/record/steps.h"

#include <memory>
#include <optional>
#include <string>

namespace platform::record {

struct Divergence {
    enum class Kind : std::uint8_t {
        missing, ///< the device has not done what it did
        extra,   ///< it does something where it did nothing
        order,   ///< it does something else
        field,   ///< it does the same with another content
        time,    ///< it does the same at another time
    };
    Kind kind;
    std::uint64_t record = 0; ///< what was expected; 0: nothing more
    std::string expected, actual;

    std::string text() const;
};
std::string_view name(Divergence::Kind kind);

class Replay {
public:
    enum class Mode : std::uint8_t {
        strict, ///< bytes, order, simulated time
        /// Bytes and order. The device is woken when it asks to be, and not when it was; an answer takes as long as it
        /// took, and what comes from outside waits until the device has done what it did before.
        untimed,
    };
    /// The reader is open, and stands before the first record.
    Replay(traces::codec::Reader& reader, const DeviceInterfaces& interfaces, Mode mode);
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
    bool has_stopped() const { return divergence_.has_value() || steps_.fault().has_value(); }
    void diverge(Divergence::Kind kind, const Step* expected, std::string actual);
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
    DeviceInterfaces interfaces_;
    model::pcie::Device* device_ = nullptr;
    std::optional<Divergence> divergence_;
    std::uint64_t calls_ = 0;
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
