// Memory of which only the time matters: each read takes as long, and is noted.
#pragma once

#include "model/port/dma.h"

#include <utility>
#include <vector>

namespace icm_test {

struct SlowMemory final : model::port::Dma {
    using DmaResult = model::port::DmaResult;
    using Time = model::port::Time;
    DmaResult read(abi::BusAddress address, std::span<std::byte> into, Time at, model::port::Purpose) override {
        reads.emplace_back(address.value, into.size());
        return {model::port::DmaStatus::ok, at + latency};
    }
    DmaResult write(abi::BusAddress, std::span<const std::byte>, Time at, model::port::Purpose) override {
        return {model::port::DmaStatus::ok, at};
    }
    model::port::Loan lend(abi::BusAddress, std::size_t, Time at, model::port::Purpose) override {
        return {nullptr, {model::port::DmaStatus::ok, at}};
    }

    Time latency = std::chrono::nanoseconds{500};
    std::vector<std::pair<std::uint64_t, std::size_t>> reads; ///< address, bytes
};

} // namespace icm_test
