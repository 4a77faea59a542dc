#!/usr/bin/python3
"""wire_frames.py [--damage] PROGRAM: lets PROGRAM (wire_frames) write one packet of every kind and holds what tshark
and scapy read against what the program says it meant. With --damage, spoils the capture in several ways and wants each
noticed."""
import ipaddress
import json
import os
import subprocess
import sys
import tempfile

import check_capture

NUMBERS_AS_BYTES = {"infiniband.immdt", "infiniband.ieth"}


def as_meant(name, said):
    """tshark's text in the form of our JSON: a number, or hexadecimal digits."""
    said = ",".join(dict.fromkeys(said.split(",")))  # it prints some fields twice
    if name in NUMBERS_AS_BYTES:
        return int(said.replace(":", ""), 16)
    if "." in said and not name.startswith("eth"):
        return ipaddress.ip_address(said).packed.hex()
    if name.startswith("eth") or name == "data.data":
        return said.replace(":", "")
    if name.endswith(("gid", "ipv6.src", "ipv6.dst")):
        return ipaddress.ip_address(said).packed.hex()
    if said in ("True", "False"):
        return int(said == "True")
    return int(said, 0)


def compare(meant, rows):
    for number, (packet, row) in enumerate(zip(meant, rows), 1):
        for name, value in packet.items():
            field = "data.data" if name == "payload" else name
            said = row[field]
            try:
                heard = as_meant(field, said)
            except ValueError:
                heard = f"unreadable {said!r}"
            if name == "payload":  # tshark counts the padding in
                pad = packet["infiniband.bth.padcnt"]
                value += "00" * pad
            if heard != value:
                yield f"frame {number} ({row['_ws.col.Info'].strip()}): {name} is {value!r}, tshark reads {said!r}"


def write_frames(program, directory):
    capture, description = os.path.join(directory, "frames.pcapng"), os.path.join(directory, "frames.json")
    subprocess.run([program, capture, description], check=True)
    with open(description, encoding="ascii") as file:
        return capture, json.load(file)


def witness(program):
    with tempfile.TemporaryDirectory() as directory:
        capture, meant = write_frames(program, directory)
        meant_names = {name for packet in meant for name in packet}
        names = sorted(meant_names - {"payload", "infiniband.bth.opcode"}) + ["data.data"]
        frames, rows, findings = check_capture.check(capture, names)
        findings += compare(meant, rows)
        if len(meant) != len(frames) or len(meant) < 400:
            findings.append(f"{len(meant)} packets described, {len(frames)} captured")
        opcodes = {row["infiniband.bth.opcode"] for row in rows}
        print(f"{len(frames)} frames, {len(opcodes)} opcodes, {sum(map(len, meant))} fields compared, "
              f"{len(findings)} findings")
        return findings


def damage(program):
    """Each spoilt frame must be found, by the check that is there for it."""
    findings = []
    with tempfile.TemporaryDirectory() as directory:
        capture, meant = write_frames(program, directory)
        with open(capture, "rb") as file:
            intact = file.read()
        frames = check_capture.read_frames(capture)
        starts = [at + 28 for kind, _, at in check_capture.blocks(intact) if kind == 6]

        def write_only_with(name):  # its place among the frames
            return next(i for i, packet in enumerate(meant) if name in packet and packet["infiniband.bth.opcode"] == 10)

        kinds = {"IPv4": write_only_with("ip.ttl"), "IPv6": write_only_with("ipv6.hlim"),
                 "InfiniBand": write_only_with("infiniband.lrh.sl")}
        # frame, byte of the frame (negative: from its end), what must be reported
        spoils = [("IPv4", 24, "IP checksum"), ("IPv4", 60, "scapy"), ("IPv4", -1, "scapy"), ("IPv6", -1, "ICRC"),
                  ("IPv6", 80, "ICRC"),
                  ("InfiniBand", -1, "VCRC"), ("InfiniBand", 30, "ICRC"), ("InfiniBand", 5, "LRH length"),
                  ("InfiniBand", 8, "unknown opcode")]
        for kind, byte, expected in spoils:
            index = kinds[kind]
            spoilt = bytearray(intact)
            length = len(frames[index].data)
            wrapped = check_capture.ERF_BYTES if frames[index].link_type == check_capture.LINK_ERF else 0
            at = starts[index] + wrapped + (byte if byte >= 0 else length + byte)
            spoilt[at] ^= 0x15 if expected == "unknown opcode" else 0x01
            path = os.path.join(directory, "spoilt.pcapng")
            with open(path, "wb") as file:
                file.write(spoilt)
            found = check_capture.check(path)[2]
            if not any(f"frame {index + 1}" in finding and expected in finding for finding in found):
                findings.append(f"{kind}, byte {byte}: wanted '{expected}', found {found}")
            if any(f"frame {index + 1}" not in finding for finding in found):
                findings.append(f"{kind}, byte {byte}: other frames reported: {found}")
    print(f"{len(spoils)} kinds of damage, {len(findings)} unnoticed")
    return findings


def main(arguments):
    act, arguments = (damage, arguments[1:]) if arguments[:1] == ["--damage"] else (witness, arguments)
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    findings = act(arguments[0])
    for finding in findings[:50]:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
