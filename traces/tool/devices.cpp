#include "traces/tool/devices.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <string_view>

namespace traces::tool {

namespace {

constexpr std::string_view function_part = "f", port_part = "port";
constexpr std::array parts{function_part, port_part};

struct Name {
    std::string_view device;
    std::uint32_t number = 0; ///< of the function or the port
};
Name read_name(std::string_view name) {
    const auto dot = name.rfind('.');
    if (dot == name.npos)
        return {name};
    const auto last = name.substr(dot + 1);
    const auto digits = last.find_first_of("0123456789");
    std::uint32_t number = 0;
    if (digits == last.npos || std::ranges::find(parts, last.substr(0, digits)) == parts.end() ||
        std::from_chars(last.data() + digits, last.data() + last.size(), number).ptr != last.data() + last.size())
        return {name};
    return {name.substr(0, dot), number};
}

} // namespace

Devices::Devices(const codec::Head& head) {
    std::map<std::string, std::uint32_t, std::less<>> numbers;
    for (std::uint32_t interface = 0; interface < head.interfaces.size(); ++interface) {
        const auto& [kind, name] = head.interfaces[interface];
        const bool is_events = kind == codec::InterfaceKind::events;
        const auto [device, number] = is_events ? Name{name} : read_name(name);
        const auto [found, is_new] =
            numbers.try_emplace(std::string(device), static_cast<std::uint32_t>(devices_.size()));
        if (is_new)
            devices_.push_back({.name = std::string(device)});
        of_.push_back(found->second);
        port_numbers_.push_back(number);
        if (kind == codec::InterfaceKind::pcie)
            devices_[found->second].functions.push_back(interface);
        else if (!is_events)
            devices_[found->second].ports.push_back(interface);
    }
}

std::optional<std::uint32_t> Devices::port(std::uint32_t device, std::uint32_t number) const {
    const auto& ports = devices_[device].ports;
    const auto found =
        std::ranges::find_if(ports, [&](std::uint32_t interface) { return port_numbers_[interface] == number + 1; });
    return found != ports.end() ? std::optional(*found) : std::nullopt;
}

} // namespace traces::tool
