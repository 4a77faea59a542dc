#include "testbench/hcadrive/functions.h"

#include "abi/prm/adapter.h"
#include "sw/transport/vfio/transport.h"
#include "sw/transport/vfio_user/transport.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace hcadrive {

using sw::failure;
using sw::Result;

namespace {

/// By name, in their order.
std::vector<std::string> sockets_in(const std::filesystem::path& directory) {
    std::vector<std::string> names;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(directory, error))
        if (entry.path().extension() == ".sock")
            names.push_back(entry.path().filename().string());
    std::ranges::sort(names);
    return names;
}

/// Cards that were named in another order are told before a driver begins: it would not know which place it has.
sw::Result<void> look_at(sw::transport::Transport& function, const std::string& place, std::size_t number) {
    constexpr std::array<std::string_view, 4> meant{"the HCA of machine A", "the GPU of machine A",
                                                    "the HCA of machine B", "the GPU of machine B"};
    const auto vendor = function.config_read(0, 2), device = function.config_read(2, 2);
    if ((vendor == abi::prm::pci_vendor) == (number % 2 == 0))
        return {};
    return sw::failure(ENODEV, fmt::format("{}: is function {:04x}:{:04x}, which is not {}; the order is HCA and GPU "
                                           "of machine A, HCA and GPU of machine B",
                                           place, vendor, device, meant.at(number)));
}

} // namespace

Result<Places> places_of(const std::vector<std::string>& named) {
    Places places;
    if (named.size() == places.size()) {
        std::ranges::copy(named, places.begin());
        return places;
    }
    if (named.size() != 1)
        return failure(EINVAL,
                       fmt::format("{} places are named; name the directory of the sockets, or four functions: HCA "
                                   "and GPU of machine A, HCA and GPU of machine B",
                                   named.size()));
    std::error_code error;
    if (!std::filesystem::is_directory(named.front(), error))
        return failure(ENOTDIR,
                       fmt::format("{}: is no directory; start `hcasim serve PLATFORM.toml --socket-dir DIR` and "
                                   "name its DIR here",
                                   named.front()));
    // Of the pair, and of [[hosts]] with one part of each kind.
    constexpr std::array<std::array<const char*, 3>, 4> files{{{"hostA.hca.sock", "A.hca0.sock", "A.hca.sock"},
                                                               {"hostA.gpu.sock", "A.gpu0.sock", "A.gpu.sock"},
                                                               {"hostB.hca.sock", "B.hca0.sock", "B.hca.sock"},
                                                               {"hostB.gpu.sock", "B.gpu0.sock", "B.gpu.sock"}}};
    const std::filesystem::path directory(named.front());
    const auto is_there = [&](const char* file) { return std::filesystem::exists(directory / file, error); };
    std::string missing;
    for (std::size_t i = 0; i < places.size(); ++i) {
        const auto* const found = std::ranges::find_if(files[i], is_there);
        if (found == files[i].end() && missing.empty())
            missing = files[i].front();
        places[i] = (directory / (found != files[i].end() ? *found : files[i].front())).string();
    }
    // Whoever has other sockets there has a server, of another platform; without any, connecting says what is wrong.
    if (const auto others = sockets_in(directory); !missing.empty() && !others.empty())
        return failure(ENOENT,
                       fmt::format("{}: has no {}; its sockets are {}. Name four of a platform with an HCA and a "
                                   "GPU in each machine: HCA and GPU of A, HCA and GPU of B",
                                   named.front(), missing, fmt::join(others, " ")));
    return places;
}

bool is_pci_address(const std::string& place) {
    constexpr std::string_view form = "hhhh:hh:hh.o";
    const auto fits = [](char kind, char c) {
        switch (kind) {
        case 'h': return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
        case 'o': return c >= '0' && c <= '7';
        default: return c == kind;
        }
    };
    return place.size() == form.size() && std::equal(form.begin(), form.end(), place.begin(), fits);
}

Result<std::unique_ptr<sw::transport::Transport>> Functions::open(const std::string& place, sw::transport::BusMap& bus,
                                                                  const OpenOptions& options) {
    if (is_pci_address(place))
        return sw::transport::vfio::DeviceTransport::open(place, machine_);
    return sw::transport::vfio_user::SocketTransport::connect(place, bus, {.patience = options.patience});
}

Result<std::unique_ptr<Functions>> Functions::open(const Places& places, const OpenOptions& options) {
    auto functions = std::make_unique<Functions>(options.interface);
    for (std::size_t i = 0; i < places.size(); ++i) {
        auto opened = functions->open(places[i], functions->buses_[i / 2], options);
        if (!opened)
            return std::unexpected(opened.error());
        functions->transports_[i] = std::move(*opened);
        if (const auto looked = look_at(*functions->transports_[i], places[i], i); !looked)
            return std::unexpected(looked.error());
    }
    return functions;
}

std::array<scenario::Cards, 2> Functions::cards() {
    return {scenario::Cards{"A", *transports_[0], *transports_[1]},
            scenario::Cards{"B", *transports_[2], *transports_[3]}};
}

} // namespace hcadrive
