// plain_frames IN.txt OUT.pcapng: sends Ethernet frames, one a line in hexadecimal digits, over a cable with a capture,
// and prints of each what it is to its receiver: "plain", the number of its opcode, or why it is dropped.
#include "model/net/link.h"
#include "model/wire/parser.h"
#include "platform/observe/files/capture.h"

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

using model::port::Encapsulation;
using model::port::Packet;
using model::port::Time;

namespace {

struct NoClock final : model::port::Clock {
    Time now() const override { return {}; }
    void wake_at(Time) override {}
};

struct Station final : model::port::Receiver {
    void receive(Packet& packet, Time) override {
        if (const auto unpacked = model::wire::unpack(packet, Encapsulation::roce_v2_ipv4); !unpacked)
            std::puts(std::string(name(unpacked.error())).c_str());
        else if (packet.is_plain_frame())
            std::puts("plain");
        else
            std::printf("%u\n", packet.rdma().opcode());
    }
    void received_all(Time) override {}
    void ready(Time) override {}
};

std::vector<std::byte> bytes_of(const std::string& digits) {
    std::vector<std::byte> bytes;
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
        bytes.push_back(static_cast<std::byte>(std::stoul(digits.substr(i, 2), nullptr, 16)));
    return bytes;
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fputs("usage: plain_frames IN.txt OUT.pcapng\n", stderr);
        return 2;
    }
    auto output = platform::observe::files::Output::create(argv[2]);
    if (!output) {
        std::fprintf(stderr, "%s\n", output.error().c_str());
        return 1;
    }
    platform::observe::files::Capture capture(std::move(*output));
    NoClock clock;
    Station station, sender;
    model::net::Link cable({.timed = false}, clock, {});
    cable.attach(0, sender);
    cable.attach(1, station);
    cable.set_tap(&capture.add_interface("cable", Encapsulation::roce_v2_ipv4));
    std::ifstream frames(argv[1]);
    Time at{};
    for (std::string line; std::getline(frames, line);) {
        auto& packet = cable.end(0).next();
        packet.become_plain_frame();
        packet.payload.append_copy(bytes_of(line));
        cable.end(0).send(at += std::chrono::microseconds{1});
        cable.pump(at);
    }
    if (const auto closed = capture.close(); !closed) {
        std::fprintf(stderr, "%s\n", closed.error().c_str());
        return 1;
    }
}
