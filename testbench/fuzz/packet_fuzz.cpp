// Bytes from a cable: any of them may be refused, none may hurt. First byte: the link's kind, and whether to repair the
// checks (a fuzzer cannot guess a CRC, and behind it lies most of the parser). What is accepted must build the same
// bytes again, apart from those a receiver is to ignore, and those must then parse to the same packet. With bit 3 the
// bytes cross a cable as a plain frame; on the other side they are the same plain frame, or what the parser makes of
// them.
#include "model/net/link.h"
#include "model/wire/builder.h"
#include "model/wire/parser.h"
#include "testbench/fuzz/require.h"
#include "testbench/harness/frames.h"
#include "testbench/harness/packets.h"

#include <algorithm>

using namespace abi::wire;
using abi::ConstView;
using abi::View;
using model::port::Encapsulation;
using model::port::Packet;
using testbench::locate;
using testbench::repair;
using Bytes = std::span<std::byte>;

namespace {

using fuzz::require;

/// Clears what a receiver ignores and a sender makes zero or chooses, then makes the checks right again.
std::vector<std::byte> canonical(std::span<const std::byte> image, bool is_infiniband, const Packet& packet) {
    std::vector<std::byte> copy(image.begin(), image.end());
    Bytes frame(copy);
    const auto f = locate(frame, is_infiniband);
    if (is_infiniband) {
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
    if (packet.rdma().service == Service::cnp) {
        std::fill_n(frame.begin() + static_cast<std::ptrdiff_t>(f.bth + Bth::size), cnp_reserved_bytes, std::byte{});
    } else {
        if (packet.rdma().service == Service::ud)
            frame[f.bth + Bth::size + 4] = std::byte{}; // DETH reserved byte
        if (model::wire::has_xrc(packet.rdma().service, packet.traits()))
            frame[f.bth + Bth::size] = std::byte{}; // XRCETH reserved byte
        const auto pad = model::wire::pad_bytes(packet.payload.size());
        std::fill_n(frame.begin() + static_cast<std::ptrdiff_t>(f.icrc - pad), pad, std::byte{});
    }
    repair(frame, is_infiniband);
    return copy;
}

/// The far end of a cable: finds out what has come, and has the bytes of a plain frame.
struct Station final : model::port::Receiver {
    void receive(Packet& packet, model::port::Time) override {
        require(packet.is_plain_frame(), "a plain frame became something else on the cable");
        has_received = true;
        unpacked = model::wire::unpack(packet, link);
        is_plain = packet.is_plain_frame();
        if (unpacked)
            model::wire::build(packet, bytes);
    }
    void received_all(model::port::Time) override {}
    void ready(model::port::Time) override {}

    Encapsulation link{};
    std::expected<void, model::wire::DropReason> unpacked;
    bool has_received = false, is_plain = false;
    std::vector<std::byte> bytes;
};

struct NoClock final : model::port::Clock {
    model::port::Time now() const override { return {}; }
    void wake_at(model::port::Time) override {}
};

void cross(std::span<const std::byte> frame, Encapsulation encapsulation, bool exact_bytes) {
    const bool is_infiniband = encapsulation == Encapsulation::infiniband;
    NoClock clock;
    model::net::Link cable({.timed = false, .encapsulation = encapsulation, .exact_bytes = exact_bytes}, clock, {});
    Station station, sender;
    station.link = encapsulation;
    cable.attach(0, sender);
    cable.attach(1, station);
    auto& packet = cable.end(0).next();
    packet.become_plain_frame();
    packet.payload.append_copy(frame);
    cable.end(0).send({});
    cable.pump({});

    require(station.has_received == !is_infiniband, "plain frames cross Ethernet links, and no others");
    if (is_infiniband)
        return;
    static Packet parsed;
    const auto read = model::wire::parse(frame, encapsulation, parsed);
    if (station.is_plain) {
        require(station.unpacked.has_value() && std::ranges::equal(station.bytes, frame), "a plain frame has changed");
        require(!read, "an RDMA packet passes for a plain frame");
    } else {
        require(station.unpacked.has_value() == read.has_value(), "an RDMA packet is what the parser says");
        if (read)
            require(station.bytes == canonical(frame, false, parsed), "an RDMA packet has changed");
        else
            require(station.unpacked.error() == read.error(), "a broken packet is dropped for another reason");
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
    if (data[0] & 8)
        cross(frame, link, (data[0] & 16) != 0);

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
