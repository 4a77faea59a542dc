"""Holds abi/nvme/fabrics.h against linux/nvme.h and linux/nvme-rdma.h of the kernel.

usage: fabrics_layouts.py DUMP_PROGRAM SOURCE_DIR [--damage]

--damage shifts one field and expects failure.
"""
import glob
import json
import os
import subprocess
import sys

import c_header

c_header.SCALARS |= {"__le16": 16, "__le32": 32, "__le64": 64, "__u16": 16, "char": 8, "uuid_t": 128}

# Our structure -> the kernel's, and our fields that have another name there.
STRUCTURES = {
    "nvmf_command": ("nvmf_common_command", {"cid": "command_id"}),
    "nvmf_connect": ("nvmf_connect_command", {}),
    "nvmf_connect_data": ("nvmf_connect_data", {"subnqn": "subsysnqn"}),
    "nvmf_property_set": ("nvmf_property_set_command", {"size": "attrib", "ofst": "offset"}),
    "nvmf_property_get": ("nvmf_property_get_command", {"size": "attrib", "ofst": "offset"}),
    "nvme_keyed_sgl_descriptor": ("nvme_keyed_sgl_desc", {"address": "addr", "subtype": "type"}),
    "nvme_rdma_cm_req": ("nvme_rdma_cm_req", {}),
    "nvme_rdma_cm_rep": ("nvme_rdma_cm_rep", {}),
    "nvme_rdma_cm_rej": ("nvme_rdma_cm_rej", {}),
}
# Bits of a byte that the kernel takes apart by hand: first bit within its member, width.
PARTS = {("nvmf_property_set", "size"): (0, 3), ("nvmf_property_get", "size"): (0, 3),
         ("nvme_keyed_sgl_descriptor", "subtype"): (0, 4), ("nvme_keyed_sgl_descriptor", "type"): (4, 4)}
# Our values -> constants; None: newer than these headers, or not used by Linux.
VALUES = {
    "type": {"property_set": "nvme_fabrics_type_property_set", "connect": "nvme_fabrics_type_connect",
             "property_get": "nvme_fabrics_type_property_get", "auth_send": "nvme_fabrics_type_auth_send",
             "auth_receive": "nvme_fabrics_type_auth_receive", "disconnect": None},
    "status": {"incompatible_format": "NVME_SC_CONNECT_FORMAT", "controller_busy": "NVME_SC_CONNECT_CTRL_BUSY",
               "invalid_parameters": "NVME_SC_CONNECT_INVALID_PARAM",
               "restart_discovery": "NVME_SC_CONNECT_RESTART_DISC", "invalid_host": "NVME_SC_CONNECT_INVALID_HOST",
               "invalid_queue_type": None, "discover_restart": "NVME_SC_DISCOVERY_RESTART"},
    "sgl_type": {"data_block": "NVME_SGL_FMT_DATA_DESC", "bit_bucket": None, "segment": "NVME_SGL_FMT_SEG_DESC",
                 "last_segment": "NVME_SGL_FMT_LAST_SEG_DESC", "keyed": "NVME_KEY_SGL_FMT_DATA_DESC",
                 "transport": "NVME_TRANSPORT_SGL_DATA_DESC"},
    "sgl_subtype": {"address": "NVME_SGL_FMT_ADDRESS", "offset": "NVME_SGL_FMT_OFFSET",
                    "invalidate": "NVME_SGL_FMT_INVALIDATE"},
    "rejection": {"invalid_length": "NVME_RDMA_CM_INVALID_LEN", "invalid_recfmt": "NVME_RDMA_CM_INVALID_RECFMT",
                  "invalid_qid": "NVME_RDMA_CM_INVALID_QID", "invalid_hsqsize": "NVME_RDMA_CM_INVALID_HSQSIZE",
                  "invalid_hrqsize": "NVME_RDMA_CM_INVALID_HRQSIZE", "no_resources": "NVME_RDMA_CM_NO_RSC",
                  "invalid_ird": "NVME_RDMA_CM_INVALID_IRD", "invalid_ord": "NVME_RDMA_CM_INVALID_ORD",
                  "invalid_cntlid": "NVME_RDMA_CM_INVALID_CNTLID"},
}

failures = []


def fail(message):
    failures.append(message)
    print("FAILED:", message)


def headers(source):
    folders = sorted(glob.glob(os.path.join(source, ".deps/linux-headers/usr/src/linux-headers-*-common")))
    if not folders:
        sys.exit("FAILED: no headers of the kernel below .deps: call `./dev test`, which unpacks them")
    texts = [open(os.path.join(folders[-1], "include/linux", name), encoding="utf-8").read()
             for name in ("nvme.h", "nvme-rdma.h")]
    return c_header.Headers([text.replace("NVMF_NQN_FIELD_LEN", "256") for text in texts])


def main():
    dump = json.loads(subprocess.run([sys.argv[1]], check=True, capture_output=True, text=True).stdout)
    damage = "--damage" in sys.argv
    if damage:
        dump["structures"]["nvme_keyed_sgl_descriptor"]["fields"]["key"][0] += 8
    kernel = headers(os.path.abspath(sys.argv[2]))
    fields = 0
    for ours, (theirs, names) in STRUCTURES.items():
        struct = kernel.struct(theirs)
        if struct is None:
            fail(f"{theirs} is not to be read in linux/nvme.h")
            continue
        if struct.width != 8 * dump["structures"][ours]["bytes"]:
            fail(f"{ours} has {dump['structures'][ours]['bytes']} bytes, {theirs} has {struct.width // 8}")
        members = {member.name: member for member in struct.members}
        for field, (bit, width) in dump["structures"][ours]["fields"].items():
            member = members[names.get(field, field)]
            first, size = PARTS.get((ours, field), (0, member.width))
            if (bit, width) != (member.bit + first, size):
                fail(f"{ours}.{field} is {width} bits from {bit} on, {theirs} has {size} from {member.bit + first} on")
            fields += 1
    if set(STRUCTURES) != set(dump["structures"]):
        fail(f"structures without a row here: {set(dump['structures']) ^ set(STRUCTURES)}")
    values = 0
    for group, rows in VALUES.items():
        for name, value in dump["values"][group].items():
            if rows[name] is not None:
                values += 1
                if kernel.constants[rows[name]] != value:
                    fail(f"{group} {name} is {value}, {rows[name]} is {kernel.constants[rows[name]]}")
    print(f"{fields} fields and {values} values are as Linux has them")
    if damage:
        sys.exit(0 if len(failures) == 1 else "FAILED: the planted error was not the one finding")
    sys.exit(1 if failures else 0)


main()
