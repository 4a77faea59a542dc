// Writes what taps see as a pcapng file (draft-ietf-opsawg-pcapng): one interface a cable, one enhanced packet block a
// frame, nanosecond time stamps of simulated time, and the direction as an option. Keeps no frame and looks into none.
// Read back by testbench/witness/check_capture.py, tshark and Wireshark.
#pragma once

#include "model/net/link.h"

#include <cstdio>
#include <expected>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace platform::observe {

class Capture {
public:
    /// An error says what, where and why: "capture /tmp/x.pcapng: Permission denied".
    using Outcome = std::expected<void, std::string>;

    /// Creates or truncates the file.
    static std::expected<std::unique_ptr<Capture>, std::string> create(const std::filesystem::path& file);
    Capture(const Capture&) = delete;
    Capture& operator=(const Capture&) = delete;
    /// Closes; call close() to hear of errors.
    ~Capture();

    /// The tap of one cable, valid as long as the capture; frames of end 0 count as outbound, of end 1 as inbound.
    model::net::Tap& add_interface(std::string_view name, model::port::Encapsulation encapsulation);
    /// Writes what is still in memory and closes the file. Returns the first error since create(). Later frames are
    /// dropped.
    Outcome close();

    std::uint64_t frames() const { return frames_; }

private:
    class Interface;
    struct CloseFile {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };

    Capture(std::FILE* file, std::string name);
    /// `length` zero bytes at the end of the buffer, which is written out first when it is nearly full.
    std::span<std::byte> extend(std::size_t length);
    void write_out();
    void fail(int error);

    std::unique_ptr<std::FILE, CloseFile> file_;
    std::string name_, error_;
    std::vector<std::byte> buffer_;
    std::vector<std::unique_ptr<Interface>> interfaces_;
    std::uint64_t frames_ = 0;
};

} // namespace platform::observe
