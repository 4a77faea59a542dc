// Random accesses of a device to host memory, with the remapping unit off, on with large pages and on with 4 KiB pages,
// as pcie-bench does them on silicon (Neugebauer et al., "Understanding PCIe performance for end host networking",
// SIGCOMM 2018; NFP-6000 on gen3 x8, Haswell E5-2620 v3, IOTLB of 64 entries).
#pragma once

#include "model/pcie/link.h"

#include <cstdint>
#include <optional>

namespace calibrate {

enum class Pages : std::uint8_t { off, large, small }; ///< of the remapping unit: 2 MiB, 4 KiB

/// The link of the publication's device. A read of 8 bytes takes 413 ns on it, as published.
inline constexpr model::pcie::LinkConfig published_link{
    .generation = 3, .width = 8, .max_payload = 256, .max_read_request = 512, .latency = std::chrono::nanoseconds{158}};

/// A device does so many accesses at a time, and begins one no sooner after the other than that. Both are what the
/// device of the publication shows with the unit off; what the unit adds is the model's.
struct RandomAccess {
    std::uint32_t bytes = 64;
    bool is_write = false;
    unsigned outstanding = 1;
    double interval_ns = 0;
    Pages pages = Pages::off;
    std::uint64_t window = 256 * 1024; ///< bytes of host memory, at most 16 MiB
    bool is_cold = false;              ///< the processor has not used the window before
    unsigned accesses = 10'000;        ///< after a quarter as many
    model::pcie::LinkConfig link = published_link;
};

struct AccessRate {
    double gbps = 0;
    double latency_ns = 0;               ///< on average
    double upstream = 0, downstream = 0; ///< share of the time that the link was busy
};

/// Measures in a process of its own; nothing: an access failed.
std::optional<AccessRate> measure(const RandomAccess& access);

} // namespace calibrate
