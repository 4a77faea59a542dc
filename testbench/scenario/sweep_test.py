"""sweep_test.py HCASIM SOURCE CASE: studies as a person runs them: `hcasim sweep`, its results file, what is refused,
and that a sweep which is killed comes to the same results."""

import fcntl
import json
import os
import pathlib
import random
import signal
import sqlite3
import subprocess
import time

from program import PROGRAM, SCRATCH, SOURCE, expect, main, payload, refused

DONE, FAILED, REFUSED = 0, 1, 2
METRIC = """
[[metrics]]
name = "rate"
value = "transfers[WRITE A -> B].rate_bytes_per_second"
scale = 8e-9
unit = "Gbit/s"
"""


def study(text, name="study.toml", metric=METRIC, size=60_000):
    """A study file of the pair, with a payload beside it."""
    path = SCRATCH / name
    (SCRATCH / "base.toml").write_text("[scenario]\nmessage = 4096\n")
    payload(size)
    path.write_text('base = "base.toml"\npayload = "payload"\n' + text + metric)
    return path


def sweep(path, *arguments, status=DONE, output="results.sqlite"):
    ran = subprocess.run([PROGRAM, "sweep", path, "--output", SCRATCH / output, *arguments], capture_output=True,
                         text=True, timeout=250, check=False)
    expect(ran.returncode == status, f"status {ran.returncode}, not {status}\n{ran.stdout}{ran.stderr}")
    return ran


def digest(output="results.sqlite"):
    ran = subprocess.run([PROGRAM, "sweep", "--digest", SCRATCH / output], capture_output=True, text=True, timeout=60,
                         check=False)
    expect(ran.returncode == DONE and len(ran.stdout.strip()) == 64, f"{ran.stdout}{ran.stderr}")
    return ran.stdout.strip()


def rows(sql, output="results.sqlite"):
    with sqlite3.connect(SCRATCH / output) as database:
        return database.execute(sql).fetchall()


GRID = """
[[axes]]
key = "scenario.qps"
values = [1, 4]
[[axes]]
key = "link.latency_ns"
range = { from = 100, to = 2100, step = 1000 }
"""


def every_point_is_what_its_command_does():
    path = study(GRID + "[set]\nlink.loss = 0.02\n", metric=METRIC)
    text = "repetitions = 2\n" + path.read_text()
    path.write_text(text)
    ran = sweep(path)
    expect("12 of 12 points" in ran.stdout and "the design is complete" in ran.stdout, ran.stdout)
    points = rows("SELECT number, settings, status, event_digest, version, revision FROM point ORDER BY number")
    expect(len(points) == 12 and {p[2] for p in points} == {"done"}, points)
    expect(len({p[3] for p in points}) == 12, "two points have the same events")
    expect(rows("SELECT count(*) FROM wall WHERE seconds > 0") == [(12,)], "wall times are missing")
    for number in (0, 7):
        settings = points[number][1].splitlines()
        out = SCRATCH / "again.json"
        again = subprocess.run([PROGRAM, "run", SCRATCH / "base.toml", "--payload", SCRATCH / "payload", "--json", out,
                                "-q", *(word for one in settings for word in ("--set", one))], check=False, timeout=100)
        expect(again.returncode == 0, again)
        result = json.loads(out.read_text())
        value = rows(f"SELECT value FROM metric WHERE point = {number} AND name = 'rate'")[0][0]
        write = [t for t in result["transfers"] if t["name"] == "WRITE A -> B"][0]
        expect(result["event_digest"] == points[number][3], f"point {number} has other events")
        expect(abs(value - write["rate_bytes_per_second"] * 8e-9) < 1e-9, f"point {number}: {value}, {write}")
        expect((result["version"], result["revision"]) == points[number][4:], points[number])


def left_behind():
    """Processes of this test's points."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes().decode(errors="replace").split("\0")
        except OSError: # it has ended meanwhile
            continue
        if words[1:2] == ["run"] and any(word.startswith(str(SCRATCH)) for word in words):
            found.append(words)
    return found


def a_killed_sweep_comes_to_the_same_content():
    """Killed at ten random moments, with as many processes as there are, against one that nobody disturbs."""
    path = study(GRID.replace("[1, 4]", "[1, 2, 3, 4, 5, 6, 7, 8]") + "[refine]\ntowards = \"knee\"\n"
                 "along = \"link.latency_ns\"\nmetric = \"rate\"\nuntil = 1.3\n")
    sweep(path, "--jobs", "1", output="whole.sqlite")
    seed = random.randrange(1 << 32)
    dice, killed = random.Random(seed), 0
    while killed < 10:
        child = subprocess.Popen([PROGRAM, "sweep", path, "--output", SCRATCH / "killed.sqlite", "--jobs", "3"],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        time.sleep(dice.uniform(0.01, 0.5))
        child.kill()
        expect(child.wait(timeout=60) in (-signal.SIGKILL, 0), f"seed {seed}: {child.stderr.read()}")
        time.sleep(0.1)
        expect(not left_behind(), f"seed {seed}: points go on without their sweep: {left_behind()}")
        killed += 1
    sweep(path, "--jobs", "2", output="killed.sqlite")
    expect(digest("whole.sqlite") == digest("killed.sqlite"), f"seed {seed}: another content")
    points = rows("SELECT count(*), count(DISTINCT settings) FROM point", "killed.sqlite")
    expect(points == rows("SELECT count(*), count(DISTINCT settings) FROM point", "whole.sqlite"), points)


def an_interrupt_ends_after_the_points_under_way_and_says_how_to_go_on():
    path = study(GRID.replace("[1, 4]", "[1, 2, 3, 4, 5, 6, 7, 8]"), size=2_000_000)
    output = SCRATCH / "results.sqlite"
    child = subprocess.Popen([PROGRAM, "sweep", path, "--output", output, "--jobs", "1"], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, start_new_session=True)
    while not output.exists() or not output.stat().st_size or not rows("SELECT count(*) FROM point")[0][0]:
        expect(child.poll() is None, child.stderr)
        time.sleep(0.01)
    os.killpg(child.pid, signal.SIGINT) # as a terminal does
    said, complained = child.communicate(timeout=100)
    expect(child.returncode == 130 and f"hcasim sweep {path}" in complained and "goes on" in complained, complained)
    there = rows("SELECT count(*) FROM point")[0][0]
    expect(0 < there < 24 and rows("SELECT DISTINCT status FROM point") == [("done",)], f"{there} points\n{said}")
    ran = sweep(path)
    expect(f"has {there} points; going on" in ran.stdout and "24 of 24 points" in ran.stdout, ran.stdout)


def mistakes_are_refused_with_their_lines():
    output = SCRATCH / "results.sqlite"
    for text, *expected in (
            ('[[axes]]\nkey = "scenario.qp"\nvalues = [1]\n', ":4: ", "unknown key 'scenario.qp', did you mean"),
            ('[[axes]]\nkey = "scenario.qps"\nvalues = [1, 0]\n', ":4: ", "0 is out of range, allowed is 1 to"),
            ('[[axes]]\nkey = "scenario.qps"\nlog = { from = 0, to = 8 }\n', ":5: ", "begins above 0"),
            ('[[axes]]\nkey = "scenario.qps"\nrange = { from = 8, to = 8 }\n', ":5: ", "'to' is to be more"),
            ('[[axes]]\nkey = "scenario.qps"\nvalues = [1]\nlog = { from = 1, to = 8 }\n', ":4: ", "one of values"),
            ('[[axes]]\nkey = "scenario.qps"\nvalue = [1]\n', ":5: ", "unknown key 'value'", "[[axes]] has:"),
            ('[[axes]]\nkey = "timed"\nlog = { from = 1, to = 8 }\n', ":5: ", "list them"),
            ('[[axes]]\nkey = "scenario.qps"\nvalues = [1]\n[[metrics]]\nname = "one"\nvalue = "sim_time_n"\n', ":7: ",
             "no result has a number 'sim_time_n', did you mean 'sim_time_ns'?"),
            ('[[axes]]\nkey = "scenario.qps"\nvalues = [1]\n[[metrics]]\nname = "one"\nvalue = "sim_time_ns"\n'
             'per = "packet"\n', ":7: ", "no result has a number 'packet'"),
            ('wrong = 1\n[[axes]]\nkey = "scenario.qps"\nvalues = [1]\n', ":3: ", "unknown key 'wrong'"),
            ('[set]\nlink.los = 1\n[[axes]]\nkey = "scenario.qps"\nvalues = [1]\n', "link.los", "did you mean"),
            (GRID + '[set]\nscenario.qps = 4\n', ":5: ", "is an axis, and has a value in [set]"),
            (GRID + '[[constraints]]\nmetric = "rate"\nat_least = 5\nat_most = 4\n', ":10: ", "contradicts itself"),
            (GRID + '[[constraints]]\nmetric = "rate"\nat_least = 5\n[[constraints]]\nmetric = "rate"\nat_most = 4\n',
             ":13: ", "contradicts that of line 10"),
            (GRID + '[[constraints]]\nproduct = ["scenario.qps"]\nat_least = 100\n', ":10: ", "no point of the design"),
            (GRID + '[[constraints]]\nmetric = "rat"\nat_least = 5\n', ":10: ", "'rat' is no metric"),
            (GRID + '[refine]\ntowards = "knee"\nalong = "scenario.q"\nmetric = "rate"\n', ":10: ", "is no axis"),
            (GRID + '[[expected]]\nmetric = "rat"\nfrom = 1\nto = 2\nsource = "s"\n', ":10: ", "'rat' is no metric",
             "'at' has no value of 'scenario.qps'", "'at' has no value of 'link.latency_ns'"),
            (GRID + '[[expected]]\nmetric = "rate"\nfrom = 3\nto = 2\nsource = "s"\n'
             'at = { "scenario.qps" = 2, "link.latency_ns" = "100 ns" }\nover = { "link.loss" = 0 }\n', ":10: ",
             ":13: ", "ends before it begins", "scenario.qps=2, which is no value", "link.loss=0, which is no value",
             "'over' has 'link.loss', and 'at' has not"),
            (GRID + '[[expected]]\nmetric = "rate"\n', ":10: ", "'from'", "'to'", "'source'"),
            (GRID + '[stop]\npoints = 3\n', "6 points, at most 3"),
            ('[[axes\n', ":3: ", "not TOML")):
        ran = subprocess.run([PROGRAM, "sweep", study(text), "--output", output], capture_output=True, text=True,
                             timeout=60, check=False)
        expect(ran.returncode == REFUSED and ran.stdout == "", f"{text}: {ran.returncode} {ran.stdout}{ran.stderr}")
        for words in expected:
            expect(words in ran.stderr, f"no '{words}' for {text}: {ran.stderr}")
        expect(not output.exists(), f"{text}: left a file")
    taken = subprocess.run([PROGRAM, "sweep", SCRATCH / "base.toml"], capture_output=True, text=True, timeout=60,
                           check=False)
    refused(taken, "base.toml: is no study", f"`hcasim run {SCRATCH / 'base.toml'}`")
    taken = subprocess.run([PROGRAM, "run", study(GRID)], capture_output=True, text=True, timeout=60, check=False)
    refused(taken, "study.toml: is a study", f"`hcasim sweep {SCRATCH / 'study.toml'}`")
    (SCRATCH / "base.toml").unlink()
    (SCRATCH / "study.toml").write_text('base = "base.toml"\n' + GRID + METRIC)
    ran = subprocess.run([PROGRAM, "sweep", SCRATCH / "study.toml"], capture_output=True, text=True, timeout=60,
                         check=False, cwd=SCRATCH)
    expect(ran.returncode == REFUSED and "base.toml: cannot be read" in ran.stderr, ran.stderr)


def points_that_fail_are_recorded_and_others_go_on():
    path = study('timeout_s = 20\n[[axes]]\nkey = "link.loss"\nvalues = [0, 1]\n[[axes]]\nkey = "scenario.qps"\n'
                 'values = [1, 100]\n[[axes]]\nkey = "hca.log_max_qp"\nvalues = [4, 16]\n')
    ran = sweep(path, status=FAILED)
    found = {own: (status, reason) for own, status, reason in rows("SELECT own, status, reason FROM point")}
    expect(len(found) == 8, found)
    for own, (status, reason) in found.items():
        if "qps=100" in own and "qp=4" in own: # each of them is a value that the platform takes
            expect(status == "refused" and "scenario.qps" in reason, found)
        elif "loss=1" in own:
            expect(status == "failed" and reason, found)
        else:
            expect((status, reason) == ("done", ""), found)
    expect("2 of 8 points refused: " in ran.stdout and "3 of 8 points failed: " in ran.stdout, ran.stdout)
    before = digest()
    sweep(path, status=FAILED)
    expect(digest() == before, "a sweep that was at its end has changed its results")
    ran = sweep(path, "--retry", status=FAILED)
    expect("5 points that had failed are run again" in ran.stdout and digest() == before, ran.stdout)
    # What transfers are called is known when they are over.
    path = study(GRID, metric=METRIC.replace("A -> B", "A -> C"))
    ran = sweep(path, "--jobs", "1", output="none.sqlite", status=FAILED)
    reasons = rows("SELECT reason FROM point", "none.sqlite")
    expect(reasons == [("the result has no number 'transfers[WRITE A -> C].rate_bytes_per_second', did you mean "
                        "'transfers[WRITE A -> B].rate_bytes_per_second'?",)], reasons)
    expect("the other points are not run" in ran.stdout, ran.stdout)
    before = digest("none.sqlite")
    sweep(path, output="none.sqlite", status=FAILED)
    expect(digest("none.sqlite") == before, "points were run whose metric no result can have")
    # Of what this scenario does not have at all, something is named that it measures, and no key.
    path = study(GRID, metric='[[metrics]]\nvalue = "traffic[all].rate_bytes_per_second"\n')
    ran = sweep(path, "--jobs", "1", output="list.sqlite", status=FAILED)
    reason, = rows("SELECT reason FROM point", "list.sqlite")[0]
    expect("'transfers[" in reason and "].rate_bytes_per_second'" in reason and "configuration" not in reason, reason)


def a_value_that_runs_nowhere_is_refused_and_one_that_runs_beside_others_is_not():
    words = SCRATCH / "words.toml"
    words.write_text('base = "base.toml"\n[set]\nscenario.name = "traffic"\n[[axes]]\nkey = "traffic.verbs"\n'
                     'values = ["write", "bogus"]\n[[metrics]]\nvalue = "traffic[all].messages"\n')
    path = study('[set]\nhca.log_max_qp = 4\n[[axes]]\nkey = "scenario.qps"\nvalues = [1, 100]\n', size=20_000)
    refused(sweep(words, status=REFUSED), "words.toml:5: ", "'bogus' is no verb; there are")
    refused(sweep(path, status=REFUSED), "study.toml:6: ", "scenario.qps")
    refused(sweep(path, "--check", status=REFUSED), "study.toml:6: ", "scenario.qps")
    expect(not (SCRATCH / "results.sqlite").exists(), "left a file")
    path = study('[[axes]]\nkey = "scenario.qps"\nvalues = [100]\n[[axes]]\nkey = "hca.log_max_qp"\n'
                 'values = [4, 16]\n', size=20_000)
    (SCRATCH / "base.toml").write_text("[scenario]\nmessage = 4096\n[hca]\nlog_max_qp = 4\n")
    ran = sweep(path, status=FAILED) # with the base alone, 100 queue pairs are too many for the card
    expect("1 of 2 points refused: " in ran.stdout, ran.stdout)
    (SCRATCH / "base.toml").write_text('[scenario]\nname = "bogus"\n')
    refused(sweep(path, status=REFUSED), "base.toml: unknown scenario 'bogus'")


def a_file_that_is_not_this_studys_stays_as_it_is():
    path, output = study(GRID), SCRATCH / "results.sqlite"
    sweep(path)
    good = output.read_bytes()

    def keeps(change, *expected, of=path):
        output.write_bytes(good)
        change()
        before = output.read_bytes()
        refused(sweep(of, status=REFUSED), *expected)
        expect(output.read_bytes() == before, f"{expected}: changed")

    def edit(sql):
        with sqlite3.connect(output) as database:
            database.executescript(sql)
        database.close()

    keeps(lambda: output.write_bytes(b"no database at all, but text\n" * 100), "cannot be read", "stays as it is")
    keeps(lambda: output.write_bytes(good[:len(good) // 2]), str(output), "stays as it is")
    keeps(lambda: output.write_bytes(good[:5000] + b"\xff" * 3000 + good[8000:]), str(output), "stays as it is")
    keeps(lambda: edit("PRAGMA user_version = 7"), "has format 7, and this program reads 1")
    keeps(lambda: edit("PRAGMA application_id = 1"), "no results of `hcasim sweep`")
    keeps(lambda: edit("UPDATE study SET value = 'ffff' WHERE name = 'revision'"), "points of two programs")
    other = study(GRID.replace("[1, 4]", "[1, 5]"), name="other.toml")
    keeps(lambda: None, "is of another study: it has 'axis scenario.qps: 1 4", of=other)
    output.write_bytes(good)
    with sqlite3.connect(output) as database:
        database.execute("UPDATE point SET own = 'scenario.qps=3' WHERE number = 2")
    database.close()
    ran = sweep(path, status=3)
    expect("point 2 is scenario.qps=3" in ran.stderr, ran.stderr)
    output.write_bytes(b"") # of one that was killed before its first transaction
    sweep(path)
    with open(output, "rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # as another sweep does
        refused(sweep(path, status=REFUSED), "another sweep is writing it")


KNEE = """
[set]
scenario.message = 1024
scenario.queue_depth = 1
[[axes]]
key = "scenario.qps"
log = { from = 8, to = 512, points = 4 }
[[axes]]
key = "hca.qp_cache_entries"
values = [32, 64]
[refine]
towards = "knee"
along = "scenario.qps"
metric = "rate"
until = 1.2
drop = 0.2
"""


def a_knee_is_found_between_two_neighbours():
    path = study(KNEE, size=1_000_000)
    path.write_text(path.read_text().replace('base = "base.toml"',
                                             f'base = "{SOURCE / "platform/profiles/connectx5.toml"}"'))
    ran = sweep(path)
    values = {}
    for own, value in rows("SELECT own, value FROM point JOIN metric ON point = number"):
        settings = dict(line.split("=") for line in own.splitlines())
        values.setdefault(int(settings["hca.qp_cache_entries"]), {})[int(settings["scenario.qps"])] = value
    for entries, curve in values.items():
        places = sorted(curve)
        behind = next(i for i, at in enumerate(places) if i and curve[at] < 0.8 * max(curve[p] for p in places[:i]))
        before, after = places[behind - 1], places[behind]
        expect(after / before <= 1.2 or after == before + 1, f"{entries}: {before} to {after} is wide")
        expect(f"between scenario.qps={before} and {after}" in ran.stdout, f"{entries}: {before} {after} {ran.stdout}")
        expect(entries / 4 <= before <= entries * 4, f"a cache of {entries} has its knee at {before}")
        expect(len(places) < 16, f"{len(places)} points for one knee: {places}")


def the_better_half_goes_on_with_more():
    path = study('design = "latin_hypercube"\ndrawn_points = 8\n[[axes]]\nkey = "link.latency_ns"\n'
                 'log = { from = 100, to = 100000 }\n[refine]\ntowards = "best"\nmetric = "rate"\nkeep = 0.5\n'
                 'budget = "scenario.queue_depth"\nfrom = 1\nfactor = 2\nrounds = 5\n')
    sweep(path)
    rounds = {}
    for number, own, value in rows("SELECT round, own, value FROM point JOIN metric ON point = number"):
        settings = dict(line.split("=") for line in own.splitlines())
        expect(int(settings["scenario.queue_depth"]) == 2 ** number, settings)
        rounds.setdefault(number, []).append((value, settings["link.latency_ns"]))
    expect([len(rounds[r]) for r in sorted(rounds)] == [8, 4, 2, 1], {r: len(v) for r, v in rounds.items()})
    for number in range(3):
        best = {latency for _, latency in sorted(rounds[number], reverse=True)[:len(rounds[number + 1])]}
        expect({latency for _, latency in rounds[number + 1]} == best, f"round {number}: {rounds}")


def repetitions_end_when_the_interval_is_narrow():
    path = study('repetitions = 2\n[[axes]]\nkey = "link.loss"\nvalues = [0, 0.05]\n'
                 '[stop]\nrelative_error = 0.001\nmost_repetitions = 9\n', size=600_000)
    sweep(path)
    counts = dict(rows("SELECT own, count(*) FROM point GROUP BY own"))
    expect(counts["link.loss=0\n"] == 2, f"what never varies is repeated: {counts}")
    expect(2 < counts["link.loss=0.05\n"] <= 9, counts)
    path = study('[[axes]]\nkey = "scenario.qps"\nrange = { from = 1, to = 40, step = 1 }\n[set]\nlink.loss = 1\n'
                 '[stop]\nfailures = 3\n')
    ran = sweep(path, status=FAILED, output="stopped.sqlite")
    expect("have failed, as many as [stop] allows" in ran.stdout, ran.stdout)
    expect(rows("SELECT count(*) FROM point", "stopped.sqlite") == [(16,)], "it is looked at after each 16 points")


def the_minutes_of_one_call_are_not_those_of_the_sweep():
    text = study(GRID + "[stop]\nminutes = 1e-9\n").read_text()
    ran = sweep(SCRATCH / "study.toml", status=FAILED)
    expect("the minutes of [stop] are over after 0 points; `hcasim sweep " in ran.stderr, ran.stderr)
    (SCRATCH / "study.toml").write_text(text.replace("1e-9", "5"))
    sweep(SCRATCH / "study.toml")
    expect(rows("SELECT count(*) FROM point") == [(6,)], "not all points are there")


def one_axis_at_a_time_and_products_of_axes():
    sweep(study('design = "one_at_a_time"\n' + GRID))
    expect([own for own, in rows("SELECT own FROM point ORDER BY number")] == [
        "", "scenario.qps=1\n", "scenario.qps=4\n", "link.latency_ns=100 ns\n", "link.latency_ns=1100 ns\n",
        "link.latency_ns=2100 ns\n"], rows("SELECT own FROM point"))
    sweep(study(GRID + '[[constraints]]\nproduct = ["scenario.qps", "link.latency_ns"]\nat_most = 2100\n'),
          output="product.sqlite")
    expect([own for own, in rows("SELECT own FROM point ORDER BY number", "product.sqlite")] == [
        "scenario.qps=1\nlink.latency_ns=100 ns\n", "scenario.qps=1\nlink.latency_ns=1100 ns\n",
        "scenario.qps=1\nlink.latency_ns=2100 ns\n", "scenario.qps=4\nlink.latency_ns=100 ns\n"],
        rows("SELECT own FROM point", "product.sqlite"))


def options_that_would_do_nothing_are_refused():
    path = study(GRID)
    for arguments, words in ((("--digest", "-o", "x.sqlite"), ("--output x.sqlite", "hcasim sweep --digest x.sqlite")),
                             (("--jobs", "0"), ("--jobs",))):
        refused(subprocess.run([PROGRAM, "sweep", path, *arguments], capture_output=True, text=True, timeout=60,
                               check=False, cwd=SCRATCH), *words)


def keys_without_effect_are_told():
    """Of the base, of [set] and of axes, where no point has what they need; not those that an axis gives an effect."""
    text = """[set]
link.encapsulation = "infiniband"
fabric.switch_ports = 16
iommu.walkers = 2
[[axes]]
key = "hca.congestion_control"
values = ["none", "dcqcn", "swift"]
[[axes]]
key = "iommu.present"
values = [false, true]
"""
    path = study(text)
    notes = [f"note: {path}: 'fabric.switch_ports' has no effect: ", "'hca.congestion_control' has no effect: "]
    for arguments, ending in ((("--check",), "can run, 6 points"), ((), "the design is complete")):
        told = sweep(path, *arguments).stdout
        expect(told.count("note: ") == len(notes) and ending in told, told)
        for note in notes:
            expect(note in told, f"'{note}' is not in {told}")


main(globals())
