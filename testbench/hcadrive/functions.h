// The functions a program drives, by what a person calls them: the socket of a vfio-user server, or the address of a
// PCIe function that vfio-pci has. Opens them as the cards of two machines and keeps them open.
#pragma once

#include "sw/base/result.h"
#include "sw/transport/bus_map.h"
#include "sw/transport/transport.h"
#include "sw/transport/vfio/machine.h"
#include "testbench/scenario/gpudirect_drive.h"

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace hcadrive {

/// A.hca, A.gpu, B.hca, B.gpu.
using Places = std::array<std::string, 4>;

/// The places that a person named: all four, or the directory of a server's sockets.
sw::Result<Places> places_of(const std::vector<std::string>& named);
/// "0000:3b:00.0": domain, bus, device, function.
bool is_pci_address(const std::string& place);

struct OpenOptions {
    std::chrono::milliseconds patience{10'000};                                     ///< for an answer of a server
    sw::transport::vfio::Interface interface = sw::transport::vfio::Interface::any; ///< of the kernel
};

class Functions {
public:
    static sw::Result<std::unique_ptr<Functions>> open(const Places& places, const OpenOptions& options);
    explicit Functions(sw::transport::vfio::Interface interface) : machine_(interface) {}
    std::array<scenario::Cards, 2> cards();

private:
    sw::Result<std::unique_ptr<sw::transport::Transport>> open(const std::string& place, sw::transport::BusMap& bus,
                                                               const OpenOptions& options);

    std::array<sw::transport::BusMap, 2> buses_; ///< of machines whose functions come over sockets
    sw::transport::vfio::Machine machine_;       ///< this one: PCI functions of both sides are its own
    std::array<std::unique_ptr<sw::transport::Transport>, 4> transports_;
};

} // namespace hcadrive
