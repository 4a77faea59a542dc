#include "firmware/state.h"

#include <algorithm>
#include <utility>

namespace firmware {

namespace prm = abi::prm;

std::uint32_t queue_pairs_of(unsigned log_max_qp) {
    return objects::numbers_below(log_max_qp, objects::Row<objects::Kind::qp>::first).count();
}

State::State(model::hca::Hca& core, traces::Events events)
    : hca(core), capabilities(core.config()), account(pages, core.event_queues()), registry(core, account),
      traps(core, port.infiniband.managed, core.config().is_managed), events_(events) {
    reset();
    reset_port();
}

Phase State::phase() const {
    if (is_initialized_)
        return Phase::initialized;
    if (!is_enabled_)
        return Phase::disabled;
    return pages.boot_missing() == 0 ? Phase::booted : Phase::enabled;
}

void State::initialize() {
    set_limits(); // the driver may have chosen smaller limits with SET_HCA_CAP
    hca.set_atomic_host_order(capabilities.atomic().get<"atomic_req_8b_endianness_mode">() != 0);
    is_initialized_ = true;
    pages.set_running(true);
}

void State::tear_down() {
    const auto managed = port.infiniband.managed;
    auto pkeys = std::move(hca.identity().pkeys);
    hca.reset();
    registry.clear();
    account.clear();
    command_eq.reset();
    pages.set_running(false);
    is_initialized_ = false;

    auto& identity = hca.identity();
    identity.is_ethernet = config().is_ethernet;
    identity.mac = model::hca::address::mac_of_guid(config().node_guid);
    identity.gids = {};
    port = {};
    port.infiniband.managed.link = managed.link;
    if (!managed.link.is_up)
        port.infiniband.managed.state = prm::PortState::down;
    if (config().is_managed) {
        port.infiniband.managed = managed;
        identity.pkeys = std::move(pkeys);
    } else {
        port.infiniband.managed.lid = config().lid;
    }
    adopt_port();
    constexpr std::string_view description = "hcasim";
    std::transform(description.begin(), description.end(), port.node_description.begin(),
                   [](char c) { return static_cast<std::byte>(c); });
}

void State::reset_port() {
    if (!config().is_managed)
        return;
    traps.reset();
    const auto link = port.infiniband.managed.link;
    // until a subnet manager has seen it
    port.infiniband.managed = {.state = link.is_up ? prm::PortState::init : prm::PortState::down, .link = link};
    hca.identity().pkeys = model::hca::address::Identity{}.pkeys;
    adopt_port();
}

void State::adopt_port() {
    auto& identity = hca.identity();
    hca.set_lids(port.infiniband.managed.lid, port.infiniband.managed.lmc);
    if (config().is_ethernet)
        return;
    // IBA 4.1.1: GID 0 is the subnet prefix and the port's GUID.
    auto& gid = identity.gids[0];
    gid.is_valid = true;
    abi::store<std::uint64_t, std::endian::big>(gid.gid.data(), port.infiniband.managed.gid_prefix);
    abi::store<std::uint64_t, std::endian::big>(gid.gid.data() + 8, config().node_guid);
}

void State::apply_link_change(model::port::Time at) {
    auto& link = port.infiniband.managed.link;
    const bool awaits_manager =
        config().is_managed || link.retrains; // software that retrains the link arms the port afterwards
    model::management::apply_link_change(
        link, [&](bool is_on) { return hca.set_link_on(is_on, at); },
        [&](bool is_up) { link_changed(is_up, awaits_manager, at); });
}

void State::link_changed(bool is_up, bool awaits_manager, model::port::Time at) {
    auto& managed = port.infiniband.managed;
    managed.link.is_up = is_up;
    if (!is_up) {
        managed.state = prm::PortState::down;
        return tell(prm::PortChange::down, at);
    }
    managed.state = awaits_manager ? prm::PortState::init : prm::PortState::active;
    tell(awaits_manager ? prm::PortChange::initialized : prm::PortChange::active, at);
}

void State::tell(prm::PortChange change, model::port::Time at) {
    hca.event_queues().broadcast(
        prm::EventType::port_change, static_cast<std::uint8_t>(change), 1, at,
        [](abi::View<prm::Eqe> eqe) { prm::event_data<prm::PortChangeEventData>(eqe).set<"port_num">(1); });
}

void State::reset() {
    tear_down();
    is_enabled_ = false;
    issi = 0;
    // What was cleared of the port's counters stays so: they count on, whatever becomes of the function.
    forgiven = violations();
    capabilities = Capabilities(config());
    // Without initialization pages there is nothing to account against.
    pages = {config().boot_pages, config().init_pages, config().init_pages != 0 ? config().pages_per_1024_objects : 0};
    set_limits();
}

} // namespace firmware
