"""record_test.py HCASIM SOURCE CASE: `--record` as a person uses it."""

import pathlib
import re
import signal
import subprocess
import tempfile
import time

from program import CONFIG, PROGRAM, SCRATCH, expect, main, payload, refused, result, run
from recording import has_end, records

SMALL = ["--set", "gpu.vram=64 MiB"]


# --- cases ------------------------------------------------------------------------------------------------------------

def a_recorded_run_is_the_run_itself():
    trace = SCRATCH / "run.hcatrace"
    plain = result("--payload", payload(300_001), *SMALL)
    recorded = result("--payload", payload(300_001), *SMALL, "--record", trace)
    expect(plain["event_digest"] == recorded["event_digest"], "recording changes events")
    expect(plain["sim_time_ns"] == recorded["sim_time_ns"], "recording takes simulated time")
    count = records(trace)
    expect(list(count) == ["A.root.switch.hca", "A.root.switch.hca.port1", "A.root.switch.gpu",
                           "B.root.switch.hca", "B.root.switch.hca.port1", "B.root.switch.gpu", "events"], count)
    expect(all(number > 10 for number in count.values()), count)
    expect(has_end(trace), "no end block")


def only_what_is_named_is_recorded():
    trace = SCRATCH / "some.hcatrace"
    result("--payload", payload(100_001), *SMALL, "--record", trace, "--at", "B.gpu", "--at", "A.root.switch.hca.port1")
    count = records(trace)
    expect(list(count) == ["A.root.switch.hca.port1", "B.root.switch.gpu"], count)
    expect(all(number > 10 for number in count.values()), count)


def names_of_nothing_are_refused():
    trace = SCRATCH / "none.hcatrace"
    for name in ("A.hca7", "A.hca.port2", "A.switch", "Events"):
        refused(run("--record", trace, "--at", name), f"'{name}'", "A.root.switch.hca.port1", "events")
    refused(run("--at", "A.hca", is_checked=False), "--record", "missing")
    refused(run("--record", "-"), "standard output")
    refused(run("--record", SCRATCH / "nowhere" / "trace"), "nowhere", "No such file")
    refused(run("--record", CONFIG), "--record", "the configuration")
    expect(not trace.exists(), "a refused run leaves a file")


def a_full_disk_stops_the_run_or_does_not():
    """A file system of 3 MiB, if one may be made; else /dev/full, on which no head fits."""
    place = tempfile.mkdtemp(prefix="hcasim.")
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "none", place], check=False,
                             capture_output=True).returncode == 0
    trace = pathlib.Path(place) / "trace" if mounted else "/dev/full"
    try:
        for wish, word in (([], "stop"), (["--record-failure", "stop"], "stop"), (["--record-failure", "go-on"], "go")):
            out = SCRATCH / "result.json"
            ran = run("--payload", payload(8_000_001), *SMALL, "--record", trace, "--json", out, *wish)
            expect(ran.returncode == 3, f"{wish}: status {ran.returncode}: {ran.stderr}")
            missing = re.search(r"No space left on device; records (\d+) to (\d+) are missing", ran.stderr)
            expect(missing and int(missing[1]) <= int(missing[2]), ran.stderr)
            if mounted:
                kept = sum(records(trace).values())
                expect(kept == int(missing[1]) - 1 and kept > 1000, f"{missing[0]}, but {records(trace)}")
                expect(not has_end(trace), "a file with a hole has an end")
            if word == "go":
                expect('"verified": true' in out.read_text(), "the run has not gone on")
    finally:
        if mounted:
            subprocess.run(["umount", place], check=True)
        pathlib.Path(place).rmdir()


def signals_close_the_file():
    trace = SCRATCH / "signal.hcatrace"
    with subprocess.Popen([PROGRAM, "run", CONFIG, "--payload", payload(60_000_000), "--record", trace],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 60
        while not trace.exists() or trace.stat().st_size < 100_000:
            expect(time.monotonic() < deadline and process.poll() is None, "nothing is recorded")
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        expect(process.wait(timeout=100) == 130, f"status {process.returncode}")
    expect(has_end(trace), "no end block")


def a_killed_run_leaves_what_it_had():
    trace = SCRATCH / "killed.hcatrace"
    with subprocess.Popen([PROGRAM, "run", CONFIG, "--payload", payload(60_000_000), "--record", trace],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 60
        while not trace.exists() or trace.stat().st_size < 500_000:
            expect(time.monotonic() < deadline and process.poll() is None, "nothing is recorded")
            time.sleep(0.01)
        process.kill()
        process.wait()
    expect(sum(records(trace).values()) > 1000, records(trace))
    expect(not has_end(trace), "who was killed has said goodbye")


if __name__ == "__main__":
    main(globals())
