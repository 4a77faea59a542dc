"""Holds every layout and enumeration of abi/prm against descriptions of the same structures that we did not write:

  linux    linux/mlx5/{mlx5_ifc,device,qp,cq,doorbell,driver,port}.h of an installed linux-headers-*-common package
  pyverbs  mlx5_prm_structs.py, which rdma-core's own tests use (package python3-pyverbs), through scapy

usage: prm_layouts.py DUMP_PROGRAM SOURCE_DIR

Fails when a row stands elsewhere than its witness says, when a layout or enumeration has no witness and no reason in
the tables below, and when a witness is not installed.
"""
import glob
import json
import os
import re
import subprocess
import sys

import c_header
import prm_pyverbs

# Layouts that Linux describes as structures of integers: structure, and for each row the member it is. A trailing slash
# says that the row is a part of the member; mlx5dv_test.cpp looks inside those.
STRUCTURES = {
    "command_queue_entry": ("mlx5_cmd_layout", {
        "input_length": "inlen", "input_mailbox": "in_ptr", "input": "in", "output": "out", "output_mailbox": "out_ptr",
        "output_length": "outlen", "signature": "sig", "delivery_status": "status_own/", "owner": "status_own/"}),
    "command_mailbox": ("mlx5_cmd_prot_block", {}),
    "health_buffer": ("health_buffer", {
        "assert_existptr": "assert_exit_ptr", "fw_version": "fw_ver", "rfr": "rfr_severity/", "valid": "rfr_severity/",
        "severity": "rfr_severity/"}),
    "initial_seg": ("mlx5_init_seg", {
        "fw_rev_minor": "fw_rev/", "fw_rev_major": "fw_rev/", "cmd_interface_rev": "cmdif_rev_fw_sub/",
        "fw_rev_subminor": "cmdif_rev_fw_sub/", "cmdq_phy_addr_63_32": "cmdq_addr_h",
        "cmdq_phy_addr_31_12": "cmdq_addr_l_sz/", "nic_interface": "cmdq_addr_l_sz/",
        "log_cmdq_size": "cmdq_addr_l_sz/", "log_cmdq_stride": "cmdq_addr_l_sz/",
        "command_doorbell_vector": "cmd_dbell", "initializing": "initializing/",
        "nic_interface_supported": "initializing/", "embedded_cpu": "initializing/", "health_buffer": "health",
        "no_dram_nic_offset": "rsvd2/", "clear_int": "rsvd3/", "health_syndrome": "health_counter/",
        "health_counter": "health_counter/"}),
    "cqe64": ("mlx5_cqe64", {
        "rx_hash_result": "rss_hash_result", "rx_hash_type": "rss_hash_type", "grh": "flags_rqpn/", "sl": "flags_rqpn/",
        "rqpn": "flags_rqpn/", "lro_num_seg": "srqn/", "srqn_uidx": "srqn/", "imm_inval_pkey": "immediate",
        "timestamp": "timestamp_h+timestamp_l", "sop": "sop_drop_qpn/", "qpn": "sop_drop_qpn/", "opcode": "op_own/",
        "cqe_format": "op_own/", "se": "op_own/", "owner": "op_own/"}),
    "err_cqe": ("mlx5_err_cqe", {
        "srqn_uidx": "srqn/", "sop": "s_wqe_opcode_qpn/", "qpn": "s_wqe_opcode_qpn/", "opcode": "op_own/",
        "cqe_format": "op_own/", "se": "op_own/", "owner": "op_own/"}),
    "eqe": ("mlx5_eqe", {"event_type": "type", "event_sub_type": "sub_type", "event_data": "data", "owner": "owner/"}),
    "eqe_comp": ("mlx5_eqe_comp", {"cqn": "cqn/"}),
    "eqe_qp_srq": ("mlx5_eqe_qp_srq", {"qp_srq_n": "qp_srq_n/"}),
    "eqe_cq_err": ("mlx5_eqe_cq_err", {"cqn": "cqn/"}),
    "eqe_port_state": ("mlx5_eqe_port_state", {"port_num": "port/"}),
    "eqe_cmd": ("mlx5_eqe_cmd", {}),
    "eqe_page_req": ("mlx5_eqe_page_req", {}),
    "eqe_page_fault_wqe": ("mlx5_eqe_page_fault", {
        "bytes_committed": "wqe.bytes_committed", "wqe_index": "wqe.wqe_index/", "packet_length": "wqe.packet_length/",
        "token": "wqe.token", "type": "wqe.pftype_wq/", "wq_num": "wqe.pftype_wq/"}),
    "eqe_page_fault_rdma": ("mlx5_eqe_page_fault", {
        "bytes_committed": "rdma.bytes_committed", "r_key": "rdma.r_key", "packet_length": "rdma.packet_length/",
        "rdma_op_len": "rdma.rdma_op_len", "rdma_va": "rdma.rdma_va", "type": "rdma.pftype_token/",
        "token": "rdma.pftype_token/"}),
    "wqe_ctrl_seg": ("mlx5_wqe_ctrl_seg", {
        "opmod": "opmod_idx_opcode/", "wqe_index": "opmod_idx_opcode/", "opcode": "opmod_idx_opcode/", "qpn": "qpn_ds/",
        "ds": "qpn_ds/", "dci_stream_channel_id": "rsvd", "fm": "fm_ce_se/", "ce": "fm_ce_se/", "se": "fm_ce_se/"}),
    "wqe_raddr_seg": ("mlx5_wqe_raddr_seg", {}),
    "wqe_atomic_seg": ("mlx5_wqe_atomic_seg", {}),
    "wqe_data_seg": ("mlx5_wqe_data_seg", {"inline": "byte_count/", "byte_count": "byte_count/"}),
    "wqe_inline_seg": ("mlx5_wqe_inline_seg", {"inline": "byte_count/", "byte_count": "byte_count/"}),
    "wqe_eth_seg": ("mlx5_wqe_eth_seg", {
        "l4_csum": "cs_flags/", "l3_csum": "cs_flags/", "l4_inner_csum": "cs_flags/", "l3_inner_csum": "cs_flags/",
        "inline_hdr_sz": "inline_hdr.sz", "inline_hdr_start": "inline_hdr.start"}),
    "wqe_av": ("mlx5_av", {
        "q_key": "key.qkey.qkey", "extended": "dqp_dct/", "dqp_dct": "dqp_dct/", "stat_rate": "stat_rate_sl/",
        "sl": "stat_rate_sl/", "fl": "fl_mlid/", "mlid": "fl_mlid/", "grh": "grh_gid_fl/",
        "src_addr_index": "grh_gid_fl/", "flow_label": "grh_gid_fl/", "rgid_rip": "rgid"}),
    "wqe_umr_ctrl_seg": ("mlx5_wqe_umr_ctrl_seg", {
        "inline": "flags/", "check_free": "flags/", "check_not_free": "flags/", "xlt_offset_en": "flags/",
        "check_qpn": "flags/"}),
    "wqe_xrc_seg": ("mlx5_wqe_xrc_seg", {"xrc_srqn": "xrc_srqn/"}),
    "stride_block_ctrl_seg": ("mlx5_stride_block_ctrl_seg", {}),
    "stride_block_entry": ("mlx5_stride_block_entry", {"mkey": "key", "address": "va"}),
    "klm": ("mlx5_klm", {"mkey": "key", "address": "va"}),
    "mad_hdr": ("ib_mad_hdr", {"hop_ptr": "class_specific/", "hop_cnt": "class_specific/"}),
    "smp": ("ib_smp", {}),
    "notice": ("ib_mad_notice_attr", {
        "is_generic": "generic_type/", "type": "generic_type/", "producer_type": "prod_type_msb+prod_type_lsb",
        "trap_number": "trap_num", "details": "details.raw_data.details"}),
    "notice_256": ("ib_mad_notice_attr", {name: f"details.ntc_256.{name}"
                                          for name in ("lid", "dr_slid", "method", "attr_id", "attr_mod", "mkey")}),
    "notice_257_258": ("ib_mad_notice_attr", {
        "sl": "details.ntc_257_258.sl_qp1/", "qp1": "details.ntc_257_258.sl_qp1/", "qp2": "details.ntc_257_258.qp2/"}
        | {name: f"details.ntc_257_258.{name}" for name in ("lid1", "lid2", "key", "gid1", "gid2")}),
    "class_port_info": ("ib_class_port_info", {}),
    "port_counters": ("ib_pma_portcounters", {"counter_select2": "reserved1"}),
    "port_counters_ext": ("ib_pma_portcounters_ext", {}),
    "node_info": ("ib_node_info", {}),
    "port_info": ("ib_port_info", {
        "link_speed_supported": "linkspeed_portstate/", "port_state": "linkspeed_portstate/",
        "physical_state": "portphysstate_linkdown/", "link_down_default": "portphysstate_linkdown/",
        "mkey_protect": "mkeyprot_resv_lmc/", "lmc": "mkeyprot_resv_lmc/",
        "link_speed_active": "linkspeedactive_enabled/", "link_speed_enabled": "linkspeedactive_enabled/",
        "neighbor_mtu": "neighbormtu_mastersmsl/", "master_sm_sl": "neighbormtu_mastersmsl/",
        "vl_cap": "vlcap_inittype/", "init_type": "vlcap_inittype/", "init_type_reply": "inittypereply_mtucap/",
        "mtu_cap": "inittypereply_mtucap/", "vl_stall_count": "vlstallcnt_hoqlife/", "hoq_life": "vlstallcnt_hoqlife/",
        "operational_vls": "operationalvl_pei_peo_fpi_fpo/", "enforcement": "operationalvl_pei_peo_fpi_fpo/",
        "client_reregister": "clientrereg_resv_subnetto/", "subnet_timeout": "clientrereg_resv_subnetto/",
        "response_time": "resv_resptimevalue/", "local_phy_errors": "localphyerrors_overrunerrors/",
        "overrun_errors": "localphyerrors_overrunerrors/"}),
}

# Rows of a layout that mlx5_ifc.h knows, which are in the structure above instead.
IN_STRUCTURE = {
    ("health_buffer", "assert_var"), ("initial_seg", "cmd_exec_to"), ("initial_seg", "cmd_q_init_to"),
    ("initial_seg", "internal_timer_h"), ("initial_seg", "internal_timer_l"), ("initial_seg", "real_time_h"),
    ("initial_seg", "real_time_l"),
}

# Rows that differ from mlx5_ifc.h on purpose: what it has, and why ours is right.
DIFFERENT = {
    ("initial_seg", "nic_interface"): "two bits there; the driver reads and writes three (7 is software reset)",
    ("create_eq_in", "event_bitmask"): "one array of 256 bits there; ours are its first 64",
    ("create_eq_in", "event_bitmask_255_64"): "one array of 256 bits there; ours are the rest",
}

# Rows that are reserved in mlx5_ifc.h, since the kernel never writes them, and that pyverbs describes.
PYVERBS_ONLY = {
    ("cqc", "dbr_umem_id"), ("qpc", "dbr_umem_id"), ("create_cq_in", "cq_umem_offset"), ("create_cq_in", "cq_umem_id"),
    ("create_mkey_in", "mkey_umem_id"), ("create_mkey_in", "mkey_umem_offset"),
}

# Layouts without a description in these headers, and where they are witnessed instead.
ELSEWHERE = {
    "command_in": "every *_in starts with it",
    "command_out": "every *_out starts with it",
    "wqe_srq_next_seg": "mlx5dv_test.cpp",
    "cq_doorbell": "mlx5dv_test.cpp, and the word below",
    "cq_doorbell_record": "mlx5dv_test.cpp, and the word below",
    "qp_doorbell_record": "mlx5dv_test.cpp",
    "send_doorbell": "mlx5dv_test.cpp",
    "eq_doorbell": "the driver source only (eq.c: eqn << 24 | ci); no installed header has it",
}

# Enumerations: the prefix of the constants, and enumerators whose constant is named otherwise. None: no constant.
ENUMERATIONS = {
    "Opcode": ("MLX5_CMD_OP_", {"qp_2err": "2ERR_QP", "qp_2rst": "2RST_QP", "sqd2rts_qp": "SQD_RTS_QP"}),
    "Status": ("MLX5_CMD_STAT_", {
        "internal_error": "INT_ERR", "bad_operation": "BAD_OP_ERR", "bad_parameter": "BAD_PARAM_ERR",
        "bad_system_state": "BAD_SYS_STATE_ERR", "bad_resource": "BAD_RES_ERR", "resource_busy": "RES_BUSY",
        "limits_exceeded": "LIM_ERR", "bad_resource_state": "BAD_RES_STATE_ERR", "bad_index": "IX_ERR",
        "no_resources": "NO_RES_ERR", "bad_qp_state": "BAD_QP_STATE_ERR", "bad_packet": "BAD_PKT_ERR",
        "bad_size_outstanding_cqes": "BAD_SIZE_OUTS_CQES_ERR", "bad_input_length": "BAD_INP_LEN_ERR",
        "bad_output_length": "BAD_OUTP_LEN_ERR"}),
    "DeliveryStatus": None,  # the driver source only (cmd.c)
    "NicInterface": ("MLX5_INITIAL_SEG_NIC_INTERFACE_", {
        "disabled": "DISABLED", "no_dram_nic": "NO_DRAM_NIC", "sw_reset": "SW_RESET"}),
    "CapabilityType": ("MLX5_CAP_", {}),
    "AccessMode": ("MLX5_MKC_ACCESS_MODE_", {}),
    "QpState": ("MLX5_QP_STATE_", {}),
    "QpType": ("MLX5_QP_ST_", {"raw": "RAW_ETHERTYPE"}),
    "Mtu": None,  # IBA encoding, mlx5dv_test.cpp holds it against enum ibv_mtu
    "PortState": None,  # IBA encoding, mlx5dv_test.cpp holds it against enum ibv_port_state
    "PortPhysicalState": None,  # IBA encoding
    "RegisterId": ("MLX5_REG_", {"host_endianness": "HOST_ENDIANNESS"}),
    "Lanes": ("MLX5_PTYS_WIDTH_", {"one": "1X", "four": "4X"}),
    "LaneSpeed": ("IB_SPEED_", {}),
    "EthernetMode": ("MLX5E_", {
        "kx_1g": "1000BASE_KX", "cr4_40g": "40GBASE_CR4", "cr_10g": "10GBASE_CR", "cr4_100g": "100GBASE_CR4",
        "cr_25g": "25GBASE_CR", "cr2_50g": "50GBASE_CR2"}),
    "ExtendedEthernetMode": ("MLX5E_", {
        "cr4_200g": "200GAUI_4_200GBASE_CR4_KR4", "cr4_400g": "400GAUI_4_400GBASE_CR4_KR4"}),
    "WqeOpcode": ("MLX5_OPCODE_", {}),
    "MkeyMask": ("MLX5_MKEY_MASK_", {}),
    "CqeOpcode": ("MLX5_CQE_", {"resize_cq": None, "invalid": "INVALID"}),
    "CqeSyndrome": ("MLX5_CQE_SYNDROME_", {}),
    "EventType": ("MLX5_EVENT_TYPE_", {
        "completion": "COMP", "path_migrated": "PATH_MIG", "communication_established": "COMM_EST",
        "wq_catastrophic_error": "WQ_CATAS_ERROR", "path_migration_failed": "PATH_MIG_FAILED", "command": "CMD",
        "wq_invalid_request": "WQ_INVAL_REQ_ERROR", "wq_access_error": "WQ_ACCESS_ERROR",
        "srq_catastrophic_error": "SRQ_CATAS_ERROR", "srq_last_wqe": "SRQ_LAST_WQE", "srq_limit": "SRQ_RQ_LIMIT",
        "general": "GENERAL_EVENT", "pps": "PPS_EVENT"}),
    "PageFaultSubtype": ("MLX5_PFAULT_SUBTYPE_", {}),
    "PageFaultType": ("MLX5_WQE_PF_TYPE_", {  # those of remote accesses are combinations of MLX5_PFAULT_*, below
        "shared_receive": "RMP", "send_or_write": "REQ_SEND_OR_WRITE", "receive": "RESP",
        "read_or_atomic": "REQ_READ_OR_ATOMIC", "remote_read": None, "remote_write": None}),
    "PortChange": ("MLX5_PORT_CHANGE_SUBTYPE_", {}),
}

failures = []


def fail(message):
    failures.append(message)
    print("FAILED:", message)


def find_headers():
    """The headers of Linux 6.12, whose fields ours are; else of the newest version that is installed."""
    pattern = "/usr/src/linux-headers-*-common/include/linux/mlx5/mlx5_ifc.h"
    unpacked = os.path.join(os.path.abspath(sys.argv[2]), ".deps/linux-headers")

    def preference(path):
        version = [int(n) for n in re.findall(r"\d+", path.split("linux-headers-")[1].split("-common")[0])]
        return version[:2] == [6, 12], version

    found = sorted(glob.glob(pattern) + glob.glob(unpacked + pattern), key=preference)
    if not found:
        sys.exit(f"FAILED: no {pattern}: install a linux-headers-6.12.*-common package, or call `./dev test`, which "
                 "unpacks one")
    folder = os.path.dirname(found[-1])
    print("linux:", folder)
    names = ("mlx5_ifc_fpga", "device", "qp", "cq", "doorbell", "driver", "port")
    texts = [open(os.path.join(folder, f"{n}.h"), encoding="utf-8").read()
             for n in (*names, "../../rdma/ib_smi", "../../rdma/ib_mad", "../../rdma/ib_pma", "../../rdma/ib_verbs")]
    return c_header.Headers([open(found[-1], encoding="utf-8").read(), *texts]), "\n".join(texts)


def place(row):
    return f"0x{row.bit // 32 * 4:x}[{31 - row.bit % 32}] width {row.width}"


class Row:
    def __init__(self, d):
        self.name, self.bit, self.width, self.nested = d["name"], d["bit"], d["width"], d["nested"]


def compare_ifc(layout, rows, struct):
    """Every row against the bit array of the same name."""
    members = {m.name.lower(): m for m in struct.members}
    for row in rows:
        key = (layout["name"], row.name)
        if key in IN_STRUCTURE or (key in PYVERBS_ONLY and row.name not in members):
            continue
        other = members.get(row.name)
        same = other is not None and (other.bit, other.width) == (row.bit, row.width)
        if key in DIFFERENT:
            if same:
                fail(f"{layout['name']}.{row.name} is listed as different, but is the same in mlx5_ifc.h")
        elif other is None:
            fail(f"{layout['name']}.{row.name} is unknown to mlx5_ifc.h")
        elif not same:
            fail(f"{layout['name']}.{row.name} is {place(row)}, mlx5_ifc.h has {place(other)}")
        elif row.nested and other.nested != f"mlx5_ifc_{row.nested}_bits":
            fail(f"{layout['name']}.{row.name} is a {row.nested}, mlx5_ifc.h has {other.nested}")
    if layout["size"] * 8 != struct.width:
        fail(f"{layout['name']} has {layout['size']} bytes, mlx5_ifc.h has {struct.width / 8}")


def compare_structure(layout, rows, struct, names):
    """Every row against the member that holds it."""
    members = {m.name: m for m in struct.members}
    for row in rows:
        name = names.get(row.name, row.name)
        part = name.endswith("/")
        found = [members.get(n) for n in name.rstrip("/").split("+")]
        if None in found:
            fail(f"{layout['name']}.{row.name}: Linux has no member {name}")
            continue
        begin, end = found[0].bit, found[-1].bit + found[-1].width
        inside = begin <= row.bit and row.bit + row.width <= end
        if not (inside and (part or (begin, end) == (row.bit, row.bit + row.width))):
            fail(f"{layout['name']}.{row.name} is {place(row)}, Linux' {name} is bits {begin}..{end - 1}")


def compare_enumeration(name, ours, constants):
    rule = ENUMERATIONS[name]
    if rule is None:
        print(f"  enumeration {name}: witnessed elsewhere or not in these headers")
        return 0
    prefix, names = rule
    for enumerator, value in ours.items():
        theirs = names.get(enumerator, enumerator.upper())
        if theirs is None:
            continue
        if constants.get(prefix + theirs) != value:
            fail(f"{name}::{enumerator} is {value:#x}, Linux' {prefix + theirs} is {constants.get(prefix + theirs)}")
    return len(ours)


def check_complete(dump, source):
    """No layout or enumeration of the headers is missing from the dump."""
    text = "".join(open(p, encoding="utf-8").read() for p in glob.glob(os.path.join(source, "abi/prm/*.h")))
    dumped = {l["name"] for l in dump["layouts"]}
    for name in re.findall(r'^using \w+ = Layout<"(\w+)"', text, flags=re.M):
        if name not in dumped:
            fail(f"layout {name} is not in the dump")
    for name in re.findall(r"^ABI_NAMED_ENUM\((\w+),", text, flags=re.M):
        if name not in dump["enumerations"] or name not in ENUMERATIONS:
            fail(f"enumeration {name} is not in the dump or has no witness")


def main():
    program, source = sys.argv[1:]
    dump = json.loads(subprocess.run([program], check=True, capture_output=True, text=True).stdout)
    check_complete(dump, source)
    headers, driver_text = find_headers()
    by_ifc = by_structure = rows_seen = 0
    for layout in dump["layouts"]:
        rows = [Row(r) for r in layout["rows"]]
        ifc = headers.struct(f"mlx5_ifc_{layout['name']}_bits")
        if ifc:
            by_ifc += 1
            compare_ifc(layout, rows, ifc)
        if layout["name"] in STRUCTURES:
            by_structure += 1
            name, names = STRUCTURES[layout["name"]]
            struct = headers.struct(name)
            if struct is None:
                fail(f"Linux has no struct {name}")
            else:
                compare_structure(layout, rows, struct, names)
        if ifc or layout["name"] in STRUCTURES:
            rows_seen += len(rows)
        elif layout["name"] in ELSEWHERE:
            print(f"  {layout['name']}: {ELSEWHERE[layout['name']]}")
        else:
            fail(f"layout {layout['name']} has no witness")
    print(f"linux: {by_ifc} layouts as bit arrays, {by_structure} as structures, {rows_seen} rows")
    values = sum(compare_enumeration(n, v, headers.constants) for n, v in dump["enumerations"].items())
    print(f"linux: {values} enumerators")
    has_arm_word = re.search(r"sn << 28 \| cmd \| ci", driver_text)
    if not has_arm_word or headers.constants.get("MLX5_CQ_DB_REQ_NOT_SOL") != 1 << 24:
        fail("Linux arms a completion queue with another word than sn << 28 | cmd << 24 | ci")
    seen = prm_pyverbs.compare(source, {l["name"]: [Row(r) for r in l["rows"]] for l in dump["layouts"]}, fail, place)
    for layout, row in sorted(PYVERBS_ONLY - seen):
        fail(f"{layout}.{row} has no witness: neither mlx5_ifc.h nor pyverbs describes it")
    if failures:
        sys.exit(f"{len(failures)} disagreements")


if __name__ == "__main__":
    main()
