"""Tries mutants: each against the test cases that reach it, cheapest first, until one fails, crashes or takes much
longer than it did."""

import collections
import dataclasses
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

# One process has so many cases: starting one costs as much as several cheap cases.
TOGETHER = 40


@dataclasses.dataclass
class Case:
    level: str
    name: str
    seconds: float
    reached: frozenset


@dataclasses.dataclass
class Verdict:
    killed_by: str  # the name of a case; empty: survived
    how: str  # "failed", "crashed", "hung"; of a survivor "passed" or "not reached"
    tried: int = 0


class Program:
    """A Catch2 program of the mutant build, and what its cases reach without a mutant."""

    def __init__(self, path, level, alone=False):
        self.path, self.level, self.alone = pathlib.Path(path), level, alone  # alone: each case is a process
        self.cases, self.unfit = [], []

    def record(self, kept):
        """Runs every case once; `kept` holds what an earlier run of the same program found."""
        stamp = f"{self.path.stat().st_mtime_ns} {self.path.stat().st_size}"
        if kept.exists():
            state = json.loads(kept.read_text())
            if state["stamp"] == stamp:
                self.cases = [Case(self.level, *row[:2], frozenset(row[2])) for row in state["cases"]]
                self.unfit = state["unfit"]
                return
        rest, unfit, cases = self.names(), [], []
        while rest:
            part, rest = (rest[:1], rest[1:]) if self.alone else (rest, [])
            ended, open_case, _ = self._run(part, 0, {}, stop=False)
            cases += [Case(self.level, name, took, frozenset(reached)) for name, ok, took, reached in ended if ok]
            unfit += [name for name, ok, _, _ in ended if not ok]
            if open_case:  # took the process with it
                unfit.append(open_case)
                seen = {name for name, *_ in ended} | {open_case}
                rest = [name for name in part if name not in seen] + rest
        if not cases:
            sys.exit(f"mutants: no case of {self.path} passes without a mutant: run it by hand and see why")
        self.cases, self.unfit = cases, unfit
        kept.write_text(json.dumps({"stamp": stamp, "unfit": unfit, "cases": [
            [case.name, case.seconds, sorted(case.reached)] for case in cases]}))

    def names(self):
        listed = subprocess.run([str(self.path), "--list-tests", "--verbosity", "quiet"], capture_output=True,
                                text=True, check=True, cwd=self.path.parent)
        return [line.strip() for line in listed.stdout.splitlines() if line.strip()]

    def run(self, cases, number):
        """The first of the cases that does not pass with this mutant, and how; None if all do."""
        step = 1 if self.alone else TOGETHER
        for begin in range(0, len(cases), step):
            part = cases[begin:begin + step]
            limits = {case.name: 5 + 4 * case.seconds for case in part}
            ended, open_case, hung = self._run([case.name for case in part], number, limits, stop=True)
            failed = next((name for name, ok, *_ in ended if not ok), None)
            if failed:
                return failed, "failed"
            if open_case:
                return open_case, "hung" if hung else "crashed"
            if len(ended) != len(part):  # before the first case or after the last one
                return part[min(len(ended), len(part) - 1)].name, "hung" if hung else "crashed"
        return None

    def _run(self, names, number, limits, stop):
        """(name, passed, seconds, reached) of each case that ended, the case that did not, whether time ran out.

        limits    seconds that a case may take; others 10 minutes
        """
        with tempfile.TemporaryDirectory() as scratch:
            log = pathlib.Path(scratch) / "log"
            log.touch()
            chosen = pathlib.Path(scratch) / "names"
            chosen.write_text("".join(re.sub(r'[\\,"\[]', r"\\\g<0>", name) + "\n" for name in names))
            # A case that asks how much of the heap is in use is not told of what the allocator keeps for a thread.
            environment = dict(os.environ, HCASIM_MUTANT=str(number), HCASIM_MUTANT_LOG=str(log), TMPDIR=scratch,
                               GLIBC_TUNABLES="glibc.malloc.tcache_count=0")
            command = [str(self.path), "--input-file", str(chosen)] + (["--abort"] if stop else [])
            process = subprocess.Popen(command, env=environment, cwd=self.path.parent, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
                                       preexec_fn=limit_memory)
            try:
                hung = not self._wait(process, log, limits)
            finally:
                try:
                    os.killpg(process.pid, 9)
                except ProcessLookupError:
                    pass
                process.wait()
            return *self._read(log), hung

    def _wait(self, process, log, limits):
        """Whether the process ended before a case of it, or its start or end, had taken too long: of processor time,
        since others may be at work, or of ten times that where it only waits."""
        since, used, size = time.monotonic(), 0, 0
        while True:
            try:
                process.wait(timeout=0.5)
                return True
            except subprocess.TimeoutExpired:
                pass
            if log.stat().st_size != size:
                since, used, size = time.monotonic(), processor_time(process.pid), log.stat().st_size
            limit = limits.get(self._read(log)[1], 600)
            if processor_time(process.pid) - used > limit or time.monotonic() - since > 10 * limit:
                return False

    @staticmethod
    def _read(log):
        """(name, passed, seconds, reached) of each case that ended, and the case that did not."""
        ended, open_case = [], None
        for line in log.read_text(errors="replace").splitlines():
            word, _, rest = line.partition("\t")
            if word == "begin":
                open_case = rest
            elif open_case is not None and rest.count("\t") == 1:
                seconds, _, reached = rest.partition("\t")
                ended.append((open_case, word == "passed", float(seconds), [int(one) for one in reached.split()]))
                open_case = None
        return ended, open_case


def processor_time(pid):
    """Seconds; zero of a process that has ended."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def limit_memory():
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Bench:
    """Which cases a mutant is tried by: those that reach it and take no longer than `longest` seconds."""

    def __init__(self, programs, longest):
        self.programs = programs
        self.reaching = collections.defaultdict(list)
        for program in programs:
            for case in program.cases:
                for number in case.reached if case.seconds <= longest else ():
                    self.reaching[program.level, number].append(case)

    def judge(self, number):
        tried = 0
        for program in self.programs:
            cases = sorted(self.reaching[program.level, number], key=lambda case: (case.seconds, case.name))
            tried += len(cases)
            found = program.run(cases, number) if cases else None
            if found:
                return Verdict(f"{program.level}: {found[0]}", found[1], tried)
        return Verdict("", "passed" if tried else "not reached", tried)


def timed_judge(bench, number):
    begin = time.monotonic()
    return bench.judge(number), time.monotonic() - begin
