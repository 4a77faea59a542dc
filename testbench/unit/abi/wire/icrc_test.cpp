#include "abi/wire/icrc.h"

#include <catch2/catch_test_macros.hpp>

#include <vector>

using namespace abi::wire;

namespace {

std::vector<std::byte> bytes(std::initializer_list<int> values) {
    std::vector<std::byte> result;
    for (const int v : values)
        result.push_back(static_cast<std::byte>(v));
    return result;
}

// The sample packet of IBA 7.8 (tables "Local packet" and "Global packet"): an RDMA WRITE Only on VL 7. Only bytes are
// compared; its BTH is that of an early draft, with PSN and flags where we would not look for them.
const std::vector<std::byte> local_packet =
    bytes({0x70, 0x12, 0x37, 0x5c, 0x00, 0x0e, 0x17, 0xd2, 0x0a, 0x20, 0x24, 0x87, 0x00, 0x87, 0xb1, 0xb3, 0x00, 0x0d,
           0xec, 0x2a, 0x01, 0x71, 0x0a, 0x1c, 0x01, 0x5d, 0x40, 0x02, 0x38, 0xf2, 0x7a, 0x05, 0x00, 0x00, 0x00, 0x0e,
           0xbb, 0x88, 0x4d, 0x85, 0xfd, 0x5c, 0xfb, 0xa4, 0x72, 0x8b, 0xc0, 0x69, 0x0e, 0xd4, 0x00, 0x00});

/// The check, one bit at a time as the specification draws its register: independent of tables and slicing.
std::uint32_t bitwise(std::span<const std::byte> data, std::uint32_t reflected, std::uint32_t ones) {
    auto crc = ones;
    for (const auto b : data) {
        crc ^= std::to_integer<std::uint32_t>(b);
        for (int bit = 0; bit < 8; ++bit)
            crc = crc & 1 ? crc >> 1 ^ reflected : crc >> 1;
    }
    return ~crc & ones;
}

} // namespace

TEST_CASE("the ICRC of the specification's sample packet is the printed one", "[unit][icrc]") {
    // Printed as 0x9625B75A, byte 52 of the packet being 0x96.
    CHECK(icrc_infiniband(local_packet) == 0x5ab72596);
}

TEST_CASE("fields that routers and switches change do not change the ICRC", "[unit][icrc]") {
    auto changed = local_packet;
    changed[0] = std::byte{0x30};             // another virtual lane
    changed[Lrh::size + 4] = std::byte{0xc0}; // FECN and BECN
    CHECK(icrc_infiniband(changed) == 0x5ab72596);

    changed[1] ^= std::byte{0x10}; // the service level stays end to end within a subnet
    CHECK(icrc_infiniband(changed) != 0x5ab72596);
}

TEST_CASE("eight bytes of ones leave the register that RoCE implementations start from", "[unit][icrc]") {
    const std::vector<std::byte> ones(8, std::byte{0xff});

    CHECK(crc32_add(ones, ~0u) == 0xdebb20e3); // the constant in Linux' rxe driver and in PPP's FCS-32 (RFC 1662)
}

TEST_CASE("the CRC-32 of the digits is the published check value", "[unit][icrc]") {
    const auto digits = bytes({'1', '2', '3', '4', '5', '6', '7', '8', '9'});

    CHECK(~crc32_add(digits, ~0u) == 0xcbf43926);
}

TEST_CASE("the VCRC's table is the published one and its sum equals the bitwise one", "[unit][icrc]") {
    // Last row of the table that InfiniBand management software ships.
    const std::array<std::uint16_t, 8> row{0x4b07, 0x50a6, 0x7c45, 0x67e4, 0x2583, 0x3e22, 0x12c1, 0x0960};
    auto packet = local_packet;
    for (const auto b : bytes({0x96, 0x25, 0xb7, 0x5a}))
        packet.push_back(b);

    CHECK(std::equal(row.begin(), row.end(), detail::crc16_tables[0].begin() + 248));
    CHECK(vcrc(packet) == bitwise(packet, 0xd008, 0xffff));
    CHECK(vcrc(packet) == 0xfa45);
}

TEST_CASE("slicing and single bytes give the same CRC at every length and offset", "[unit][icrc]") {
    std::vector<std::byte> data;
    for (unsigned i = 0; i < 64; ++i)
        data.push_back(static_cast<std::byte>(i * 37 + 11));

    for (std::size_t from = 0; from < 8; ++from)
        for (std::size_t to = from; to <= data.size(); ++to) {
            const auto part = std::span(data).subspan(from, to - from);
            REQUIRE(~crc32_add(part, ~0u) == bitwise(part, 0xedb88320, ~0u));
            REQUIRE(vcrc(part) == bitwise(part, 0xd008, 0xffff));
        }
}

TEST_CASE("many bytes at once have the CRC that they have one bit at a time, at every length", "[unit][icrc]") {
    std::vector<std::byte> data;
    for (unsigned i = 0; i < 4 * detail::least_folded_bytes; ++i)
        data.push_back(static_cast<std::byte>(i * i * 37 + i / 3));

    for (std::size_t from = 0; from < 3; ++from)
        for (std::size_t to = from + detail::least_folded_bytes - 2; to <= data.size(); ++to) {
            const auto part = std::span(data).subspan(from, to - from);
            REQUIRE(~crc32_add(part, ~0u) == bitwise(part, 0xedb88320, ~0u));
        }
}

TEST_CASE("the ICRC of a congestion notification captured from an adapter is the one on the wire", "[unit][icrc]") {
    // Sent by a ConnectX-4 Lx; hexadecimal dump in scapy's tests of its RoCE layer. From the IP header up to the ICRC.
    const auto datagram = bytes({0x45, 0xc2, 0x00, 0x3c, 0x71, 0x8c, 0x40, 0x00, 0x40, 0x11, 0x91, 0x61, 0x0a, 0x00,
                                 0x11, 0x01, 0x0a, 0x00, 0x12, 0x01, 0x00, 0x00, 0x12, 0xb7, 0x00, 0x28, 0x00, 0x00,
                                 0x81, 0x00, 0xff, 0xff, 0x40, 0x00, 0x01, 0x18, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
                                 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00});

    CHECK(icrc_roce_v2(datagram, false) == 0x2a00fd82); // 82 fd 00 2a on the wire
}

TEST_CASE("the ICRC of a UC packet with a UDP checksum is the one on the wire", "[unit][icrc]") {
    // SEND Only from 192.168.0.7 to itself, from the same tests.
    const auto datagram =
        bytes({0x45, 0x01, 0x00, 0x40, 0x04, 0x78, 0x40, 0x00, 0x40, 0x11, 0xb4, 0xd5, 0xc0, 0xa8, 0x00,
               0x07, 0xc0, 0xa8, 0x00, 0x07, 0xc0, 0x00, 0x12, 0xb7, 0x00, 0x2c, 0xac, 0xa2, 0x24, 0x60,
               0xff, 0xff, 0x00, 0x00, 0x00, 0xd3, 0x00, 0xcf, 0x17, 0x10, 0x46, 0x30, 0x81, 0x8b, 0xe2,
               0x89, 0x35, 0xd9, 0x0e, 0x9a, 0x95, 0x50, 0x54, 0x01, 0xbe, 0x88, 0x5e, 0x50, 0x00, 0x00});

    CHECK(icrc_roce_v2(datagram, false) == 0xf353f378); // 78 f3 53 f3
}
