// The registers of the vendor-specific capability: chooses a register space of the device, reads and writes words of
// it, and keeps the semaphore by which programs take turns. Does not ask who holds that semaphore. What the spaces are
// is the device's business (port::RegisterSpaces).
#pragma once

#include "abi/pcie/vendor_gateway.h"
#include "model/port/register_spaces.h"

#include <cstdint>

namespace model::pcie {

class Gateway {
public:
    /// `offset` from the start of the capability, inside one dword of it. A read of the counter draws a number.
    std::uint32_t read(std::uint16_t offset, unsigned bytes);
    /// `spaces`: nullptr is a device without any.
    void write(std::uint16_t offset, unsigned bytes, std::uint32_t value, port::RegisterSpaces* spaces, port::Time at);
    void reset() { registers_ = {}, last_number_ = 0; }

private:
    void choose(port::RegisterSpaces* spaces);
    void access(port::RegisterSpaces* spaces, port::Time at);
    void take(std::uint32_t number);

    abi::Block<abi::pcie::VendorGateway> registers_;
    std::uint32_t last_number_ = 0;
};

} // namespace model::pcie
