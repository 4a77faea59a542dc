// PRM "RoCE address table": SET_ROCE_ADDRESS, QUERY_ROCE_ADDRESS.
#include "firmware/handlers/handlers.h"

#include <algorithm>

namespace firmware::handlers {

namespace {
constexpr std::uint32_t version_2 = 2; ///< roce_version of an entry: 0 is v1, 2 is v2

bool is_ipv4_mapped(const model::port::Gid& gid) {
    const auto zero = [](std::byte b) { return b == std::byte{0}; };
    const auto ones = [](std::byte b) { return b == std::byte{0xff}; };
    return std::all_of(gid.begin(), gid.begin() + 10, zero) && std::all_of(gid.begin() + 10, gid.begin() + 12, ones);
}
} // namespace

Reply set_roce_address(State& state, const Call&, In<prm::SetRoceAddressIn> in, Out<prm::SetRoceAddressOut>) {
    auto& gids = state.hca.identity().gids;
    if (in.get<"roce_address_index">() >= gids.size())
        return refuse("set_roce_address.index");
    if (in.get<"vhca_port_num">() > 1)
        return refuse("set_roce_address.port");
    auto& entry = gids[in.get<"roce_address_index">()];
    const auto address = in.sub<"roce_address">();
    const auto gid = address.get<"source_l3_address">();
    if (gid == model::port::Gid{}) { // an entry of zeros is taken out
        entry = {};
        return accepted;
    }
    if (address.get<"roce_version">() != version_2)
        return refuse("set_roce_address.version");
    if (address.get<"vlan_valid">())
        return refuse("set_roce_address.vlan");
    const auto l3 = address.get<"roce_l3_type">();
    if (l3 != prm::roce_l3_ipv4 && l3 != prm::roce_l3_ipv6)
        return refuse("set_roce_address.l3_type");
    if (l3 == prm::roce_l3_ipv4 && !is_ipv4_mapped(gid))
        return refuse("set_roce_address.not_ipv4");

    entry = {.is_valid = true, .roce_version = version_2, .is_ipv4 = l3 == prm::roce_l3_ipv4, .gid = gid, .mac = {}};
    abi::store<std::uint16_t, std::endian::big>(entry.mac.data(),
                                                static_cast<std::uint16_t>(address.get<"source_mac_47_32">()));
    abi::store<std::uint32_t, std::endian::big>(entry.mac.data() + 2, address.get<"source_mac_31_0">());
    return accepted;
}

Reply query_roce_address(State& state, const Call&, In<prm::QueryRoceAddressIn> in, Out<prm::QueryRoceAddressOut> out) {
    const auto& gids = state.hca.identity().gids;
    if (in.get<"roce_address_index">() >= gids.size())
        return refuse("query_roce_address.index");
    const auto& entry = gids[in.get<"roce_address_index">()];
    if (!entry.is_valid)
        return accepted; // zeros
    out.sub<"roce_address">()
        .set<"source_l3_address">(entry.gid)
        .set<"source_mac_47_32">(abi::load<std::uint16_t, std::endian::big>(entry.mac.data()))
        .set<"source_mac_31_0">(abi::load<std::uint32_t, std::endian::big>(entry.mac.data() + 2))
        .set<"roce_l3_type">(entry.is_ipv4 ? prm::roce_l3_ipv4 : prm::roce_l3_ipv6)
        .set<"roce_version">(entry.roce_version);
    return accepted;
}

} // namespace firmware::handlers
