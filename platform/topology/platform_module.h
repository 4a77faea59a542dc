// A configuration as modules: two machines, each with an HCA and a GPU, and the cable between the HCAs. A machine is a
// simulated host with root complex and switch, or is served: its processor and memory are those of a vfio-user client.
// Elaborates everything and names it for the sinks; runs nothing.
#pragma once

#include "model/gpu/vram.h"
#include "model/net/link_module.h"
#include "model/net/switch_module.h"
#include "platform/bridge/vfio_user/guest_module.h"
#include "platform/card/card_module.h"
#include "platform/card/mlx5_device.h"
#include "platform/host/host.h"
#include "platform/observe/event.h"
#include "platform/observe/fanout.h"
#include "platform/observe/ownership/ownership.h"
#include "platform/topology/config.h"
#include "traces/events.h"

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace platform::topology {

/// One machine and what is plugged into it.
struct Machine {
    static constexpr unsigned hca_slot = 0, gpu_slot = 1;

    std::string name; ///< "A"
    std::unique_ptr<observe::ownership::Ownership> ownership; ///< where it is configured
    std::unique_ptr<host::Host> host;                        ///< nullptr where it is served
    std::unique_ptr<bridge::vfio_user::GuestModule> guest; ///< and this instead
    std::unique_ptr<observe::ownership::FunctionWatch> watch; ///< of the HCA
    std::unique_ptr<card::CardModule> hca, gpu;

    card::Mlx5Device& mlx5() const { return hca->as<card::Mlx5Device>(); }
    model::gpu::Vram& vram() const { return gpu->as<model::gpu::Vram>(); }

    /// As enumeration numbered them; the simulation must have started.
    abi::pcie::Bdf hca_bdf() const;
    abi::pcie::Bdf gpu_bdf() const;
};

class Platform {
public:
    /// `sink` is told of everything, or is nullptr; `sources` gets the names of the components.
    /// Machine n is served where `served[n]` says so.
    Platform(const Config& config, traces::Sink* sink, observe::Sources& sources, std::array<bool, 2> served = {});

    Machine& a() { return machines_[0]; }
    Machine& b() { return machines_[1]; }
    std::array<Machine, 2>& machines() { return machines_; }
    /// The cable at machine A: what A sends is its direction 0.
    model::net::Link& cable() { return cables_[0]->link(); }
    /// No cable carries a packet, and no port one to itself; no card waits for a client's memory.
    bool is_quiet() const;
    /// Memory of clients; nothing of it may be swept unless is_quiet().
    bridge::vfio_user::FileMappings& guest_files() { return guest_files_; }
    const Config& config() const { return config_; }

private:
    void connect(traces::Sink* sink, observe::Sources& sources);
    void build(Machine& machine, unsigned number, traces::Sink* sink, observe::Sources& sources);

    Config config_;
    std::array<bool, 2> served_;
    observe::Fanout fanout_; ///< with the detector of stale mappings: it and the caller's sink
    bridge::vfio_user::FileMappings guest_files_; ///< outlives the cables, whose packets point into it
    std::vector<std::unique_ptr<model::net::LinkModule>> cables_; ///< one, or with a switch one a machine
    std::unique_ptr<model::net::SwitchModule> switch_;
    std::array<Machine, 2> machines_;
};

} // namespace platform::topology
