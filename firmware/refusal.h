// Why a command is refused: one row for each place in the firmware that refuses. The number goes to the driver as the
// syndrome, the status with it, the sentence into the log (traces::CommandExecuted::why). A place names its row:
// `return refuse("create_qp.pd");` finds it at compile time. Statuses are the PRM's, the numbers are ours (PRM
// "Commands").
#pragma once

#include "abi/prm/command.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace firmware {

struct Refusal {
    std::uint32_t syndrome; ///< chapter << 8 | number
    abi::prm::Status status;
    std::string_view name, why;
};

/// What a handler answers: why it refused, or nothing.
using Reply = const Refusal*;
inline constexpr Reply accepted = nullptr;

// clang-format off
namespace detail {
using abi::prm::Status;
inline constexpr auto refusals = std::to_array<Refusal>({
    // Before a command runs
    {0x0101, Status::bad_operation, "command.unknown", "the device has no command with this opcode"},
    {0x0102, Status::bad_operation, "command.capability_off", "the capability that goes with this command is not "
        "advertised"},
    {0x0103, Status::bad_system_state, "command.phase", "the command does not belong to this phase of the life cycle"},
    {0x0104, Status::bad_input_length, "command.input_too_short", "the input is shorter than the command's structure"},
    {0x0105, Status::bad_input_length, "command.input_too_long", "the input is longer than the command can ever need"},
    {0x0106, Status::bad_output_length, "command.output_too_short", "the output has no room for the command's "
        "structure"},
    {0x0107, Status::bad_resource, "command.uid", "uid names no user context"},
    {0x0108, Status::bad_operation, "command.privileged", "uid names a user context, and the command is the kernel's "
        "alone"},
    // Life cycle
    {0x0201, Status::bad_parameter, "enable_hca.function",
        "function_id is not this function; there is no embedded CPU"},
    {0x0202, Status::bad_parameter, "disable_hca.function", "function_id is not this function; there is no embedded "
        "CPU"},
    {0x0203, Status::bad_parameter, "set_issi.not_supported", "current_issi is not among those QUERY_ISSI offers"},
    {0x0204, Status::no_resources, "init_hca.pages_missing", "boot and init pages are missing: QUERY_PAGES says how "
        "many"},
    {0x0205, Status::bad_parameter, "teardown_hca.profile", "force and fast teardown are not advertised"},
    // Pages
    {0x0301, Status::bad_parameter, "query_pages.function", "function_id is not this function; there is no embedded "
        "CPU"},
    {0x0302, Status::bad_operation, "query_pages.op_mod", "op_mod is not boot, init or regular"},
    {0x0303, Status::bad_parameter, "manage_pages.function", "function_id is not this function; there is no embedded "
        "CPU"},
    {0x0304, Status::bad_operation, "manage_pages.op_mod", "op_mod is not cannot-give, give or take"},
    {0x0305, Status::bad_input_length, "manage_pages.list_too_short",
     "input_num_entries is more than the addresses that came with it"},
    {0x0306, Status::limits_exceeded, "manage_pages.too_many", "more pages than the device ever accepts"},
    {0x0307, Status::bad_parameter, "manage_pages.given_twice_at_once", "the same page stands twice in the list"},
    {0x0308, Status::bad_parameter, "manage_pages.not_aligned", "a page address is not a multiple of 4096"},
    {0x0309, Status::bad_parameter, "manage_pages.given_before", "a page of the list already belongs to the device"},
    {0x030a, Status::no_resources, "resources.no_pages",
     "the pages given to the device are used up: a page request event asks for more"},
    {0x030b, Status::limits_exceeded, "resources.page_entries",
     "the page lists of all objects together exceed the device's translation memory"},
    // Capabilities
    {0x0401, Status::bad_parameter, "query_hca_cap.function", "only this function's own capabilities can be read"},
    {0x0402, Status::bad_operation, "query_hca_cap.type", "there is no capability page of this type"},
    {0x0403, Status::bad_parameter, "set_hca_cap.function", "only this function's own capabilities can be set"},
    {0x0404, Status::bad_operation, "set_hca_cap.op_mod", "bit 0 of op_mod must be 0: only current values can be set"},
    {0x0405, Status::bad_operation, "set_hca_cap.type", "there is no capability page of this type"},
    {0x0406, Status::bad_parameter, "set_hca_cap.beyond_maximum", "a field is larger than the maximum that "
        "QUERY_HCA_CAP gives"},
    {0x0407, Status::bad_parameter, "set_hca_cap.atomic_mode", "atomic_req_8B_endianness_mode is not supported"},
    // Registers
    {0x0501, Status::bad_parameter, "access_reg.unknown", "register_id names no register of this device"},
    {0x0502, Status::bad_operation, "access_reg.op_mod", "op_mod is not write or read"},
    {0x0503, Status::bad_parameter, "access_reg.direction", "the register cannot be read, or cannot be written"},
    {0x0504, Status::bad_input_length, "access_reg.input_short", "the input does not hold the register"},
    {0x0505, Status::bad_output_length, "access_reg.output_short", "the output has no room for the register"},
    {0x0506, Status::bad_parameter, "access_reg.port", "local_port is not 1"},
    {0x0507, Status::bad_parameter, "access_reg.mtu", "admin_mtu is 0, beyond max_mtu, or not to be set on an "
        "InfiniBand port"},
    {0x0508, Status::bad_parameter, "access_reg.not_infiniband", "the register belongs to InfiniBand ports"},
    {0x0509, Status::bad_parameter, "access_reg.admin_status", "admin_status is not up or down"},
    {0x050a, Status::bad_parameter, "access_reg.endianness", "only big endian hosts' command order (he = 0) is "
        "supported"},
    {0x050b, Status::bad_parameter, "access_reg.counter_group", "the port has no counters of this group: an "
        "InfiniBand port has 0x20 and 0x21"},
    // UAR, protection domain, transport domain, counters
    {0x0601, Status::limits_exceeded, "alloc_uar.none_left", "every UAR page of the BAR is given out"},
    {0x0602, Status::bad_resource, "dealloc_uar.unknown", "uar names no allocated page"},
    {0x0603, Status::limits_exceeded, "alloc_pd.none_left", "2^log_max_pd protection domains exist"},
    {0x0604, Status::bad_resource, "dealloc_pd.unknown", "pd names no protection domain"},
    {0x0605, Status::resource_busy, "dealloc_pd.in_use", "memory keys or queue pairs still belong to the protection "
        "domain"},
    {0x0606, Status::limits_exceeded, "alloc_transport_domain.none_left", "2^log_max_transport_domain transport "
        "domains exist"},
    {0x0607, Status::bad_resource, "dealloc_transport_domain.unknown", "transport_domain names none"},
    {0x0608, Status::limits_exceeded, "alloc_q_counter.none_left", "max_qp_cnt counter sets exist"},
    {0x0609, Status::bad_resource, "dealloc_q_counter.unknown", "counter_set_id names no allocated set"},
    {0x060a, Status::resource_busy, "dealloc_q_counter.in_use", "queue pairs still count in the set"},
    {0x060b, Status::bad_parameter, "query_q_counter.vport", "only this function's own counters can be read"},
    {0x060c, Status::bad_parameter, "query_q_counter.aggregate", "q_counter_aggregation is not advertised"},
    {0x060d, Status::bad_resource, "query_q_counter.unknown", "counter_set_id names no allocated set"},
    {0x060e, Status::bad_parameter, "query_vport_counter.vport", "there is one vport and one port"},
    {0x060f, Status::resource_busy, "dealloc_uar.in_use", "queue pairs, completion queues or event queues still have "
        "their doorbells in the page"},
    // Rings in host memory
    {0x0701, Status::bad_input_length, "buffer.pages_missing",
     "the page list does not hold the ring: size, page_offset and log_page_size ask for more pages"},
    {0x0702, Status::bad_parameter, "buffer.page_not_aligned", "a page address is not a multiple of the page size"},
    // Event queues
    {0x0801, Status::bad_parameter, "create_eq.size", "log_eq_size is beyond log_max_eq_sz"},
    {0x0802, Status::bad_resource, "create_eq.uar", "uar_page names no allocated page"},
    {0x0803, Status::bad_parameter, "create_eq.vector", "intr is beyond the MSI-X table"},
    {0x0804, Status::bad_parameter, "create_eq.second_command_queue", "another event queue already receives command "
        "completions"},
    {0x0805, Status::limits_exceeded, "create_eq.none_left", "max_num_eqs event queues exist"},
    {0x0806, Status::bad_resource, "destroy_eq.unknown", "eq_number names no event queue"},
    {0x0807, Status::resource_busy, "destroy_eq.in_use", "completion queues still report to the event queue"},
    {0x0808, Status::bad_resource, "query_eq.unknown", "eq_number names no event queue"},
    {0x0809, Status::bad_parameter, "create_eq.polled_uar", "the page is one of those whose doorbells are found by "
        "records (hca.polled_doorbells), and event queues have no record; take a page of the kernel's"},
    // Completion queues
    {0x0902, Status::bad_parameter, "create_cq.apu", "apu_cq is not advertised"},
    {0x0903, Status::bad_parameter, "create_cq.collapsed", "collapsed completion queues (cc) are not built"},
    {0x0904, Status::bad_parameter, "create_cq.compression", "cqe_compression is not advertised"},
    {0x0905, Status::bad_parameter, "create_cq.entry_size", "cqe_sz is neither 64 nor 128 bytes"},
    {0x0906, Status::bad_parameter, "create_cq.size", "log_cq_size is beyond log_max_cq_sz"},
    {0x0907, Status::bad_parameter, "create_cq.doorbell_record", "dbr_addr is not a multiple of 8"},
    {0x0908, Status::bad_resource, "create_cq.uar", "uar_page names no allocated page"},
    {0x0909, Status::bad_resource, "create_cq.eq", "c_eqn names no event queue"},
    {0x090a, Status::limits_exceeded, "create_cq.none_left", "2^log_max_cq completion queues exist"},
    {0x090b, Status::bad_resource, "destroy_cq.unknown", "cqn names no completion queue"},
    {0x090c, Status::resource_busy, "destroy_cq.in_use", "queue pairs still complete to the completion queue"},
    {0x090d, Status::bad_resource, "query_cq.unknown", "cqn names no completion queue"},
    {0x090e, Status::bad_resource, "modify_cq.unknown", "cqn names no completion queue"},
    {0x090f, Status::bad_operation, "modify_cq.op_mod", "op_mod is neither 0 (modify) nor 1 (resize)"},
    {0x0910, Status::bad_parameter, "modify_cq.field_select", "a bit of modify_field_select is not advertised"},
    {0x0911, Status::bad_parameter, "modify_cq.entry_size", "a resize keeps the size of the entries"},
    {0x0912, Status::bad_parameter, "modify_cq.size", "log_cq_size is beyond log_max_cq_sz"},
    {0x0913, Status::bad_size_outstanding_cqes, "modify_cq.outstanding",
     "the new ring does not hold the completions that software has not consumed yet"},
    {0x0914, Status::bad_resource_state, "modify_cq.state",
     "the old ring is full or in error: it cannot take the completion that ends it"},
    {0x0915, Status::bad_parameter, "modify_cq.resize_fields", "a resize brings size, page size and page offset"},
    {0x0916, Status::bad_parameter, "modify_cq.umem", "a resize into user memory is not built"},
    // Memory keys
    {0x0a01, Status::bad_parameter, "create_mkey.umem", "user memory goes with the access mode MTT"},
    {0x0a02, Status::bad_parameter, "create_mkey.data_direct", "data_direct is not advertised"},
    {0x0a03, Status::bad_parameter, "create_mkey.access_mode", "only the access modes PA, MTT, KLM and KSM are built"},
    {0x0a04, Status::bad_parameter, "create_mkey.signature", "signature handover is not advertised"},
    {0x0a05, Status::bad_parameter, "create_mkey.klm_list", "translations_octword_size is beyond "
        "2^log_max_klm_list_size"},
    {0x0a06, Status::bad_resource, "create_mkey.pd", "pd names no protection domain"},
    {0x0a07, Status::bad_parameter, "create_mkey.page_size", "log_page_size is not 12 to 31"},
    {0x0a08, Status::bad_parameter, "create_mkey.length64_with_mtt",
     "a page list cannot cover the whole address space (length64)"},
    {0x0a09, Status::bad_input_length, "create_mkey.list_too_short",
     "translations_octword_actual_size is more than the list that came with it"},
    {0x0a0a, Status::bad_parameter, "create_mkey.list_too_long",
     "translations_octword_actual_size is more than translations_octword_size"},
    {0x0a0b, Status::bad_parameter, "create_mkey.range_wraps", "start_addr + len leaves the address space"},
    {0x0a0c, Status::bad_parameter, "create_mkey.pa_range_wraps", "start_addr + len leaves the address space"},
    {0x0a0d, Status::bad_parameter, "create_mkey.range_beyond_list", "start_addr and len reach beyond the page list"},
    {0x0a0e, Status::bad_parameter, "create_mkey.page_not_aligned",
        "a page address is not a multiple of the page size"},
    {0x0a0f, Status::limits_exceeded, "create_mkey.none_left", "2^log_max_mkey memory keys exist"},
    {0x0a10, Status::bad_resource, "destroy_mkey.unknown", "mkey_index names no memory key"},
    {0x0a11, Status::bad_resource, "query_mkey.unknown", "mkey_index names no memory key"},
    {0x0a12, Status::bad_parameter, "create_mkey.umem_alignment",
     "start_addr and its place in the user memory differ in their offset in a page"},
    {0x0a13, Status::bad_parameter, "create_mkey.umem_pages",
     "log_page_size is larger than what lies together in the user memory"},
    {0x0a14, Status::bad_parameter, "create_mkey.relaxed_ordering", "relaxed ordering is not advertised"},
    // Queue pairs
    {0x0b01, Status::bad_parameter, "create_qp.extension", "qpc_extension is not advertised"},
    {0x0b03, Status::bad_parameter, "create_qp.input_qpn",
     "mkey_by_name and its kin are not advertised: the device chooses the number"},
    {0x0b04, Status::bad_parameter, "create_qp.service", "st is a transport service that is not advertised"},
    {0x0b05, Status::bad_parameter, "create_qp.wq_signature", "wq_signature is not advertised"},
    {0x0b06, Status::bad_parameter, "create_qp.scatter_to_cqe", "cs_req is none of 0, 0x11 and 0x22, or cs_res none "
        "of 0, 1 and 2"},
    {0x0b07, Status::bad_parameter, "create_qp.cross_channel", "cross channel (cd) is not advertised"},
    {0x0b09, Status::bad_parameter, "create_qp.rq_type",
        "rq_type is neither a queue of its own, a shared one nor none"},
    {0x0b0a, Status::bad_parameter, "create_qp.sq_size", "log_sq_size is beyond log_max_qp_sz"},
    {0x0b0b, Status::bad_parameter, "create_qp.rq_size", "log_rq_size is beyond log_max_qp_sz"},
    {0x0b0c, Status::bad_parameter, "create_qp.rq_stride", "log_rq_stride is beyond max_wqe_sz_rq"},
    {0x0b0d, Status::bad_parameter, "create_qp.doorbell_record", "dbr_addr is not a multiple of 8"},
    {0x0b0e, Status::bad_resource, "create_qp.pd", "pd names no protection domain"},
    {0x0b0f, Status::bad_resource, "create_qp.uar", "uar_page names no allocated page"},
    {0x0b10, Status::bad_resource, "create_qp.send_cq", "cqn_snd names no completion queue"},
    {0x0b11, Status::bad_resource, "create_qp.receive_cq", "cqn_rcv names no completion queue"},
    {0x0b12, Status::limits_exceeded, "create_qp.none_left", "2^log_max_qp queue pairs exist"},
    {0x0b13, Status::bad_resource, "destroy_qp.unknown", "qpn names no queue pair"},
    {0x0b14, Status::bad_resource, "query_qp.unknown", "qpn names no queue pair"},
    {0x0b15, Status::bad_parameter, "query_qp.extension", "qpc_extension is not advertised"},
    {0x0b16, Status::bad_resource, "modify_qp.unknown", "qpn names no queue pair"},
    {0x0b17, Status::bad_qp_state, "modify_qp.state", "the command does not lead out of the queue pair's state"},
    {0x0b18, Status::bad_parameter, "modify_qp.opt_param_mask",
     "opt_param_mask names a field that this transition does not take"},
    {0x0b19, Status::bad_resource, "modify_qp.counter_set", "counter_set_id names no allocated set"},
    {0x0b1a, Status::bad_parameter, "modify_qp.atomic_mode",
     "rae is set and atomic_mode is not one of those for 8-byte operands"},
    {0x0b1b, Status::bad_parameter, "modify_qp.mtu", "mtu is not a code from 1 (256) to 5 (4096)"},
    {0x0b1c, Status::bad_parameter, "modify_qp.message_size", "log_msg_max is beyond the capability log_max_msg"},
    {0x0b1d, Status::bad_parameter, "modify_qp.responder_reads", "log_rra_max is beyond log_max_ra_res_qp"},
    {0x0b1e, Status::bad_parameter, "modify_qp.requester_reads", "log_sra_max is beyond log_max_ra_req_qp"},
    {0x0b1f, Status::bad_resource, "leave_qp.unknown", "qpn names no queue pair"},
    {0x0b21, Status::bad_parameter, "qp_path.pkey_index", "pkey_index names an empty entry of the P_Key table"},
    {0x0b22, Status::bad_parameter, "qp_path.port", "vhca_port_num is beyond num_ports"},
    {0x0b23, Status::bad_parameter, "qp_path.source_address",
     "src_addr_index names an empty entry: set it first with SET_ROCE_ADDRESS (Ethernet)"},
    {0x0b24, Status::bad_resource, "attach_to_mcg.unknown", "qpn names no queue pair"},
    {0x0b25, Status::bad_parameter, "attach_to_mcg.service", "only unreliable datagram queue pairs receive multicast"},
    {0x0b26, Status::limits_exceeded, "attach_to_mcg.groups", "2^log_max_mcg multicast groups have members"},
    {0x0b27, Status::limits_exceeded, "attach_to_mcg.members", "max_qp_mcg queue pairs are members of the group"},
    {0x0b28, Status::bad_resource, "detach_from_mcg.unknown", "qpn names no queue pair"},
    {0x0b29, Status::bad_index, "detach_from_mcg.no_member", "the queue pair is no member of the group"},
    {0x0b2a, Status::bad_parameter, "attach_to_mcg.group", "multicast_gid is no multicast GID: it does not begin with "
        "ff"},
    // Port
    {0x0c01, Status::bad_parameter, "query_hca_vport_context.vport", "there is one vport and one port"},
    {0x0c02, Status::bad_parameter, "query_hca_vport_gid.vport", "there is one vport and one port"},
    {0x0c03, Status::bad_index, "query_hca_vport_gid.index", "gid_index is beyond the table"},
    {0x0c04, Status::bad_output_length, "query_hca_vport_gid.no_room", "the output has no room for the GIDs asked for"},
    {0x0c05, Status::bad_parameter, "query_hca_vport_pkey.vport", "there is one vport and one port"},
    {0x0c06, Status::bad_index, "query_hca_vport_pkey.index", "pkey_index is beyond the table"},
    {0x0c07, Status::bad_output_length, "query_hca_vport_pkey.no_room", "the output has no room for the P_Keys asked "
        "for"},
    {0x0c08, Status::bad_parameter, "query_nic_vport_context.vport", "there is one vport"},
    {0x0c09, Status::bad_parameter, "modify_nic_vport_context.vport", "there is one vport"},
    {0x0c0a, Status::bad_parameter, "modify_nic_vport_context.field",
     "field_select names a field of Ethernet offloads, which are not advertised"},
    {0x0c0b, Status::bad_parameter, "query_vport_state.vport", "there is one vport, of the NIC kind (op_mod 0)"},
    {0x0c0c, Status::bad_index, "set_roce_address.index", "roce_address_index is beyond roce_address_table_size"},
    {0x0c0d, Status::bad_parameter, "set_roce_address.port", "vhca_port_num is beyond num_ports"},
    {0x0c0e, Status::bad_parameter, "set_roce_address.version", "only RoCE v2 is advertised (roce_version 2)"},
    {0x0c0f, Status::bad_parameter, "set_roce_address.vlan", "VLAN tags are not built"},
    {0x0c10, Status::bad_parameter, "set_roce_address.l3_type", "roce_l3_type is neither IPv4 nor IPv6"},
    {0x0c11, Status::bad_parameter, "set_roce_address.not_ipv4", "roce_l3_type is IPv4 and the address is not "
        "::ffff:a.b.c.d"},
    {0x0c12, Status::bad_index, "query_roce_address.index", "roce_address_index is beyond roce_address_table_size"},
    {0x0c13, Status::bad_parameter, "mad_ifc.port", "there is one port"},
    {0x0c14, Status::bad_packet, "mad_ifc.m_key", "the M_Key of the datagram is not the one of the port (IBA 14.2.4)"},
    {0x0c15, Status::bad_parameter, "modify_hca_vport_context.vport", "there is one vport and one port"},
    {0x0c16, Status::bad_parameter, "modify_hca_vport_context.field", "field_select: the identity of the port is not "
        "the driver's to change"},
    {0x0c17, Status::bad_parameter, "modify_hca_vport_context.capability",
     "cap_mask1_field_select names a bit that the query does not show as changeable"},
    // Shared receive queues
    {0x0d01, Status::bad_parameter, "create_xrc_srq.umem", "queues of an XRC domain in user memory are not built"},
    {0x0d02, Status::bad_parameter, "create_srq.wq_signature", "wq_signature is not advertised"},
    {0x0d03, Status::bad_parameter, "create_srq.size", "the queue is larger than log_max_srq_sz"},
    {0x0d04, Status::bad_parameter, "create_srq.stride",
     "the stride is beyond max_wqe_sz_rq, or has no room for a next segment and one piece of memory"},
    {0x0d05, Status::bad_parameter, "create_srq.doorbell_record", "the doorbell record is not a multiple of 4"},
    {0x0d06, Status::bad_resource, "create_srq.pd", "pd names no protection domain"},
    {0x0d07, Status::limits_exceeded, "create_srq.none_left", "2^log_max_srq shared receive queues exist"},
    {0x0d08, Status::resource_busy, "destroy_srq.in_use", "queue pairs receive from it"},
    {0x0d09, Status::bad_parameter, "create_rmp.type", "wq_type is neither a linked list nor cyclic"},
    {0x0d0a, Status::bad_parameter, "create_rmp.state", "state is not ready"},
    {0x0d0b, Status::bad_resource, "destroy_rmp.unknown", "rmpn names no receive memory pool"},
    {0x0d0c, Status::bad_resource, "query_rmp.unknown", "rmpn names no receive memory pool"},
    {0x0d0d, Status::bad_resource, "modify_rmp.unknown", "rmpn names no receive memory pool"},
    {0x0d0e, Status::bad_resource_state, "modify_rmp.state", "rmp_state is not ready, or the pool is in error"},
    {0x0d0f, Status::bad_resource, "create_xrc_srq.xrcd", "xrcd names no XRC domain"},
    {0x0d10, Status::bad_resource, "create_xrc_srq.cq", "cqn names no completion queue"},
    {0x0d11, Status::bad_resource, "destroy_xrc_srq.unknown",
        "xrc_srqn names no shared receive queue of an XRC domain"},
    {0x0d12, Status::bad_resource, "query_xrc_srq.unknown", "xrc_srqn names no shared receive queue of an XRC domain"},
    {0x0d13, Status::bad_resource, "arm_xrc_srq.unknown", "xrc_srqn names no shared receive queue of an XRC domain"},
    {0x0d14, Status::limits_exceeded, "alloc_xrcd.none_left", "2^log_max_xrcd XRC domains exist"},
    {0x0d15, Status::bad_resource, "dealloc_xrcd.unknown", "xrcd names no XRC domain"},
    {0x0d16, Status::resource_busy, "dealloc_xrcd.in_use", "shared receive queues or queue pairs use it"},
    {0x0d17, Status::bad_resource, "create_qp.srq", "srqn_rmpn_xrqn names no shared receive queue"},
    {0x0d18, Status::bad_resource, "create_qp.xrcd", "xrcd names no XRC domain"},
    {0x0d19, Status::resource_busy, "create_qp.special_in_use",
        "the port has one QP0 and one QP1, and this one exists"},
    {0x0d1a, Status::bad_parameter, "create_srq.basic_list", "basic_cyclic_rcv_wqe goes with a cyclic queue, and this "
        "one is a list"},
    // User contexts and user memory
    {0x0e01, Status::bad_parameter, "create_uctx.capability", "cap has a bit that uctx_cap does not advertise"},
    {0x0e02, Status::limits_exceeded, "create_uctx.none_left", "2^log_max_uctx user contexts exist"},
    {0x0e03, Status::bad_resource, "destroy_uctx.unknown", "uid names no user context"},
    {0x0e04, Status::resource_busy, "destroy_uctx.in_use", "objects of the user context exist"},
    {0x0e05, Status::bad_parameter, "create_umem.uid", "user memory belongs to a user context: umem_uid_0 is not "
        "advertised"},
    {0x0e06, Status::bad_parameter, "create_umem.ats", "ats is not advertised"},
    {0x0e07, Status::bad_input_length, "create_umem.list",
        "num_of_mtt is 0 or more than the entries that came with it"},
    {0x0e08, Status::bad_parameter, "create_umem.page_offset", "page_offset is not in the first page"},
    {0x0e09, Status::bad_parameter, "create_umem.page_not_aligned",
        "a page address is not a multiple of the page size"},
    {0x0e0a, Status::limits_exceeded, "create_umem.none_left", "2^log_max_umem user memory objects exist"},
    {0x0e0b, Status::bad_resource, "destroy_umem.unknown", "umem_id names no user memory"},
    {0x0e0c, Status::resource_busy, "destroy_umem.in_use", "queues, doorbell records or memory keys are in it"},
    {0x0e0d, Status::bad_resource, "umem.unknown", "a umem_id of the input names no user memory of this user context"},
    {0x0e0e, Status::bad_parameter, "umem.range", "what is to lie in the user memory reaches beyond its end"},
    // On-demand paging
    {0x0f01, Status::bad_parameter, "page_fault_resume.type", "page_fault_type is none that an event can have"},
    {0x0f02, Status::bad_resource, "page_fault_resume.token", "fault_token is that of no queue pair"},
    {0x0f03, Status::bad_parameter, "page_fault_resume.queue", "wq_number is not the queue that the event named"},
});
// clang-format on
static_assert(std::ranges::is_sorted(refusals, std::ranges::less_equal{}, &Refusal::syndrome),
              "a syndrome is given twice");
} // namespace detail

/// Every row, by syndrome.
constexpr const auto& refusals() { return detail::refusals; }

/// The row called `name`; a name without a row does not compile.
consteval Reply refuse(std::string_view name) {
    const auto row = std::ranges::find(detail::refusals, name, &Refusal::name);
    if (row == detail::refusals.end())
        throw "no refusal of that name";
    return &*row;
}

/// The row with this syndrome, or nullptr.
constexpr Reply find_refusal(std::uint32_t syndrome) {
    const auto row = std::ranges::lower_bound(detail::refusals, syndrome, {}, &Refusal::syndrome);
    return row != detail::refusals.end() && row->syndrome == syndrome ? &*row : nullptr;
}

} // namespace firmware
