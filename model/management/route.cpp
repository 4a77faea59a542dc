#include "model/management/route.h"

namespace model::management {

using namespace abi::wire;

namespace {
constexpr unsigned most_hops = 63;
abi::View<MadHeader> header_of(Mad mad) { return abi::View<MadHeader>(mad.first<MadHeader::size>()); }
} // namespace

Step follow_route(Mad mad, unsigned ingress, bool is_switch) {
    using enum Step::Kind;
    const auto header = header_of(mad);
    const auto outward = mad.subspan<Smp::field<"initial_path">::offset, 64>();
    const auto back = mad.subspan<Smp::field<"return_path">::offset, 64>();
    const unsigned hops = header.get<"hop_cnt">();
    const unsigned at = header.get<"hop_ptr">();
    if (hops > most_hops)
        return {drop, 0, traces::Reason("a route of too many hops")};
    if (header.get<"status">() & smp_direction) {
        if (at < 2 || at > hops)
            return {drop, 0, traces::Reason("a route that ends at a node without a manager")};
        if (!is_switch)
            return {drop, 0, traces::Reason("a route through a channel adapter")};
        header.set<"hop_ptr">(static_cast<std::uint8_t>(at - 1));
        return {forward, std::to_integer<unsigned>(back[at - 1])};
    }
    if (at == 0 || at > hops)
        return {drop, 0, traces::Reason("a route through no port")};
    if (at < hops && !is_switch)
        return {drop, 0, traces::Reason("a route through a channel adapter")};
    back[at] = static_cast<std::byte>(ingress);
    if (at == hops)
        return {answer, ingress};
    header.set<"hop_ptr">(static_cast<std::uint8_t>(at + 1));
    return {forward, std::to_integer<unsigned>(outward[at + 1])};
}

void turn_back(Mad mad) {
    // hop_ptr: one up at the end of the way, one down at the start of the way back (IBA 14.2.2.2, 14.2.2.4)
    const auto header = header_of(mad);
    header.set<"status">(header.get<"status">() | smp_direction);
}

} // namespace model::management
