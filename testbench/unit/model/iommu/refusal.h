// What a test of the translator looks at when a request was refused.
#pragma once

#include "model/iommu/translator.h"
#include "testbench/harness/iommu_bench.h"

#include <catch2/catch_test_macros.hpp>

namespace testbench {

/// The request was refused for this reason, and the next record says so.
inline void check_fault(IommuBench& bench, const model::iommu::Translation& result, abi::iommu::FaultReason reason) {
    CHECK(result.status == model::port::DmaStatus::unsupported_request);
    CHECK(result.fault == reason);
    const auto index = static_cast<unsigned>(bench.fault_status().get<"fri">());
    REQUIRE(bench.fault_status().get<"ppf">());
    CHECK(bench.record(index).get<"f">());
    CHECK(bench.record(index).get<"fr">() == static_cast<std::uint64_t>(reason));
    CHECK(bench.record(index).get<"sid">() == IommuBench::device);
}

} // namespace testbench
