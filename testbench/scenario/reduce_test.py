"""`hcasim trace reduce`: of a long recording a small one is left that shows the same difference. The devices with a
mistake are those of the program `planted`."""

import re
import subprocess
import sys

PLANTED = sys.argv.pop(2)
from program import CONFIG, PROGRAM, SCRATCH, SOURCE, expect, main, payload, refused, run  # noqa: E402


def record(message=16384):
    trace = SCRATCH / "whole.trace"
    ran = run("--payload", payload(4_000_000), "--set", f"scenario.message={message}", "--record", trace,
              config=CONFIG)
    expect(ran.returncode == 0, f"status {ran.returncode}\n{ran.stdout[-2000:]}{ran.stderr}")
    return trace


def call(*words):
    return subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)


def records_of(trace):
    shown = call(PROGRAM, "trace", "show", trace)
    expect(shown.returncode == 0, shown.stderr)
    return shown.stdout.count("\n")


def a_hundredth_shows_the_same_mistake():
    trace = record()
    whole = records_of(trace)
    for mistake, kind in (("cqe_field", "field"), ("psn", "field"), ("other_order", "order")):
        small = SCRATCH / f"{mistake}.trace"
        ran = call(PLANTED, mistake, "0", "reduce", trace, small)
        expect(ran.returncode == 0, f"{mistake}: {ran.stdout}{ran.stderr}")
        left = records_of(small)
        expect(left * 100 < whole, f"{mistake}: {left} records of {whole}: {ran.stdout}")
        expect(f"{small}: {left:,} records" in ran.stdout, ran.stdout)
        again = call(PLANTED, mistake, "0", "replay", small, "--untimed")
        expect(again.returncode == 1 and kind in again.stdout, f"{mistake}: {again.stdout}{again.stderr}")
        same = call(PROGRAM, "replay", small, "--untimed")
        expect(same.returncode == 0, f"{mistake}: a device without it differs: {same.stdout}{same.stderr}")


def a_mistake_late_in_a_ring_needs_few_of_the_messages_before():
    """Messages before it are left out, and the numbers of those behind them follow."""
    trace = record(message=1024)
    whole = records_of(trace)
    for mistake in ("cqe_field", "psn"):
        small = SCRATCH / f"{mistake}.trace"
        ran = call(PLANTED, mistake, "3000", "reduce", trace, small)
        expect(ran.returncode == 0, f"{mistake}: {ran.stdout}{ran.stderr}")
        left = records_of(small)
        expect(left * 100 < whole, f"{mistake}: {left} records of {whole}: {ran.stdout}")
        place = re.search(r"planted at (\d+) ps", ran.stderr)
        expect(place is not None, ran.stderr)
        again = call(PLANTED, mistake, f"@{place[1]}", "replay", small, "--untimed")
        expect(again.returncode == 1 and "field" in again.stdout, f"{mistake}: {again.stdout}{again.stderr}")
        same = call(PROGRAM, "replay", small, "--untimed")
        expect(same.returncode == 0, f"{mistake}: a device without it differs: {same.stdout}{same.stderr}")


def a_mistake_of_time_alone_is_shown_by_less():
    trace = record()
    whole = records_of(trace)
    small = SCRATCH / "later_dma.trace"
    ran = call(PLANTED, "later_dma", "0", "reduce", trace, small)
    expect(ran.returncode == 0, f"{ran.stdout}{ran.stderr}")
    left = records_of(small)
    expect(left * 100 < whole, f"{left} records of {whole}: {ran.stdout}")
    again = call(PLANTED, "later_dma", "0", "replay", small)
    expect(again.returncode == 1 and "time" in again.stdout, f"{again.stdout}{again.stderr}")
    same = call(PROGRAM, "replay", small)
    expect(same.returncode == 0, f"a device without it differs: {same.stdout}{same.stderr}")


def what_a_kernel_does_before_is_left_out():
    """Its commands have events of their own, and make objects whose numbers are those of what comes behind them."""
    trace = SOURCE / "traces/golden/perftest/trace.pcapng.zst"
    whole = records_of(trace)
    parts = {"cqe_field": 120, "psn": 80, "dropped_event": 240, "later_dma": 120, "other_order": 120}
    for mistake, part in parts.items():
        mode = [] if mistake == "later_dma" else ["--untimed"]
        small = SCRATCH / f"{mistake}.trace"
        ran = call(PLANTED, mistake, "0", "reduce", trace, small)
        expect(ran.returncode == 0, f"{mistake}: {ran.stdout}{ran.stderr}")
        left = records_of(small)
        expect(left * part < whole, f"{mistake}: {left} records of {whole}: {ran.stdout}")
        again = call(PLANTED, mistake, "0", "replay", small, *mode)
        expect(again.returncode == 1, f"{mistake}: {again.stdout}{again.stderr}")
        same = call(PROGRAM, "replay", small, *mode)
        expect(same.returncode == 0, f"{mistake}: a device without it differs: {same.stdout}{same.stderr}")


def refuses_mistakes():
    trace, out = record(), SCRATCH / "out"
    refused(call(PROGRAM, "trace", "reduce", trace, "--out", out), "nothing to look for")
    refused(call(PROGRAM, "trace", "reduce", SCRATCH / "nowhere", "--out", out), "nowhere")
    refused(call(PROGRAM, "trace", "reduce", trace, "--out", out, "--budget", "soon"), "--budget", "soon")
    refused(call(PROGRAM, "trace", "reduce", trace, "--out", out, "--budget", "10"), "--budget", "has no unit", "10s")
    refused(call(PROGRAM, "trace", "reduce", trace, "--out", out, "--at", "C.hca"), "C.hca", "was not recorded")
    refused(call(PROGRAM, "trace", "reduce", trace), "--out")
    expect(not out.exists(), "a refused reduction has left a file")
    before = trace.read_bytes()
    refused(call(PROGRAM, "trace", "reduce", trace, "--out", trace), "--out", str(trace))
    expect(trace.read_bytes() == before, "what was to be reduced is overwritten")


if __name__ == "__main__":
    main(globals())
