// The functions a program drives, by what a person calls them: the socket of a vfio-user server, or the address of a
// PCIe function that vfio-pci has. Opens them as the cards of two machines and keeps them open.
#pragma once

#include "sw/base/result.h"
#include "sw/transport/bus_map.h"
#include "sw/transport/transport.h"
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

class Functions {
public:
    static sw::Result<std::unique_ptr<Functions>> open(const Places& places, std::chrono::milliseconds patience);
    std::array<scenario::Cards, 2> cards();

private:
    std::array<sw::transport::BusMap, 2> buses_; ///< of machines whose functions come over sockets
    std::array<std::unique_ptr<sw::transport::Transport>, 4> transports_;
};

} // namespace hcadrive
