#include "firmware/capability.h"

#include "model/hca/address/identity.h"

#include <bit>

namespace firmware {

namespace prm = abi::prm;
using prm::CapabilityMode;
using prm::CapabilityType;

namespace {
/// `cmdif_checksum`: with 0 signatures are neither checked nor made, otherwise both. Drivers start with 0.
constexpr std::uint32_t checksum_supported = 3;
/// `atomic_operations`: compare-and-swap, fetch-and-add. `atomic_size_qp`: operand sizes in bytes, one bit each.
constexpr std::uint32_t atomic_compare_swap = 1u << 0, atomic_fetch_add = 1u << 1, atomic_eight_bytes = 8;
/// `l3_type`: IPv4, IPv6. `roce_version`: v2 only, the wire builds no GRH on Ethernet.
constexpr std::uint32_t l3_ipv4 = 1u << 1, l3_ipv6 = 1u << 2, roce_v2 = 1u << 2;
constexpr std::uint32_t roce_udp_port = 4791; ///< RoCEv2 annex A17.9.1
/// `umr_fence`: what a UMR needs before it may run; 0: everything earlier in its queue is complete.
constexpr std::uint32_t umr_fence_strong = 0;
constexpr std::uint32_t log_max_multicast_groups = 10, max_group_members = 248;
constexpr std::uint32_t log_max_user_contexts = 10, log_max_user_memories = 16;
constexpr std::uint32_t log_max_klm_list = 16; ///< entries of a key that refers to other keys

void describe(abi::View<prm::CmdHcaCap> cap, const model::hca::HcaConfig& config) {
    // Queues and objects
    cap.set<"log_max_qp_sz">(config.log_max_qp_size)
        .set<"log_max_qp">(config.log_max_qp)
        .set<"log_max_cq_sz">(config.log_max_cq_size)
        .set<"log_max_cq">(config.log_max_cq)
        .set<"log_max_eq_sz">(config.log_max_eq_size)
        .set<"log_max_eq">(config.log_max_eq)
        .set<"max_num_eqs">(1u << config.log_max_eq)
        .set<"log_max_mkey">(config.log_max_mkey)
        .set<"log_max_pd">(config.log_max_pd)
        .set<"log_max_transport_domain">(config.log_max_transport_domain)
        .set<"log_max_srq">(config.log_max_srq)
        .set<"log_max_srq_sz">(config.log_max_srq_size)
        .set<"log_max_rmp">(config.log_max_srq)
        .set<"basic_cyclic_rcv_wqe">(1)
        .set<"log_max_xrcd">(config.log_max_xrcd)
        .set<"log_max_mcg">(log_max_multicast_groups)
        .set<"max_qp_mcg">(max_group_members)
        .set<"max_wqe_sz_sq">(config.max_wqe_size_sq)
        .set<"max_wqe_sz_rq">(config.max_wqe_size_rq)
        .set<"cq_oi">(1)
        .set<"cq_resize">(1)
        .set<"cq_moderation">(1);
    // Transport services
    cap.set<"rc">(1)
        .set<"uc">(1)
        .set<"ud">(1)
        .set<"xrc">(1)
        .set<"atomic">(1)
        .set<"log_max_msg">(config.log_max_message)
        .set<"log_max_ra_req_qp">(config.log_max_read_requester)
        .set<"log_max_ra_res_qp">(config.log_max_read_responder)
        .set<"local_ca_ack_delay">(16)
        .set<"cqe_version">(1)
        .set<"sctr_data_cqe">(1);
    // Memory keys. Bits that end in "disabled" stay 0: a UMR may change whatever it can name
    cap.set<"log_max_mrw_sz">(63)
        .set<"log_max_klm_list_size">(log_max_klm_list)
        .set<"umr_extended_translation_offset">(1)
        .set<"umr_fence">(umr_fence_strong)
        .set<"imaicl">(1);
    cap.set<"fixed_buffer_size">(1).set<"pg">(config.on_demand_paging).set<"null_mkey">(config.on_demand_paging);
    // Programs that speak to the device directly
    cap.set<"log_max_uctx">(log_max_user_contexts).set<"log_max_umem">(log_max_user_memories);
    // Counters
    cap.set<"vport_counters">(1)
        .set<"max_qp_cnt">(config.max_q_counters)
        .set<"out_of_seq_cnt">(1)
        .set<"retransmission_q_counters">(1)
        .set<"enhanced_error_q_counters">(1)
        .set<"rts2rts_qp_counters_set_id">(1);
    // The port. Table sizes are codes: 0 is 8 GIDs, 0 is 128 P_Keys
    cap.set<"num_ports">(1)
        .set<"port_type">(config.is_ethernet ? 1 : 0)
        .set<"roce">(config.is_ethernet)
        .set<"roce_accl">(config.has_adaptive_retransmission())
        .set<"ib_virt">(!config.is_ethernet)
        .set<"gid_table_size">(0)
        .set<"pkey_table_size">(0);
    // Registers and commands
    const auto bar_mib = std::max(1u, config.uar_pages * 4096u >> 20);
    cap.set<"uar_sz">(static_cast<std::uint32_t>(std::bit_width(bar_mib) - 1))
        .set<"log_pg_sz">(12)
        .set<"num_of_uars_per_page">(1)
        .set<"bf">(config.blue_flame)
        .set<"log_bf_reg_size">(9)
        .set<"device_frequency_mhz">(config.internal_timer_khz / 1000)
        .set<"device_frequency_khz">(config.internal_timer_khz)
        .set<"cmdif_checksum">(checksum_supported);
}

/// One field of the general page that a driver may choose: at most as large as the device can.
struct Choice {
    std::uint32_t (*get)(abi::ConstView<prm::CmdHcaCap>);
    void (*set)(abi::View<prm::CmdHcaCap>, std::uint32_t);
};
template <abi::Name F> constexpr Choice choice() {
    return {[](abi::ConstView<prm::CmdHcaCap> cap) { return static_cast<std::uint32_t>(cap.get<F>()); },
            [](abi::View<prm::CmdHcaCap> cap, std::uint32_t value) { cap.set<F>(value); }};
}
constexpr Choice choices[] = {choice<"log_max_qp">(),      choice<"cmdif_checksum">(), choice<"pkey_table_size">(),
                              choice<"log_uar_page_sz">(), choice<"uar_4k">(),         choice<"roce">()};
} // namespace

Capabilities::Capabilities(const model::hca::HcaConfig& config) {
    describe(maximum_.general.view(), config);
    maximum_.atomic.view()
        .set<"atomic_req_8b_endianness_mode">(1)
        .set<"supported_atomic_req_8b_endianness_mode_1">(1)
        .set<"atomic_operations">(atomic_compare_swap | atomic_fetch_add)
        .set<"atomic_size_qp">(atomic_eight_bytes);
    if (config.is_ethernet)
        maximum_.roce.view()
            .set<"l3_type">(l3_ipv4 | l3_ipv6)
            .set<"roce_version">(roce_v2)
            .set<"r_roce_dest_udp_port">(roce_udp_port)
            .set<"r_roce_min_src_udp_port">(0xc000)
            .set<"r_roce_max_src_udp_port">(0xffff)
            .set<"roce_address_table_size">(model::hca::address::Identity::max_gids);
    if (config.on_demand_paging) {
        const auto scheme = maximum_.odp.view().sub<"transport_page_fault_scheme_cap">();
        for (auto connected : {scheme.sub<"rc_odp_caps">(), scheme.sub<"xrc_odp_caps">()})
            connected.set<"send">(1)
                .set<"receive">(1)
                .set<"write">(1)
                .set<"read">(1)
                .set<"atomic">(1)
                .set<"srq_receive">(1);
        scheme.sub<"ud_odp_caps">().set<"send">(1);
    }
    current_ = maximum_;
    // What a driver has to ask for
    current_.general.view().set<"cmdif_checksum">(0);
    current_.atomic.view().set<"atomic_req_8b_endianness_mode">(0);
}

std::span<const std::byte> Capabilities::page(CapabilityType type, CapabilityMode mode) const {
    const auto& pages = mode == CapabilityMode::current ? current_ : maximum_;
    const auto has = pages.general.view();
    switch (type) {
    case CapabilityType::general: return pages.general.bytes;
    case CapabilityType::atomic:
        return has.get<"atomic">() ? std::span<const std::byte>(pages.atomic.bytes) : std::span<const std::byte>();
    case CapabilityType::roce:
        return has.get<"roce">() ? std::span<const std::byte>(pages.roce.bytes) : std::span<const std::byte>();
    case CapabilityType::odp:
        return has.get<"pg">() ? std::span<const std::byte>(pages.odp.bytes) : std::span<const std::byte>();
    default: return {};
    }
}

Reply Capabilities::set(CapabilityType type, std::span<const std::byte> wanted) {
    if (page(type, CapabilityMode::maximum).empty())
        return refuse("set_hca_cap.type");
    switch (type) {
    case CapabilityType::general: return set_general(abi::ConstView<prm::CmdHcaCap>(wanted));
    case CapabilityType::atomic: return set_atomic(abi::ConstView<prm::AtomicCaps>(wanted));
    default: return accepted; // a page of which a driver may choose nothing
    }
}

Reply Capabilities::set_general(abi::ConstView<prm::CmdHcaCap> wanted) {
    for (const auto& field : choices)
        if (field.get(wanted) > field.get(maximum_.general.view()))
            return refuse("set_hca_cap.beyond_maximum");
    for (const auto& field : choices)
        field.set(current_.general.view(), field.get(wanted));
    return accepted;
}

Reply Capabilities::set_atomic(abi::ConstView<prm::AtomicCaps> wanted) {
    // Drivers send a page in which only the mode is set: it is merged into the page in force, not copied.
    const auto mode = wanted.get<"atomic_req_8b_endianness_mode">();
    if (mode > maximum_.atomic.view().get<"atomic_req_8b_endianness_mode">())
        return refuse("set_hca_cap.atomic_mode");
    current_.atomic.view().set<"atomic_req_8b_endianness_mode">(mode);
    return accepted;
}

} // namespace firmware
