"""trace_test.py HCASIM DISSECTOR_TRACE SOURCE CASE: `hcasim trace`, on the recording that DISSECTOR_TRACE makes of an
HCA from its probe to its first WRITEs."""

import pathlib
import re
import subprocess
import sys
import tempfile

PROGRAM, RECORDER, CASE = sys.argv[1], sys.argv[2], sys.argv[4]
SCRATCH = pathlib.Path(tempfile.mkdtemp(prefix="hcasim."))
GOOD, REFUSED, OUTPUT_LOST, DAMAGED = 0, 2, 3, 5


def expect(condition, what):
    if not condition:
        sys.exit(f"{CASE}: {what}")


def trace(*arguments, status=GOOD, **more):
    ran = subprocess.run([PROGRAM, "trace", *map(str, arguments)], capture_output=True, text=True, timeout=250,
                         check=False, **more)
    expect(ran.returncode == status, f"{arguments}: status {ran.returncode}, not {status}\n{ran.stderr}")
    return ran


def recording(name="good.pcapng"):
    path = SCRATCH / name
    subprocess.run([RECORDER, path], check=True, capture_output=True, timeout=250)
    return path


def shows_what_was_asked_for():
    path = recording()
    lines = trace("show", path).stdout.splitlines()
    expect([int(line.split()[0]) for line in lines] == list(range(1, len(lines) + 1)), "not a line a record")
    doorbell = next(line for line in lines if "doorbell of QP" in line)
    number, qpn = doorbell.split()[0], re.search(r"doorbell of QP (0x[0-9a-f]+)", doorbell)[1]
    expect(trace("show", path, "--records", number).stdout.splitlines() == [doorbell], "--records")
    of_qp = trace("show", path, "--qp", qpn).stdout.splitlines()
    expect(doorbell in of_qp and len(of_qp) < len(lines), f"--qp {qpn}")
    expect(all(" CQE in CQ" in line for line in trace("show", path, "--kind", "cqe").stdout.splitlines()), "--kind")
    expect(all(".port1 " in line for line in trace("show", path, "--function", "port1").stdout.splitlines()),
           "--function")
    expect(trace("show", path, "--from", "1h", status=REFUSED).stderr.count('"1h" is no time') == 1, "--from")
    fields = trace("show", path, "--kind", "doorbell", "--fields").stdout
    expect(re.search(r"^ +send_doorbell: opcode=", fields, re.M), fields)


def says_why():
    path = recording()
    lines = trace("show", path).stdout.splitlines()
    cqe = next(line for line in lines if " CQE in CQ" in line and "requester" in line)
    chain = trace("why", path, cqe.split()[0]).stdout.splitlines()
    expect(chain[0] == cqe and chain[-1].strip() == "Software did this: here the chain begins.", "\n".join(chain))
    expect("doorbell of QP" in chain[-2], "\n".join(chain))
    refused = trace("why", path, len(lines) + 1, status=REFUSED)
    expect(f"the trace has records 1 to {len(lines)}" in refused.stderr, refused.stderr)


def counts():
    text = trace("stats", recording()).stdout
    for row in ("left.hca DMA writes", "left.hca.port1 frames out", "command CREATE_QP", "WQE RDMA_WRITE",
                "WQE read to CQE, RDMA_READ"):
        expect(re.search(rf"^  {re.escape(row)} +[1-9]", text, re.M), f"no {row} in\n{text}")


def what_is_damaged_is_read_up_to_there():
    path = recording()
    whole = path.read_bytes()
    lines = trace("show", path).stdout.splitlines()
    cut = SCRATCH / "cut.pcapng"
    cut.write_bytes(whole[:len(whole) // 2])
    ran = trace("show", cut, status=DAMAGED)
    shown = ran.stdout.splitlines()
    expect(shown and shown == lines[:len(shown)], "other lines than those of the whole recording")
    expect(re.search(r"truncated: .*block \d+; byte \d+", ran.stderr), ran.stderr)
    expect(f"the {len(shown)} records before it could be read" in ran.stderr, ran.stderr)
    expect("links" in trace("stats", cut, status=DAMAGED).stdout, "no statistics of what can be read")
    trace("why", cut, 5)
    trace("why", cut, len(lines), status=DAMAGED)
    foreign = SCRATCH / "foreign"
    foreign.write_bytes(b"#!/bin/sh\n" * 100)
    expect("foreign" in trace("show", foreign, status=DAMAGED).stderr, "a foreign file")
    expect("nothing.pcapng" in trace("show", SCRATCH / "nothing.pcapng", status=REFUSED).stderr, "no file")


def finds_where_two_part():
    path = recording()
    same = trace("diff", path, path).stdout
    expect("left.hca: the same" in same and "changed" not in same, same)
    cut = SCRATCH / "cut.pcapng"
    cut.write_bytes(path.read_bytes()[:-2000])
    ran = trace("diff", path, cut, status=DAMAGED)
    expect("  B has no more" in ran.stdout and "what changed" in ran.stdout, ran.stdout)
    expect("cut.pcapng: truncated" in ran.stderr, ran.stderr)
    trace("diff", path, SCRATCH / "nothing", status=REFUSED)


def refuses_mistakes():
    for words, part in (((), "show, why"), (("shw", "x"), "shw"), (("show",), "file"), (("why", "x"), "record"),
                        (("show", "x", "--qp", "17x"), "17x"), (("show", "x", "--kind", "cqes"), "doorbell-record")):
        ran = trace(*words, status=REFUSED)
        expect(ran.stderr.count("\n") == 1 and part in ran.stderr, f"{words}: {ran.stderr}")
    expect("--mkey" in trace("show", "--help").stdout and "stats" in trace("--help").stdout, "--help")
    with open("/dev/full", "w", encoding="ascii") as full:
        ran = subprocess.run([PROGRAM, "trace", "show", recording()], stdout=full, stderr=subprocess.PIPE, text=True,
                             timeout=250, check=False)
    expect(ran.returncode == OUTPUT_LOST and "standard output" in ran.stderr, f"{ran.returncode}: {ran.stderr}")


if __name__ == "__main__":
    try:
        globals()[CASE]()
    finally:
        for left in SCRATCH.iterdir():
            left.unlink()
        SCRATCH.rmdir()
