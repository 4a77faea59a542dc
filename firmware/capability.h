// The capability pages (PRM "HCA capabilities"): the maximum, derived from the configuration so that nothing is
// advertised that is not built, and the values in force, which the driver narrows with SET_HCA_CAP before INIT_HCA.
#pragma once

#include "abi/layout.h"
#include "abi/prm/capability.h"
#include "firmware/refusal.h"
#include "model/hca/config.h"

#include <cstddef>
#include <span>

namespace firmware {

class Capabilities {
public:
    explicit Capabilities(const model::hca::HcaConfig& config);

    abi::ConstView<abi::prm::CmdHcaCap> general() const { return current_.general.view(); }
    abi::ConstView<abi::prm::CmdHcaCap> general_maximum() const { return maximum_.general.view(); }
    abi::ConstView<abi::prm::AtomicCaps> atomic() const { return current_.atomic.view(); }
    abi::ConstView<abi::prm::RoceCap> roce() const { return current_.roce.view(); }

    /// The bytes of a page, or nothing when the device has no page of that type.
    std::span<const std::byte> page(abi::prm::CapabilityType type, abi::prm::CapabilityMode mode) const;
    /// Takes over what a driver may choose from `wanted`, the page as it wrote it; what it may not choose is left
    /// alone.
    Reply set(abi::prm::CapabilityType type, std::span<const std::byte> wanted);

private:
    struct Pages {
        abi::Block<abi::prm::CmdHcaCap> general;
        abi::Block<abi::prm::AtomicCaps> atomic;
        abi::Block<abi::prm::RoceCap> roce;
        abi::Block<abi::prm::OdpCap> odp;
    };
    Reply set_general(abi::ConstView<abi::prm::CmdHcaCap> wanted);
    Reply set_atomic(abi::ConstView<abi::prm::AtomicCaps> wanted);

    Pages maximum_, current_;
};

} // namespace firmware
