"""One run spread over several processes, as a person starts it: its result is that of one process, to the last event.
What cannot be spread is refused, and a process that dies ends the others."""

import json
import os
import shutil
import signal
import subprocess
import time

from program import PROGRAM, SCRATCH, SOURCE, expect, main

CONFIGS = SOURCE / "platform/configs"
EIGHT = CONFIGS / "allreduce.toml"
# mpirun starts nothing for root unless it is told so twice, as in a container; and there nobody may look into the
# memory of others, which one of its ways of sending tries. What MPI itself leaves behind is no leak of the program.
ENVIRONMENT = os.environ | {
    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none", "OMPI_MCA_btl": "self,vader",
    "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}
QUICK = ("collective.warm_up=1", "collective.operations=2", "collective.bytes=64 KiB", "scenario.message=4 KiB")
# Eight leaves with eight hosts each; the latency of its cables is what its processes can go on apart.
SIXTY_FOUR = """
[scenario]
name = "allreduce"
message = "512 B"
queue_depth = 4
qps = 1
[collective]
bytes = "32 KiB"
warm_up = 0
operations = 1
[link]
encapsulation = "infiniband"
[[hosts]]
name = "node0..63"
memory = "64 MiB"
parts = ["root0.sw0.hca0"]
[fabric]
topology = "leaf_spine(leaves=8, spines=2, hosts=8)"
"""


def call(*arguments):
    return subprocess.run([*arguments], capture_output=True, text=True, timeout=250, check=False, env=ENVIRONMENT)


def run(config, *sets, more=()):
    return call(PROGRAM, "run", config, *(word for one in sets for word in ("--set", one)), *more)


def result(config, *sets, ranks=1):
    """The JSON of a run, but what differs from run to run, and what only one process can say."""
    out = SCRATCH / "result.json"
    ran = run(config, *sets, more=("--json", out, "--ranks", str(ranks)))
    expect(ran.returncode == 0, f"{ranks} processes: status {ran.returncode}\n{ran.stdout[-2000:]}{ran.stderr[-3000:]}")
    got = json.loads(out.read_text())
    got.pop("wall_seconds")
    marks = got.pop("event_marks")
    expect((marks == []) == (ranks > 1), f"{ranks} processes: {len(marks)} marks")
    return got


def same(config, *sets, ranks=(2,)):
    """Runs in one process and in others; returns the result, which is the same."""
    whole = result(config, *sets)
    for count in ranks:
        spread = result(config, *sets, ranks=count)
        other = [name for name in whole if whole[name] != spread[name]]
        if other:
            apart = [(one["name"], one["events"], two["events"]) for one, two in
                     zip(whole["components"], spread["components"]) if one != two]
            pairs = [(name, whole[name], spread[name]) for name in other if not isinstance(whole[name], list)]
            expect(False, f"{count} processes: {other} differ; components {apart[:5]}; {pairs[:8]}")
    return whole


def two_hosts_at_a_cable_are_two_processes():
    pair = SCRATCH / "pair.toml"
    pair.write_text('[scenario]\nname = "allreduce"\nmessage = "4 KiB"\n[collective]\nbytes = "64 KiB"\n')
    same(pair)
    same(pair, "scenario.name=alltoall", "link.encapsulation=infiniband")


def eight_hosts_at_a_switch_are_two_processes_or_three():
    got = same(EIGHT, *QUICK, ranks=(2, 3))
    expect(got["verified"] and got["traffic"][0]["checked"] > 0, f"{got['traffic']}")
    for name in ("alltoall", "parameter_server"):
        same(EIGHT, *QUICK, f"scenario.name={name}", "collective.servers=" + ("A,H" if "server" in name else ""))


def sixty_four_hosts_are_two_processes_or_four():
    config = SCRATCH / "sixty_four.toml"
    config.write_text(SIXTY_FOUR)
    same(config, ranks=(2, 4))


def credits_that_are_short_cross_between_processes():
    got = same(EIGHT, *QUICK, "scenario.name=alltoall", "link.credit_blocks=132", "collective.skew_ns=3000")
    expect(got["traffic"][0]["credit_waits_ns"] > 0, f"nobody waited for credit: {got['traffic']}")


def pauses_cross_between_processes():
    got = same(CONFIGS / "alltoall.toml", "fabric.switch_headroom=16384", "fabric.switch_buffer=620000",
               "collective.operations=1", "collective.bytes=512 KiB", "scenario.message=8 KiB", ranks=(2, 4))
    expect(got["traffic"][0]["pauses"] > 0, f"nobody was paused: {got['traffic']}")


def lost_and_spoiled_packets_are_the_same_ones():
    got = same(EIGHT, *QUICK, "link.loss=0.003", "link.corrupt=0.003", "link.duplicate=0.003",
               "traffic.ack_timeout=6")
    expect(got["retries"] > 0, "nothing was lost")


def mpirun_by_hand_is_noticed():
    out = SCRATCH / "by_hand.json"
    words = [word for one in QUICK for word in ("--set", one)]
    ran = call("mpirun", "--oversubscribe", "-n", "2", PROGRAM, "run", EIGHT, "--json", out, *words)
    expect(ran.returncode == 0, f"status {ran.returncode}: {ran.stderr}")
    expect(ran.stdout.count("digest of all events") == 1, f"not one report: {ran.stdout}")
    expect(json.loads(out.read_text())["event_digest"] == result(EIGHT, *QUICK)["event_digest"], "another digest")


def what_cannot_be_spread_is_refused():
    def refused(ran, *words):
        expect(ran.returncode == 2, f"status {ran.returncode}, not 2: {ran.stdout[-500:]}{ran.stderr[-500:]}")
        for word in words:
            expect(word in ran.stderr, f"'{word}' is not in: {ran.stderr}")
        expect(ran.stderr.count("hcasim") <= 2, f"said more than once: {ran.stderr}")

    two = ("--ranks", "2")
    refused(run(EIGHT, "scenario.name=traffic", more=two), "'traffic'", "allreduce")
    refused(run(EIGHT, *QUICK, more=("--ranks", "9")), "8 hosts")
    refused(run(EIGHT, *QUICK, "link.latency_ns=0", more=two), "latency", "link.latency_ns")
    refused(run(EIGHT, *QUICK, "timed=false", more=two), "timed = false")
    refused(run(EIGHT, *QUICK, "link.reorder=0.1", more=two), "link.reorder")
    for option in ("--events", "--explain", "--pcap", "--record"):
        refused(run(EIGHT, *QUICK, more=(*two, f"{option}={SCRATCH / 'file'}")), option)
    refused(run(EIGHT, more=("--ranks", "0")), "--ranks")
    words = [word for one in QUICK for word in ("--set", one)]
    refused(call("mpirun", "--oversubscribe", "-n", "2", PROGRAM, "run", EIGHT, *words, "--ranks", "3"), "--ranks 3",
            "2 processes")


def root_is_told_what_mpirun_wants_of_it():
    for missing in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"):
        environment = {name: value for name, value in ENVIRONMENT.items() if name != missing}
        words = ["run", EIGHT, *(word for one in QUICK for word in ("--set", one)), "--ranks", "2"]
        ran = subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=250, check=False,
                             env=environment)
        if os.geteuid() != 0:  # anybody else needs neither
            expect(ran.returncode == 0, f"status {ran.returncode}: {ran.stderr}")
            continue
        expect(ran.returncode == 2 and f"{missing}=1" in ran.stderr and "Traceback" not in ran.stderr, ran.stderr)
        expect(len(ran.stderr.splitlines()) == 1, f"more than a line: {ran.stderr}")


def what_is_no_terminal_gets_no_colours():
    """Though mpirun gives its processes a terminal of their own."""
    ran = call(PROGRAM, "run", EIGHT, "--ranks", "2", *(word for one in QUICK for word in ("--set", one)))
    expect(ran.returncode == 0 and "verified" in ran.stdout, f"status {ran.returncode}: {ran.stderr}")
    expect("\x1b" not in ran.stdout, ran.stdout[-500:])


def lives(process):
    """Whether it does; one that nobody has waited for is dead all the same."""
    try:
        with open(f"/proc/{process}/stat", encoding="ascii") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def begin(*more):
    """A run in two processes that goes on for long."""
    words = [word for one in (*QUICK, "collective.operations=1000000") for word in ("--set", one)]
    return subprocess.Popen([PROGRAM, "run", EIGHT, "--ranks", "2", *words, *more], stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)


def listed(parent):
    """The processes that `parent` has started, each as its number and what it was called with."""
    lines = subprocess.run(["ps", "-o", "pid=,args=", "--ppid", str(parent)], capture_output=True, text=True,
                           check=False).stdout.splitlines()
    return [(int(line.split()[0]), line) for line in lines]


def processes_of(started):
    """The two, when they simulate; where they do not yet, whatever becomes of one ends the other all the same."""
    children, until = [], time.monotonic() + 100
    while len(children) < 2 and time.monotonic() < until:
        children = [one for launcher, called in listed(started.pid) if "mpirun" in called
                    for one, words in listed(launcher) if os.path.basename(PROGRAM) in words]
    expect(len(children) == 2, f"mpirun has started {children}")
    time.sleep(2)
    return children


def a_process_that_dies_ends_the_others():
    """One of two is killed in the middle; mpirun ends the other one, and the program says so, in a line."""
    with begin() as started:
        children = processes_of(started)
        os.kill(children[1], signal.SIGKILL)
        said = started.communicate(timeout=100)[1]
        expect(started.returncode == 128 + signal.SIGKILL, f"status {started.returncode}")
        expect("signal 9" in said and "Primary job" not in said and "mpirun" not in said, said)
        until = time.monotonic() + 30
        while any(map(lives, children)) and time.monotonic() < until:
            time.sleep(0.1)
        expect(not any(map(lives, children)), "a process is left")


def a_signal_to_one_process_ends_all_with_a_report():
    """Whichever it is, and if it is the one that has started them: what drivers hold in the others is no trouble."""
    for number, name in ((signal.SIGTERM, "terminated (SIGTERM)"), (signal.SIGINT, "interrupted (SIGINT)")):
        for which in (0, 1):
            out = SCRATCH / "stopped.json"
            with begin("--json", out) as started:
                os.kill(processes_of(started)[which], number)
                said = started.communicate(timeout=100)[1]
            expect(started.returncode == 128 + number, f"process {which}: status {started.returncode}: {said}")
            expect(said.count(name) == 1 and "terminate called" not in said, said)
            expect("mpirun" not in said and "Primary job" not in said, said)
            got = json.loads(out.read_text())
            expect(got["stopped"] == name and got["verified"] is False, got["stopped"])
            out.unlink()
    with begin() as started:
        processes_of(started)
        started.send_signal(signal.SIGTERM)
        said = started.communicate(timeout=100)[1]
        expect(started.returncode != 0 and "terminate called" not in said, f"status {started.returncode}: {said}")


def a_run_that_fails_says_so_and_nothing_else_does():
    ran = run(EIGHT, *QUICK, "link.loss=1", "traffic.ack_timeout=1", more=("--ranks", "2", "--quiet"))
    expect(ran.returncode == 1 and "NOT VERIFIED" in ran.stderr, f"status {ran.returncode}: {ran.stderr}")
    expect(len(ran.stderr.splitlines()) == 1, f"more than a line: {ran.stderr}")


expect(shutil.which("mpirun"), "there is no mpirun: openmpi-bin has it")
main(globals())
