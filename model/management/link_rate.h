// How fast a port says it is (IBA 14.2.5.6; PRM "PTYS"): cables have any rate, ports have speeds and widths. A port
// says the fastest that is no faster than its cable, with four lanes where one would do as well; below the slowest the
// slowest (2.5 or 1 Gbit/s), above the fastest the fastest (400), and four lanes EDR where serialisation costs no time.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>

namespace model::management {

/// Speed of a lane: a bit of PTYS ib_proto_*, as of Linux's enum ib_port_speed.
enum class LaneSpeed : std::uint16_t {
    sdr = 1 << 0,
    ddr = 1 << 1,
    qdr = 1 << 2,
    fdr = 1 << 4,
    edr = 1 << 5,
    hdr = 1 << 6,
    ndr = 1 << 7
};

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

/// Modes of copper cables, as of Linux's enum mlx5e_link_mode and mlx5e_ext_link_mode.
inline const EthernetRate& ethernet_rate(double gbps) {
    static constexpr std::array rows{
        EthernetRate{1, 1u << 1, false},    // 1000BASE-KX
        EthernetRate{10, 1u << 12, false},  // 10GBASE-CR
        EthernetRate{25, 1u << 27, false},  // 25GBASE-CR
        EthernetRate{40, 1u << 6, false},   // 40GBASE-CR4
        EthernetRate{50, 1u << 30, false},  // 50GBASE-CR2
        EthernetRate{100, 1u << 20, false}, // 100GBASE-CR4
        EthernetRate{200, 1u << 12, true},  // 200GBASE-CR4
        EthernetRate{400, 1u << 16, true},  // 400GBASE-CR4
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
    constexpr std::uint32_t qdr = 4, one_lane = 1, four_lanes = 2;
    constexpr unsigned first_extended = 4; ///< the bit of FDR in PTYS
    constexpr std::uint16_t hdr = 1 << 5, ndr = 1 << 10;
    // A port that says QDR here and something there runs at what it says there (IBA 14.2.5.6, LinkSpeedExtActive).
    const auto plain = std::min(code, qdr);
    const auto extended = code >> first_extended;
    return {.width_active = rate.has_four_lanes ? four_lanes : one_lane,
            .width_supported = rate.has_four_lanes ? one_lane | four_lanes : one_lane,
            .speed_active = plain,
            .speed_supported = 2 * plain - 1,
            .extended_active = extended,
            .extended_supported = extended != 0 ? 2 * extended - 1 : 0,
            .capabilities2 = static_cast<std::uint16_t>((rate.speed >= LaneSpeed::hdr ? hdr : 0) |
                                                        (rate.speed >= LaneSpeed::ndr ? ndr : 0))};
}

} // namespace model::management
