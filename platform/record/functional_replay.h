// A recorded device alone on a bench, for a model whose timing, splitting or coalescing has changed. What was done to
// it is done again as soon as it has done what that may depend on; it wakes when it asks to; its reads are answered by
// address (memory_image.h); and what it does is compared stream by stream (expectations.h). Where the recording waits
// for the device and the device for the recording, something is missing.
#pragma once

#include "platform/record/replay.h"
#include "platform/record/script.h"

#include <memory>
#include <vector>

namespace platform::record {

class FunctionalReplay {
public:
    /// The reader is open, and stands before the first record.
    FunctionalReplay(traces::codec::Reader& reader, const DeviceInterfaces& interfaces);
    ~FunctionalReplay();

    /// For the device, which is made with them: what it does then is compared, too. Valid as long as this.
    const model::pcie::DevicePorts& ports() const { return ports_; }
    /// Plays all of it on `device`.
    Replay::Result run(model::pcie::Device& device);

private:
    using Time = model::port::Time;
    class Dma;
    class Clock;
    class Interrupts;
    class Wire;

    bool has_stopped() { return script_.expectations().has_diverged() || script_.fault().has_value(); }
    std::optional<Expectations::Match> take(Step step);
    void settle();
    bool advance(Time until);
    Time due() const;
    void play(const Input& input, Time at);
    void read_bar(model::pcie::Function& function, const Input& input, Time at);
    void receive(const Input& input);
    void signal(model::pcie::Function& function, const Input& input);
    void port_signal(const Step& step);
    void let_it_end(Time until);
    void impossible(const Step& step, const char* why);
    void different(const Step& expected, const Step& actual);

    DeviceInterfaces interfaces_;
    Script script_;
    Deeds deeds_; ///< as the played device does them
    model::pcie::Device* device_ = nullptr;
    Time now_{}, wake_ = model::port::never;
    Time late_{};                  ///< how much later the device did what was last compared
    std::uint64_t applied_ = 0;    ///< record of the last call that was made
    std::uint32_t queue_pair_ = 0; ///< whose packet the device works on
    std::uint64_t calls_ = 0, compared_ = 0;
    model::port::Packet packet_;
    std::vector<Time> rooms_; ///< by port: when a wire that refused takes packets again

    std::vector<std::unique_ptr<Dma>> dmas_;
    std::vector<std::unique_ptr<Interrupts>> interrupts_;
    std::vector<std::unique_ptr<Wire>> wires_;
    std::unique_ptr<Clock> clock_;
    std::vector<model::port::Wire*> wire_pointers_;
    std::vector<model::pcie::FunctionPorts> functions_;
    model::pcie::DevicePorts ports_;
};

} // namespace platform::record
