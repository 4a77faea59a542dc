"""Inside the HCA a room includes only rooms below it, and a class of the requester or the responder only those above it
in its room's list (model/hca/README.md, "Who knows whom"). So no arrow leads upward, and each can be read, and driven
in a test, with what is below it."""

import re

import tree

# From the lowest to the highest; rooms of one row do not know each other. A name without a folder is a file.
ROOMS = [
    ["config", "congestion", "counted", "counters", "domains", "intrusive_list", "object_table", "pipe",
     "processing_units", "report"],
    ["doorbell"],
    ["icm"],
    ["tpt"],
    ["memory"],
    ["event"],
    ["queue"],
    ["multicast"],
    ["address"],
    ["objects"],
    ["egress"],
    ["completion"],
    ["paging"],
    ["umr"],
    ["requester", "responder"],
    ["subnet"],
    ["ingress"],
    ["dispatch"],
    ["lifecycle"],
    ["hca"],
]
# Files of a room that are to be read in this order.
INSIDE = {
    "requester": ["local_access", "position", "retirement", "retry", "acknowledgements", "response_placement",
                  "responses", "work_queue", "packetizer", "sending", "requester"],
    "responder": ["remote_access", "answers", "answer_sender", "patience", "placement", "receives", "remote_memory",
                  "duplicates", "execution", "datagram", "notification", "responder"],
}
HEIGHT = {room: height for height, row in enumerate(ROOMS) for room in row}
# A room, or none, and a file of it; a folder within a room belongs to that room.
OURS = re.compile(r"model/hca/(?:(\w+)/)?(?:\w+/)*(\w+)\.(?:h|cpp)")
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]')


def check(root):
    findings = []
    for name in tree.files(root, {".h", ".cpp"}):
        place = OURS.fullmatch(name.as_posix())
        if place is None:
            continue
        room = place[1] or place[2]
        if room not in HEIGHT:
            findings.append(f"{name}: is in no room of the list in testbench/checks/rooms.py")
            continue
        if room in INSIDE and place[2] not in INSIDE[room]:
            findings.append(f"{name}: has no place in the list of its room in testbench/checks/rooms.py")
            continue
        for number, line in tree.lines(root, name):
            include = INCLUDE.match(line)
            target = OURS.fullmatch(include[1]) if include else None
            if target and not may_know(place, target):
                findings.append(f'{name}:{number}: "{include[1]}" is not below it')
    return findings


def may_know(place, target):
    room, other = place[1] or place[2], target[1] or target[2]
    if room == other:
        order = INSIDE.get(room)
        return order is None or target[2] in order and order.index(target[2]) <= order.index(place[2])
    if other not in HEIGHT:
        return True  # the file itself is reported
    return HEIGHT[other] < HEIGHT[room] or HEIGHT[room] == 0 == HEIGHT[other]


def plant(name, header):
    return {f"model/hca/{name}": f'#pragma once\n#include "model/hca/{header}"\n'}


if __name__ == "__main__":
    tree.run(
        check,
        planted=[
            (plant("queue/a.h", "completion/failure.h"), 'a.h:2: "model/hca/completion/failure.h" is not below it'),
            (plant("doorbell/uar.cpp", "hca.h"), "is not below it"),
            (plant("event/a.cpp", "queue/completion_queue.h"), "is not below it"),
            (plant("umr/umr.h", "requester/requester.h"), "is not below it"),
            (plant("responder/answers.cpp", "requester/retry.h"), "is not below it"),
            (plant("requester/retry.cpp", "responder/answers.h"), "is not below it"),
            (plant("responder/ingress.h", "ingress/ingress.h"), "has no place in the list"),
            (plant("responder/answers.h", "responder/duplicates.h"), "is not below it"),
            (plant("requester/retirement.cpp", "requester/sending.h"), "is not below it"),
            (plant("subnet/a.cpp", "ingress/ingress.h"), "is not below it"),
            (plant("objects.h", "lifecycle/lifecycle.h"), "is not below it"),
            (plant("counters.h", "queue/queue_pair.h"), "is not below it"),
            (plant("umr/list/b_2.cpp", "requester/requester.h"), "is not below it"),
            (plant("queue/a64.h", "hca.h"), "is not below it"),
            ({"model/hca/queue/a.h": "#include <model/hca/hca.h>\n"}, "is not below it"),
            (plant("attic/a.h", "config.h"), "is in no room"),
            (plant("attic/b/a.h", "config.h"), "is in no room"),
            (plant("attic.h", "config.h"), "is in no room"),
        ],
        clean={
            "model/hca/hca.h": '#include "model/hca/ingress/ingress.h"\n#include "model/hca/config.h"\n',
            "model/hca/counters.h": '#include "model/hca/counted.h"\n',
            "model/hca/ingress/ingress.cpp": '#include "model/hca/ingress/ingress.h"\n'
                                             '#include "model/hca/objects.h"\n#include "model/wire/parser.h"\n',
            "model/hca/responder/duplicates.cpp": '#include "model/hca/responder/duplicates.h"\n'
                                                  '#include "model/hca/responder/answers.h"\n',
            "model/hca/completion/failure.cpp": '#include "model/hca/completion/failure.h"\n'
                                                '#include "model/hca/queue/queue_pair.h"\n',
            "model/net/link.cpp": '#include "model/net/link.h"\n',
        },
    )
