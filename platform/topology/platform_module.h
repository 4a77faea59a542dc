// A description (description.h) as modules: hosts with their trees, cards, cables and switches, bound to each other. A
// machine is a simulated host, or is served: its processor and memory are those of a vfio-user client. Elaborates
// everything and names it for the sinks; runs nothing.
#pragma once

#include "model/gpu/vram.h"
#include "model/hca/tpt/key_grants.h"
#include "model/net/ethernet_switch_module.h"
#include "model/net/link_module.h"
#include "model/net/switch_module.h"
#include "model/simple/device.h"
#include "platform/bridge/vfio_user/guest_module.h"
#include "platform/card/card_module.h"
#include "platform/card/mlx5_device.h"
#include "platform/host/host.h"
#include "platform/observe/event.h"
#include "platform/observe/fanout.h"
#include "platform/observe/ownership/function_watch.h"
#include "platform/topology/config.h"
#include "platform/topology/description.h"
#include "platform/topology/failures_module.h"
#include "platform/topology/routes.h"
#include "traces/events.h"

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace platform::record {
class Recording;
}

namespace platform::topology {

/// A card in its slot.
struct PlacedCard {
    PartKind kind{};
    HcaModel model{};        ///< of an HCA
    std::string name;        ///< "A.hca0": of its events and in reports
    std::string path;        ///< "A.root0.sw0.hca0"
    std::string link_name;   ///< "A.hca0", of its link
    unsigned slot = 0;       ///< of its host
    std::size_t number = 0;  ///< of an HCA, among all of the platform
    traces::Course course{}; ///< of what it does: its calls may wait while other cards go on
    // Where the detector is configured:
    std::unique_ptr<observe::ownership::FunctionWatch> watch;
    std::unique_ptr<model::hca::tpt::KeyGrants> grants; ///< of an HCA
    std::unique_ptr<card::CardModule> module;

    model::pcie::EndpointModule& endpoint() const { return module->endpoint; }
    bool is_hca(HcaModel wanted) const { return kind == PartKind::hca && model == wanted; }
    /// Of an HCA of its model.
    model::simple::Device& simple() const { return module->as<model::simple::Device>(); }
    card::Mlx5Device& mlx5() const { return module->as<card::Mlx5Device>(); }
    model::hca::Hca& hca() const { return mlx5().hca(); }
    model::gpu::Vram& vram() const { return module->as<model::gpu::Vram>(); }
    /// Bytes of vram() were filled by a testbench, which a recording has to know.
    void filled(std::uint64_t offset, std::uint64_t length) const {
        module->note_injected(model::gpu::Vram::vram_bar, offset, vram().bytes().subspan(offset, length));
    }
    /// As enumeration numbered it; the simulation must have started.
    abi::pcie::Bdf bdf() const;
};

/// One machine and what is plugged into it.
struct Machine {
    std::string name;                                         ///< "A"
    std::unique_ptr<observe::ownership::Ownership> ownership; ///< where it is configured
    std::unique_ptr<host::Host> host;                         ///< nullptr where it is served
    std::unique_ptr<bridge::vfio_user::GuestModule> guest;    ///< and this instead
    std::vector<std::string> switch_links;                    ///< "A.upstream", by number of the host's switches
    std::deque<PlacedCard> cards;                             ///< in the order of the description
};

/// What one program works with: two cards of a host.
struct Seat {
    Machine& machine;
    PlacedCard& hca;
    PlacedCard& gpu;
};

/// Which machines are served.
enum class Served : std::uint8_t { as_described, all };

class Platform {
public:
    /// `sink` is told of everything, or is nullptr; `sources` gets the names of the components. What is recorded, goes
    /// into `recording`, which outlives this and begins when all is built; nullptr: nothing is.
    ///
    /// `is_here`: which hosts are in this process, by number; empty: all. Of the others there are names, so that
    /// numbers are the same everywhere, and no host and no card; cables that lead there are to be cut.
    Platform(const Config& config, traces::Sink* sink, observe::Sources& sources, Served served = Served::as_described,
             record::Recording* recording = nullptr, std::function<bool(std::size_t host)> is_here = {});

    const Description& description() const { return description_; }
    bool is_here(std::size_t host) const { return !is_here_ || is_here_(host); }
    std::deque<Machine>& machines() { return machines_; }
    Machine& machine(std::string_view name);
    /// By name or path, "A.hca0"; it is there.
    PlacedCard& card(std::string_view name);
    PlacedCard& card(const PartAt& at);
    Seat seat(const PartAt& hca, const PartAt& gpu) { return {machines_[hca.host], card(hca), card(gpu)}; }
    /// By name, "A.hca0" and "A.gpu0"; they are there, in one host.
    Seat seat(std::string_view hca, std::string_view gpu);
    std::size_t cable_count() const { return cables_.size(); }
    /// In the order of the description. The first is the one at machine A of the pair: what A sends is its direction 0.
    model::net::Link& cable(std::size_t number = 0) { return cables_[number]->link(); }
    /// [[failures]] count from `origin`, now or later; to be called once. Their cables break and come back at their
    /// times, and switches without a subnet manager have new tables after fabric.reroute_ns each time.
    void begin_failures(model::port::Time origin);
    /// Packets of which cable `number` has had some, and which a failure of it has cost: on the cable when it broke, or
    /// meant for it while it was broken.
    FailureCosts costs_of_failure(std::size_t cable) const;
    /// Packets for which a switch had no room or no way, of all switches.
    std::uint64_t dropped_by_switches() const;
    /// nullptr: number `number` of the switches is an InfiniBand switch.
    const model::net::EthernetSwitch* ethernet_switch(std::size_t number) const {
        return ethernet_switches_[number] ? &ethernet_switches_[number]->core() : nullptr;
    }
    /// No cable or switch has a packet, and no port one to itself; no card waits for a client's memory.
    bool is_quiet() const;
    /// Memory of clients; nothing of it may be swept unless is_quiet().
    bridge::vfio_user::FileMappings& guest_files() { return guest_files_; }
    const Config& config() const { return config_; }

private:
    struct Listener {
        traces::Sink* sink;
        observe::Sources& sources;
        record::Recording* recording;
        record::Boundary* boundary(const std::string& path) const;
        traces::Events add(const std::string& name) { return {sink, sources.add(name)}; }
        /// Of the component that was added last.
        traces::Events add_pcie_side(const std::string& name) {
            return {sink, sources.add_part(name + ".pcie", static_cast<std::uint16_t>(sources.size() - 1))};
        }
    };
    void connect(Listener& listener);
    void add_switch(std::size_t number, traces::Events events);
    void add_ethernet_switch(std::size_t number, traces::Events events);
    void fill_tables(const std::vector<SwitchRoutes>& routes);
    template <class Switch> void plug_cables(std::size_t number, Switch& made);
    void build(std::size_t number, Listener& listener);
    void name_elsewhere(std::size_t number, Listener& listener);
    void add_hca(Machine& machine, PlacedCard& card, const Part& part, Listener& listener);
    void add_gpu(PlacedCard& card, const Part& part, const Listener& listener);
    void add_device(const Machine& machine, PlacedCard& card, const Part& part, Listener& listener);
    static void watch(const Machine& machine, PlacedCard& card, traces::Events bus);
    bool is_served(std::size_t number) const { return serves_all_ || description_.hosts[number].is_served; }
    bool is_any_served() const;
    /// Calls of a served card may wait, since its memory is with a client, who may be slow.
    model::tlm::Neighbours* neighbours_of(const Machine& machine) { return machine.guest ? &neighbours_ : nullptr; }

    Config config_;
    Description description_;
    bool serves_all_;
    std::function<bool(std::size_t host)> is_here_;
    observe::Fanout fanout_;                      ///< with the detector of stale mappings: it and the caller's sink
    bridge::vfio_user::FileMappings guest_files_; ///< outlives the cables, whose packets point into it
    model::tlm::Neighbours neighbours_;
    std::vector<std::unique_ptr<model::net::LinkModule>> cables_;
    std::vector<std::unique_ptr<model::net::SwitchModule>> switches_; ///< by number; nullptr: an Ethernet switch
    std::vector<std::unique_ptr<model::net::EthernetSwitchModule>> ethernet_switches_; ///< the others
    std::unique_ptr<FailuresModule> failures_;                                         ///< nullptr: there are none
    std::deque<Machine> machines_;
    std::vector<std::vector<std::size_t>> cards_; ///< by host and part: which of the machine's cards it is
};

} // namespace platform::topology
