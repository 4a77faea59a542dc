// Bytes from a cable: any of them may be refused, none may hurt. First byte: the link's kind, and whether to repair the
// checks (a fuzzer cannot guess a CRC, and behind it lies most of the parser). What is accepted must build the same
// bytes again, apart from those a receiver is to ignore, and those must then parse to the same packet.
#include "model/wire/builder.h"
#include "model/wire/parser.h"
#include "testbench/harness/frames.h"
#include "testbench/harness/packets.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

using namespace abi::wire;
using abi::ConstView;
using abi::View;
using model::port::Encapsulation;
using model::port::Packet;
using testbench::locate;
using testbench::repair;
using Bytes = std::span<std::byte>;

namespace {

/// Clears what a receiver ignores and a sender makes zero or chooses, then makes the checks right again.
std::vector<std::byte> canonical(std::span<const std::byte> image, bool is_infiniband, const Packet& packet) {
    std::vector<std::byte> copy(image.begin(), image.end());
    Bytes frame(copy);
    const auto f = locate(frame, is_infiniband);
    if (is_infiniband) {
        const bool is_management = packet.destination == abi::Qpn{0}; // those lanes are not the sender's choice
        View<Lrh>(frame).set<"vl">(is_management ? abi::wire::management_lane : 0u);
        frame[1] &= std::byte{0xf3}; // reserved bits
        frame[4] &= std::byte{0x07};
    } else {
        const auto ip = frame.subspan(Ethernet::size);
        if (!f.is_ipv6) {
            ip[4] = ip[5] = std::byte{}; // identification
            ip[6] = std::byte{0x40};     // DF, and the reserved flag
        }
        View<Udp>(frame.subspan(f.bth - Udp::size)).set<"checksum">(0);
        std::fill(frame.begin() + static_cast<std::ptrdiff_t>(f.icrc + icrc_bytes), frame.end(), std::byte{});
        copy.resize(std::max(f.icrc + icrc_bytes, ethernet_min_frame));
        frame = Bytes(copy);
    }
    frame[f.bth + 4] &= std::byte{0xc0}; // BTH reserved bits
    frame[f.bth + 8] &= std::byte{0x80};
    if (packet.service == Service::cnp) {
        std::fill_n(frame.begin() + static_cast<std::ptrdiff_t>(f.bth + Bth::size), cnp_reserved_bytes, std::byte{});
    } else {
        if (packet.service == Service::ud)
            frame[f.bth + Bth::size + 4] = std::byte{}; // DETH reserved byte
        if (model::wire::has_xrc(packet.service, packet.traits()))
            frame[f.bth + Bth::size] = std::byte{}; // XRCETH reserved byte
        const auto pad = model::wire::pad_bytes(packet.payload.size());
        std::fill_n(frame.begin() + static_cast<std::ptrdiff_t>(f.icrc - pad), pad, std::byte{});
    }
    repair(frame, is_infiniband);
    return copy;
}

void require(bool condition, const char* what) {
    if (!condition) {
        std::fprintf(stderr, "packet_fuzz: %s\n", what);
        std::abort();
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace model::wire;
    if (size == 0)
        return 0;
    const bool is_infiniband = data[0] & 1;
    const auto link = is_infiniband ? Encapsulation::infiniband
                                    : (data[0] & 4 ? Encapsulation::roce_v2_ipv6 : Encapsulation::roce_v2_ipv4);
    const auto given = std::as_bytes(std::span(data + 1, size - 1));
    std::vector<std::byte> frame(given.begin(), given.end());
    if (data[0] & 2)
        repair(frame, is_infiniband);

    static Packet packet, again; // a slot is used many times: old content must not matter
    static std::vector<std::byte> built;
    const auto parsed = parse(frame, link, packet);
    if (!parsed) {
        require(!name(parsed.error()).empty(), "a refusal without a name");
        return 0;
    }
    require(packet.payload.size() <= max_payload, "a payload beyond the largest MTU");
    build(packet, built);
    require(built.size() == frame_length(packet), "frame_length() differs from what build() makes");
    require(built == canonical(frame, is_infiniband, packet), "build(parse(x)) differs from x");
    require(parse(built, link, again).has_value(), "our own frame is refused");
    require(testbench::difference(packet, again).empty(), "parse(build(p)) differs from p");
    return 0;
}
