"""Recordings played as a person plays them: `hcasim replay`. Each function is a case. PLANTED is the same on devices
that make a mistake."""

import json
import os
import random
import re
import subprocess
import sys

sys.argv[2:] = [*sys.argv[3:], sys.argv[2]]  # the two programs come first; program.py knows one
from program import CONFIG, PROGRAM, SCRATCH, SOURCE, expect, main, payload, run, violations  # noqa: E402

PLANTED = sys.argv[4]
SAME, DIVERGED, DAMAGED = 0, 1, 5
SMALL = ("--set", "scenario.message=16384")


def record(*arguments, name="run.trace", config=CONFIG, size=200_000):
    """Runs the scenario, and returns the recording."""
    trace = SCRATCH / name
    ran = run("--payload", payload(size), "--record", trace, *SMALL, *arguments, config=config)
    expect(ran.returncode == 0, f"status {ran.returncode}\n{ran.stdout[-2000:]}{ran.stderr}")
    return trace


def replay(*arguments, status=SAME, program=(PROGRAM,)):
    """Plays, and returns what the JSON has; the text is kept with it."""
    out = SCRATCH / "replay.json"
    ran = subprocess.run([*program, "replay", "--json", out, *arguments], capture_output=True, text=True, timeout=250,
                         check=False)
    expect(ran.returncode == status, f"status {ran.returncode}, not {status}\n{ran.stdout[-3000:]}{ran.stderr}")
    return {**json.loads(out.read_text()), "text": ran.stdout, "stderr": ran.stderr}


def verdicts(got):
    return [one["verdict"] for one in got["replays"]]


def plays_as_it_was():
    """All devices of a run, GPUs among them, in each way of comparing, twice."""
    trace = record()
    for way in ("--strict", "--untimed", "--strict"):
        got = replay(trace, way)
        expect(len(got["replays"]) == 4 and set(verdicts(got)) == {"same"}, f"{way}: {got['text']}")
        expect(sum(one["calls"] for one in got["replays"]) > 100, got["text"])
    one = replay(trace, "--at", "A.hca")
    expect([entry["device"] for entry in one["replays"]] == ["A.root.switch.hca"], one["text"])


def plays_each_platform():
    for config, sets in ((SOURCE / "platform/configs/dmabuf.toml", ()), (CONFIG, ("timed=false",)),
                         (CONFIG, ("fabric.switch=true", "link.encapsulation=infiniband")),
                         (CONFIG, ("link.loss=0.02", "link.encapsulation=roce_v2_ipv6")),
                         (CONFIG, ("iommu.present=true", "hca.device_tlb_entries=64", "iommu.device_tlb=true"))):
        trace = SCRATCH / "platform.trace"
        words = [word for one in sets for word in ("--set", one)]
        moved = ["--payload", payload(100_000)] if config == CONFIG else []
        ran = run(*moved, "--record", trace, *words, config=config)
        expect(ran.returncode == 0, f"{sets}: status {ran.returncode}\n{ran.stdout[-2000:]}{ran.stderr}")
        got = replay(trace)
        expect(set(verdicts(got)) == {"same"}, f"{config} {sets}: {got['text']}")


def timing_alone_fails_strict_only():
    trace = record()
    slower = ("--at", "A.hca", "--set", "hca.wqe_latency_ns=300")
    got = replay(trace, *slower, status=DIVERGED)["replays"][0]
    expect(got["divergence"]["class"] == "time" and got["divergence"]["field"] == "time", got)
    expect(got["differences"][0]["key"] == "hca.wqe_latency_ns", got)
    replay(trace, "--untimed", *slower)
    again = subprocess.run([PROGRAM, *got["again"].split()[1:]], capture_output=True, text=True, timeout=250,
                           check=False)
    expect(again.returncode == DIVERGED and f"at record {got['divergence']['record']}," in again.stdout,
           f"the command does not show it again: {again.stdout}")


def other_tlps_alone_fail_strict():
    """A link with another MPS or MRRS: at the first TLP that it makes otherwise; nothing else has changed."""
    trace = record()
    for device, key, what in (("A.hca", "mps", "DMA write"), ("A.hca", "mrrs", "DMA read"),
                              ("A.gpu", "mps", "answer with bytes")):
        halved = (trace, "--at", device, "--set", f"pcie.device.{key}=256")
        for way in ("--strict", "--untimed"):
            found = replay(*halved, way, status=DIVERGED)["replays"][0]["divergence"]
            expect((found["class"], found["field"]) == ("field", "length"), f"{device} {key} {way}: {found}")
            rows = {row["name"]: row for row in found["fields"]}
            length = (rows["length"]["expected"], rows["length"]["actual"])
            expect(length[1] == "256" and 256 < int(length[0]) <= 512, f"{device} {key} {way}: {length}")
            expect(rows["kind"]["expected"] == what and not rows["address"]["differs"], rows["kind"])
        replay(*halved, "--functional")
    replay(trace, "--set", "pcie.device.mps=512")  # as it was


def acknowledgements_put_together_otherwise_fail_strict():
    """One for each request, where the recorded HCA had one for a batch; it sends other answers sooner, too."""
    program = (PLANTED, "acks_each", "0")
    for trace in (record(), SOURCE / "traces/golden/dmabuf/trace.pcapng.zst"):
        each = (trace, "--at", "B.hca")
        found = replay(*each, "--strict", status=DIVERGED, program=program)["replays"][0]["divergence"]
        expect("Acknowledge" in found["actual"], found)
        replay(*each, "--functional", program=program)


def time_alone_is_functionally_free():
    """On any wire, with loss, with hardly any time at all; and of what stock drivers did in guests."""
    traces = [(record(*(word for one in sets for word in ("--set", one)), name=f"{number}.trace"), key)
              for number, (sets, key) in enumerate((
                  (("link.encapsulation=infiniband",), "hca.wqe_latency_ns=300"),
                  (("fabric.switch=true", "link.encapsulation=infiniband"), "hca.packet_latency_ns=50"),
                  (("link.loss=0.02",), "hca.responder_latency_ns=600"),
                  (("link.loss=0.02", "link.encapsulation=infiniband"), "hca.wqe_latency_ns=0"),
                  (("timed=false",), "timed=true")))]
    made = len(traces)
    for recipe in sorted((SOURCE / "traces/golden").glob("*/recipe.toml")):
        key = re.search("^(config|case) = ", recipe.read_text(), re.MULTILINE)  # others have no recorded device
        # A drive says when it is ready, and completes in the order of its times: with others it does something else.
        if key and "nvme" not in recipe.parent.name:  # what was recorded live takes no time
            traces.append((recipe.parent / "trace.pcapng.zst",
                           "hca.wqe_latency_ns=300" if key[1] == "config" else "timed=true"))
    expect(len(traces) > made, "there are no golden traces: this test looked at nothing")
    for trace, key in traces:
        replay(trace, "--functional")
        replay(trace, "--functional", "--set", key)
        replay(trace, "--strict", "--set", key, status=DIVERGED)


def mistakes_are_named():
    """Each planted one: its class, its field, its record, and how it came to be."""
    trace = record()
    for mistake, number, kind, field, what in (
            ("cqe_field", 1, "field", "cqe64.byte_cnt", "CQE in CQ"), ("psn", 5, "field", "bth.psn", "PSN"),
            ("dropped_event", 2, "missing", "", "EQE in EQ"), ("later_dma", 1, "time", "time", "CQE in CQ"),
            ("other_order", 0, "order", "", "CQE in CQ")):
        got = replay(trace, "--at", "A.hca", status=DIVERGED, program=(PLANTED, mistake, str(number)))
        found = got["replays"][0]["divergence"]
        expect((found["class"], found["field"]) == (kind, field), f"{mistake}: {got['text']}")
        expect(what in found["expected"], f"{mistake}: {found['expected']}")
        shown = subprocess.run([PROGRAM, "trace", "show", trace, "--records", f"{found['record']}-{found['record']}"],
                               capture_output=True, text=True, timeout=100, check=False).stdout
        expect(found["expected"] in shown, f"{mistake}: record {found['record']} is {shown}")
        expect(found["chain"] and found["before"] and "again: hcasim replay" in got["text"], got["text"])


def json_is_as_its_schema_says():
    schema = json.loads((SOURCE / "testbench/hcasim/replay.schema.json").read_text())
    trace = record()
    (SCRATCH / "cut.trace").write_bytes(trace.read_bytes()[:-200])
    (SCRATCH / "foreign").write_bytes(b"nobody's recording")
    for arguments, status in (((trace,), SAME), ((trace, "--set", "hca.cqe_latency_ns=1"), DIVERGED),
                              ((SCRATCH / "cut.trace",), DAMAGED), ((SCRATCH / "foreign",), DAMAGED)):
        got = replay(*arguments, status=status)
        del got["text"], got["stderr"]
        wrong = violations(got, schema)
        expect(not wrong, "\n".join(wrong[:20]))


def cut_recordings_are_played_as_far_as_they_go():
    trace = record()
    whole = trace.read_bytes()
    last = 0
    for cut in sorted({len(whole) - 1, len(whole) - 100, *(random.Random(3).randrange(len(whole)) for _ in range(8))}):
        (SCRATCH / "cut.trace").write_bytes(whole[:cut])
        got = replay(SCRATCH / "cut.trace", "--at", "A.hca", status=DAMAGED)
        if got["refused"]:
            expect(re.search(r"byte \d+ of the file", got["refused"][0]["why"]), got["refused"])
            continue
        one = got["replays"][0]
        expect(one["verdict"] == "truncated" and one["fault"]["reason"], one)
        expect(one["records"] >= last, f"{cut}: {one['records']} records, and {last} of a shorter one")
        last = one["records"]


def what_does_not_fit_is_refused():
    trace = record()
    for arguments, words in ((("--at", "C.hca"), ("--at C.hca", "was not recorded")),
                             (("--set", "link.encapsulation=infiniband"), ("link.encapsulation",)),
                             (("--set", "hca.nonsense=1"), ("unknown key",))):
        ran = subprocess.run([PROGRAM, "replay", trace, *arguments], capture_output=True, text=True, check=False)
        expect(ran.returncode == 2 and ran.stdout == "", f"{arguments}: {ran.returncode} {ran.stdout}{ran.stderr}")
        for word in words:
            expect(word in ran.stderr, f"{arguments}: '{word}' is not in {ran.stderr}")
    ran = subprocess.run([PROGRAM, "replay", os.devnull, "--json", "-"], capture_output=True, text=True, check=False)
    expect(ran.returncode == 2 and "is no file" in ran.stderr, ran.stderr)


main(globals())
