"""The pyverbs half of prm_layouts.py: mlx5_prm_structs.py describes structures as scapy packets, whose fields are laid
out here by adding up their widths."""
import gzip
import os
import sys
import types
from collections import namedtuple

FILE = "usr/share/doc/rdma-core/tests/mlx5_prm_structs.py.gz"
Field = namedtuple("Field", "name bit width")

# Our layout, their packet.
PACKETS = {
    "ads": "SwAds", "alloc_pd_in": "AllocPdIn", "alloc_pd_out": "AllocPdOut", "cmd_hca_cap": "CmdHcaCap",
    "cqc": "SwCqc", "create_cq_in": "CreateCqIn", "create_cq_out": "CreateCqOut", "create_eq_in": "CreateEqIn",
    "create_eq_out": "CreateEqOut", "create_mkey_in": "CreateMkeyIn", "create_mkey_out": "CreateMkeyOut",
    "create_qp_in": "CreateQpIn", "create_qp_out": "CreateQpOut", "eqc": "SwEqc", "eqe": "SwEqe",
    "eqe_comp": "CompEvent",
    "eqe_cq_err": "CqError", "eqe_port_state": "PortStateChangeEvent", "hca_vport_context": "HcaVportContext",
    "mad_ifc_in": "MadIfcIn", "mad_ifc_out": "MadIfcOut", "mkc": "SwMkc", "paos_reg": "PaosReg", "qpc": "SwQpc",
    "query_hca_cap_in": "QueryHcaCapIn", "query_hca_vport_context_in": "QueryHcaVportContextIn",
    "query_hca_vport_context_out": "QueryHcaVportContextOut", "query_hca_vport_gid_in": "QueryHcaVportGidIn",
    "query_hca_vport_gid_out": "QueryHcaVportGidOut", "query_qp_in": "QueryQpIn", "query_qp_out": "QueryQpOut",
    "traffic_counter": "TrafficCounter",
    **{name: "ModifyQpIn" for name in ("rst2init_qp_in", "init2rtr_qp_in", "rtr2rts_qp_in", "rts2rts_qp_in")},
    **{name: "ModifyQpOut" for name in ("rst2init_qp_out", "init2rtr_qp_out", "rtr2rts_qp_out", "rts2rts_qp_out")},
}

# Rows that share their place with another use, which pyverbs names as well.
RENAMED = {
    ("create_cq_in", "cq_umem_offset"): "e_mtt_pointer_or_cq_umem_offset",
    ("create_qp_in", "wq_umem_offset"): "e_mtt_pointer_or_wq_umem_offset",
}

# Rows that pyverbs has under the same name at another place. Ours are where the Linux driver looks for them.
DIFFERENT = {
    ("cmd_hca_cap", "relaxed_ordering_read"): "the bit at 0x1c is relaxed_ordering_read_pci_enabled in later documents",
    ("cmd_hca_cap", "regexp_params"): "moved between revisions of the document; never advertised here",
    ("cmd_hca_cap", "enhanced_cqe_compression"): "moved between revisions of the document; never advertised here",
}


def load(source):
    """The module; `dev` unpacks it below .deps where the system leaves documents out."""
    path = next((p for p in ("/" + FILE, os.path.join(source, ".deps/pyverbs", FILE)) if os.path.exists(p)), None)
    if path is None:
        sys.exit(f"FAILED: no /{FILE}: install python3-pyverbs")
    print("pyverbs:", path)
    with gzip.open(path, "rt", encoding="utf-8") as f:
        module = types.ModuleType("mlx5_prm_structs")
        exec(compile(f.read(), path, "exec"), module.__dict__)
    return module


def width_of(field, packet):
    """Bits of one scapy field in a packet that has no lists to count."""
    from scapy import fields as sf
    if isinstance(field, sf.BitField):
        return field.size
    if isinstance(field, sf.MultipleTypeField):
        return width_of(field.dflt, packet)
    if isinstance(field, sf.PadField):
        return field._align * 8
    if isinstance(field, sf.StrFixedLenField):
        return field.length_from(packet) * 8
    if isinstance(field, sf.PacketListField):
        return 0
    if isinstance(field, sf.FieldListField):
        return field.count_from(packet) * width_of(field.field, packet)
    if isinstance(field, sf.PacketField):
        return sum(f.width for f in layout(field.cls))
    return field.sz * 8


def layout(packet):
    fields, bit = [], 0
    for field in packet.fields_desc:
        width = width_of(field, packet())
        fields.append(Field(field.name, bit, width))
        bit += width
    return fields


def compare(source, ours, fail, place):
    """Fails for rows that stand elsewhere; returns those (layout, row) that pyverbs has under their name at their
    place."""
    module = load(source)
    same = renamed = 0
    seen = set()
    for name, packet in PACKETS.items():
        theirs = layout(getattr(module, packet))
        by_name = {f.name.lower(): f for f in theirs if not f.name.startswith("reserved")}
        by_place = {(f.bit, f.width): f.name for f in theirs}
        for row in ours[name]:
            other = by_name.get(RENAMED.get((name, row.name), row.name))
            if other is None:
                renamed += (row.bit, row.width) in by_place
            elif (name, row.name) in DIFFERENT:
                if (other.bit, other.width) == (row.bit, row.width):
                    fail(f"{name}.{row.name} is listed as different, but is the same in pyverbs")
            elif (other.bit, other.width) == (row.bit, row.width):
                same += 1
                seen.add((name, row.name))
            else:
                fail(f"{name}.{row.name} is {place(row)}, pyverbs' {packet} has {place(other)}")
    print(f"pyverbs: {len(PACKETS)} layouts, {same} rows by name, {renamed} more that are a field of another name")
    return seen
