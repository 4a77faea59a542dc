// What is known of refused commands: the chapter by the group of the syndrome, the likely cause by the name.
#include "platform/observe/diagnostics/explanations.h"

#include <algorithm>
#include <array>

namespace platform::observe::diagnostics {
namespace {

// clang-format off
/// Groups of refusals, by the high byte of the syndrome: the chapter of each.
constexpr std::array<std::string_view, 16> chapters{
    "", "PRM \"Command interface\"", "PRM \"HCA initialization\"", "PRM \"Firmware pages\"", "PRM \"HCA capabilities\"",
    "PRM \"Ports and registers\"", "PRM \"Commands\"", "PRM \"Work queue\"", "PRM \"Event queues\"",
    "PRM \"Completion queues\"",
    "PRM \"Memory key\"", "PRM \"Queue pairs\"", "PRM \"HCA vport context\"", "PRM \"RMP\", \"XRC SRQ context\"",
    "PRM \"User context\", \"UMEM\"",
    "PRM \"Page fault\"",
};

/// The first row whose pattern fits the name of a refusal; a '*' in front stands for the command.
struct Cause {
    std::string_view pattern, cause;
};
constexpr auto causes = std::to_array<Cause>({
    // Specific ones first
    {"command.unknown", "the opcode belongs to another generation or is not big endian in bytes 0 and 1 of the input; "
        "check the capability before using the command"},
    {"command.capability_off", "the driver uses a feature whose bit QUERY_HCA_CAP does not show; test the bit first"},
    {"command.phase", "the order is ENABLE_HCA, QUERY/SET_ISSI, boot pages, SET_HCA_CAP, init pages, INIT_HCA; "
        "objects only between INIT_HCA and TEARDOWN_HCA"},
    {"command.input_too_short", "input_length counts all bytes of the structure with the first 16, also where the "
        "fields are reserved"},
    {"command.input_too_long", "input_length is in bytes; it was computed in dwords or mailboxes, or the list has "
        "more entries than any object takes"},
    {"command.output_too_short", "output_length has to hold the command's whole output structure, not just status and "
        "syndrome"},
    {"command.uid", "uid stays 0 for the kernel's own commands; that of a program comes from CREATE_UCTX and is void "
        "after DESTROY_UCTX"},
    {"command.privileged", "a program may create, change and query objects of its own and query capabilities; life "
        "cycle, pages, event queues, registers and the port stay with the kernel"},
    {"create_uctx.capability", "uctx_cap is 0: neither raw transmission nor the device's internal resources are "
        "offered"},
    {"create_umem.uid", "put the uid of the program's context into the header"},
    {"create_umem.ats", "clear ats"},
    {"create_umem.list", "num_of_mtt counts the addresses behind the structure, eight bytes each"},
    {"create_umem.page_offset", "page_offset is in bytes and smaller than a page of 2^(12 + log_page_size)"},
    {"create_mkey.umem_alignment", "start_addr and mkey_umem_offset must leave the same remainder when divided by the "
        "page size, page_offset of the user memory counted in"},
    {"create_mkey.umem_pages", "take log_page_size no larger than the pages of the user memory"},
    {"umem.unknown", "the user memory belongs to another program, was destroyed, or the id stands in another field"},
    {"umem.range", "the ring's size (or the record's eight bytes) and the offset reach beyond length of the memory "
        "that was registered"},
    {"set_issi.not_supported", "choose a bit that is set in supported_issi of QUERY_ISSI"},
    {"init_hca.pages_missing", "give as many pages as QUERY_PAGES (boot, then init) says, by MANAGE_PAGES, before "
        "INIT_HCA"},
    {"teardown_hca.profile", "use the graceful profile (0)"},
    {"manage_pages.list_too_short", "input_num_entries counts 8-byte addresses; input_length must be 16 + 8 for each "
        "of them"},
    {"manage_pages.too_many", "give what QUERY_PAGES or the page request event asks for, in 4 KiB pages"},
    {"manage_pages.given_twice_at_once", "the loop that fills pas[] stores one address twice"},
    {"manage_pages.not_aligned", "give the DMA address of whole 4 KiB pages; a CPU address or an offset into a page "
        "was used"},
    {"manage_pages.given_before", "a page was freed and allocated again by the host without a MANAGE_PAGES take in "
        "between"},
    {"resources.no_pages", "serve the page request event with MANAGE_PAGES give, then try again"},
    {"resources.page_entries", "use larger pages (log_page_size), or fewer and smaller objects"},
    {"modify_cq.op_mod", "op_mod 0 changes fields of the context, 1 gives the queue another ring; bits 15..0 of the "
        "second dword"},
    {"modify_cq.entry_size", "put the cqe_sz of CREATE_CQ into the context of the resize; another size needs a new "
        "completion queue"},
    {"modify_cq.outstanding", "poll first and write the consumer index to the doorbell record, or ask for a larger "
        "ring"},
    {"modify_cq.state", "poll at least one entry, and write the doorbell record, before the resize; a queue that "
        "overran can only be destroyed"},
    {"modify_cq.resize_fields", "set the three bits of modify_field_select (log_cq_size, page_offset, log_page_size) "
        "for a resize"},
    {"*.op_mod", "op_mod stands in bits 15..0 of the second dword; for QUERY_PAGES and MANAGE_PAGES see their tables"},
    {"*.type", "op_mod of capability commands is type << 1 | current, other types of object are not offered; check "
        "the general capabilities first"},
    {"set_hca_cap.beyond_maximum", "start from the maximum that QUERY_HCA_CAP gives (op_mod bit 0 clear) and only "
        "lower fields"},
    {"*.atomic_mode", "take a mode that the atomic capabilities show"},
    {"access_reg.unknown", "register_id names a register of another port type or generation; check the capability "
        "masks (PCAM, MCAM) first"},
    {"access_reg.direction", "op_mod 0 writes, 1 reads; the register knows only the other one"},
    {"access_reg.input_short", "the whole register follows the 16-byte header, also when it is only read"},
    {"access_reg.output_short", "make room for the header and the whole register"},
    {"access_reg.mtu", "take a value up to max_mtu that the register showed when it was read"},
    {"access_reg.not_infiniband", "the port type is Ethernet (cap port_type); use the Ethernet registers"},
    {"access_reg.admin_status", "1 is up, 2 is down"},
    {"access_reg.endianness", "write he = 0 into HOST_ENDIANNESS"},
    {"access_reg.counter_group", "take group 0x20, which any port has, or 0x21 of an InfiniBand port; other counters "
        "are not built"},
    {"query_q_counter.aggregate", "read one counter set at a time"},
    {"buffer.pages_missing", "pas[] must hold ceil((page_offset + size of the ring) / page size) addresses; "
        "log_page_size is the exponent minus 12"},
    {"*.page_not_aligned", "give DMA addresses of whole pages of 2^log_page_size bytes; either the buffer is not "
        "aligned so or log_page_size is too large"},
    {"create_eq.polled_uar", "give event queues a page that ALLOC_UAR has given without a uid: their doorbells have "
        "no record in memory, and on this page nobody sees the stores"},
    {"create_eq.vector", "ask for at most as many vectors as the MSI-X capability has"},
    {"create_eq.second_command_queue", "set the bit of command completions (0x0a) in the event bitmask of one event "
        "queue only"},
    {"destroy_eq.in_use", "destroy the completion queues that have it as c_eqn first"},
    {"create_cq.apu", "clear apu_cq"},
    {"create_cq.collapsed", "clear cc; read every entry"},
    {"create_cq.compression", "clear cqe_comp_en unless cqe_compression is advertised"},
    {"create_cq.entry_size", "cqe_sz is 0 for 64 and 1 for 128 bytes"},
    {"*.doorbell_record", "the doorbell record's DMA address is misaligned, or is a CPU address, or stands in the "
        "wrong dword (dbr_addr has 64 bits)"},
    {"create_cq.eq", "create the event queue first; c_eqn takes its eq_number"},
    {"destroy_cq.in_use", "destroy the queue pairs that complete to it first"},
    {"*.field_select", "set only the bits of fields that are meant and whose capability is shown"},
    {"create_mkey.data_direct", "clear the bit"},
    {"create_mkey.access_mode", "access_mode_1_0 and access_mode_4_2 together are 0 PA, 1 MTT, 2 KLM or 3 KSM; the "
        "other modes belong to features that are off"},
    {"create_mkey.relaxed_ordering", "set relaxed_ordering_write and relaxed_ordering_read only where the capabilities "
        "of these names are shown"},
    {"create_mkey.signature", "bsf_en and the BSF size stay 0"},
    {"create_mkey.page_size", "log_page_size is the exponent itself in a memory key (12 for 4 KiB), unlike in queues, "
        "where it counts from 12"},
    {"create_mkey.length64_with_mtt", "length64 is for PA and indirect keys that cover everything; set start_addr and "
        "len instead"},
    {"create_mkey.list_too_short", "octwords have 16 bytes and hold two MTT addresses; pad the list to whole octwords "
        "and count it in input_length"},
    {"create_mkey.list_too_long", "translations_octword_size is the room of the key, actual_size what the command "
        "brings"},
    {"create_mkey.klm_list", "make the indirect key for fewer entries, or split it into several keys; the size counts "
        "octowords of 16 bytes, one for each entry"},
    {"create_mkey.range_wraps", "start_addr and len are swapped, or one of them is in the wrong byte order"},
    {"create_mkey.pa_range_wraps", "start_addr and len are swapped, or one of them is in the wrong byte order"},
    {"create_mkey.range_beyond_list", "the region begins inside of its first page: the list needs ceil((offset in "
        "page + len) / page size) entries; check log_page_size as well"},
    {"*.extension", "qpc_ext and its bit are for devices that advertise qpc_extension"},
    {"create_qp.input_qpn", "leave input_qpn 0"},
    {"create_qp.service", "check the capability bit (rc, uc, ud, xrc) before creating such a queue pair"},
    {"*.wq_signature", "clear wq_signature"},
    {"create_srq.basic_list", "set wq_type cyclic (or cont_srq) with basic_cyclic_rcv_wqe, or clear the bit and begin "
        "each WQE with a next segment"},
    {"create_qp.scatter_to_cqe", "set cs_req to 0x11 (32 bytes) or 0x22 (64), cs_res to 1 or 2, or leave them 0"},
    {"create_qp.cross_channel", "clear cd_master, cd_slave_send and cd_slave_receive"},
    {"create_mkey.umem", "clear mkey_umem_valid: the list of an indirect key comes with the command"},
    {"create_xrc_srq.umem", "clear xrc_srq_umem_valid and dbr_umem_valid: give pas[] and bus addresses"},
    {"modify_cq.umem", "make a larger completion queue instead and move the queue pairs"},
    {"*.rq_type", "rq_type is 0 (regular), 1 (SRQ or RMP) or 3 (none)"},
    {"*_size", "take the exponent up to the limit in QUERY_HCA_CAP; the field holds log2 of the number of entries, "
        "not the number"},
    {"*.size", "take the exponent up to the limit in QUERY_HCA_CAP; the field holds log2 of the number of entries, "
        "not the number"},
    {"*stride", "log_rq_stride counts from 16 bytes (log2(stride) - 4), log_wq_stride of a pool is the exponent "
        "itself"},
    {"*.send_cq", "create the completion queue first; cqn_snd takes its number"},
    {"*.receive_cq", "create the completion queue first; cqn_rcv takes its number"},
    {"modify_qp.state", "go RST, INIT, RTR, RTS in order; a queue pair in error first needs 2RST_QP"},
    {"modify_qp.opt_param_mask", "a transition takes only its optional parameters; mandatory ones have no bit there"},
    {"modify_qp.counter_set", "allocate it with ALLOC_Q_COUNTER, or leave 0"},
    {"modify_qp.mtu", "path MTU is a code in the context (1 is 256 ... 5 is 4096), not bytes; UD takes it as well"},
    {"modify_qp.responder_reads", "log_rra_max is log2 of max_dest_rd_atomic; stay below the capability"},
    {"modify_qp.requester_reads", "log_sra_max is log2 of max_rd_atomic; stay below the capability"},
    {"qp_path.pkey_index", "the index is into the port's P_Key table, not the P_Key itself"},
    {"qp_path.port", "ports count from 1; the device has one"},
    {"qp_path.source_address", "the GID table entry is empty: set it with SET_ROCE_ADDRESS before the transition to "
        "RTR"},
    {"page_fault_resume.type", "hand back the type of the event: bits 26..24 beside the queue's number or the token"},
    {"page_fault_resume.token", "hand back the token of the event; its queue pair may have been destroyed meanwhile, "
        "which leaves nothing to resume"},
    {"page_fault_resume.queue", "hand back wq_num of a WQE's event, the token of a remote access' one"},
    {"attach_to_mcg.service", "create a UD queue pair for multicast"},
    {"attach_to_mcg.group", "the 16 bytes of multicast_gid are big endian and begin with ff; a unicast GID or a "
        "swapped one was given"},
    {"attach_to_mcg.groups", "detach groups that nobody uses any more"},
    {"attach_to_mcg.members", "detach queue pairs before they are destroyed"},
    {"detach_from_mcg.no_member", "detach with the same GID and the queue pair that were attached, once"},
    {"*.index", "tables count from 0; their sizes are in the capabilities or the vport context"},
    {"*.no_room", "output_length has to hold a row for each entry asked for"},
    {"set_roce_address.version", "roce_version 2 is RoCEv2; RoCEv1 entries are not offered"},
    {"set_roce_address.vlan", "clear vlan_valid"},
    {"set_roce_address.l3_type", "roce_l3_type is 0 for IPv4 and 1 for IPv6"},
    {"set_roce_address.not_ipv4", "an IPv4 address stands as ::ffff:a.b.c.d in the 16 bytes"},
    {"mad_ifc.m_key", "the manager's M_Key differs from the one that was set in PortInfo"},
    {"modify_nic_vport_context.field", "select only permanent state and MTU; filters and promiscuity belong to the "
        "Ethernet port"},
    {"modify_hca_vport_context.field", "select only the fields that the driver owns: the port's GUIDs and identity "
        "come from the subnet manager"},
    {"modify_hca_vport_context.capability", "cap_mask1_perm of the query says which bits may be changed"},
    {"create_rmp.type", "wq_type is 0 (linked list) or 1 (cyclic)"},
    {"*.state", "a pool is created and modified in state ready (1)"},
    {"create_qp.special_in_use", "another queue pair (of the previous driver?) is QP0 or QP1 still; destroy it first"},
    // What several commands have in common
    {"*.function", "leave function_id and other_function 0"},
    {"*.vport", "leave other_vport and vport_number 0 (port_num 1)"},
    {"*.port", "ports count from 1; the device has one"},
    {"*.unknown", "the number was never given out, was destroyed before, or was taken from the wrong field or byte "
        "order of the output that gave it"},
    {"*.in_use", "destroy the objects that use it first, in the reverse order of their creation"},
    {"*.none_left", "objects are leaked (an error path that does not destroy), or the limit in QUERY_HCA_CAP was not "
        "looked at"},
    {"*.uar", "allocate the page with ALLOC_UAR; the field takes the number it gave, not an address or an index of 4 "
        "KiB pages"},
    {"*.pd", "allocate it with ALLOC_PD; after a reset every number is void"},
    {"*.cq", "create the completion queue first; the field takes the number it was given"},
    {"*.srq", "create the shared receive queue or pool first; rq_type 1 needs its number, and other types none"},
    {"*.xrcd", "allocate it with ALLOC_XRCD first"},
});
// clang-format on

bool fits(std::string_view pattern, std::string_view name) {
    return pattern.starts_with('*') ? name.ends_with(pattern.substr(1)) : name == pattern;
}

} // namespace

Explanation explain(const firmware::Refusal& refusal) {
    const auto group = refusal.syndrome >> 8;
    const auto row =
        std::ranges::find_if(causes, [&](const Cause& cause) { return fits(cause.pattern, refusal.name); });
    return {refusal.why, group < chapters.size() ? chapters[group] : std::string_view{},
            row == causes.end() ? std::string_view{} : row->cause};
}

} // namespace platform::observe::diagnostics
