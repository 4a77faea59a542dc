"""Holds abi/gpu/sdma.h against the amdgpu driver of Linux 6.12: packets, opcodes, registers and their bits.

usage: sdma_layouts.py DUMP_PROGRAM SOURCE_DIR [--damage]

The driver's headers describe a packet by an offset in dwords, a mask and a shift for each field, a register by an
offset in dwords from the base of its segment and by masks. --damage shifts one field and expects failure.
"""
import json
import os
import re
import subprocess
import sys

# A field of ours that the driver has by its dwords: lower and upper one.
HALVES = {"src_addr": ("src_addr_31_0", "src_addr_63_32"), "dst_addr": ("dst_addr_31_0", "dst_addr_63_32"),
          "addr": ("addr_31_0", "addr_63_32")}
NAMES = {"sdma_constant_fill.src_data": "src_data_31_0"}
# Registers of our structures, as the driver names them for engine 0 and queue 0.
REGISTERS = {"sdma_rb_cntl": "SDMA0_QUEUE0_RB_CNTL", "sdma_doorbell": "SDMA0_QUEUE0_DOORBELL",
             "sdma_doorbell_offset": "SDMA0_QUEUE0_DOORBELL_OFFSET", "sdma_f32_cntl": "SDMA0_F32_CNTL",
             "sdma_status": "SDMA0_STATUS_REG"}
# Bytes at which the comments of the header have the blocks, and the number of their first register.
BLOCKS = {"gc_sdma0_sdma0dec": 0, "gc_sdma0_sdma1dec": 0x600, "gc_sdma0_sdma0hypdec": 0x5880,
          "gc_sdma0_sdma1hypdec": 0x58a0}


class Header:
    def __init__(self, folder, file):
        with open(os.path.join(folder, file), encoding="utf-8") as text:
            self.text = text.read()
        self.values = {m[1]: int(m[2].rstrip("L"), 0)
                       for m in re.finditer(r"^#define\s+(\w+)\s+(0x[0-9A-Fa-f]+L?|\d+)\s*$", self.text, re.M)}

    def base(self, block):
        found = re.search(rf"addressBlock: {block}\s*\n// base address: (0x[0-9a-f]+)", self.text)
        return int(found[1], 16) - 4 * BLOCKS[block]


def place_of(packets, packet, field):
    """First bit and width of a packet's field: the words between the packet and the field are of no matter here."""
    found = set()
    for name in packets.values:
        m = re.fullmatch(rf"SDMA_PKT_{packet}_([A-Z0-9_]+)_{field}_offset", name)
        # A name of another packet that begins like this one has the rest of that name in front.
        if m and not re.match(r"(BC|PHY|LINEAR|SUBWIN)_", m[1]):
            stem = name[:-len("_offset")]
            mask = packets.values[stem + "_mask"]
            found.add((packets.values[name] * 32 + packets.values[stem + "_shift"], mask.bit_length()))
    return found.pop() if len(found) == 1 else None


def main():
    dump = json.loads(subprocess.run([sys.argv[1]], check=True, capture_output=True, text=True).stdout)
    damage = "--damage" in sys.argv
    if damage:
        dump["packets"]["sdma_fence"]["fields"]["gpa"][0] += 1
    folder = os.path.join(os.path.abspath(sys.argv[2]), ".deps/linux-amdgpu")
    packets = Header(folder, "sdma_v6_0_0_pkt_open.h")
    offsets = Header(folder, "gc_11_0_0_offset.h")
    masks = Header(folder, "gc_11_0_0_sh_mask.h")
    failures, count = [], 0

    def expect(what, ours, theirs):
        nonlocal count
        count += 1
        if ours != theirs:
            failures.append(what)
            print(f"{what}: {ours}, Linux has {theirs}")

    for name, packet in dump["packets"].items():
        theirs = name.removeprefix("sdma_").upper()
        for field, (bit, width) in packet["fields"].items():
            if field in HALVES:
                for half, at in zip(HALVES[field], (bit, bit + 32)):
                    expect(f"{name}.{half}", (at, 32), place_of(packets, theirs, half))
            else:
                expect(f"{name}.{field}", (bit, width),
                       place_of(packets, theirs, NAMES.get(f"{name}.{field}", field)))
    for name, value in dump["opcodes"].items():
        key = f"SDMA_SUBOP_{name}" if name.startswith("COPY_") else f"SDMA_OP_{name}"
        expect(key, value, packets.values.get(key))
    for name, fields in dump["masks"].items():
        for field, (low, width) in fields.items():
            key = f"{REGISTERS[name]}__{field.upper()}_MASK"
            expect(key, ((1 << width) - 1) << low, masks.values.get(key))
    for name, value in dump["registers"].items():
        engine, is_hypervisor = name[4], name.endswith("F32_CNTL")
        base = offsets.base(f"gc_sdma0_sdma{engine}{'hyp' if is_hypervisor else ''}dec")
        expect(name, value, base + 4 * offsets.values.get("reg" + name, 0))

    print(f"{count} figures held against Linux, {len(failures)} differ")
    if damage:
        sys.exit(0 if failures == ["sdma_fence.gpa"] else "FAILED: the planted error was not the one finding")
    sys.exit(1 if failures else 0)


main()
