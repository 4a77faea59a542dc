"""trace_test.py HCASIM DISSECTOR_TRACE SOURCE CASE: `hcasim trace`, on the recording that DISSECTOR_TRACE makes of an
HCA from its probe to its first WRITEs."""

import pathlib
import re
import subprocess
import sys
import tempfile

PROGRAM, RECORDER, SOURCE, CASE = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]), sys.argv[4]
SCRATCH = pathlib.Path(tempfile.mkdtemp(prefix="hcasim."))
DUMPS = SOURCE / "traces/golden/published/cqe_send.txt"
GOOD, REFUSED, OUTPUT_LOST, DAMAGED = 0, 2, 3, 5


def expect(condition, what):
    if not condition:
        sys.exit(f"{CASE}: {what}")


def trace(*arguments, status=GOOD, **more):
    ran = subprocess.run([PROGRAM, "trace", *map(str, arguments)], capture_output=True, text=True, timeout=250,
                         check=False, **more)
    expect(status in (None, ran.returncode), f"{arguments}: status {ran.returncode}, not {status}\n{ran.stderr}")
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
    of_device = trace("show", path, "--function", "left.hca").stdout
    expect(of_device and of_device == trace("show", path, "--function", "left.hca0").stdout, "another form of a name")
    for command in "show", "stats":
        refused = trace(command, path, "--function", "left.nic", status=REFUSED).stderr
        expect('"left.nic"' in refused and "left.hca, left.hca.port1" in refused, refused)
    expect(trace("show", path, "--from", "1h", status=REFUSED).stderr.count('"1h" is no time') == 1, "--from")
    fields = trace("show", path, "--kind", "doorbell", "--fields").stdout
    expect(re.search(r"^ +send_doorbell: opcode=", fields, re.M), fields)
    refused = trace("show", path, "--fields=cqe64", status=REFUSED).stderr
    expect("--fields" in refused and '"cqe64" is no kind' in refused and "doorbell-record" in refused, refused)


def says_when_nothing_is_meant():
    path = recording()
    count = len(trace("show", path).stdout.splitlines())
    for command, wanted in (("show", ("--qp", "0x999")), ("show", ("--from", "5s")), ("stats", ("--cq", "0x999"))):
        ran = trace(command, path, *wanted)
        expect(ran.stderr == f"hcasim: {path}: no record is meant, of {count:,} that were read\n", ran.stderr)
    for words in ((), ("--until", "1s"), ("--kind", "cqe")):
        expect(trace("show", path, *words).stderr == "", words)
    for command in "show", "stats":
        for begin, end in (("300us", "200us"), ("300us", "300us")):
            ran = trace(command, path, "--from", begin, "--until", end, status=REFUSED)
            expect(ran.stdout == "" and ran.stderr.count("\n") == 1 and "--until" in ran.stderr and
                   "--from, 300 us" in ran.stderr, ran.stderr)


def says_why():
    path = recording()
    lines = trace("show", path).stdout.splitlines()
    cqe = next(line for line in lines if " CQE in CQ" in line and "requester" in line)
    chain = trace("why", path, cqe.split()[0]).stdout.splitlines()
    expect(chain[0] == cqe and chain[-1].strip() == "Software did this: here the chain begins.", "\n".join(chain))
    expect("doorbell of QP" in chain[-2], "\n".join(chain))
    refused = trace("why", path, len(lines) + 1, status=REFUSED)
    expect(f"the trace has records 1 to {len(lines)}" in refused.stderr, refused.stderr)
    for number, why in (("0", "their numbers begin with 1"), ("-1", '"-1" is no number'), ("1x", '"1x" is no number')):
        refused = trace("why", path, number, status=REFUSED)
        expect("record" in refused.stderr and why in refused.stderr, f"{number}: {refused.stderr}")


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


def a_file_that_cannot_be_read_leaves_the_result_of_before():
    foreign, kept = SCRATCH / "foreign", SCRATCH / "kept"
    foreign.write_text("nothing that a recording begins with")
    kept.write_text("of before")
    for how in (("--to", "perfetto"), ("--port", "A.hca.port1")):
        ran = trace("convert", foreign, *how, "-o", kept, status=DAMAGED)
        expect("foreign" in ran.stderr, ran.stderr)
        expect(kept.read_text() == "of before", f"{how}: an empty file is in its place")


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


def times_that_are_ignored_are_no_difference():
    runs = []
    for name, latency in (("one", "40 ns"), ("other", "300 ns")):
        runs.append(SCRATCH / f"{name}.pcapng")
        subprocess.run([PROGRAM, "run", SOURCE / "platform/configs/gpudirect.toml", "--payload", SOURCE / "LICENSE",
                        "--set", f"hca.wqe_latency_ns={latency}", "--record", runs[-1]], check=True,
                       capture_output=True, timeout=250)
    told = trace("diff", *runs, status=1).stdout
    expect("is not the same" in told and "    time: " in told, told)
    told = trace("diff", *runs, "--ignore-times").stdout
    expect("is not the same" not in told and "events of A.hca: the same" in told, told)


def a_port_becomes_a_capture_of_one_interface():
    path, out = recording(), SCRATCH / "port.pcapng"
    trace("convert", path, "--port", "left.hca0.port1", "-o", out)
    frames = [line for line in trace("show", path).stdout.splitlines() if ".port1 " in line]
    ran = subprocess.run(["tcpdump", "-nn", "-r", out], capture_output=True, text=True, check=False)
    expect(ran.returncode == 0 and ran.stdout.count("\n") == len(frames), f"{ran.stdout}{ran.stderr}")
    expect(all("10.0.0." in line and "4791" in line for line in ran.stdout.splitlines()), ran.stdout)
    ran = subprocess.run(["tshark", "-n", "-r", out, "-T", "fields", "-e", "infiniband.bth.opcode"],
                         capture_output=True, text=True, check=False)
    expect(ran.stdout.split()[0] == "10", f"no WRITE first: {ran.stdout}{ran.stderr}")
    ran = trace("convert", path, "--port", "port7", "-o", SCRATCH / "none", status=REFUSED)
    expect("left.hca.port1" in ran.stderr and not (SCRATCH / "none").exists(), ran.stderr)
    ran = trace("convert", path, "--port", "port1", "-o", path, status=REFUSED)
    expect("is the same file as" in ran.stderr, ran.stderr)


def perfetto(path):
    """A converted recording as protoc reads it: packets as (fields of the event or the descriptor, time)."""
    out = SCRATCH / "out.perfetto"
    ran = trace("convert", path, "--to", "perfetto", "-o", out, status=None)
    proto = SOURCE / "testbench/scenario"
    text = subprocess.run(["protoc", "--decode=perfetto.protos.Trace", f"--proto_path={proto}", "perfetto.proto"],
                          stdin=out.open("rb"), capture_output=True, text=True, check=True).stdout
    unknown = re.search(r"^ *\d+[:{ ].*$", text, re.M)
    expect(not unknown, f"a field that Perfetto does not know: {unknown and unknown[0]}")
    return [parse(packet) for packet in re.findall(r"^packet \{\n(.*?)^\}", text, re.M | re.S)], ran


def parse(packet):
    found = {}
    for name, value in re.findall(r"^ *(\w+): (.*)$", packet, re.M):
        found.setdefault(name, []).append(value.strip('"'))
    return found


def keeps_the_rules_of_perfetto(packets):
    """Tracks are described before use, their times do not fall, slices are balanced, flows have two ends."""
    described, open_slices, ends, flows, times = set(), {}, {}, {}, {}
    for packet in packets:
        if "uuid" in packet:
            expect(packet.get("parent_uuid", ["0"])[0] in described | {"0"}, f"a parent comes later: {packet}")
            described.add(packet["uuid"][0])
            continue
        track, time = packet["track_uuid"][0], int(packet["timestamp"][0])
        expect(track in described, f"a track that nobody described: {packet}")
        expect(time >= times.get(track, 0), f"the time of a track falls: {packet}")
        times[track] = time
        for flow in packet.get("flow_ids", []):
            flows.setdefault(flow, []).append(packet)
        if packet["type"][0] == "TYPE_SLICE_BEGIN":
            expect(not open_slices.get(track) and time >= ends.get(track, 0), f"slices overlap: {packet}")
            open_slices[track] = time
        elif packet["type"][0] == "TYPE_SLICE_END":
            expect(track in open_slices and time > open_slices.pop(track), f"an end without its begin: {packet}")
            ends[track] = time
    expect(not open_slices, f"slices without an end: {open_slices}")
    lonely = [flow for flow, uses in flows.items() if len(uses) < 2]
    expect(not lonely, f"flows with one end: {lonely}")
    return flows


def perfetto_shows_tracks_flows_and_counters():
    path = recording()
    packets, ran = perfetto(path)
    expect(ran.returncode == GOOD, ran.stderr)
    flows = keeps_the_rules_of_perfetto(packets)
    names = {packet["uuid"][0]: packet["name"][0] for packet in packets if "uuid" in packet}
    for wanted in ("left.hca", "left.hca.port1", "DMA reads", "DMA writes", "QP 0x40", "CQ 0x80", "EQ 0x",
                   "events of left.hca", "translation and keys", "commands", "work requests not completed",
                   "CQEs not consumed"):
        expect(any(wanted in name for name in names.values()), f"no track {wanted} in {sorted(names.values())}")
    # The first WRITE: from its doorbell to the interrupt.
    ways = [[names[use["track_uuid"][0]] for use in uses] for uses in flows.values()]
    long = [way for way in ways if any("doorbells of QP" in name for name in way)
            and any("interrupts" in name for name in way)]
    expect(long, f"no flow from a doorbell to an interrupt: {ways}")
    for stage in ("work requests of QP", "frames out", "frames in", "CQ 0x80", "EQ 0x"):
        expect(any(stage in name for name in long[0]), f"no {stage} in {long[0]}")
    counts = [packet for packet in packets if packet.get("type") == ["TYPE_COUNTER"]]
    expect(counts and all("counter_value" in packet for packet in counts), "no counters")


def perfetto_of_a_damaged_recording_keeps_the_rules():
    path = recording()
    whole = path.read_bytes()
    for share in (0.5, 0.8, 0.9, 0.95):
        path.write_bytes(whole[:int(len(whole) * share)])
        packets, ran = perfetto(path)
        expect(ran.returncode == DAMAGED and "truncated" in ran.stderr, ran.stderr)
        keeps_the_rules_of_perfetto(packets)


def checks_the_rules():
    path = recording()
    ran = trace("check", path, path)
    expect(ran.stdout.count("nothing found") == 2, ran.stdout)
    for rule in ("tags unique", "event before interrupt", "at most once", "PSN without gap",
                 "READ response complete"):
        expect(re.search(rf"^  {rule} +[1-9]\d* .* judged$", ran.stdout, re.M), f"{rule} in\n{ran.stdout}")
    expect(re.search(r"^  rkey valid +has judged nothing", ran.stdout, re.M), ran.stdout)  # nobody asks of it
    cut = SCRATCH / "cut.pcapng"
    cut.write_bytes(path.read_bytes()[:-3000])
    ran = trace("check", cut, path, status=DAMAGED)
    expect("records could be read, nothing found" in ran.stdout and "records, nothing found" in ran.stdout, ran.stdout)
    expect("truncated" in ran.stderr, ran.stderr)
    trace("check", SCRATCH / "nothing.pcapng", status=REFUSED)
    trace("check", status=REFUSED)


def refuses_mistakes():
    for words, part in (((), "show, why"), (("shw", "x"), "shw"), (("show",), "file"), (("why", "x"), "record"),
                        (("convert", "x", "-o", "y"), "--port"),
                        (("show", "x", "--qp", "17x"), "17x"), (("show", "x", "--kind", "cqes"), "doorbell-record")):
        ran = trace(*words, status=REFUSED)
        expect(ran.stderr.count("\n") == 1 and part in ran.stderr, f"{words}: {ran.stderr}")
    expect("--mkey" in trace("show", "--help").stdout and "stats" in trace("--help").stdout, "--help")
    nowhere = SCRATCH / "nowhere" / "out"
    for words in (("convert", recording(), "--to", "perfetto", "-o", nowhere),
                  ("reduce", recording(), "--out", nowhere), ("import", "--dump", DUMPS, "--out", nowhere)):
        ran = trace(*words, status=REFUSED)
        expect(f"{nowhere}: cannot be created" in ran.stderr, f"{words}: {ran.stderr}")
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
