// trace_file OUT.pcapng LEVEL [--cut | --long]: writes a small recording with something on each kind of interface, for
// trace_file.py to hold against what tshark and capinfos read. LEVEL is zstd's, 0: not compressed. With --cut, the
// records are flushed, and the program ends there; with --long, 500 frames follow that do not compress, in many
// batches.
#include "traces/codec/file.h"
#include "traces/codec/writer.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

using namespace traces::codec;

namespace {

using Bytes = std::vector<std::byte>;

Bytes hex(std::string_view digits) {
    Bytes bytes;
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
        bytes.push_back(static_cast<std::byte>(std::stoul(std::string(digits.substr(i, 2)), nullptr, 16)));
    return bytes;
}

int write(const char* path, int level, bool is_cut, bool is_long) {
    auto file = FileDestination::create(path);
    if (!file) {
        std::fprintf(stderr, "%s\n", file.error().c_str());
        return 1;
    }
    Writer writer(*file,
                  {.identity = {.revision = "witness", .seed = 1},
                   .configuration = "mtu = 4096\n",
                   .names = {"host0.hca0"},
                   .interfaces = {{InterfaceKind::pcie, "host0.hca0"},
                                  {InterfaceKind::ethernet, "host0.hca0.port1"},
                                  {InterfaceKind::infiniband, "host0.hca0.port2"},
                                  {InterfaceKind::events, "events"}}},
                  {.level = level});
    // A write of 8 bytes to 0x1000000800, as the link has it.
    const auto doorbell = writer.write(0, 1'000'000, {.direction = Direction::inbound, .gate = 1},
                                       hex("600000020100000f0000001000000800"), hex("0001020304050607"));
    // ARP, for which Ethernet is the whole story.
    writer.write(1, 2'000'000,
                 {.kind = RecordKind::frame,
                  .direction = Direction::outbound,
                  .gate = 1,
                  .cause = static_cast<std::uint32_t>(doorbell)},
                 hex("ffffffffffff020000000001080600010800060400010200000000010a000001000000000000"
                     "0a000002"));
    // LRH from LID 3 to LID 5, BTH of an RC SEND only to QP 0x11 with PSN 7, four bytes, ICRC, VCRC.
    writer.write(2, 3'000'001, {.kind = RecordKind::frame, .direction = Direction::inbound},
                 hex("00020005000700030400ffff0000001180000007deadbeef123456789abc"));
    Bytes message(256);
    for (std::size_t i = 0; i < message.size(); ++i)
        message[i] = static_cast<std::byte>(i);
    const auto reference = writer.refer(message);
    writer.write(0, 4'000'000, {.direction = Direction::outbound, .gate = 1, .cause = 3},
                 hex("60000020010000ff0000000080000000"), reference->part(0, 128));
    writer.write(3, 5'000'000, {.kind = RecordKind::event, .cause = 4}, Bytes(40, std::byte{1}));
    std::mt19937 random(1);
    Bytes noise(1400);
    for (int i = 0; is_long && i < 500; ++i) {
        std::ranges::generate(noise, [&] { return static_cast<std::byte>(random()); });
        writer.write(1, 6'000'000, {.kind = RecordKind::frame, .direction = Direction::outbound}, noise);
        if (i % 10 == 0)
            static_cast<void>(writer.flush());
    }
    const auto outcome = is_cut ? writer.flush() : writer.close();
    if (!outcome)
        std::fprintf(stderr, "%s\n", outcome.error().c_str());
    return outcome ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    const std::string_view option = argc == 4 ? argv[3] : "";
    if (argc != 3 && option != "--cut" && option != "--long") {
        std::fputs("usage: trace_file OUT.pcapng LEVEL [--cut | --long]\n", stderr);
        return 2;
    }
    return write(argv[1], std::atoi(argv[2]), option == "--cut", option == "--long");
}
