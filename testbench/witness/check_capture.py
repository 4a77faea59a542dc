#!/usr/bin/python3
"""check_capture.py FILE.pcapng: what others think of the frames we wrote.

tshark must decode every frame down to a known opcode, without a malformed packet, a bad checksum or an error of its own
experts. The ICRC of every RoCEv2 frame over IPv4 must be what scapy computes, together with all lengths and the IP
checksum, which scapy makes anew. scapy does not know RoCEv2 over IPv6 nor InfiniBand: their ICRC and VCRC are computed
here, from the polynomials of IBA 7.8 and annex A17, by code that shares nothing with the simulator and first proves
itself on the specification's sample packet.

Needs tshark and python3-scapy. Exit status 0 when nothing was found, 1 with one line a finding, 2 when it could not
look.
"""
import collections
import logging
import os
import struct
import subprocess
import sys
import zlib

logging.getLogger("scapy").setLevel(logging.ERROR)
from scapy.layers.inet import IP, UDP  # noqa: E402
from scapy.layers.l2 import Ether  # noqa: E402
from scapy.contrib.roce import BTH  # noqa: E402

LINK_ETHERNET, LINK_ERF = 1, 197
ERF_INFINIBAND, ERF_BYTES = 21, 16
ROCE_PORT = 4791
# The dissector of Debian 12 has no name for them: CNP, and the extended reliable connection (IBA 9.2.1).
NAMELESS = {0x81, *range(0xA0, 0xB5)}

Frame = collections.namedtuple("Frame", "number link_type interface time_ns direction data")


# --- the file ---------------------------------------------------------------------------------------------------------

def blocks(data):
    """(type, body, offset) of every block of a little-endian pcapng section; lengths must agree at both ends."""
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if length % 4 or length < 12 or at + length > len(data):
            raise ValueError(f"block at {at:#x}: length {length}")
        if struct.unpack_from("<I", data, at + length - 4)[0] != length:
            raise ValueError(f"block at {at:#x}: trailing length differs")
        yield kind, data[at + 8:at + length - 4], at
        at += length


def options(body):
    found, at = {}, 0
    while at + 4 <= len(body):
        code, length = struct.unpack_from("<HH", body, at)
        if code == 0:
            break
        found[code] = body[at + 4:at + 4 + length]
        at += 4 + (length + 3) // 4 * 4
    return found


def behind_erf(record, time_ns):
    """The InfiniBand packet in an ERF record, which says the time and both lengths again."""
    stamp, kind, flags, length, lost, wire = struct.unpack_from("<QBB", record) + struct.unpack_from(">HHH", record, 10)
    if (kind, flags, length, lost, wire) != (ERF_INFINIBAND, 4, len(record), 0, len(record) - ERF_BYTES):
        raise ValueError(f"an ERF header of type {kind}, flags {flags}, lengths {length}, {wire} of {len(record)}")
    if abs((stamp * 1_000_000_000 >> 32) - time_ns) > 1:
        raise ValueError(f"an ERF header of another time than its block: {stamp:#x}, {time_ns} ns")
    return record[ERF_BYTES:]


def read_frames(path):
    with open(path, "rb") as file:
        data = file.read()
    interfaces, frames = [], []
    for kind, body, _ in blocks(data):
        if kind == 1:
            opts = options(body[8:])
            if opts.get(9, b"\6")[0] != 9:
                raise ValueError("time stamps are not nanoseconds")
            interfaces.append((struct.unpack_from("<H", body)[0], opts.get(2, b"").decode()))
        elif kind == 6:
            number, high, low, captured, original = struct.unpack_from("<IIIII", body)
            if captured != original:
                raise ValueError("a frame was cut short")
            flags = options(body[20 + (captured + 3) // 4 * 4:]).get(2, b"\0\0\0\0")
            link_type, name = interfaces[number]
            time, packet = high << 32 | low, body[20:20 + captured]
            if link_type == LINK_ERF:
                packet = behind_erf(packet, time)
            frames.append(Frame(len(frames) + 1, link_type, name, time,
                                struct.unpack("<I", flags)[0] & 3, packet))
    return frames


# --- checks of our own ------------------------------------------------------------------------------------------------

def crc_table(width, polynomial):
    """One table entry a byte, made bit by bit with the register as IBA draws it: reflected, shifted to the right."""
    reflected = int(f"{polynomial:0{width}b}"[::-1], 2)
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (reflected if value & 1 else 0)
        table.append(value)
    return table


CRC32, CRC16 = crc_table(32, 0x04C11DB7), crc_table(16, 0x100B)


def crc(table, width, data):
    value = (1 << width) - 1
    for byte in data:
        value = value >> 8 ^ table[(value ^ byte) & 0xFF]
    return (value ^ (1 << width) - 1).to_bytes(width // 8, "little")


def infiniband_icrc(packet):
    """`packet`: LRH up to the ICRC, without it."""
    masked = bytearray(packet)
    if masked[1] & 3 == 3:  # a GRH follows
        masked[0:8] = b"\xff" * 8
        masked[8] |= 0x0F
        masked[9:12] = b"\xff" * 3
        masked[15] = 0xFF
        masked[8 + 40 + 4] = 0xFF
    else:
        masked[0] |= 0xF0
        masked[8 + 4] = 0xFF
    return crc(CRC32, 32, masked)


def ipv6_icrc(datagram):
    """`datagram`: IPv6 header up to the ICRC, without it."""
    masked = bytearray(datagram)
    masked[0] |= 0x0F
    masked[1:4] = b"\xff" * 3
    masked[7] = 0xFF
    masked[46:48] = b"\xff\xff"
    masked[52] = 0xFF
    return zlib.crc32(b"\xff" * 8 + masked).to_bytes(4, "little")


def prove_ourselves():
    """The sample packet of IBA 7.8: printed ICRC 0x9625B75A."""
    sample = bytes.fromhex("7012375C000E17D20A2024870087B1B3000DEC2A01710A1C015D400238F27A050000000EBB88"
                           "4D85FD5CFBA4728BC0690ED40000")
    assert infiniband_icrc(sample).hex() == "9625b75a"
    assert crc(CRC32, 32, b"123456789") == zlib.crc32(b"123456789").to_bytes(4, "little")


def check_infiniband(data):
    if crc(CRC16, 16, data[:-2]) != data[-2:]:
        yield "VCRC"
    if infiniband_icrc(data[:-6]) != data[-6:-2]:
        yield "ICRC"
    if (data[4] & 7) << 8 | data[5] != len(data[:-2]) // 4:
        yield "LRH length"


def check_ipv6(data):
    length = struct.unpack_from(">H", data, 14 + 4)[0]
    datagram = data[14:14 + 40 + length]
    if len(datagram) != 40 + length or struct.unpack_from(">H", datagram, 44)[0] != length:
        yield "lengths of IPv6 and UDP"
    if ipv6_icrc(datagram[:-4]) != datagram[-4:]:
        yield "ICRC"


def check_ipv4(data):
    end = 14 + struct.unpack_from(">H", data, 14 + 2)[0]
    if any(data[end:]) or len(data) > max(60, end):
        yield "what follows the datagram is not Ethernet's padding"
    data = data[:end]  # scapy would count the padding into the ICRC
    packet = Ether(data)
    if BTH not in packet:
        yield "scapy finds no BTH"
        return
    for layer, name in ((IP, "len"), (IP, "chksum"), (UDP, "len"), (BTH, "icrc")):
        delattr(packet[layer], name)  # scapy computes them when it builds the packet again
    again = packet.build()
    if again != data:
        where = next(i for i in range(max(len(data), len(again))) if again[i:i + 1] != data[i:i + 1])
        yield f"scapy would write it differently from byte {where}: {again[where:where + 8].hex()} for " \
              f"{data[where:where + 8].hex()}"


def check_sums(frame):
    data = frame.data
    if frame.link_type == LINK_ERF:
        found = check_infiniband(data)
    elif data[12:14] == b"\x08\x00":
        found = check_ipv4(data)
    elif data[12:14] == b"\x86\xdd":
        found = check_ipv6(data)
    else:
        found = ["neither IPv4 nor IPv6"]
    return [f"frame {frame.number}: {what}" for what in found]


# --- tshark -----------------------------------------------------------------------------------------------------------

# Guesses about payloads: bytes of an application are no protocol of tshark's.
GUESSES = ["smc", "smb_direct", "rpcordma", "nvme-rdma", "lnet", "iser", "infiniband.eoib", "infiniband_sdp", "fcoib",
           "drbd"]
VERDICTS = ["frame.number", "_ws.malformed", "_ws.expert.severity", "_ws.expert.message", "ip.checksum.status",
            "infiniband.bth.opcode", "_ws.col.Info"]
SEVERITY_ERROR = 0x00800000


def ask_tshark(path, fields):
    """One dictionary a frame; a field that occurs more than once has its values joined by commas."""
    command = ["tshark", "-n", "-T", "fields", "-E", "separator=/t", "-E", "occurrence=a",
               "-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE",
               "-o", "udp.ignore_ipv6_zero_checksum:TRUE",
               "--disable-heuristic", "eth_over_ib"]
    for guess in GUESSES:
        command += ["--disable-protocol", guess]
    for field in fields:
        command += ["-e", field]
    result = subprocess.run(command + ["-r", str(path)], capture_output=True, text=True, check=False,
                            env={**os.environ, "LC_ALL": "C.UTF-8"})
    if result.returncode != 0:
        raise RuntimeError("tshark: " + result.stderr.strip().splitlines()[-1])
    return [dict(zip(fields, line.split("\t"))) for line in result.stdout.splitlines()]


def check_verdicts(frames, rows):
    if len(rows) != len(frames):
        yield f"tshark sees {len(rows)} of {len(frames)} frames"
    for frame, row in zip(frames, rows):
        where = f"frame {row['frame.number']} ({row['_ws.col.Info'].strip()})"
        if row["_ws.malformed"]:
            yield f"{where}: malformed"
        if not row["infiniband.bth.opcode"]:
            yield f"{where}: no BTH"
        elif row["_ws.col.Info"].startswith("Unknown") and int(row["infiniband.bth.opcode"], 0) not in NAMELESS:
            yield f"{where}: unknown opcode {row['infiniband.bth.opcode']}"
        elif "[Unknown" in row["_ws.col.Info"]:
            yield f"{where}: unknown syndrome"
        if frame.link_type == LINK_ETHERNET and frame.data[12:14] == b"\x08\x00" and row["ip.checksum.status"] != "1":
            yield f"{where}: IP checksum"
        severities = [int(s, 0) for s in row["_ws.expert.severity"].split(",") if s]
        if any(s >= SEVERITY_ERROR for s in severities):
            yield f"{where}: {row['_ws.expert.message']}"


def check(path, also=()):
    """Findings about the capture, and what tshark said of the fields `also`."""
    prove_ourselves()
    frames = read_frames(path)
    rows = ask_tshark(path, VERDICTS + list(also))
    findings = list(check_verdicts(frames, rows))
    for frame in frames:
        findings += check_sums(frame)
    return frames, rows, findings


def main(arguments):
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        frames, rows, findings = check(arguments[0])
    except (OSError, ValueError, struct.error, RuntimeError) as error:
        print(f"{arguments[0]}: {error}", file=sys.stderr)
        return 2
    for finding in findings[:50]:
        print(finding)
    opcodes = collections.Counter(row["infiniband.bth.opcode"] for row in rows)
    print(f"{arguments[0]}: {len(frames)} frames, {len(opcodes)} opcodes, {len(findings)} findings")
    if not frames:
        print("an empty capture proves nothing")
    return 1 if findings or not frames else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
