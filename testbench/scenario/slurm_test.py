"""slurm_test.py HCASIM SOURCE CASE: `hcasim sweep --engine slurm` on a cluster of its own (slurm_cluster.py): its
results are those of processes here, whatever happens to tasks, nodes, controller and coordinator."""

import os
import pathlib
import random
import signal
import sqlite3
import subprocess
import threading
import time

from program import PROGRAM, SCRATCH, expect, main, payload, refused
from slurm_cluster import Cluster

DONE, FAILED, REFUSED = 0, 1, 2
METRIC = """
[[metrics]]
name = "rate"
value = "transfers[WRITE A -> B].rate_bytes_per_second"
"""
GRID = """
[[axes]]
key = "scenario.qps"
values = [1, 2, 3, 4]
[[axes]]
key = "link.latency_ns"
values = [100, 1100]
"""
REFINED = GRID + """
[refine]
towards = "knee"
along = "link.latency_ns"
metric = "rate"
until = 1.5
rounds = 2
"""


LONG = 10_000_000 # bytes: a point takes seconds


def study(text, size=60_000):
    path = SCRATCH / "study.toml"
    (SCRATCH / "base.toml").write_text("[scenario]\nmessage = 4096\n")
    payload(size)
    path.write_text('base = "base.toml"\npayload = "payload"\n' + text + METRIC)
    return path


def words_of(path, output, *arguments):
    return [PROGRAM, "sweep", path, "--output", SCRATCH / output, *arguments]


def sweep(path, *arguments, status=DONE, output="results.sqlite", cluster=None):
    engine = [] if cluster is None else ["--engine", "slurm"]
    ran = subprocess.run(words_of(path, output, *engine, *arguments), capture_output=True, text=True, timeout=500,
                         check=False, env=cluster.environment if cluster else None)
    expect(ran.returncode == status, f"status {ran.returncode}, not {status}\n{ran.stdout}{ran.stderr}"
           f"{cluster.logs() if cluster else ''}")
    return ran


def begin(path, cluster, *arguments, output="results.sqlite"):
    """A coordinator whose lines can be read while it works."""
    return subprocess.Popen(words_of(path, output, "--engine", "slurm", *arguments), stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, env=cluster.environment, start_new_session=True)


def end(child, status=DONE):
    said, complained = child.communicate(timeout=500)
    expect(child.returncode == status, f"status {child.returncode}, not {status}\n{said}{complained}")
    return said, complained


def digest(output="results.sqlite"):
    ran = subprocess.run([PROGRAM, "sweep", "--digest", SCRATCH / output], capture_output=True, text=True, timeout=60,
                         check=False)
    expect(ran.returncode == DONE and len(ran.stdout.strip()) == 64, f"{ran.stdout}{ran.stderr}")
    return ran.stdout.strip()


def rows(sql, output="results.sqlite"):
    with sqlite3.connect(SCRATCH / output, timeout=30) as database:
        return database.execute(sql).fetchall()


def has_points():
    """Whether any is there; the file may be just being made."""
    try:
        return rows("SELECT count(*) FROM point")[0][0]
    except sqlite3.OperationalError:
        return False


def spool(output="results.sqlite"):
    return pathlib.Path(f"{SCRATCH / output}.spool")


def is_as_of_processes_here(path, output="results.sqlite", status=DONE):
    """The content, and that nothing of the arrays is left."""
    sweep(path, output="local.sqlite", status=status)
    expect(digest("local.sqlite") == digest(output), "another content than that of processes here: "
           f"{rows('SELECT number, own, status, reason FROM point', output)}")
    expect(not spool(output).exists(), f"left behind: {list(spool(output).rglob('*'))}")
    expect(rows("SELECT name FROM sqlite_master WHERE name = 'array'", output) == [], "a table of arrays is left")


def points_of(settings):
    """Processes that run a point with these settings."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes().decode(errors="replace").split("\0")
        except OSError: # it has ended meanwhile
            continue
        if words[1:2] == ["run"] and settings in words and any(word.startswith(str(SCRATCH)) for word in words):
            found.append(int(entry.parent.name))
    return found


def wait_until(is_so, what, child=None):
    deadline = time.monotonic() + 200
    while not is_so():
        if child is not None and child.poll() is not None:
            expect(False, f"{what}: the sweep has ended: {child.stderr.read()}")
        expect(time.monotonic() < deadline, f"{what}: not within 200 s")
        time.sleep(0.05)


def arrays_come_to_the_same_content_as_processes_here():
    """Two rounds of refinement are three arrays; one has more points than an array has tasks; some fail or are
    refused."""
    path = study('timeout_s = 60\n' + REFINED + "[[axes]]\nkey = \"link.loss\"\nvalues = [0, 1]\n"
                 "[[axes]]\nkey = \"hca.log_max_qp\"\nvalues = [4, 16]\n")
    path.write_text(path.read_text().replace("[1, 2, 3, 4]", "[1, 100]"))
    with Cluster("MaxArraySize=5") as cluster:
        ran = sweep(path, cluster=cluster, status=FAILED)
        jobs = cluster.jobs()
    counts = dict(rows("SELECT status, count(*) FROM point GROUP BY status"))
    expect(counts["done"] >= 6 and counts["failed"] >= 6 and counts["refused"] == 4, counts)
    expect(len(jobs) >= 2, f"{jobs}: a round is an array")
    expect(rows("SELECT count(*) FROM wall WHERE seconds > 0") == rows("SELECT count(*) FROM point"), "no wall times")
    expect("sent again" not in ran.stdout, ran.stdout)
    is_as_of_processes_here(path, status=FAILED)


def a_node_is_drained_and_tasks_are_killed_in_the_middle():
    path = study(GRID, size=LONG)
    with Cluster() as cluster:
        child = begin(path, cluster)
        wait_until(lambda: len(cluster.running()) == 2, "two tasks run", child)
        cluster.call("scontrol", "update", "NodeName=n1", "State=DRAIN", "Reason=test")
        killed = [cluster.running()[0]]
        cluster.call("scancel", "--signal=KILL", "--full", killed[0])
        wait_until(lambda: cluster.running() and cluster.running()[0] not in killed, "another task runs", child)
        cluster.call("scancel", cluster.running()[0])
        said, _ = end(child)
        states = cluster.call("sinfo", "--noheader", "--Node", "--format=%N %T")
    expect("n1 drained" in states, f"n1 came back: {states}")
    expect(1 <= said.count("is sent again: its task has ended 1 times without a result") <= 2, said)
    is_as_of_processes_here(path)


def a_killed_coordinator_finds_its_array_at_work():
    path = study(GRID, size=LONG)
    seed = random.randrange(1 << 32)
    dice = random.Random(seed)
    with Cluster() as cluster:
        child = begin(path, cluster)
        wait_until(cluster.running, "a task runs", child)
        child.kill()
        child.wait()
        before, said = cluster.jobs(), ""
        for _ in range(3):
            child = begin(path, cluster)
            time.sleep(dice.uniform(0, 1.5))
            child.kill()
            said += child.communicate()[0]
        expect(rows("SELECT job FROM array") == [(job,) for job in before], f"seed {seed}: {before}")
        ran = sweep(path, cluster=cluster)
        expect(cluster.jobs() == before and len(before) == 1, f"seed {seed}: submitted again: {cluster.jobs()}")
    expect(f"job {before.pop()} has been working for this study" in ran.stdout, f"seed {seed}: {ran.stdout}")
    is_as_of_processes_here(path)


def a_coordinator_killed_before_it_knew_its_job_finds_it_by_name():
    """The number of the job is taken out of the file, as if the coordinator had been killed before it was noted."""
    path = study(GRID, size=LONG)
    with Cluster() as cluster:
        child = begin(path, cluster)
        wait_until(cluster.running, "a task runs", child)
        child.kill()
        child.wait()
        with sqlite3.connect(SCRATCH / "results.sqlite") as database:
            database.execute("UPDATE array SET job = ''")
        database.close()
        sweep(path, cluster=cluster)
        expect(len(cluster.jobs()) == 1, f"submitted again: {cluster.jobs()}")
        # And one that was never submitted: its points are.
        child = begin(path, cluster, output="other.sqlite")
        wait_until(cluster.running, "a task runs", child)
        child.kill()
        child.wait()
        (job, directory), = rows("SELECT job, directory FROM array", "other.sqlite")
        cluster.call("scancel", job)
        wait_until(lambda: not cluster.running(), "nothing runs")
        for result in pathlib.Path(directory).glob("result-*"):
            result.unlink()
        with sqlite3.connect(SCRATCH / "other.sqlite") as database:
            database.execute("UPDATE array SET job = '', directory = directory || 'x'")
        database.close()
        pathlib.Path(directory).rename(directory + "x")
        ran = sweep(path, cluster=cluster, output="other.sqlite")
    expect("sent again" not in ran.stdout, f"what never was is counted as lost: {ran.stdout}")
    is_as_of_processes_here(path)
    is_as_of_processes_here(path, output="other.sqlite")


def an_interrupt_takes_back_what_waits_and_says_how_to_go_on():
    path = study(GRID.replace("[1, 2, 3, 4]", "[1, 2, 3, 4, 5, 6, 7, 8]"), size=LONG)
    with Cluster("MaxArraySize=8") as cluster: # two points a task
        child = begin(path, cluster)
        wait_until(has_points, "a point is there", child)
        os.killpg(child.pid, signal.SIGINT)
        _, complained = end(child, status=130)
        expect("--engine slurm` goes on" in complained, complained)
        expect(not cluster.running("all") or not cluster.running("PENDING,RUNNING"), cluster.running("all"))
        there = rows("SELECT count(*) FROM point")[0][0]
        expect(0 < there < 16 and rows("SELECT DISTINCT status FROM point") == [("done",)], f"{there} points")
        expect(not spool().exists(), "the spool is left")
        ran = sweep(path, cluster=cluster)
        expect(f"has {there} points; going on" in ran.stdout and "16 of 16 points" in ran.stdout, ran.stdout)
    is_as_of_processes_here(path)


def a_point_whose_tasks_die_is_recorded_with_what_slurm_says():
    """Whoever runs it is killed, as a kernel without memory does; every other point of its task is done."""
    path = study(GRID, size=LONG)
    victim, is_over = "scenario.qps=3", threading.Event()

    def kill():
        while not is_over.wait(0.01):
            for process in points_of(victim):
                try:
                    os.kill(process, signal.SIGKILL)
                except ProcessLookupError:
                    pass

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        with Cluster("MaxArraySize=3") as cluster: # three points a task
            ran = sweep(path, cluster=cluster, status=FAILED)
    finally:
        is_over.set()
        killer.join()
    lost = rows("SELECT status, reason FROM point WHERE own LIKE '%qps=3%'")
    expect(len(lost) == 2 and {status for status, _ in lost} == {"crashed"}, lost)
    for _, reason in lost:
        expect("its task has ended 3 times without a result, at last as FAILED (exit code 3:0) on n" in reason
               and "was ended from outside (signal 9)" in reason, reason)
    expect(rows("SELECT count(*) FROM point WHERE status = 'done'") == [(6,)], rows("SELECT * FROM point"))
    expect(ran.stdout.count("is sent again") == 4, ran.stdout)
    with Cluster() as cluster:
        ran = sweep(path, "--retry", cluster=cluster)
    expect("2 points that had failed are run again" in ran.stdout, ran.stdout)
    is_as_of_processes_here(path)


def torn_and_foreign_results_do_not_count():
    """While its tasks wait, an array's directory gets results that are cut, damaged, or of another point."""
    path = study(GRID)
    with Cluster() as cluster:
        for node in ("n1", "n2"):
            cluster.call("scontrol", "update", f"NodeName={node}", "State=DRAIN", "Reason=test")
        child = begin(path, cluster)
        wait_until(lambda: cluster.running("PENDING"), "tasks wait", child)
        (directory, job), = rows("SELECT directory, job FROM array")
        # One that is whole, of another point: what a task writes for this one.
        ran = subprocess.run([PROGRAM, "sweep", "--task", directory], capture_output=True, text=True, timeout=100,
                             env={**cluster.environment, "SLURM_ARRAY_TASK_ID": "7"}, check=False)
        expect(ran.returncode == 0, ran.stderr)
        whole = pathlib.Path(directory, "result-7").read_bytes()
        for number, content in enumerate((b"", whole[:40], whole[:-1], whole[:-100] + bytes(100), whole,
                                          b"0" * 16 + whole[16:])):
            pathlib.Path(directory, f"result-{number}").write_bytes(content)
        wait_until(lambda: rows("SELECT number FROM point"), "the whole one counts", child)
        time.sleep(2) # a look or two
        expect(rows("SELECT number FROM point") == [(7,)], rows("SELECT number FROM point"))
        for node in ("n1", "n2"):
            cluster.call("scontrol", "update", f"NodeName={node}", "State=RESUME")
        end(child)
    is_as_of_processes_here(path)


def a_controller_that_goes_away_is_waited_for():
    path = study(GRID, size=LONG)
    with Cluster() as cluster:
        child = begin(path, cluster)
        wait_until(cluster.running, "a task runs", child)
        cluster.stop_controller()
        time.sleep(3)
        expect(child.poll() is None, "the sweep has given up")
        cluster.start_controller()
        said, _ = end(child)
    expect("sent again" not in said, said)
    is_as_of_processes_here(path)


def what_cannot_be_submitted_is_refused():
    path = study(GRID)
    nowhere = {"PATH": str(SCRATCH)}
    ran = subprocess.run(words_of(path, "a.sqlite", "--engine", "slurm"), capture_output=True, text=True, timeout=60,
                         env=nowhere, check=False)
    refused(ran, "there is no sbatch in PATH")
    for arguments, *expected in ((["--partition", "all"], "--partition is for --engine slurm"),
                                 (["--slurm-option=--account=x"], "--slurm-option is for --engine slurm"),
                                 (["--engine", "slurm", "--slurm-option=--output=x"], "--output is the sweep's own"),
                                 (["--engine", "slurm", "--slurm-option=-Jx"], "-Jx is the sweep's own"),
                                 (["--engine", "slurm", "--slurm-option=account"], "is no option of sbatch")):
        refused(sweep(path, *arguments, status=REFUSED), *expected)
    with Cluster() as cluster:
        refused(sweep(path, "--partition", "nosuch", cluster=cluster, status=REFUSED, output="b.sqlite"),
                "sbatch does not take the points", "partition")
        expect(not spool("b.sqlite").exists() and rows("SELECT * FROM point", "b.sqlite") == [], "left something")
        sweep(path, "--partition", "all", "--jobs", "1", "--slurm-option=--comment=mine", cluster=cluster,
              output="b.sqlite")
        cluster.stop_controller()
        refused(sweep(path, cluster=cluster, status=REFUSED, output="c.sqlite"), "the controller does not answer")
        cluster.start_controller()
    is_as_of_processes_here(path, output="b.sqlite")


main(globals())
