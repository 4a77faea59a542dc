// wire_frames OUT.pcapng OUT.json: one packet of every operation in every encapsulation as the builder makes it, and
// the same packets' fields in words. wire_frames.py lets tshark and scapy read the first and compares with the second.
#include "model/wire/builder.h"
#include "platform/observe/files/capture.h"
#include "testbench/harness/packets.h"

#include <cstdio>
#include <fstream>
#include <sstream>

using namespace model::port;

namespace {

/// Members of a JSON object, in the names of tshark's fields.
class Object {
public:
    void number(std::string_view name, std::uint64_t value) { member(name) << value; }
    void text(std::string_view name, std::string_view value) { member(name) << '"' << value << '"'; }
    std::string close() {
        out_ << '}';
        return out_.str();
    }

private:
    std::ostream& member(std::string_view name) {
        out_ << (out_.tellp() == 0 ? "{" : ", ") << '"' << name << "\": ";
        return out_;
    }
    std::ostringstream out_;
};

std::string hex(std::span<const std::byte> bytes) {
    std::string text;
    for (const auto b : bytes) {
        char digits[3];
        std::snprintf(digits, sizeof digits, "%02x", std::to_integer<unsigned>(b));
        text += digits;
    }
    return text;
}

void describe_route(const Path& path, Object& o) {
    if (path.encapsulation == Encapsulation::infiniband) {
        o.number("infiniband.lrh.vl", 0);
        o.number("infiniband.lrh.sl", path.service_level);
        o.number("infiniband.lrh.slid", path.source_lid);
        o.number("infiniband.lrh.dlid", path.destination_lid);
        if (path.has_grh) {
            o.number("infiniband.grh.tclass", path.traffic_class);
            o.number("infiniband.grh.flowlabel", path.flow_label);
            o.number("infiniband.grh.hoplmt", path.hop_limit);
            o.text("infiniband.grh.sgid", hex(path.source_gid));
            o.text("infiniband.grh.dgid", hex(path.destination_gid));
        }
        return;
    }
    o.text("eth.src", hex(path.source_mac));
    o.text("eth.dst", hex(path.destination_mac));
    o.number("udp.srcport", path.udp_source_port);
    o.number("udp.dstport", 4791);
    o.number("udp.checksum", 0);
    if (path.encapsulation == Encapsulation::roce_v2_ipv4) {
        o.number("ip.dsfield", path.traffic_class);
        o.number("ip.ttl", path.hop_limit);
        o.text("ip.src", hex(std::span(path.source_gid).last(4)));
        o.text("ip.dst", hex(std::span(path.destination_gid).last(4)));
    } else {
        o.number("ipv6.tclass", path.traffic_class);
        o.number("ipv6.flow", path.flow_label);
        o.number("ipv6.hlim", path.hop_limit);
        o.text("ipv6.src", hex(path.source_gid));
        o.text("ipv6.dst", hex(path.destination_gid));
    }
}

std::string describe(const Packet& p) {
    using abi::wire::Service;
    Object o;
    describe_route(p.path, o);
    o.number("infiniband.bth.opcode", code(p.rdma().service, p.rdma().operation));
    o.number("infiniband.bth.se", p.rdma().solicited);
    o.number("infiniband.bth.m", p.rdma().migrated);
    o.number("infiniband.bth.padcnt", p.rdma().service == Service::cnp ? 0 : model::wire::pad_bytes(p.payload.size()));
    o.number("infiniband.bth.tver", 0);
    o.number("infiniband.bth.p_key", p.rdma().pkey);
    o.number("infiniband.bth.destqp", p.rdma().destination.value);
    o.number("infiniband.bth.a", p.rdma().ack_request);
    o.number("infiniband.bth.psn", p.rdma().psn.value);
    const auto& t = p.traits();
    if (p.rdma().service == Service::cnp)
        return o.close();
    if (p.rdma().service == Service::ud) {
        o.number("infiniband.deth.q_key", p.rdma().deth.qkey);
        o.number("infiniband.deth.srcqp", p.rdma().deth.source_qpn.value);
    }
    if (t.has_reth) {
        o.number("infiniband.reth.va", p.rdma().reth.address);
        o.number("infiniband.reth.r_key", p.rdma().reth.rkey.value);
        o.number("infiniband.reth.dmalen", p.rdma().reth.length);
    }
    if (t.has_atomic) {
        o.number("infiniband.reth.va", p.rdma().atomic.address); // tshark has one name for the address of either header
        o.number("infiniband.reth.r_key", p.rdma().atomic.rkey.value);
        o.number("infiniband.atomiceth.swapdt", p.rdma().atomic.swap_or_add);
        o.number("infiniband.atomiceth.cmpdt", p.rdma().atomic.compare);
    }
    if (t.has_aeth) {
        o.number("infiniband.aeth.syndrome", p.rdma().aeth.syndrome);
        o.number("infiniband.aeth.msn", p.rdma().aeth.msn);
    }
    if (t.has_atomic_ack)
        o.number("infiniband.atomicacketh.origremdt", p.rdma().atomic_original);
    if (t.has_immediate)
        o.number("infiniband.immdt", p.rdma().immediate);
    if (t.has_invalidate)
        o.number("infiniband.ieth", p.rdma().invalidate.value);
    std::vector<std::byte> payload(p.payload.size());
    p.payload.copy_to(payload);
    if (!payload.empty())
        o.text("payload", hex(payload));
    return o.close();
}

/// Acknowledgements, RNR NAKs and NAKs in turn, each with codes that exist.
std::uint8_t known_syndrome(std::uint64_t random) {
    using namespace abi::wire;
    const auto value = static_cast<std::uint8_t>(random >> 8);
    switch (random % 3) {
    case 0: return ack_syndrome(value);
    case 1: return rnr_syndrome(value);
    default: return nak_syndrome(static_cast<NakCode>(value % 5));
    }
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fputs("usage: wire_frames OUT.pcapng OUT.json\n", stderr);
        return 2;
    }
    auto output = platform::observe::files::Output::create(argv[1]);
    if (!output) {
        std::fprintf(stderr, "%s\n", output.error().c_str());
        return 1;
    }
    platform::observe::files::Capture capture(std::move(*output));
    std::array taps{&capture.add_interface("ethernet", Encapsulation::roce_v2_ipv4),
                    &capture.add_interface("infiniband", Encapsulation::infiniband)};
    struct Carrier {
        Encapsulation encapsulation;
        bool grh;
    };
    std::mt19937_64 random(20240229);
    std::vector<std::byte> image;
    std::string json = "[\n";
    Time at{};
    Packet packet;
    for (const auto carrier : {Carrier{Encapsulation::roce_v2_ipv4, false}, Carrier{Encapsulation::roce_v2_ipv6, false},
                               Carrier{Encapsulation::infiniband, false}, Carrier{Encapsulation::infiniband, true}})
        for (const auto what : testbench::all_operations())
            for (const std::size_t longest : {0, 64, 4096}) {
                testbench::fill_packet(packet, what, carrier.encapsulation, carrier.grh, longest, random);
                packet.path.udp_source_port |= 0xc000; // where RoCEv2 takes its ports from, and other protocols do not
                packet.rdma().aeth.syndrome = known_syndrome(random());
                model::wire::build(packet, image);
                const bool is_infiniband = carrier.encapsulation == Encapsulation::infiniband;
                taps[is_infiniband]->on_frame(image, random() & 1, at += std::chrono::nanoseconds{123});
                json += json.size() > 2 ? ",\n" : "";
                json += describe(packet);
            }
    std::ofstream(argv[2]) << json << "\n]\n";
    if (const auto closed = capture.close(); !closed) {
        std::fprintf(stderr, "%s\n", closed.error().c_str());
        return 1;
    }
}
