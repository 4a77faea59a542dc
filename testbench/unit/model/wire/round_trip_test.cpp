#include "model/wire/builder.h"
#include "model/wire/parser.h"
#include "testbench/harness/packets.h"
#include "testbench/harness/seed.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <cstdlib>

using namespace model;
using namespace model::port;
using model::wire::build;
using model::wire::frame_length;
using model::wire::parse;
using testbench::difference;

namespace {

struct Carrier {
    Encapsulation encapsulation;
    bool grh;
};
constexpr std::array carriers{Carrier{Encapsulation::roce_v2_ipv4, false}, Carrier{Encapsulation::roce_v2_ipv6, false},
                              Carrier{Encapsulation::infiniband, false}, Carrier{Encapsulation::infiniband, true}};

} // namespace

TEST_CASE("a packet of any operation in any encapsulation survives its frame", "[unit][wire][property]") {
    const auto start = testbench::random_seed();
    INFO("HCA_SEED=" << start);
    std::mt19937_64 random(start);
    Packet sent, received; // used again and again: old content must not shine through
    std::vector<std::byte> again;

    for (int round = 0; round < 20; ++round)
        for (const auto& carrier : carriers)
            for (const auto what : testbench::all_operations()) {
                testbench::fill_packet(sent, what, carrier.encapsulation, carrier.grh, round % 2 ? 4096 : 9, random);
                CAPTURE(static_cast<int>(carrier.encapsulation), carrier.grh, code(what.service, what.operation));
                build(sent, sent.image);

                const auto result = parse(sent.image, carrier.encapsulation, received);

                REQUIRE(sent.image.size() == frame_length(sent));
                REQUIRE((result ? "" : name(result.error())) == "");
                REQUIRE(difference(sent, received) == "");
                build(received, again);
                REQUIRE(again == sent.image);
            }
}

TEST_CASE("a packet can be parsed from its own image", "[unit][wire]") {
    std::mt19937_64 random(7);
    Packet packet, original;
    testbench::fill_packet(original, {abi::wire::Service::rc, abi::wire::Operation::write_only},
                           Encapsulation::roce_v2_ipv4, false, 100, random);
    build(original, packet.image);
    const auto frame = packet.image;

    REQUIRE(parse(packet.image, Encapsulation::roce_v2_ipv4, packet));

    CHECK(difference(original, packet) == "");
    CHECK(packet.image == frame);
}

TEST_CASE("any flipped bit that an ICRC or VCRC protects is noticed", "[unit][wire]") {
    std::mt19937_64 random(11);
    Packet sent, received;
    for (const auto& carrier : carriers) {
        testbench::fill_packet(sent, {abi::wire::Service::rc, abi::wire::Operation::write_only_with_immediate},
                               carrier.encapsulation, carrier.grh, 40, random);
        build(sent, sent.image);
        CAPTURE(static_cast<int>(carrier.encapsulation), carrier.grh);
        std::size_t unnoticed = 0;

        for (std::size_t bit = 0; bit < sent.image.size() * 8; ++bit) {
            auto damaged = sent.image;
            damaged[bit / 8] ^= std::byte{1} << bit % 8;
            unnoticed += parse(damaged, carrier.encapsulation, received).has_value();
        }

        // Ethernet's FCS is not modelled: what no other sum covers are the addresses of the Ethernet header, and BTH
        // Resv8a; over IPv6 also traffic class, flow label and hop limit. UDP's "no checksum" with one bit set is a
        // wrong checksum.
        const std::size_t ethernet = 12 * 8 + 8;
        const std::array expected{ethernet, ethernet + 8 + 20 + 8, std::size_t{0}, std::size_t{0}};
        CHECK(unnoticed == expected[static_cast<std::size_t>(&carrier - carriers.data())]);
    }
}

TEST_CASE("a frame cut anywhere is refused", "[unit][wire]") {
    std::mt19937_64 random(13);
    Packet sent, received;
    for (const auto& carrier : carriers) {
        testbench::fill_packet(sent, {abi::wire::Service::rc, abi::wire::Operation::compare_swap},
                               carrier.encapsulation, carrier.grh, 0, random);
        build(sent, sent.image);
        for (std::size_t length = 0; length < sent.image.size(); ++length)
            REQUIRE_FALSE(parse(std::span(sent.image).first(length), carrier.encapsulation, received));
    }
}

TEST_CASE("a congestion notification captured from an adapter is understood", "[unit][wire]") {
    // ConnectX-4 Lx; hexadecimal dump in scapy's tests of its RoCE layer.
    constexpr std::array<unsigned, 74> dump{
        0xe4, 0x1d, 0x2d, 0xab, 0x2b, 0xc2, 0x7c, 0xfe, 0x90, 0x64, 0x3b, 0x32, 0x08, 0x00, 0x45,
        0xc2, 0x00, 0x3c, 0x71, 0x8c, 0x40, 0x00, 0x40, 0x11, 0x91, 0x61, 0x0a, 0x00, 0x11, 0x01,
        0x0a, 0x00, 0x12, 0x01, 0x00, 0x00, 0x12, 0xb7, 0x00, 0x28, 0x00, 0x00, 0x81, 0x00, 0xff,
        0xff, 0x40, 0x00, 0x01, 0x18, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x82, 0xfd, 0x00, 0x2a};
    std::vector<std::byte> frame;
    for (const auto v : dump)
        frame.push_back(static_cast<std::byte>(v));
    Packet packet;

    REQUIRE(parse(frame, Encapsulation::roce_v2_ipv4, packet));

    CHECK(packet.rdma().service == abi::wire::Service::cnp);
    CHECK(packet.rdma().destination == abi::Qpn{0x118});
    CHECK(packet.rdma().becn);
    CHECK(packet.path.traffic_class == 0xc2);
    CHECK(packet.path.source_gid[15] == std::byte{0x01});
    CHECK(packet.path.source_gid[11] == std::byte{0xff});
}

TEST_CASE("frames shorter than Ethernet allows are padded, and the padding is not payload", "[unit][wire]") {
    std::mt19937_64 random(17);
    Packet sent, received;
    testbench::fill_packet(sent, {abi::wire::Service::rc, abi::wire::Operation::send_only}, Encapsulation::roce_v2_ipv4,
                           false, 0, random);

    build(sent, sent.image);

    REQUIRE(sent.image.size() == 60);
    REQUIRE(parse(sent.image, Encapsulation::roce_v2_ipv4, received));
    CHECK(received.payload.is_empty());
    CHECK(parse(std::span(sent.image).first(58), Encapsulation::roce_v2_ipv4, received)); // some ports leave it out
}
