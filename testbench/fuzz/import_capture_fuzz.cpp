// A capture that anybody may have made. First byte: bit 0, whether to put a good file header in front; bits 7..4, how
// far frames are cut. It is refused with a reason, or its requests are given: each in a frame that a port takes, with
// the numbers it was to get, and no PSN is missing among those that are new.
#include "model/wire/builder.h"
#include "model/wire/parser.h"
#include "platform/importer/requests.h"
#include "testbench/fuzz/require.h"

#include <array>

using namespace platform::importer;

namespace {

using fuzz::require;

constexpr std::array<unsigned char, 24> header{0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0,
                                               0,    0,    0,    0,    0, 0, 4, 0, 1, 0, 0, 0};
constexpr abi::Qpn destination{0x40};
constexpr abi::Psn first_psn{10};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2)
        return 0;
    std::vector<unsigned char> file;
    if ((data[0] & 1) != 0)
        file.assign(header.begin(), header.end());
    file.insert(file.end(), data + 1, data + size);
    const OpenCapture open = [&]() -> traces::codec::Read<CaptureFile> {
        auto* stream = fmemopen(file.data(), file.size(), "rb");
        require(stream != nullptr, "no memory for a stream");
        return CaptureFile::open(stream);
    };
    const auto demand = read_demand(open, {});
    if (!demand) {
        require(!demand.error().empty(), "a refusal without a reason");
        return 0;
    }
    require(demand->packets != 0 && abi::wire::mtu_code(demand->mtu) != 0, "a demand that nobody makes");
    Rewriting rewriting{.destination = destination, .first_psn = first_psn};
    for (const auto& [key, range] : demand->keys)
        rewriting.keys[key] = {abi::Key{key ^ 1}, 0};
    std::optional<abi::Psn> next;
    std::uint64_t given = 0;
    const auto losses = each_request(open, *demand, rewriting, [&](CapturedRequest request) {
        const auto& headers = request.packet.rdma();
        require(headers.destination == destination, "another queue pair's packet");
        require(!next || !headers.psn.is_after(*next), "a gap in the PSNs");
        if (!next || headers.psn == *next)
            next = headers.psn + psns_of(request.packet, demand->mtu);
        std::vector<std::byte> image;
        model::wire::build(request.packet, image);
        model::port::Packet read;
        require(model::wire::parse(image, demand->encapsulation, read).has_value(), "a frame that no port takes");
        ++given;
    });
    require(losses.has_value(), "what was read once cannot be read again");
    require(given + losses->packets == demand->packets, "packets have got lost");
    return 0;
}
