// What the device can do, page by page, as it said itself (PRM "HCA capabilities"). Limits of everything else in this
// folder are read from here; nothing is assumed.
#pragma once

#include "abi/layout.h"
#include "abi/prm/capability.h"
#include "sw/base/result.h"
#include "sw/mlx/command/command.h"

namespace sw::mlx {

struct Capabilities {
    abi::Block<abi::prm::CmdHcaCap> general;
    abi::Block<abi::prm::AtomicCaps> atomic; ///< zero without general "atomic"
    abi::Block<abi::prm::RoceCap> roce;      ///< zero without general "roce"

    template <abi::Name F> auto get() const { return general.view().get<F>(); }
    bool is_ethernet() const { return get<"port_type">() == 1; }
    bool has_atomics() const { return get<"atomic">() != 0; }
};

/// One page, current or maximum values.
Result<Output<abi::prm::QueryHcaCapOut>> query_capability(CommandChannel& commands, abi::prm::CapabilityType type,
                                                          abi::prm::CapabilityMode mode);

/// Chooses among what the device offers, before INIT_HCA, in the stock driver's order: general, then atomic, then RoCE.
struct CapabilityChoice {
    unsigned log_max_qp = 18;        ///< at most
    bool command_signatures = false; ///< ask for them where the device has them
};
Result<void> choose_capabilities(CommandChannel& commands, const CapabilityChoice& choice);

/// Every current page a device with these bits has, after INIT_HCA.
Result<Capabilities> query_capabilities(CommandChannel& commands);

} // namespace sw::mlx
