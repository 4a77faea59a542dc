// What a gateway in configuration space may ask of its device: 32-bit registers in numbered spaces. Software may
// ask for anything, valid or not.
#pragma once

#include "abi/pcie/vendor_gateway.h"
#include "model/port/time.h"

#include <cstdint>
#include <optional>

namespace model::port {

class RegisterSpaces {
public:
    using Space = abi::pcie::GatewaySpace;

    virtual ~RegisterSpaces() = default;
    /// The first address behind the space; 0: there is no such space.
    virtual std::uint32_t size(Space space) const = 0;
    /// Nothing: no register has this address.
    virtual std::optional<std::uint32_t> read(Space space, std::uint32_t address, Time at) = 0;
    /// False: no register has this address. One that cannot be written stays as it is.
    virtual bool write(Space space, std::uint32_t address, std::uint32_t value) = 0;
    /// Where a sweep over the space goes on behind `address`; nothing: the space is not read in sweeps.
    virtual std::optional<std::uint32_t> next(Space space, std::uint32_t address) const = 0;
};

} // namespace model::port
