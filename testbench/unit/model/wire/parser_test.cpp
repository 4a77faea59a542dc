#include "model/wire/parser.h"

#include "model/wire/builder.h"
#include "testbench/harness/frames.h"
#include "testbench/harness/packets.h"

#include <catch2/catch_test_macros.hpp>

#include <functional>
#include <set>

using namespace abi::wire;
using namespace model::port;
using abi::View;
using model::wire::build;
using model::wire::DropReason;
using model::wire::parse;

namespace {

using Bytes = std::vector<std::byte>;
using Change = std::function<void(Bytes&)>;

constexpr std::size_t ip_at = Ethernet::size;
constexpr std::size_t bth_v4 = ip_at + Ipv4::size + Udp::size, bth_v6 = ip_at + Ipv6::size + Udp::size;
constexpr std::size_t bth_local = Lrh::size, bth_global = Lrh::size + Grh::size;

/// An RDMA WRITE Only with ten bytes of payload, thus two of padding.
Bytes write_only(Encapsulation encapsulation, bool grh = false) {
    std::mt19937_64 random(3);
    Packet packet;
    Bytes image;
    testbench::fill_packet(packet, {Service::rc, Operation::write_only}, encapsulation, grh, 0, random);
    packet.payload.extend(10);
    build(packet, image);
    return image;
}

template <class L> View<L> at(Bytes& frame, std::size_t offset) { return View<L>(std::span(frame).subspan(offset)); }

struct Refusal {
    DropReason reason;
    Encapsulation encapsulation;
    bool grh;
    bool repaired; ///< the checks are made right again after the change
    Change change;
};

constexpr auto v4 = Encapsulation::roce_v2_ipv4, v6 = Encapsulation::roce_v2_ipv6, ib = Encapsulation::infiniband;

/// One way to each refusal. The change is the only thing wrong with the frame.
const std::vector<Refusal>& refusals() {
    using enum DropReason;
    static const std::vector<Refusal> all{
        {truncated, v4, false, false, [](Bytes& f) { f.resize(ip_at + Ipv4::size - 1); }},
        {truncated, ib, true, false,
         [](Bytes& f) { // room for a BTH, not for a GRH and a BTH
             f.resize(Lrh::size + Grh::size + 8 + vcrc_bytes);
             at<Lrh>(f, 0).set<"length">(14);
             testbench::put_low_first(std::span(f).last(2), vcrc(std::span(f).first(f.size() - 2)));
         }},
        {ethertype, v4, false, true, [](Bytes& f) { at<Ethernet>(f, 0).set<"type">(0x8915); }}, // RoCE version 1
        {ip_version, v4, false, true, [](Bytes& f) { at<Ipv4>(f, ip_at).set<"version">(6); }},
        {ip_version, v6, false, true, [](Bytes& f) { at<Ipv6>(f, ip_at).set<"version">(4); }},
        {ip_options, v4, false, true, [](Bytes& f) { at<Ipv4>(f, ip_at).set<"ihl">(6); }},
        {ip_length, v4, false, true,
         [](Bytes& f) {
             f.pop_back();
             testbench::repair(f, false);
         }},
        {ip_length, v6, false, true, [](Bytes& f) { at<Ipv6>(f, ip_at).set<"payload_length">(0xffff); }},
        {ip_fragment, v4, false, true, [](Bytes& f) { at<Ipv4>(f, ip_at).set<"more_fragments">(1); }},
        {ip_fragment, v4, false, true, [](Bytes& f) { at<Ipv4>(f, ip_at).set<"fragment_offset">(1); }},
        {ip_checksum, v4, false, false, [](Bytes& f) { at<Ipv4>(f, ip_at).set<"ttl">(0); }},
        {ip_protocol, v4, false, true, [](Bytes& f) { at<Ipv4>(f, ip_at).set<"protocol">(6); }},
        {ip_protocol, v6, false, true, [](Bytes& f) { at<Ipv6>(f, ip_at).set<"next_header">(0); }},
        {udp_port, v4, false, true, [](Bytes& f) { at<Udp>(f, ip_at + Ipv4::size).set<"destination_port">(4790); }},
        {udp_length, v6, false, true, [](Bytes& f) { at<Udp>(f, ip_at + Ipv6::size).set<"length">(8); }},
        {udp_checksum, v4, false, true, [](Bytes& f) { at<Udp>(f, ip_at + Ipv4::size).set<"checksum">(1); }},
        {lrh_version, ib, false, true, [](Bytes& f) { at<Lrh>(f, 0).set<"version">(1); }},
        {lrh_length, ib, false, false,
         [](Bytes& f) {
             at<Lrh>(f, 0).set<"length">(5);
             testbench::put_low_first(std::span(f).last(2), vcrc(std::span(f).first(f.size() - 2)));
         }},
        {raw_packet, ib, false, true, [](Bytes& f) { at<Lrh>(f, 0).set<"next_header">(LinkNextHeader::ip_raw); }},
        {management_lane, ib, false, true, [](Bytes& f) { at<Lrh>(f, 0).set<"vl">(15); }},
        {DropReason::data_lane, ib, false, true, [](Bytes& f) { at<Lrh>(f, 0).set<"vl">(1); }},
        {DropReason::data_lane, ib, true, true, [](Bytes& f) { at<Lrh>(f, 0).set<"vl">(14); }},
        {vcrc_failed, ib, false, false, [](Bytes& f) { at<Lrh>(f, 0).set<"vl">(3); }},
        {grh_version, ib, true, true, [](Bytes& f) { at<Grh>(f, Lrh::size).set<"version">(4); }},
        {grh_next_header, ib, true, true, [](Bytes& f) { at<Grh>(f, Lrh::size).set<"next_header">(17); }},
        {grh_length, ib, true, true, [](Bytes& f) { at<Grh>(f, Lrh::size).set<"payload_length">(20); }},
        {icrc_failed, v6, false, false, [](Bytes& f) { f.back() ^= std::byte{0x80}; }},
        {icrc_failed, v4, false, false, [](Bytes& f) { f[bth_v4 + Bth::size] ^= std::byte{1}; }},
        {icrc_failed, ib, true, false,
         [](Bytes& f) {
             f[bth_global + Bth::size] ^= std::byte{1};
             testbench::put_low_first(std::span(f).last(2), vcrc(std::span(f).first(f.size() - 2)));
         }},
        {bth_version, v4, false, true, [](Bytes& f) { at<Bth>(f, bth_v4).set<"version">(1); }},
        {opcode_unknown, v4, false, true, [](Bytes& f) { at<Bth>(f, bth_v4).set<"opcode">(0x15); }},
        {opcode_unknown, ib, false, true, [](Bytes& f) { at<Bth>(f, bth_local).set<"opcode">(0x4a); }}, // RD
        {opcode_unknown, v6, false, true, [](Bytes& f) { at<Bth>(f, bth_v6).set<"opcode">(0xf5); }},    // no service
        {opcode_unknown, v4, false, true, [](Bytes& f) { at<Bth>(f, bth_v4).set<"opcode">(0x2c); }}, // UC has no READ
        {header_length, v4, false, true,
         [](Bytes& f) {
             f.resize(bth_v4 + Bth::size + 8 + icrc_bytes); // half a RETH
             at<Ipv4>(f, ip_at).set<"total_length">(static_cast<std::uint32_t>(f.size() - ip_at));
             at<Udp>(f, ip_at + Ipv4::size).set<"length">(static_cast<std::uint16_t>(f.size() - ip_at - Ipv4::size));
         }},
        {pad_count, v4, false, true,
         [](Bytes& f) {
             f.resize(bth_v4 + Bth::size + abi::wire::Reth::size + icrc_bytes); // no payload, two bytes of padding
             at<Ipv4>(f, ip_at).set<"total_length">(static_cast<std::uint32_t>(f.size() - ip_at));
             at<Udp>(f, ip_at + Ipv4::size).set<"length">(static_cast<std::uint16_t>(f.size() - ip_at - Ipv4::size));
         }},
        {surplus_payload, v4, false, true, [](Bytes& f) { at<Bth>(f, bth_v4).set<"opcode">(0x0c); }}, // READ Request
        {payload_length, v4, false, true,
         [](Bytes& f) { at<Bth>(f, bth_v4).set<"opcode">(0x81); }}, // no CNP is so long
        {payload_length, v4, false, true,
         [](Bytes& f) {
             f.resize(bth_v4 + Bth::size + abi::wire::Reth::size + 4100 + icrc_bytes); // beyond the largest MTU
             at<Bth>(f, bth_v4).set<"pad_count">(0);
             at<Ipv4>(f, ip_at).set<"total_length">(static_cast<std::uint32_t>(f.size() - ip_at));
             at<Udp>(f, ip_at + Ipv4::size).set<"length">(static_cast<std::uint16_t>(f.size() - ip_at - Ipv4::size));
         }},
    };
    return all;
}

} // namespace

TEST_CASE("each refusal has its own reason", "[unit][wire]") {
    Packet packet;
    for (const auto& refusal : refusals()) {
        auto frame = write_only(refusal.encapsulation, refusal.grh);
        const bool is_infiniband = refusal.encapsulation == ib;
        CAPTURE(static_cast<int>(refusal.encapsulation), name(refusal.reason));
        REQUIRE(parse(frame, refusal.encapsulation, packet));

        refusal.change(frame);
        if (refusal.repaired)
            testbench::repair(frame, is_infiniband);
        const auto result = parse(frame, refusal.encapsulation, packet);

        REQUIRE_FALSE(result);
        CHECK(name(result.error()) == name(refusal.reason));
    }
}

TEST_CASE("every reason is provoked and has a text of its own", "[unit][wire]") {
    std::set<DropReason> provoked;
    std::set<std::string_view> texts;
    for (const auto& refusal : refusals()) {
        provoked.insert(refusal.reason);
        texts.insert(name(refusal.reason));
    }

    const auto count = static_cast<std::size_t>(DropReason::payload_length) + 1;
    CHECK(provoked.size() == count);
    CHECK(texts.size() == count);
}

TEST_CASE("a right UDP checksum is accepted, over either IP", "[unit][wire]") {
    Packet packet;
    for (const auto encapsulation : {v4, v6}) {
        auto frame = write_only(encapsulation);
        const bool is_ipv6 = encapsulation == v6;
        const auto udp_at = ip_at + (is_ipv6 ? Ipv6::size : Ipv4::size);
        const auto udp = std::span<const std::byte>(frame).subspan(udp_at);
        const auto addresses = std::span<const std::byte>(frame).subspan(ip_at + (is_ipv6 ? 8 : 12), is_ipv6 ? 32 : 8);
        const auto sum = internet_sum(udp, internet_sum(addresses, ip_protocol_udp + udp.size()));

        at<Udp>(frame, udp_at).set<"checksum">(static_cast<std::uint16_t>(~internet_fold(sum)));

        CHECK(parse(frame, encapsulation, packet)); // the ICRC counts the checksum as ones: nothing to repair
    }
}

TEST_CASE("reserved bits and the fields routers own are ignored", "[unit][wire]") {
    Packet packet;
    auto frame = write_only(v4);
    at<Ipv4>(frame, ip_at).set<"identification">(0x1234).set<"dont_fragment">(0).set<"ttl">(9);
    frame[bth_v4 + 4] |= std::byte{0x3f};
    frame[bth_v4 + 8] |= std::byte{0x7f};
    testbench::repair(frame, false);

    REQUIRE(parse(frame, v4, packet));

    CHECK(packet.path.hop_limit == 9);
    CHECK(packet.payload.size() == 10);
}
