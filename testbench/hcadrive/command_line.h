// hcadrive's command line as values, or what to print instead of running. Opens no file.
#pragma once

#include "sw/transport/vfio/address_space.h"

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace hcadrive {

struct DriveOptions {
    std::vector<std::string> places; ///< a directory of sockets, or four functions
    std::string payload, json;       ///< empty: this program; none
    std::uint64_t message_bytes = 1 << 20;
    std::uint32_t mtu_bytes = 4096, queue_depth = 64, queue_pairs = 1;
    std::uint32_t patience_seconds = 10; ///< for an answer of a server
    bool is_ipv6 = false;
    sw::transport::vfio::Interface interface = sw::transport::vfio::Interface::any;
};

/// Print `text` and leave with `code`: --help, or a mistake (code 2, one line).
struct Leave {
    int code;
    std::string text;
};

std::variant<DriveOptions, Leave> parse_command_line(int argc, const char* const* argv);

} // namespace hcadrive
