#include "testbench/hcadrive/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

namespace hcadrive {
namespace {

constexpr std::string_view help =
    R"(hcadrive: GPUDirect RDMA between two machines, with the drivers in this process and the cards somewhere else

usage: hcadrive DIR [OPTIONS]
       hcadrive A.HCA A.GPU B.HCA B.GPU [OPTIONS]

A file goes from the VRAM of machine A's GPU to the VRAM of machine B's: by RDMA WRITE, back by READ, and again by SEND.

  DIR            the sockets of a server: hcasim serve PLATFORM.toml --socket-dir DIR
  A.HCA ...      a socket each, or the address (0000:3b:00.0) of a PCIe function that is bound to vfio-pci

  --payload FILE   the file to move; default: this program
  --message BYTES  a work request moves so much; default 1048576
  --mtu BYTES      256, 512, 1024, 2048 or 4096; default 4096
  --depth N        work requests under way, a queue pair; 1 to 8192, default 64
  --qps N          queue pairs the payload is spread over; 1 to 1048576, default 1
  --patience S     seconds until a server without an answer is taken for dead; default 10
  --ipv6           RoCE addresses are 2001:db8::1 and ::2 instead of 10.0.0.1 and .2
  --interface I    how the kernel gives PCI functions: group (also maps BARs of peers) or iommufd; default: what is
                   there
  --json FILE      write the result as one JSON object

Exit status: 0 verified, 1 ran and is not verified, 2 refused before it ran.
)";

using sw::transport::vfio::Interface;

Leave mistake(std::string_view what) { return {2, fmt::format("hcadrive: {} (see hcadrive --help)\n", what)}; }

struct Limits {
    std::uint64_t least, most;
    bool is_power_of_two = false;
};

std::optional<std::uint64_t> number(std::string_view text, const Limits& limits) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value < limits.least || value > limits.most ||
        (limits.is_power_of_two && (value & (value - 1)) != 0))
        return {};
    return value;
}

} // namespace

std::variant<DriveOptions, Leave> parse_command_line(int argc, const char* const* argv) {
    DriveOptions options;
    struct Number {
        std::string_view name;
        Limits limits;
        std::function<void(std::uint64_t)> set;
    };
    const auto into = [](std::uint32_t& member) {
        return [&member](std::uint64_t v) { member = static_cast<std::uint32_t>(v); };
    };
    const std::array numbers{
        Number{"--message", {1, 1u << 30}, [&](std::uint64_t v) { options.message_bytes = v; }},
        Number{"--mtu", {256, 4096, true}, into(options.mtu_bytes)},
        Number{"--depth", {1, 8192}, into(options.queue_depth)},
        Number{"--qps", {1, 1 << 20}, into(options.queue_pairs)},
        Number{"--patience", {1, 3600}, into(options.patience_seconds)},
    };
    const auto words = std::span(argv, static_cast<std::size_t>(argc)).subspan(1);
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string_view word = words[i];
        if (word == "--help" || word == "-h")
            return Leave{0, std::string(help)};
        if (!word.starts_with("-")) {
            options.places.emplace_back(word);
            continue;
        }
        if (word == "--ipv6") {
            options.is_ipv6 = true;
            continue;
        }
        const auto* found = std::ranges::find(numbers, word, &Number::name);
        if (word == "--interface" && i + 1 < words.size()) {
            const std::string_view name = words[++i];
            if (name != "group" && name != "iommufd")
                return mistake(fmt::format("--interface {}: group or iommufd is possible", name));
            options.interface = name == "group" ? Interface::group : Interface::iommufd;
            continue;
        }
        const bool is_file = word == "--payload" || word == "--json";
        if (found == numbers.end() && !is_file)
            return mistake(fmt::format("unknown option {}", word));
        if (i + 1 == words.size())
            return mistake(fmt::format("{} needs a value", word));
        const std::string_view value = words[++i];
        if (is_file) {
            (word == "--json" ? options.json : options.payload) = value;
            continue;
        }
        const auto given = number(value, found->limits);
        if (!given)
            return mistake(fmt::format("{} {}: {}{} to {} is possible", word, value,
                                       found->limits.is_power_of_two ? "a power of two from " : "", found->limits.least,
                                       found->limits.most));
        found->set(*given);
    }
    if (options.places.empty())
        return mistake("no place of the cards is named");
    return options;
}

} // namespace hcadrive
