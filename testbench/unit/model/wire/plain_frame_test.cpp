// Which Ethernet frames are RoCEv2's and which are plain, and what becomes of either's bytes.
#include "model/wire/builder.h"
#include "model/wire/parser.h"

#include "testbench/harness/frames.h"
#include "testbench/harness/packets.h"
#include "testbench/harness/plain_frames.h"

#include <catch2/catch_test_macros.hpp>

using namespace abi::wire;
using namespace model::port;
using model::wire::DropReason;
using testbench::Bytes;

namespace {

constexpr auto ethernet = Encapsulation::roce_v2_ipv4, infiniband = Encapsulation::infiniband;

/// As it comes off a cable where nobody has looked at it; `image`: where somebody has.
void put(Packet& packet, const Bytes& frame, bool image = false) {
    packet.clear();
    packet.become_plain_frame();
    packet.payload.append_copy(frame);
    if (image)
        packet.image = frame;
}

Bytes bytes_of(const Packet& packet) {
    Bytes bytes;
    model::wire::build(packet, bytes);
    return bytes;
}

} // namespace

TEST_CASE("an Ethernet frame that is no RoCEv2 stays the bytes it is, whoever has looked at it",
          "[unit][wire][plain frame]") {
    Packet packet;
    for (const auto& [name, frame] : testbench::plain_frames())
        for (const bool image : {false, true}) {
            INFO(name << (image ? ", with image" : ""));
            put(packet, frame, image);

            REQUIRE(model::wire::unpack(packet, ethernet));

            CHECK(packet.is_plain_frame());
            CHECK(bytes_of(packet) == frame);
            CHECK(model::wire::frame_length(packet) == frame.size());
            CHECK_FALSE(model::wire::is_roce(frame));
        }
}

TEST_CASE("a plain frame is what has arrived, whatever its sender gave", "[unit][wire][plain frame]") {
    auto frame = testbench::plain_frames().front().bytes;
    Packet packet;
    put(packet, frame);
    frame.back() ^= std::byte{1};
    packet.image = frame;

    REQUIRE(model::wire::unpack(packet, ethernet));

    CHECK(bytes_of(packet) == frame);
}

TEST_CASE("the EtherType of a frame that ends before it is 0", "[unit][wire][plain frame]") {
    Packet packet;
    put(packet, Bytes(60, std::byte{0x81}));
    CHECK(model::wire::ethertype(packet) == 0x8181);
    put(packet, Bytes(14, std::byte{0x81}));
    CHECK(model::wire::ethertype(packet) == 0x8181);
    put(packet, Bytes(13, std::byte{0x81}));
    CHECK(model::wire::ethertype(packet) == 0);
    put(packet, {});
    CHECK(model::wire::ethertype(packet) == 0);
}

TEST_CASE("a RoCEv2 packet that was sent as a plain frame arrives as the packet it is", "[unit][wire][plain frame]") {
    std::mt19937_64 random(11);
    Packet sent, packet;
    for (const auto encapsulation : {Encapsulation::roce_v2_ipv4, Encapsulation::roce_v2_ipv6})
        for (const auto what : testbench::all_operations()) {
            testbench::fill_packet(sent, what, encapsulation, false, 256, random);
            const auto frame = bytes_of(sent);
            put(packet, frame);

            REQUIRE(model::wire::unpack(packet, ethernet));

            REQUIRE_FALSE(packet.is_plain_frame());
            CHECK(testbench::difference(sent, packet).empty());
            CHECK(bytes_of(packet) == frame);
        }
}

TEST_CASE("a plain frame that is RoCEv2 and broken is dropped for the reason it always was, and names no queue pair",
          "[unit][wire][plain frame]") {
    std::mt19937_64 random(12);
    Packet packet;
    testbench::fill_packet(packet, {Service::rc, Operation::write_only}, ethernet, false, 64, random);
    auto frame = bytes_of(packet);
    frame.back() ^= std::byte{1};
    put(packet, frame);

    const auto unpacked = model::wire::unpack(packet, ethernet);

    REQUIRE_FALSE(unpacked);
    CHECK(unpacked.error() == DropReason::icrc_failed);
    CHECK(packet.rdma().destination == abi::Qpn{0});
    CHECK(packet.rdma().psn == abi::Psn{0});
}

TEST_CASE("an RDMA packet that was damaged under way is none of the plain frames", "[unit][wire][plain frame]") {
    std::mt19937_64 random(13);
    Packet packet;
    testbench::fill_packet(packet, {Service::rc, Operation::write_only}, ethernet, false, 64, random);
    packet.image = bytes_of(packet);
    packet.image[12] ^= std::byte{0x40}; // the EtherType

    const auto unpacked = model::wire::unpack(packet, ethernet);

    REQUIRE_FALSE(unpacked);
    CHECK(unpacked.error() == DropReason::ethertype);
}

TEST_CASE("InfiniBand has no plain frames: bytes are a packet of its own or broken", "[unit][wire][plain frame]") {
    Packet packet;
    for (const auto& [name, frame] : testbench::plain_frames()) {
        INFO(name);
        put(packet, frame);
        CHECK_FALSE(model::wire::unpack(packet, infiniband));
        CHECK_FALSE(packet.is_plain_frame());
    }
    std::mt19937_64 random(14);
    Packet sent;
    testbench::fill_packet(sent, {Service::rc, Operation::write_only}, infiniband, true, 64, random);
    put(packet, bytes_of(sent));
    REQUIRE(model::wire::unpack(packet, infiniband));
    CHECK(testbench::difference(sent, packet).empty());
}

TEST_CASE("any piece of a RoCEv2 packet, and any byte of it changed, is a packet, a plain frame or broken",
          "[unit][wire][plain frame]") {
    std::mt19937_64 random(15);
    Packet packet;
    std::array<unsigned, 3> seen{};
    const auto look = [&](const Bytes& frame) {
        put(packet, frame);
        const auto unpacked = model::wire::unpack(packet, ethernet);
        ++seen[!unpacked ? 0 : packet.is_plain_frame() ? 1 : 2];
        if (!unpacked)
            CHECK_FALSE(name(unpacked.error()).empty());
        else if (packet.is_plain_frame())
            CHECK(bytes_of(packet) == frame);
    };
    for (const auto encapsulation : {Encapsulation::roce_v2_ipv4, Encapsulation::roce_v2_ipv6}) {
        testbench::fill_packet(packet, {Service::rc, Operation::write_only}, encapsulation, false, 64, random);
        const auto whole = bytes_of(packet);
        for (std::size_t length = 0; length <= whole.size(); ++length)
            look(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)));
        for (std::size_t at = 0; at < whole.size(); ++at) {
            auto changed = whole;
            changed[at] ^= static_cast<std::byte>(1 + random() % 255);
            look(changed);
        }
    }

    CHECK(seen[0] > 50);
    CHECK(seen[1] > 50);
    CHECK(seen[2] > 10);
}
