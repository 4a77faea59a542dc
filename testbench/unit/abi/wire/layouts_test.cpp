#include "abi/wire/ethernet.h"
#include "abi/wire/infiniband.h"
#include "abi/wire/ip.h"
#include "abi/wire/udp.h"

#include <catch2/catch_test_macros.hpp>

using namespace abi;
using namespace abi::wire;

TEST_CASE("wire headers have the sizes of their specifications", "[unit][wire]") {
    STATIC_CHECK(Ethernet::size == 14);
    STATIC_CHECK(Ipv4::size == 20);
    STATIC_CHECK(Ipv6::size == 40);
    STATIC_CHECK(Udp::size == 8);
    STATIC_CHECK(Lrh::size == 8);
    STATIC_CHECK(Grh::size == 40);
    STATIC_CHECK(Bth::size == 12);
    STATIC_CHECK(Deth::size == 8);
    STATIC_CHECK(Reth::size == 16);
    STATIC_CHECK(AtomicEth::size == 28);
    STATIC_CHECK(Aeth::size == 4);
    STATIC_CHECK(AtomicAckEth::size == 8);
    STATIC_CHECK(ImmDt::size == 4);
    STATIC_CHECK(Ieth::size == 4);
}

TEST_CASE("the specification's sample LRH reads as it says", "[unit][wire]") {
    const std::array bytes{std::byte{0x70}, std::byte{0x12}, std::byte{0x37}, std::byte{0x5c},
                           std::byte{0x00}, std::byte{0x0e}, std::byte{0x17}, std::byte{0xd2}};
    const ConstView<Lrh> lrh(bytes);

    CHECK(lrh.get<"vl">() == 7);
    CHECK(lrh.get<"version">() == 0);
    CHECK(lrh.get<"service_level">() == 1);
    CHECK(lrh.get<"next_header">() == LinkNextHeader::local);
    CHECK(lrh.get<"dlid">() == 0x375c);
    CHECK(lrh.get<"length">() == 14); // 56 bytes with the ICRC
    CHECK(lrh.get<"slid">() == 0x17d2);
}

TEST_CASE("BTH rows are where a packet analyser finds them", "[unit][wire]") {
    Block<Bth> block;
    block.view()
        .set<"opcode">(0x0a)
        .set<"solicited">(1)
        .set<"pad_count">(3)
        .set<"pkey">(0x8001)
        .set<"becn">(1)
        .set<"destination_qp">(0x123456)
        .set<"ack_request">(1)
        .set<"psn">(0xabcdef);

    const std::array<unsigned, 12> expected{0x0a, 0xb0, 0x80, 0x01, 0x40, 0x12, 0x34, 0x56, 0x80, 0xab, 0xcd, 0xef};
    for (std::size_t i = 0; i < expected.size(); ++i)
        CHECK(std::to_integer<unsigned>(block.bytes[i]) == expected[i]);
}

TEST_CASE("an IPv4 header with its checksum sums to all ones", "[unit][wire]") {
    // RFC 1071 has the arithmetic; the header is that of a captured RoCEv2 packet.
    const std::array<unsigned, 20> captured{0x45, 0xc2, 0x00, 0x3c, 0x71, 0x8c, 0x40, 0x00, 0x40, 0x11,
                                            0x91, 0x61, 0x0a, 0x00, 0x11, 0x01, 0x0a, 0x00, 0x12, 0x01};
    Block<Ipv4> block;
    std::transform(captured.begin(), captured.end(), block.bytes.begin(),
                   [](unsigned v) { return static_cast<std::byte>(v); });

    CHECK(internet_fold(internet_sum(block.bytes)) == 0xffff);
    block.view().set<"checksum">(0);
    CHECK(internet_checksum(block.bytes) == 0x9161);
}

TEST_CASE("an odd last byte counts as the high half of a word", "[unit][wire]") {
    const std::array bytes{std::byte{0x12}, std::byte{0x34}, std::byte{0x56}};

    CHECK(internet_sum(bytes) == 0x1234 + 0x5600);
}

TEST_CASE("AETH syndromes say what they were made from", "[unit][wire]") {
    CHECK(ack_syndrome() == 0x1f);
    CHECK(rnr_syndrome(12) == 0x2c);
    CHECK(nak_syndrome(NakCode::psn_sequence_error) == 0x60);
    CHECK(nak_syndrome(NakCode::remote_operational_error) == 0x63);
    CHECK(kind_of(ack_syndrome()) == SyndromeKind::acknowledge);
    CHECK(kind_of(rnr_syndrome(31)) == SyndromeKind::rnr_nak);
    CHECK(kind_of(nak_syndrome(NakCode::invalid_request)) == SyndromeKind::nak);
    CHECK(value_of(nak_syndrome(NakCode::remote_access_error)) == 2);
}

TEST_CASE("RNR timers double every second code, and code 0 is the longest", "[unit][wire]") {
    CHECK(rnr_timer_us[1] == 10);
    CHECK(rnr_timer_us[12] == 640);
    CHECK(rnr_timer_us[31] == 491'520);
    CHECK(rnr_timer_us[0] == 655'360);
    for (std::size_t code = 4; code < 32; ++code)
        CHECK(rnr_timer_us[code] == 2 * rnr_timer_us[code - 2]);
}

TEST_CASE("MTU codes are powers of two from 256", "[unit][wire]") {
    CHECK(mtu_bytes(1) == 256);
    CHECK(mtu_bytes(5) == 4096);
    CHECK(mtu_bytes(0) == 0);
    CHECK(mtu_bytes(6) == 0);
    CHECK(mtu_code(1024) == 3);
    CHECK(mtu_code(1500) == 0);
}
