#include "firmware/state.h"

#include <algorithm>
#include <utility>

namespace firmware {

namespace prm = abi::prm;

namespace {
/// Numbers 0 and 1 are the special queue pairs of verbs, and small numbers are what a careless driver makes up.
constexpr std::uint32_t first_qpn = 0x40, first_cqn = 0x80, first_mkey = 0x80, first_pd = 1, first_transport_domain = 1,
                        first_srq = 0x80, first_xrcd = 1, first_uctx = 1, first_umem = 1;
/// Set 0 counts for queue pairs without a set of their own; it is never given out.
constexpr std::uint32_t first_counter_set = 1;

/// Numbers below 2^log_end, from `first` on; a device with few numbers starts lower.
std::uint32_t count_of(std::uint32_t first, unsigned log_end) {
    const auto end = 1u << log_end;
    return end - std::min(first, end / 2);
}
objects::IdPool pool(std::uint32_t first, unsigned log_end) {
    const auto count = count_of(first, log_end);
    return {(1u << log_end) - count, count};
}
} // namespace

std::uint32_t queue_pairs_of(unsigned log_max_qp) { return count_of(first_qpn, log_max_qp); }

State::State(model::hca::Hca& core, traces::Events events)
    : hca(core), capabilities(core.config()), traps(core, port.infiniband.managed, core.config().is_managed),
      events_(events) {
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
    make_pools(); // the driver may have chosen smaller limits with SET_HCA_CAP
    hca.set_atomic_host_order(capabilities.atomic().get<"atomic_req_8b_endianness_mode">() != 0);
    is_initialized_ = true;
    pages.set_running(true);
}

void State::tear_down() {
    const auto managed = port.infiniband.managed;
    auto pkeys = std::move(hca.identity().pkeys);
    hca.reset();
    uars.clear();
    transport_domains.clear();
    xrcds.clear();
    user_contexts.clear();
    umems.clear();
    owners.clear();
    std::ranges::fill(counter_set_users, 0);
    command_eq.reset();
    pages.remove_objects();
    pages.set_running(false);
    page_entries_ = 0;
    page_request_is_out_ = false;
    is_initialized_ = false;

    auto& identity = hca.identity();
    const auto guid = config().node_guid;
    identity.is_ethernet = config().is_ethernet;
    // EUI-64 to EUI-48: the two bytes in the middle go (IEEE "Guidelines for EUI").
    for (std::size_t i = 0; i < 3; ++i) {
        identity.mac[i] = static_cast<std::byte>(guid >> (56 - 8 * i) & 0xff);
        identity.mac[3 + i] = static_cast<std::byte>(guid >> (16 - 8 * i) & 0xff);
    }
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
    hca.identity().pkeys = model::hca::wire::Identity{}.pkeys;
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

void State::settle_link(model::port::Time at) {
    auto& link = port.infiniband.managed.link;
    const bool awaits_manager = config().is_managed || link.retrains; // whoever makes it train again arms it
    model::management::settle_link(
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
    performance.reset();
    cleared = {};
    forgiven = violations();
    capabilities = Capabilities(config());
    // Without initialization pages there is nothing to account against.
    pages = {config().boot_pages, config().init_pages, config().init_pages != 0 ? config().pages_per_1024_objects : 0};
    make_pools();
}

void State::make_pools() {
    const auto cap = capabilities.general();
    uar_ids = {config().first_uar, static_cast<std::uint32_t>(config().uar_pages - config().first_uar)};
    pd_ids = pool(first_pd, cap.get<"log_max_pd">());
    transport_domain_ids = pool(first_transport_domain, cap.get<"log_max_transport_domain">());
    eq_ids = {0, cap.get<"max_num_eqs">()};
    cq_ids = pool(first_cqn, cap.get<"log_max_cq">());
    mkey_ids = pool(first_mkey, cap.get<"log_max_mkey">());
    qp_ids = pool(first_qpn, cap.get<"log_max_qp">());
    srq_ids = pool(first_srq, cap.get<"log_max_srq">());
    xrcd_ids = pool(first_xrcd, cap.get<"log_max_xrcd">());
    uctx_ids = pool(first_uctx, cap.get<"log_max_uctx">());
    umem_ids = pool(first_umem, cap.get<"log_max_umem">());
    const auto sets = std::max(cap.get<"max_qp_cnt">(), first_counter_set);
    counter_set_ids = {first_counter_set, sets - first_counter_set};
    counter_set_users.assign(sets, 0);
}

Reply State::admit(std::uint64_t entries, model::port::Time at) {
    if (entries > max_page_entries - page_entries_)
        return refuse("resources.page_entries");
    if (!pages.has_room()) {
        page_request_is_out_ = false; // whatever the driver said before: it is needed now
        request_pages(at);
        return refuse("resources.no_pages");
    }
    return accepted;
}

void State::charge(std::uint64_t entries, model::port::Time at) {
    page_entries_ += entries;
    pages.add_object();
    request_pages(at);
}

void State::release(std::uint64_t entries) {
    page_entries_ -= entries;
    pages.remove_object();
}

void State::request_pages(model::port::Time at) {
    const auto wanted = pages.wanted();
    if (wanted == 0 || page_request_is_out_)
        return;
    const auto count = static_cast<std::uint32_t>(wanted);
    hca.event_queues().broadcast(prm::EventType::page_request, 0, count, at, [count](abi::View<prm::Eqe> eqe) {
        prm::event_data<prm::PageRequestEventData>(eqe).set<"num_pages">(count);
    });
    page_request_is_out_ = true;
}

} // namespace firmware
