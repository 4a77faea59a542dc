#!/usr/bin/python3
"""trace_file.py [--damage] PROGRAM: lets PROGRAM (trace_file) write a recording, and holds what tshark and capinfos
read against what it means: plain, compressed, cut behind its last batch, and long. With --damage, spoils a copy in
several ways and wants each noticed."""
import os
import subprocess
import sys
import tempfile

# Without a dissector of ours tshark shows the bytes of TLPs and events as they are.
USER = ["-o", 'uat:user_dlts:"User 0 (DLT=147)","data","0","","0",""',
        "-o", 'uat:user_dlts:"User 1 (DLT=148)","data","0","","0",""']
FIELDS = ["frame.interface_name", "frame.time_epoch", "frame.len", "frame.cap_len", "frame.packet_flags_direction",
          "data.data", "arp.dst.proto_ipv4", "infiniband.lrh.slid", "infiniband.lrh.dlid", "infiniband.bth.opcode",
          "infiniband.bth.destqp", "infiniband.bth.psn", "frame.cb_pen"]
DIGEST = "D" * 32
PEN = "32473"

# What the records mean, each field that must be there.
RECORDS = [
    {"frame.interface_name": "host0.hca0", "frame.time_epoch": "0.000001000", "frame.len": "40",
     "data.data": "01010100" "0100000000000000" "00000000" "600000020100000f0000001000000800" "0001020304050607"},
    {"frame.interface_name": "host0.hca0.port1", "frame.time_epoch": "0.000002000", "frame.len": "42",
     "arp.dst.proto_ipv4": "10.0.0.2", "frame.packet_flags_direction": "0x00000002"},
    {"frame.interface_name": "host0.hca0.port2", "frame.time_epoch": "0.000003000", "frame.len": "30",
     "infiniband.lrh.slid": "3", "infiniband.lrh.dlid": "5", "infiniband.bth.opcode": "4",
     "infiniband.bth.destqp": "0x000011", "infiniband.bth.psn": "7", "frame.packet_flags_direction": "0x00000001"},
    {"frame.interface_name": "host0.hca0", "frame.time_epoch": "0.000004000", "frame.len": "160", "frame.cap_len": "56",
     "data.data": "01010201" "0100000000000000" "03000000" "60000020010000ff0000000080000000"
                  + DIGEST + "00000000" "80000000"},
    {"frame.interface_name": "events", "frame.time_epoch": "0.000005000", "frame.len": "56",
     "data.data": "01060000" "0000000000000000" "04000000" + "01" * 40},
]


def tshark(path):
    """Rows of fields, and what tshark complains about."""
    arguments = ["tshark", "-n", "-r", path, *USER, "-T", "fields", "-E", "occurrence=f"]
    for field in FIELDS:
        arguments += ["-e", field]
    ran = subprocess.run(arguments, capture_output=True, text=True, check=False)
    rows = [dict(zip(FIELDS, line.split("\t"))) for line in ran.stdout.splitlines()]
    words = [line for line in ran.stderr.splitlines() if "Running as user" not in line]
    return rows, ran.returncode, " ".join(words)


def is_meant(field, meant, said):
    if DIGEST in meant:  # known to the writer alone
        at = meant.index(DIGEST)
        said = said[:at] + DIGEST + said[at + len(DIGEST):]
    if field in ("infiniband.lrh.slid", "infiniband.lrh.dlid", "infiniband.bth.opcode", "infiniband.bth.psn"):
        return said != "" and int(said, 0) == int(meant, 0)
    return said.replace(":", "") == meant.replace(":", "")


def differences(path):
    rows, code, words = tshark(path)
    if code != 0 or words:
        yield f"tshark ends with {code}: {words}"
    blocks = [row for row in rows if row["frame.cb_pen"]]
    records = [row for row in rows if not row["frame.cb_pen"]]
    if any(row["frame.cb_pen"].split(",")[0] != PEN for row in blocks):
        yield f"custom blocks under another number than {PEN}"
    if not blocks:
        yield "no custom block is seen"
    if len(records) != len(RECORDS):
        yield f"{len(records)} records, of {len(RECORDS)}"
    for number, (meant, row) in enumerate(zip(RECORDS, records), 1):
        for field, value in meant.items():
            if not is_meant(field, value, row[field]):
                yield f"record {number}: {field} is {value}, tshark reads {row[field]!r}"


def capinfos(path):
    """What capinfos says of the file, by its labels."""
    ran = subprocess.run(["capinfos", "-M", path], capture_output=True, text=True, check=False)
    rows = [line.partition(":") for line in ran.stdout.splitlines()]
    return ran.returncode, {label.strip(): value.strip() for label, _, value in rows}, ran.stderr


def summary(path):
    code, said, words = capinfos(path)
    if code != 0:
        yield f"capinfos ends with {code}: {words}"
    for label, value in {"Number of packets": str(len(RECORDS)), "Number of interfaces in file": "4",
                         "Capture application": "hcasim witness"}.items():
        if said.get(label) != value:
            yield f"capinfos: {label} is {said.get(label)!r}, not {value!r}"


def witness(program):
    findings = []
    with tempfile.TemporaryDirectory() as directory:
        for name, arguments in {"plain": ["0"], "compressed": ["3"], "plain, cut": ["0", "--cut"],
                                "compressed, cut": ["3", "--cut"]}.items():
            path = os.path.join(directory, "trace.pcapng")
            subprocess.run([program, path, *arguments], check=True)
            findings += [f"{name}: {finding}" for finding in [*differences(path), *summary(path)]]
        # Wireshark 4.0 does not read every sequence of zstd frames to its end.
        subprocess.run([program, path, "1", "--long"], check=True)
        rows, code, words = tshark(path)
        if code != 0 or words or len([row for row in rows if not row["frame.cb_pen"]]) != len(RECORDS) + 500:
            findings.append(f"long, in {os.path.getsize(path)} bytes: {len(rows)} blocks; {code}: {words}")
    return findings


def damage(program):
    """Bytes of the plain file that mean something to tshark; each must be missed when it is another."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "trace.pcapng")
        subprocess.run([program, path, "0"], check=True)
        with open(path, "rb") as file:
            whole = file.read()
        places = {"a TLP": bytes.fromhex("600000020100000f"), "a frame": bytes.fromhex("0a000002"),
                  "a packet": bytes.fromhex("00020005"), "a name": b"host0.hca0.port2",
                  "a number of ours": bytes.fromhex("d97e0000") + b"hcatrace"}
        missed = []
        for name, part in places.items():
            at = whole.index(part)
            spoilt = bytearray(whole)
            spoilt[at + len(part) - 1 - (8 if name == "a number of ours" else 0)] ^= 1
            with open(path, "wb") as file:
                file.write(spoilt)
            if not list(differences(path)):
                missed.append(f"nobody notices that {name} is damaged")
        with open(path, "wb") as file:
            file.write(whole[:-100])
        if not list(differences(path)):
            missed.append("nobody notices that the file is cut")
        return missed


if __name__ == "__main__":
    found = damage(sys.argv[2]) if sys.argv[1] == "--damage" else witness(sys.argv[1])
    print("\n".join(found) if found else "nothing found")
    sys.exit(1 if found else 0)
