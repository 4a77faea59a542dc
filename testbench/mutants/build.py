"""The copy of the tree in which every guard can be broken, and its build. Numbers of mutants are kept between runs, so
that a changed file rebuilds what includes it and nothing else."""

import json
import pathlib
import re
import shutil
import subprocess
import sys

import rewrite

# What is searched for guards: the rooms of the data path, and what is behind them. A room is the name of a folder here.
ROOMS = [f"model/hca/{room}" for room in ("requester", "responder", "ingress", "egress", "completion", "doorbell",
                                          "dispatch", "queue", "tpt", "icm", "paging", "umr", "memory", "congestion")]
ROOMS += ["model/iommu", "model/pcie", "model/net", "model/nvme", "model/gpu"]
# Unit tests of the model need its cores and nothing else, but for these, which need drivers.
TESTED = "testbench/unit/model/"
LEFT_OUT = ("testbench/unit/model/management/link_rate_test.cpp", "testbench/unit/model/simple/")


class Tree:
    def __init__(self, root):
        self.root = pathlib.Path(root).resolve()
        self.base = self.root / "build" / "mutants"
        self.copy, self.build = self.base / "tree", self.base / "build"
        self.kept = self.base / "numbers.json"
        state = json.loads(self.kept.read_text()) if self.kept.exists() else {}
        self.numbers = state.get("numbers", {})  # key: number
        self.refused = set(state.get("refused", []))  # keys that do not compile
        self.sources = {}

    def save(self):
        self.base.mkdir(parents=True, exist_ok=True)
        self.kept.write_text(json.dumps({"numbers": self.numbers, "refused": sorted(self.refused)}, indent=0))

    def read(self, rooms=ROOMS):
        """Every guard of these rooms: {key: mutant}."""
        found = {}
        for room in rooms:
            for path in sorted((self.root / room).rglob("*")):
                if path.suffix in (".h", ".cpp"):
                    name = path.relative_to(self.root).as_posix()
                    self.sources[name] = rewrite.Source(name, path.read_text())
                    found.update((mutant.key(), mutant) for mutant, _, _ in self.sources[name].found)
        return found

    def number(self, found):
        used = set(self.numbers.values())
        free = (number for number in range(1, 1 << 15) if number not in used)
        for key in found:
            if key not in self.numbers and key not in self.refused:
                self.numbers[key] = next(free, None) or sys.exit("mutants: more than 32767 guards; raise `most` in "
                                                                 "testbench/mutants/mutant.h and the limit here")

    def write(self):
        """The copy as it has to be now; files that are right keep their time."""
        listed = subprocess.run(["git", "-C", str(self.root), "ls-files", "-co", "--exclude-standard", "-z"],
                                capture_output=True, check=True).stdout.decode().split("\0")
        names = {name for name in listed if name and (self.root / name).is_file() and self._is_wanted(name)}
        active = {key: number for key, number in self.numbers.items() if key not in self.refused}
        for name in names:
            data = (self.root / name).read_bytes()
            if name in self.sources:
                data = self.sources[name].rewritten(active).encode()
            path = self.copy / name
            if path.exists() and path.read_bytes() == data:
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            shutil.copymode(self.root / name, path)
        for path in self.copy.rglob("*"):
            if path.is_file() and not path.is_symlink() and path.relative_to(self.copy).as_posix() not in names:
                path.unlink()
        if (self.root / ".deps").exists() and not (self.copy / ".deps").exists():
            (self.copy / ".deps").symlink_to((self.root / ".deps").resolve())

    @staticmethod
    def _is_wanted(name):
        return not name.startswith(LEFT_OUT) and (
            not name.startswith("testbench/unit/") or name.startswith(TESTED) or not name.endswith("_test.cpp"))

    def make(self, targets, jobs):
        """Builds, without the mutants that do not compile."""
        self.write()
        self.save()
        if not (self.build / "build.ninja").exists():
            subprocess.run(["cmake", "-G", "Ninja", "-S", str(self.copy), "-B", str(self.build), "-DHCA_MUTANTS=ON",
                            "-DCMAKE_BUILD_TYPE=", "-DCMAKE_CXX_COMPILER_LAUNCHER="
                            "env;CCACHE_SLOPPINESS=pch_defines,time_macros;ccache"],
                           check=True, stdout=subprocess.DEVNULL)
        for _ in range(20):
            # Where others are at work, one compiler is enough.
            done = subprocess.run(["nice", "-n", "5", "ninja", "-C", str(self.build), f"-j{jobs}", f"-l{jobs + 1}",
                                   "-k0", *targets], capture_output=True, text=True, check=False)
            if done.returncode == 0:
                return
            dropped = self._refuse(done.stdout)
            print(f"mutants: {len(dropped)} do not compile and are left out", file=sys.stderr, flush=True)
            if not dropped:
                sys.exit(f"{done.stdout[-6000:]}\nmutants: the copy in {self.copy} does not build, see above")
            self.write()
            self.save()
        sys.exit(f"mutants: the copy in {self.copy} still does not build after 20 rounds")

    def _refuse(self, output):
        """The mutants of the lines that the compiler names."""
        rows = set()
        named = r"^([^\s:]+):(\d+):\d+: (?:\w+ )?error:|^([^\s:]+):(\d+):\d+:   required from"
        for match in re.finditer(named, output, re.M):
            path = pathlib.Path(match[1] or match[3])
            path = path if path.is_absolute() else self.build / path
            try:
                rows.add((path.resolve().relative_to(self.copy).as_posix(), int(match[2] or match[4])))
            except ValueError:
                continue
        dropped = set()
        for name, number in rows:
            if name not in self.sources:
                continue
            for mutant, row, edits in self.sources[name].found:
                last = max(self.sources[name].line_of(edit[2]) for edit in edits)
                if row <= number - 1 <= last:
                    dropped.add(mutant.key())
        dropped -= self.refused
        self.refused |= dropped
        for key in dropped:
            self.numbers.pop(key, None)
        return dropped
