// How fast a port says it is (IBA 14.2.5.6; PRM "PTYS"): cables have any rate, ports have speeds and widths. A port
// says the fastest that is no faster than its cable, with four lanes where one would do as well; below the slowest the
// slowest (2.5 or 1 Gbit/s), above the fastest the fastest (400), and four lanes EDR where serialisation costs no time.
#pragma once

#include "abi/prm/access_register.h"
#include "abi/wire/mad.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <iterator>

namespace model::management {

using abi::prm::LaneSpeed;

struct InfinibandRate {
    double gbps;
    bool has_four_lanes;
    LaneSpeed speed;
};
struct EthernetRate {
    double gbps;
    std::uint32_t protocol; ///< bit of PTYS eth_proto_*
    bool is_extended;       ///< of ext_eth_proto_*, which has what the other has not
};

/// The last row that is no faster than `gbps`; rows stand in ascending order. 0: whatever 100 would say.
template <class Row, std::size_t n> constexpr const Row& nearest(const std::array<Row, n>& rows, double gbps) {
    const auto wanted = gbps > 0 ? gbps : 100.0;
    const auto above = std::ranges::upper_bound(rows, wanted, {}, &Row::gbps);
    return above == rows.begin() ? rows.front() : *std::prev(above);
}

inline const InfinibandRate& infiniband_rate(double gbps) {
    using enum LaneSpeed;
    static constexpr std::array rows{
        InfinibandRate{2.5, false, sdr}, InfinibandRate{5, false, ddr},  InfinibandRate{10, true, sdr},
        InfinibandRate{14, false, fdr},  InfinibandRate{20, true, ddr},  InfinibandRate{25, false, edr},
        InfinibandRate{40, true, qdr},   InfinibandRate{50, false, hdr}, InfinibandRate{56, true, fdr},
        InfinibandRate{100, true, edr},  InfinibandRate{200, true, hdr}, InfinibandRate{400, true, ndr},
    };
    static_assert(std::ranges::is_sorted(rows, {}, &InfinibandRate::gbps));
    return nearest(rows, gbps);
}

constexpr EthernetRate rate_of(double gbps, abi::prm::EthernetMode mode) {
    return {gbps, 1u << static_cast<unsigned>(mode), false};
}
constexpr EthernetRate rate_of(double gbps, abi::prm::ExtendedEthernetMode mode) {
    return {gbps, 1u << static_cast<unsigned>(mode), true};
}
inline const EthernetRate& ethernet_rate(double gbps) {
    using Mode = abi::prm::EthernetMode;
    using Extended = abi::prm::ExtendedEthernetMode;
    static constexpr std::array rows{
        rate_of(1, Mode::kx_1g),          rate_of(10, Mode::cr_10g),        rate_of(25, Mode::cr_25g),
        rate_of(40, Mode::cr4_40g),       rate_of(50, Mode::cr2_50g),       rate_of(100, Mode::cr4_100g),
        rate_of(200, Extended::cr4_200g), rate_of(400, Extended::cr4_400g),
    };
    static_assert(std::ranges::is_sorted(rows, {}, &EthernetRate::gbps));
    return nearest(rows, gbps);
}

/// What a PortInfo says of a rate.
struct PortSpeed {
    std::uint32_t width_active, width_supported;       ///< 1: one lane, 2: four
    std::uint32_t speed_active, speed_supported;       ///< up to QDR
    std::uint32_t extended_active, extended_supported; ///< FDR and above
    std::uint16_t capabilities2;                       ///< bits of CapabilityMask2: HDR, NDR
};
inline PortSpeed port_speed(double gbps) {
    const auto& rate = infiniband_rate(gbps);
    const auto code = static_cast<std::uint32_t>(rate.speed);
    using namespace abi::wire;
    // Extended speeds are those of PTYS from FDR on.
    constexpr auto first_extended = std::countr_zero(static_cast<std::uint32_t>(LaneSpeed::fdr));
    static_assert(extended_speed_fdr == 1 && speed_qdr == static_cast<std::uint32_t>(LaneSpeed::qdr));
    // A port that says QDR here and something there runs at what it says there (IBA 14.2.5.6, LinkSpeedExtActive).
    const auto plain = std::min(code, speed_qdr);
    const auto extended = code >> first_extended;
    return {.width_active = rate.has_four_lanes ? four_lanes : one_lane,
            .width_supported = rate.has_four_lanes ? one_lane | four_lanes : one_lane,
            .speed_active = plain,
            .speed_supported = 2 * plain - 1,
            .extended_active = extended,
            .extended_supported = extended != 0 ? 2 * extended - 1 : 0,
            .capabilities2 = static_cast<std::uint16_t>((rate.speed >= LaneSpeed::hdr ? has_hdr : 0) |
                                                        (rate.speed >= LaneSpeed::ndr ? has_ndr : 0))};
}

} // namespace model::management
