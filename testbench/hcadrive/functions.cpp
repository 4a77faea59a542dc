#include "testbench/hcadrive/functions.h"

#include "sw/transport/vfio/transport.h"
#include "sw/transport/vfio_user/transport.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

namespace hcadrive {

using sw::failure;
using sw::Result;

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
    constexpr std::array files{"hostA.hca.sock", "hostA.gpu.sock", "hostB.hca.sock", "hostB.gpu.sock"};
    for (std::size_t i = 0; i < places.size(); ++i)
        places[i] = (std::filesystem::path(named.front()) / files[i]).string();
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
    }
    return functions;
}

std::array<scenario::Cards, 2> Functions::cards() {
    return {scenario::Cards{"A", *transports_[0], *transports_[1]},
            scenario::Cards{"B", *transports_[2], *transports_[3]}};
}

} // namespace hcadrive
