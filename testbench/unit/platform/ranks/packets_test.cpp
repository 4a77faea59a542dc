#include "platform/ranks/packets.h"

#include "testbench/harness/seed.h"

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <cstddef>
#include <random>
#include <span>

using namespace model::port;
using platform::ranks::Bytes;
using platform::ranks::get_packet;
using platform::ranks::put_packet;
using platform::ranks::Reader;
using platform::ranks::Writer;

namespace {

Bytes bytes_of(const Packet& packet) {
    Bytes bytes;
    Writer writer(bytes);
    put_packet(writer, packet);
    return bytes;
}

Packet filled() {
    Packet packet;
    packet.path = {.encapsulation = Encapsulation::infiniband,
                   .has_grh = true,
                   .service_level = 3,
                   .traffic_class = 4,
                   .hop_limit = 5,
                   .source_lid = 6,
                   .destination_lid = 7,
                   .udp_source_port = 8,
                   .flow_label = 9};
    packet.path.source_gid[3] = std::byte{10};
    packet.path.destination_mac[5] = std::byte{11};
    auto& rdma = packet.rdma();
    rdma.service = abi::wire::Service::xrc;
    rdma.operation = abi::wire::Operation::compare_swap;
    rdma.solicited = rdma.ack_request = rdma.becn = true;
    rdma.migrated = false;
    rdma.pkey = 0x8001;
    rdma.destination = abi::Qpn{0x123456};
    rdma.psn = abi::Psn{0xfffffe};
    rdma.immediate = 12;
    rdma.reth = {.address = 13, .rkey = abi::Key{14}, .length = 15};
    rdma.aeth = {.syndrome = 16, .msn = 17};
    rdma.atomic = {.address = 18, .rkey = abi::Key{19}, .swap_or_add = 20, .compare = 21};
    rdma.atomic_original = 22;
    rdma.invalidate = abi::Key{23};
    rdma.deth = {.qkey = 24, .source_qpn = abi::Qpn{25}};
    rdma.xrc_srq = 26;
    return packet;
}

} // namespace

TEST_CASE("a packet is the same on the other side", "[unit][ranks]") {
    std::array<std::byte, 64> memory{};
    for (std::size_t i = 0; i < memory.size(); ++i)
        memory[i] = static_cast<std::byte>(i);
    Loans loans;
    auto packet = filled();
    packet.payload.lend(std::span(memory).first(10), loans);
    packet.payload.lend(std::span(memory).subspan(20, 30), loans);
    packet.image = {std::byte{1}, std::byte{2}};

    const auto bytes = bytes_of(packet);
    Packet other;
    Reader reader(bytes);
    REQUIRE(get_packet(reader, other));

    CHECK(reader.is_complete());
    CHECK(bytes_of(other) == bytes); // every member that is sent has arrived
    CHECK(other.rdma().deth.source_qpn == abi::Qpn{25});
    CHECK(other.path.destination_mac == packet.path.destination_mac);
    CHECK(other.image == packet.image);
    REQUIRE(other.payload.pieces().size() == 2); // the receiver writes each by itself
    CHECK(other.payload.pieces()[1].size() == 30);
    CHECK(other.payload.pieces()[1][0] == std::byte{20});
    CHECK(!other.payload.is_lent());
}

TEST_CASE("a plain frame is the same on the other side", "[unit][ranks]") {
    Packet frame;
    frame.become_plain_frame();
    frame.payload.extend(60);

    const auto bytes = bytes_of(frame);
    Packet other;
    Reader reader(bytes);
    REQUIRE(get_packet(reader, other));

    CHECK(other.is_plain_frame());
    CHECK(other.payload.size() == 60);
}

TEST_CASE("pieces stay as they are when a payload is copied or no longer lent", "[unit][ranks]") {
    std::array<std::byte, 64> memory{};
    Loans loans;
    Payload payload;
    payload.lend(std::span(memory).first(10), loans);
    payload.lend(std::span(memory).subspan(20, 30), loans);

    loans.drain();
    const Payload copy(payload);

    for (const auto* one : {static_cast<const Payload*>(&payload), &copy}) {
        REQUIRE(one->pieces().size() == 2);
        CHECK(one->pieces()[0].size() == 10);
        CHECK(one->pieces()[1].data() == one->pieces()[0].data() + 10);
    }
}

TEST_CASE("what is cut off, or spoiled, is no packet or another one, and never more than is there",
          "[unit][ranks][hostile]") {
    auto packet = filled();
    packet.payload.extend(100);
    const auto bytes = bytes_of(packet);
    for (std::size_t length = 0; length < bytes.size(); ++length) {
        Reader reader{std::span(bytes).first(length)};
        Packet other;
        CHECK(!get_packet(reader, other));
    }
    auto many = bytes; // behind the count: one size, 100 bytes, and no image
    many[bytes.size() - 4 - 100 - 4 - 1] = std::byte{Payload::max_pieces + 1};
    Reader of_many(many);
    Packet with_many;
    CHECK(!get_packet(of_many, with_many));
    const auto seed = testbench::random_seed();
    INFO("seed " << seed);
    std::mt19937 random(seed);
    for (int i = 0; i < 20'000; ++i) {
        auto spoiled = bytes;
        for (int k = 0; k < 3; ++k)
            spoiled[random() % spoiled.size()] = static_cast<std::byte>(random());
        Reader reader(spoiled);
        Packet other;
        if (!get_packet(reader, other) || other.is_plain_frame())
            continue;
        CHECK(other.path.encapsulation <= Encapsulation::infiniband);
        CHECK(static_cast<unsigned>(other.rdma().operation) < abi::wire::operations.size());
        CHECK(other.payload.pieces().size() <= Payload::max_pieces);
    }
}
