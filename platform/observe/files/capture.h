// Writes what taps see as a pcapng file (draft-ietf-opsawg-pcapng): one interface a cable, one enhanced packet block a
// frame, nanosecond time stamps of simulated time, and the direction as an option. InfiniBand stands behind an ERF
// header, so that stock Wireshark decodes it. Looks into no frame. Frames are in the order of their time: a port that
// works ahead of the others shows its frames early, so each is kept until none before it can come. Read back by
// testbench/witness/check_capture.py, tshark and Wireshark.
#pragma once

#include "model/net/link.h"
#include "platform/observe/files/output.h"

#include <memory>
#include <string_view>
#include <vector>

namespace platform::observe::files {

class Capture {
public:
    explicit Capture(Output output);
    Capture(const Capture&) = delete;
    Capture& operator=(const Capture&) = delete;
    /// What close() was not called for is thrown away.
    ~Capture();

    /// The tap of one cable, valid as long as the capture; frames of end 0 count as outbound, of end 1 as inbound.
    model::net::Tap& add_interface(std::string_view name, model::port::Encapsulation encapsulation);
    /// Writes what is still in memory and finishes the file. Returns the first error. Later frames are dropped.
    Output::Outcome close();

    std::uint64_t frames() const { return frames_; }

private:
    class Interface;
    struct Block { ///< a packet that waits for earlier ones
        model::port::Time at{};
        std::size_t begin = 0, length = 0; ///< in kept_
    };

    void release_due(model::port::Time at);
    void release(std::size_t count);
    void write_out();

    Output output_;
    bool is_open_ = true;
    std::vector<std::byte> buffer_;
    std::vector<std::byte> kept_;
    std::vector<Block> blocks_; ///< of kept_, in the order they came
    model::port::Time newest_{};
    std::vector<std::unique_ptr<Interface>> interfaces_;
    std::uint64_t frames_ = 0;
};

} // namespace platform::observe::files
