"""What tests look at in a recording: its blocks, without any program of ours."""

import struct
import subprocess

NAME = 2  # of an interface


def blocks(trace):
    """The file's blocks, decompressed: (type, body)."""
    unpacked = subprocess.run(["zstd", "-dcq", trace], capture_output=True, check=False)
    data, at, found = unpacked.stdout, 0, []
    while at + 12 <= len(data):
        kind, length = struct.unpack_from("<II", data, at)
        found.append((kind, data[at + 8:at + length - 4]))
        at += length
    return found


def interfaces(trace):
    """Names in the order of the file."""
    names = []
    for kind, body in blocks(trace):
        at = 8
        while kind == 1 and at + 4 <= len(body):
            option, length = struct.unpack_from("<HH", body, at)
            if option == NAME:
                names.append(body[at + 4:at + 4 + length].decode())
            at += 4 + (length + 3) // 4 * 4
            if option == 0:
                break
    return names


def records(trace):
    """How many each interface has, by its name."""
    names = interfaces(trace)
    count = dict.fromkeys(names, 0)
    for kind, body in blocks(trace):
        if kind == 6:
            count[names[struct.unpack_from("<I", body)[0]]] += 1
    return count


def has_end(trace):
    """Its last block is a custom one of ours, of kind 6."""
    kind, body = blocks(trace)[-1]
    return kind == 0x40000BAD and body[4:12] == b"hcatrace" and body[14] == 6
