// The register spaces that tools, and a driver that has lost the BAR, can read: the CR space, as far as this card has
// one (the initialization segment with the health buffer, and the number of the silicon), the same in one sweep for a
// dump, and semaphores by which the functions of a card take turns. Reached through the vendor-specific capability
// (abi/pcie/vendor_gateway.h).
#pragma once

#include "firmware/init_segment.h"
#include "model/hca/config.h"
#include "model/port/register_spaces.h"

#include <array>
#include <cstdint>
#include <optional>

namespace firmware {

class RegisterSpaces final : public model::port::RegisterSpaces {
public:
    RegisterSpaces(const model::hca::HcaConfig& config, InitSegment& segment) : config_(config), segment_(segment) {}

    std::uint32_t size(Space space) const override;
    std::optional<std::uint32_t> read(Space space, std::uint32_t address, model::port::Time at) override;
    bool write(Space space, std::uint32_t address, std::uint32_t value) override;
    std::optional<std::uint32_t> next(Space space, std::uint32_t address) const override;
    void reset() { semaphores_ = {}; }

private:
    const model::hca::HcaConfig& config_;
    InitSegment& segment_;
    std::array<std::uint32_t, 64> semaphores_{}; ///< who holds each; 0 is nobody
};

} // namespace firmware
