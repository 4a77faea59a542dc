// Captures of RoCEv2 give the requests of one queue pair, rewritten for another responder.
#include "testbench/unit/platform/importer/capture_bench.h"

#include "model/wire/parser.h"

#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace capture_bench;
using Catch::Matchers::ContainsSubstring;
using Psns = std::vector<std::uint32_t>;

namespace {

std::string why(const Bytes& file, std::optional<std::uint32_t> number = {}) {
    const auto demand = read_demand(opened(file), number);
    return demand ? std::string("no complaint") : demand.error();
}

} // namespace

TEST_CASE("requests come with the numbers and keys of another responder, in a good frame", "[unit][importer]") {
    const auto encapsulation = GENERATE(Encapsulation::roce_v2_ipv4, Encapsulation::roce_v2_ipv6);
    const auto tags = GENERATE(0u, 1u, 2u);
    const bool is_pcapng = GENERATE(false, true);
    Requester requester(encapsulation);
    auto frames = requester.write(3);
    frames.push_back({.frame = requester.next(Operation::fetch_add, 0)});
    for (auto& frame : frames)
        frame.frame = tagged(frame.frame, tags);

    const auto result =
        given(is_pcapng ? pcapng_of(frames) : pcap_of(frames), {.destination = abi::Qpn{0x40},
                                                                .first_psn = abi::Psn{10},
                                                                .keys = {{rkey, {abi::Key{0x999}, 0x1000 - address}}},
                                                                .destination_mac = {std::byte{0xaa}}});

    CHECK(result.psns == Psns{10, 11, 12, 13});
    CHECK(result.demand.mtu == 1024);
    CHECK(result.demand.encapsulation == encapsulation);
    CHECK(result.demand.bad_icrc == 0);
    CHECK(result.packets[0].rdma().reth.address == 0x1000u);
    CHECK(result.packets[0].rdma().reth.rkey == abi::Key{0x999});
    CHECK(result.packets[0].rdma().reth.length == 3072u);
    CHECK(result.packets[3].rdma().atomic.address == 0x1005u);
    for (const auto& packet : result.packets) {
        CHECK(packet.rdma().destination == abi::Qpn{0x40});
        CHECK(packet.rdma().pkey == 0xffff);
        std::vector<std::byte> image;
        model::wire::build(packet, image);
        Packet read;
        CHECK(model::wire::parse(image, encapsulation, read));
        CHECK(read.path.destination_mac[0] == std::byte{0xaa});
    }
}

TEST_CASE("what a responder must have is known from the capture", "[unit][importer]") {
    Requester requester;
    auto frames = requester.write(2);
    frames.push_back({.frame = requester.next(Operation::send_first, 1024)});
    frames.push_back({.frame = requester.next(Operation::send_last, 76)});
    frames.push_back({.frame = requester.next(Operation::send_only, 9)});
    frames.push_back({.frame = requester.next(Operation::write_only_with_immediate, 4, 4)});
    frames.push_back({.frame = requester.next(Operation::compare_swap, 0)});

    const auto demand = given(pcap_of(frames)).demand;

    REQUIRE(demand.keys.size() == 1);
    CHECK(demand.keys.at(rkey).begin == address);
    CHECK(demand.keys.at(rkey).bytes() == 2048u);
    CHECK(demand.receives == 3);
    CHECK(demand.most_receive_bytes == 1100);
    CHECK(demand.first_psn == abi::Psn{first_psn});
    CHECK(demand.packets == 7);
}

TEST_CASE("a message with a packet that nobody captured is left out, and the PSNs close up", "[unit][importer]") {
    Requester requester;
    auto frames = requester.write(2); // 10, 11
    auto broken = requester.write(4); // its second packet is missing
    broken.erase(broken.begin() + 1);
    append(frames, broken);
    append(frames, requester.write(1)); // 12
    append(frames, requester.write(3)); // missing as a whole
    frames.resize(frames.size() - 3);
    append(frames, requester.write(2)); // 13, 14

    const auto result = given(pcap_of(frames));

    CHECK(result.psns == Psns{10, 11, 12, 13, 14});
    CHECK(result.losses.gaps == 2);
    CHECK(result.losses.missing == 4);
    CHECK(result.losses.messages == 1);
    CHECK(result.losses.packets == 3);
    CHECK(result.losses.frames == std::vector<std::uint64_t>{4, 7});
}

TEST_CASE("a message whose end was not captured is left out", "[unit][importer]") {
    Requester requester;
    auto frames = requester.write(1);
    append(frames, requester.write(3));
    frames.pop_back();

    const auto result = given(pcap_of(frames));

    CHECK(result.psns == Psns{10});
    CHECK(result.losses.messages == 1);
}

TEST_CASE("what was sent again stays, unless it is from before a gap", "[unit][importer]") {
    Requester requester;
    auto frames = requester.write(3);
    const auto again = frames;
    append(frames, again);                 // 10, 11, 12 once more
    append(frames, requester.write(1));    // 13
    static_cast<void>(requester.write(1)); // lost
    append(frames, requester.write(1));    // 14
    append(frames, {again.front()});       // from before the gap

    const auto result = given(pcap_of(frames));

    CHECK(result.psns == Psns{10, 11, 12, 10, 11, 12, 13, 14});
    CHECK(result.losses.again == 3);
    CHECK(result.losses.gaps == 1);
    CHECK(result.losses.packets == 1);
}

TEST_CASE("a READ takes the PSNs of its responses, by the MTU that it shows itself", "[unit][importer]") {
    Requester requester;
    std::vector<Written> frames;
    frames.push_back({.frame = requester.next(Operation::read_request, 0, 10'000, 5)}); // 2048 a packet
    frames.push_back({.frame = requester.next(Operation::read_request, 0, 2049, 2)});
    append(frames, requester.write(1));

    const auto result = given(pcap_of(frames));

    CHECK(result.demand.mtu == 2048);
    CHECK(result.psns == Psns{10, 15, 17});
    CHECK(result.losses.gaps == 0);
}

TEST_CASE("a payload that was cut off is zero, a header that was cut off is a packet that is missing",
          "[unit][importer]") {
    Requester requester;
    auto frames = requester.write(1);
    append(frames, requester.write(1));
    append(frames, requester.write(1));
    constexpr std::size_t headers = 14 + 20 + 8 + 12 + 16;
    frames[0].original = frames[0].frame.size();
    frames[0].frame.resize(headers + 3);
    frames[1].original = frames[1].frame.size();
    frames[1].frame.resize(headers - 1);

    const auto result = given(pcap_of(frames));

    CHECK(result.demand.cut == 1);
    CHECK(result.demand.malformed == 1);
    CHECK(result.losses.gaps == 1);
    REQUIRE(result.packets.size() == 2);
    REQUIRE(result.packets[0].payload.size() == 1024);
    Bytes payload(1024);
    result.packets[0].payload.copy_to(payload);
    CHECK(payload[2] == std::byte{3});
    CHECK(payload[3] == std::byte{});
}

TEST_CASE("a capture whose ICRCs are wrong is read, and says so", "[unit][importer]") {
    Requester requester;
    auto frames = requester.write(1);
    frames[0].frame.back() ^= std::byte{1};

    CHECK(given(pcap_of(frames)).demand.bad_icrc == 1);
}

TEST_CASE("of several queue pairs one has to be chosen", "[unit][importer]") {
    auto frames = Requester().write(2);
    append(frames, Requester(Encapsulation::roce_v2_ipv4, 0x77).write(1));
    const auto file = pcap_of(frames);

    CHECK_THAT(why(file), ContainsSubstring("requests to 2 queue pairs") &&
                              ContainsSubstring("--flow 1: 0.0.0.1 -> 0.0.0.2, queue pair 0x77 (1 packets)") &&
                              ContainsSubstring("--flow 2: 0.0.0.1 -> 0.0.0.2, queue pair 0x1234 (2 packets)"));
    CHECK(given(file, {}, 1).demand.packets == 1);
    CHECK(given(file, {}, 2).demand.packets == 2);
    CHECK_THAT(why(file, 3), ContainsSubstring("one is to be chosen"));
    CHECK_THAT(why(file, 0), ContainsSubstring("one is to be chosen"));
}

TEST_CASE("answers of the captured responder are counted, and are no requests", "[unit][importer]") {
    Requester requester;
    auto frames = requester.write(1);
    Packet answer;
    answer.path.source_gid = given(pcap_of(frames)).demand.flow.destination;
    answer.path.destination_gid = given(pcap_of(frames)).demand.flow.source;
    answer.rdma().operation = Operation::acknowledge;
    for (const auto syndrome : {abi::wire::ack_syndrome(), abi::wire::nak_syndrome({})}) {
        answer.rdma().aeth.syndrome = syndrome;
        Written written;
        model::wire::build(answer, written.frame);
        frames.push_back(written);
    }

    const auto result = given(pcap_of(frames));

    CHECK(result.psns.size() == 1);
    CHECK(result.demand.answers == 2);
    CHECK(result.demand.naks == 1);
}

TEST_CASE("a capture without requests, of another link, or of another kind is refused with its reason",
          "[unit][importer]") {
    CHECK_THAT(why(pcap_of({{.frame = Bytes(60)}})), ContainsSubstring("of 1 frames none is a request"));
    CHECK_THAT(why(pcap_of({}, 113)), ContainsSubstring("foreign: its link type is 113 (LINUX_SLL), not Ethernet"));
    CHECK_THAT(why(Bytes(100, std::byte{0x1f})), ContainsSubstring("foreign: no pcap or pcapng"));
    CHECK_THAT(why(Bytes(3, std::byte{0xa1})), ContainsSubstring("truncated"));
}

TEST_CASE("a capture that ends anywhere is read up to there, and refused where a frame is cut", "[unit][importer]") {
    Requester requester;
    auto frames = requester.write(1);
    append(frames, requester.write(1));
    const auto is_pcapng = GENERATE(false, true);
    const auto file = is_pcapng ? pcapng_of(frames) : pcap_of(frames);
    const auto frame_bytes = (file.size() - (is_pcapng ? 48u : 24u)) / 2;

    for (std::size_t length = 1; length < file.size(); length += length < file.size() - 40 ? 37 : 1) {
        const Bytes part(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(length));
        const auto text = why(part);
        CHECK((text == "no complaint") == (length == file.size() - frame_bytes));
    }
    CHECK_THAT(why({file.begin(), file.end() - 1}),
               ContainsSubstring("truncated: behind frame 1") && ContainsSubstring("of the file"));
}
