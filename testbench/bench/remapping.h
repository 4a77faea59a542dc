// ./dev bench iommu: how fast a device reads and writes host memory at random addresses, with the remapping unit off,
// on with large pages and on with 4 KiB pages, beside what was measured on silicon (pcie-bench: Neugebauer et al.,
// "Understanding PCIe performance for end host networking", SIGCOMM 2018; NFP-6000 on gen3 x8, Haswell E5-2620 v3,
// IOTLB of 64 entries).
#pragma once

#include <string>

namespace bench {

struct RemappingReport {
    std::string text;
    bool is_near = true; ///< every figure that was published is met within 10 %
};

RemappingReport measure_remapping(unsigned accesses);

} // namespace bench
