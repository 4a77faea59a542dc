// What of a device's configuration its user may choose: a name, a range, and where the value lies. A device lists its
// own settings; whoever reads configurations turns each into a key. Reads nothing itself.
#pragma once

#include "model/port/time.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace model::pcie {

struct Setting {
    std::string_view name; ///< with its unit unless the type has one: "latency_ns", "buffer"
    std::string_view help;
    /// A flag, a number, bytes ("2 MiB"), a time ("250 ns"), a text.
    std::variant<bool*, std::uint32_t*, std::uint64_t*, port::Time*, std::string*> value;
    std::uint64_t minimum = 0, maximum = 0; ///< of a time: picoseconds
    bool is_power_of_two = false;
    /// Of a text: what is wrong with it, or nothing. nullptr: each is right.
    std::optional<std::string> (*fault)(std::string_view) = nullptr;
};

} // namespace model::pcie
