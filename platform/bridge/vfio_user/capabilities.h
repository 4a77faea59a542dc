// The capabilities of the version handshake: JSON text in, numbers out, and the text of the answer. Reads JSON strictly
// and only as deep as the protocol has it. vfio-user 0.9.2 VFIO_USER_VERSION.
#pragma once

#include "abi/vfio_user/message.h"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace platform::bridge::vfio_user {

/// What the peer says of itself, with the protocol's values where it says nothing.
struct Capabilities {
    std::uint64_t max_descriptors = abi::vfio_user::default_max_descriptors;
    std::uint64_t max_transfer = abi::vfio_user::default_max_transfer;
    std::set<std::string, std::less<>> named; ///< those it mentioned
};

/// Nothing when the text is not JSON, or holds a value of a wrong kind. An empty text is fine.
std::optional<Capabilities> parse_capabilities(std::string_view text);

/// The server's own, as far as the client has named them: the answer is a subset of the proposal.
std::string print_capabilities(const Capabilities& client);

} // namespace platform::bridge::vfio_user
