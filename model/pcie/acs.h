// Access control services as a port applies them: what is switched on, and what that means for a request that comes up
// through the port. Names routes and refusals; the routing itself is Switch and RootComplex. PCIe 6.0 §6.12.
//
// A downstream port of a switch has all services but egress control. A root port has three:
// source validation, translation blocking, upstream forwarding. Redirect is not among them, because every request that
// comes to the root complex is validated there (VT-d "Root-Complex Peer to Peer Considerations"), whether or not it is
// between two ports; software reads services that a port lacks as hard-wired.
#pragma once

#include "abi/pcie/config_space.h"
#include "abi/pcie/tlp.h"
#include "traces/reason.h"

namespace model::pcie {

struct Acs {
    bool source_validation = false;    ///< requesters are behind the port
    bool translation_blocking = false; ///< only untranslated requests
    bool request_redirect = false;     ///< requests to peers go up to the root complex
    bool completion_redirect = false; ///< read completions to peers go up, unless relaxed ordering allows the short way
    bool upstream_forwarding = false; ///< a redirected request for the port that it came from is let through
    bool direct_translated = false;   ///< translated requests to peers are not redirected
    bool operator==(const Acs&) const = default;
};

/// What routing has to know of a request.
struct Origin {
    abi::pcie::Bdf requester;
    abi::pcie::AddressType type = abi::pcie::AddressType::untranslated;
};

/// Why a port refuses a request, as RequestBlocked says it.
namespace blocked {
inline constexpr traces::BlockReason source = "source validation: the requester's bus is not behind the port",
                                     translation = "translation blocking: only untranslated requests pass the port",
                                     own_port = "the address lies behind the port that the request came by",
                                     host = "the host forwards no requests between devices";
}

} // namespace model::pcie
