#!/usr/bin/python3
"""plain_frames.py PROGRAM: frames as scapy makes them, sent over a cable by PROGRAM (plain_frames). The capture has to
have those bytes, tshark to read in them the protocols that scapy put there, and a receiver to take for RoCEv2 those
frames alone in which scapy wrote a BTH."""
import os
import subprocess
import sys
import tempfile

import check_capture
from scapy.contrib.roce import BTH
from scapy.layers.dns import DNS, DNSQR
from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption_Router_Alert
from scapy.layers.inet6 import ICMPv6ND_NS, IPv6, IPv6ExtHdrHopByHop
from scapy.layers.l2 import ARP, LLC, STP, Dot1Q, Dot3, Ether
from scapy.packet import Raw

A, B, ALL = "02:00:00:00:00:01", "02:00:00:00:00:02", "ff:ff:ff:ff:ff:ff"
ROCE = 4791


def ethernet(**more):
    return Ether(src=A, dst=B, **more)


def ip(**more):
    return IP(src="10.0.0.1", dst="10.0.0.2", **more)


def bth():
    return BTH(opcode=0x04, pkey=0xffff, dqpn=0x123, psn=7)  # a SEND


def frames():
    """What it is, the frame, protocols that tshark finds in this order, and what it is to the receiver."""
    plain = "plain"
    roce = UDP(sport=0xc000, dport=ROCE, chksum=0) / bth() / Raw(bytes(range(64)))
    six = IPv6(src="fe80::1", dst="fe80::2")
    return [
        ("ARP", Ether(src=A, dst=ALL) / ARP(psrc="10.0.0.1", pdst="10.0.0.2"), "eth:arp", plain),
        ("ping", ethernet() / ip() / ICMP() / Raw(b"x" * 56), "eth:ip:icmp", plain),
        ("TCP to RoCEv2's port", ethernet() / ip() / TCP(dport=ROCE), "eth:ip:tcp", plain),
        ("DNS", ethernet() / ip() / UDP(sport=53000) / DNS(qd=DNSQR(qname="example.org")), "eth:ip:udp:dns", plain),
        ("an empty datagram", ethernet() / ip() / UDP(sport=53000, dport=7), "eth:ip:udp", plain),
        ("jumbo", ethernet() / ip() / UDP(sport=53000, dport=40000) / Raw(b"j" * 8972), "eth:ip:udp:data", plain),
        ("a fragment", ethernet() / ip(flags="MF") / UDP(sport=53000, dport=ROCE, chksum=0, len=9000) / Raw(b"f" * 96),
         "eth:ip", plain),
        ("options", ethernet() / ip(options=[IPOption_Router_Alert()]) / UDP(sport=53000, dport=40000) / Raw(b"o" * 8),
         "eth:ip:udp", plain),
        ("a VLAN", ethernet() / Dot1Q(vlan=5) / ip() / UDP(sport=53000, dport=40000) / Raw(b"v" * 8),
         "eth:vlan:ip:udp:data", plain),
        ("RoCEv2 of a VLAN", ethernet() / Dot1Q(vlan=5) / ip() / roce, "eth:vlan:ip:udp:infiniband", plain),
        ("spanning tree", Dot3(src=A, dst="01:80:c2:00:00:00") / LLC() / STP(), "eth:llc:stp", plain),
        ("neighbour solicitation", ethernet() / six / ICMPv6ND_NS(tgt="fe80::2"), "eth:ipv6:icmpv6", plain),
        ("hop-by-hop options", ethernet() / six / IPv6ExtHdrHopByHop() / ICMPv6ND_NS(tgt="fe80::2"),
         "eth:ipv6:ipv6.hopopts:icmpv6", plain),
        ("UDP over IPv6", ethernet() / six / UDP(sport=53000, dport=40000) / Raw(b"s" * 8), "eth:ipv6:udp:data", plain),
        ("an EtherType for experiments", ethernet(type=0x88b5) / Raw(bytes(range(46))), "eth:data", plain),
        ("RoCEv2", ethernet() / ip() / roce, "eth:ip:udp:infiniband", "4"),
    ]


def is_within(wanted, found):
    """Whether `found` has what is `wanted` in that order; tshark names more."""
    rest = iter(found)
    return all(name in rest for name in wanted)


def witness(program):
    given = frames()
    with tempfile.TemporaryDirectory() as directory:
        text, capture = os.path.join(directory, "frames.txt"), os.path.join(directory, "frames.pcapng")
        with open(text, "w", encoding="ascii") as file:
            file.writelines(bytes(frame).hex() + "\n" for _, frame, _, _ in given)
        said = subprocess.run([program, text, capture], check=True, capture_output=True, text=True).stdout.splitlines()
        captured = check_capture.read_frames(capture)
        rows = check_capture.ask_tshark(capture, ["frame.protocols", "_ws.malformed", "ip.checksum.status",
                                                  "udp.checksum.status", "icmp.checksum.status"])
    if not len(given) == len(captured) == len(rows) == len(said):
        return [f"{len(given)} frames, {len(captured)} captured, {len(rows)} read by tshark, {len(said)} received"]
    findings = []
    for (name, frame, protocols, verdict), kept, row, heard in zip(given, captured, rows, said):
        if kept.data != bytes(frame):
            findings.append(f"{name}: the capture has other bytes")
        if not is_within(protocols.split(":"), row["frame.protocols"].split(":")):
            findings.append(f"{name}: tshark reads {row['frame.protocols']}, wanted {protocols}")
        if row["_ws.malformed"] or "0" in [row[field] for field in row if field.endswith("checksum.status")]:
            findings.append(f"{name}: tshark finds it broken")
        if heard != verdict:
            findings.append(f"{name}: to its receiver it is '{heard}', not '{verdict}'")
    print(f"{len(given)} frames, {len(findings)} findings")
    return findings


def main(arguments):
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    findings = witness(arguments[0])
    print(*findings, sep="\n")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
