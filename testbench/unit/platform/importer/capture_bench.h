// Captures in memory, as others write them, and requests to fill them with.
#pragma once

#include "abi/wire/ethernet.h"
#include "model/wire/builder.h"
#include "platform/importer/requests.h"
#include "testbench/unit/traces/codec/trace_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <vector>

namespace capture_bench {

using namespace platform::importer;
using abi::wire::Operation;
using model::port::Encapsulation;
using model::port::Packet;
using trace_bench::Bytes;

inline constexpr std::uint32_t qpn = 0x1234, first_psn = 0xfffffe, rkey = 0xabcd; // PSNs wrap soon
/// Five more is where an atomic may be.
inline constexpr std::uint64_t address = 0x7f00'0000'0123;

struct Written {
    Bytes frame;
    std::size_t original = 0; ///< 0: as long as it is
    std::uint64_t time_ns = 0;
};

inline void put32(Bytes& bytes, std::uint32_t value) {
    bytes.resize(bytes.size() + 4);
    abi::store<std::uint32_t, abi::Endian::little>(bytes.data() + bytes.size() - 4, value);
}
/// A pcap file with nanoseconds (draft-ietf-opsawg-pcap).
inline Bytes pcap_of(const std::vector<Written>& frames, std::uint32_t link_type = 1) {
    constexpr std::uint32_t magic = 0xa1b23c4d, version = 0x00040002, snap_length = 262144;
    constexpr std::uint64_t second = 1'000'000'000;
    Bytes file;
    for (const auto word : {magic, version, 0u, 0u, snap_length, link_type})
        put32(file, word);
    for (const auto& [frame, original, time_ns] : frames) {
        put32(file, static_cast<std::uint32_t>(time_ns / second));
        put32(file, static_cast<std::uint32_t>(time_ns % second));
        put32(file, static_cast<std::uint32_t>(frame.size()));
        put32(file, static_cast<std::uint32_t>(original == 0 ? frame.size() : original));
        file.insert(file.end(), frame.begin(), frame.end());
    }
    return file;
}
/// The same as pcapng: one interface, one section.
inline Bytes pcapng_of(const std::vector<Written>& frames) {
    Bytes file;
    for (const auto word : {0x0a0d0d0au, 28u, 0x1a2b3c4du, 1u, ~0u, ~0u, 28u, 1u, 20u, 1u, 0u, 20u})
        put32(file, word);
    for (const auto& [frame, original, time_ns] : frames) {
        const auto padded = static_cast<std::uint32_t>((frame.size() + 3) / 4 * 4);
        const auto size = static_cast<std::uint32_t>(frame.size());
        for (const auto word : {6u, padded + 32, 0u, 0u, static_cast<std::uint32_t>(time_ns / 1000), size,
                                original == 0 ? size : static_cast<std::uint32_t>(original)})
            put32(file, word);
        file.insert(file.end(), frame.begin(), frame.end());
        file.resize(file.size() + padded - frame.size());
        put32(file, padded + 32);
    }
    return file;
}
/// `file` outlives what is opened.
inline OpenCapture opened(const Bytes& file) {
    return [&file]() -> traces::codec::Read<CaptureFile> {
        auto* stream = fmemopen(const_cast<std::byte*>(file.data()), file.size(), "rb");
        REQUIRE(stream != nullptr);
        return CaptureFile::open(stream);
    };
}

/// One requester, packet by packet.
class Requester {
public:
    explicit Requester(Encapsulation encapsulation = Encapsulation::roce_v2_ipv4, std::uint32_t to = qpn) {
        packet_.path.encapsulation = encapsulation;
        packet_.path.source_mac.fill(std::byte{2});
        packet_.path.destination_mac.fill(std::byte{4});
        if (encapsulation == Encapsulation::roce_v2_ipv4) {
            packet_.path.source_gid[10] = packet_.path.source_gid[11] = std::byte{0xff};
            packet_.path.destination_gid = packet_.path.source_gid;
        } else {
            packet_.path.source_gid[0] = packet_.path.destination_gid[0] = std::byte{0xfd};
        }
        packet_.path.source_gid[15] = std::byte{1};
        packet_.path.destination_gid[15] = std::byte{2};
        to_ = to;
    }
    /// The next packet; `psns`: that it takes.
    Bytes next(Operation operation, std::size_t payload, std::uint32_t length = 0, std::uint32_t psns = 1) {
        const auto psn = psn_;
        psn_ = psn_ + psns;
        return at(psn, operation, payload, length);
    }
    Bytes at(abi::Psn psn, Operation operation, std::size_t payload, std::uint32_t length = 0) {
        auto packet = packet_;
        packet.clear();
        auto& headers = packet.rdma();
        headers.operation = operation;
        headers.destination = abi::Qpn{to_};
        headers.psn = psn;
        headers.pkey = 0x7fff;
        headers.ack_request = packet.traits().is_last;
        headers.reth = {address, abi::Key{rkey}, length};
        headers.atomic = {address + 5, abi::Key{rkey}, 5, 7};
        std::ranges::generate(packet.payload.extend(payload), [&] { return static_cast<std::byte>(++fill_); });
        std::vector<std::byte> image;
        model::wire::build(packet, image);
        return image;
    }
    /// A WRITE of so many packets of 1024 bytes.
    std::vector<Written> write(std::uint32_t packets) {
        std::vector<Written> frames;
        for (std::uint32_t i = 0; i < packets; ++i) {
            const auto operation = packets == 1       ? Operation::write_only
                                   : i == 0           ? Operation::write_first
                                   : i == packets - 1 ? Operation::write_last
                                                      : Operation::write_middle;
            frames.push_back({.frame = next(operation, 1024, packets * 1024)});
        }
        return frames;
    }
    abi::Psn psn() const { return psn_; }

private:
    Packet packet_;
    std::uint32_t to_;
    abi::Psn psn_{first_psn};
    unsigned fill_ = 0;
};

inline void append(std::vector<Written>& frames, std::vector<Written> more) {
    frames.insert(frames.end(), more.begin(), more.end());
}
/// The frame with VLAN tags, the outer one a service tag.
inline Bytes tagged(const Bytes& frame, unsigned tags) {
    constexpr std::array outer{std::byte{0x88}, std::byte{0xa8}, std::byte{0x20}, std::byte{5}},
        inner{std::byte{0x81}, std::byte{0}, std::byte{0}, std::byte{7}};
    Bytes out(frame.begin(), frame.begin() + 12);
    if (tags == 2)
        out.insert(out.end(), outer.begin(), outer.end());
    if (tags != 0)
        out.insert(out.end(), inner.begin(), inner.end());
    out.insert(out.end(), frame.begin() + 12, frame.end());
    return out;
}

/// What a responder gets of a capture.
struct Given {
    Demand demand;
    Losses losses;
    std::vector<std::uint32_t> psns;
    std::vector<Operation> operations;
    std::vector<Packet> packets;
};
inline Given given(const Bytes& file, Rewriting rewriting = {.destination = abi::Qpn{0x40}, .first_psn = abi::Psn{10}},
                   std::optional<std::uint32_t> number = {}) {
    const auto open = opened(file);
    const auto demand = read_demand(open, number);
    if (!demand)
        FAIL(demand.error());
    Given given{.demand = *demand, .losses = {}, .psns = {}, .operations = {}, .packets = {}};
    const auto losses = each_request(open, *demand, rewriting, [&](CapturedRequest request) {
        given.psns.push_back(request.packet.rdma().psn.value);
        given.operations.push_back(request.packet.rdma().operation);
        given.packets.push_back(request.packet);
    });
    if (!losses)
        FAIL(losses.error());
    given.losses = *losses;
    return given;
}

} // namespace capture_bench
