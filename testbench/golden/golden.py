"""golden.py --hcasim PROGRAM [--check] [NAME...]: records the golden traces again, and says what has changed and why.

A trace that the model still plays strictly is left as it is. Of another one it is said whether the model does the same
at other times, the same to a driver in other pieces, or something else, with the first difference; then it is replaced.
--check replaces nothing, and ends with 1 where something has changed.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

import recipe

GUEST = recipe.ROOT / "testbench/guest/run_case.py"
# From the sharpest comparison to the widest: what it means when this is the first one that holds.
MEANINGS = [("--strict", "the same"),
            ("--untimed", "a change of time only"),
            ("--functional", "a change of time, of pieces or of what is put together; a driver sees the same")]
DIVERGED, REFUSED = 1, 2


def read_dumps(hcasim, this, into, scratch):
    """The command that makes a recording of the recipe's dumps, which are put into one log in `scratch`."""
    log = pathlib.Path(scratch) / f"{this.name}.log"
    log.write_text("".join((recipe.ROOT / dump).read_text() for dump in this.dump))
    return [hcasim, "trace", "import", "--dump", log.name, "--out", into]


def record(hcasim, this, into):
    """Records `this` into a file; raises recipe.Mistake with the program's own words."""
    if this.dump:
        command = read_dumps(hcasim, this, into, into.parent)
    elif this.case:
        command = [sys.executable, "-B", GUEST, "--hcasim-release", hcasim, "--hcasim-asan", hcasim,
                   "--recording", into, recipe.ROOT / "testbench/guest/cases" / this.case]
    else:
        command = [hcasim, "run", recipe.ROOT / this.config, "--quiet", "--record", into]
        for override in this.set:
            command += ["--set", override]
        for part in this.at:
            command += ["--at", part]
    # The name of a log stands in its recording; all else is named from where the caller stands.
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=into.parent if this.dump else None)
    if done.returncode != 0:
        raise recipe.Mistake(f"{this.name} cannot be recorded: status {done.returncode} of\n  "
                             f"{' '.join(map(str, command))}\n{(done.stdout + done.stderr)[-3000:]}")
    if into.stat().st_size > recipe.MOST_BYTES:
        raise recipe.Mistake(f"{this.name}: the recording has {into.stat().st_size} bytes, at most "
                             f"{recipe.MOST_BYTES} are kept; record less of it, or a shorter run")


def play(hcasim, mode, trace):
    """Plays the trace; keys that have been added since it was recorded have their defaults. Returns what came of it,
    and those keys."""
    command, added = [hcasim, "replay", mode, trace], []
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == REFUSED:
        added = re.findall(r"added +(\S+): .* by default it is (.*) here$", done.stderr, re.M)
        sets = [word for key, value in added for word in ("--set", f"{key}={value}")]
        done = subprocess.run([*command, *sets], capture_output=True, text=True, check=False)
    return done, [key for key, _ in added]


def judge(hcasim, trace):
    """What the model does of the trace now: whether it is the same, and a text that says in what sense."""
    first = ""
    for mode, meaning in MEANINGS:
        done, added = play(hcasim, mode, trace)
        if done.returncode == 0 and added:
            return False, f"{meaning}, but the recording lacks {', '.join(added)}" + (f"\n{first}" if first else "")
        if done.returncode == 0:
            return not first, meaning if not first else f"{meaning}\n{first}"
        if done.returncode != DIVERGED:
            raise recipe.Mistake(f"{trace}: cannot be played: {(done.stdout + done.stderr).strip()}")
        first = first or done.stdout.strip()
        last = done.stdout.strip()
    return False, f"a change of behaviour\n{last}"


def judge_dumps(hcasim, this):
    """Of dumps no device was recorded that could be played: whether they are read as they were."""
    with tempfile.TemporaryDirectory() as scratch:
        fresh = pathlib.Path(scratch) / recipe.TRACE
        record(hcasim, this, fresh)
        done = subprocess.run([hcasim, "trace", "diff", this.trace, fresh], capture_output=True, text=True,
                              check=False)
    if done.returncode not in (0, DIVERGED):
        raise recipe.Mistake(f"{this.trace}: cannot be read: {(done.stdout + done.stderr).strip()}")
    return done.returncode == 0, "the same" if done.returncode == 0 else f"read otherwise\n{done.stdout.strip()}"


def keep_the_rules(hcasim, trace):
    done = subprocess.run([hcasim, "trace", "check", trace], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise recipe.Mistake(f"{trace} breaks a rule:\n{(done.stdout + done.stderr).strip()}")


def refresh(hcasim, this, only_check):
    """Returns whether the model still does what the trace says."""
    if this.trace.exists():
        is_same, meaning = judge_dumps(hcasim, this) if this.dump else judge(hcasim, this.trace)
        print(f"{this.name}: {meaning}", flush=True)
        if is_same or only_check:
            return is_same
    elif only_check:
        print(f"{this.name}: there is no recording")
        return False
    with tempfile.TemporaryDirectory(dir=this.trace.parent) as scratch:
        fresh = pathlib.Path(scratch) / recipe.TRACE
        record(hcasim, this, fresh)
        is_same, meaning = (True, "") if this.dump else judge(hcasim, fresh)
        if not is_same:
            raise recipe.Mistake(f"{this.name}: what was just recorded does not play again: {meaning}")
        keep_the_rules(hcasim, fresh)
        size = fresh.stat().st_size
        fresh.replace(this.trace)
    print(f"{this.name}: recorded, {size} bytes", flush=True)
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hcasim", type=pathlib.Path, required=True)
    parser.add_argument("--check", action="store_true", help="replace nothing; 1 where something has changed")
    parser.add_argument("names", nargs="*", metavar="NAME", help="a folder of traces/golden; none: all")
    options = parser.parse_args()
    try:
        unchanged = [refresh(options.hcasim.resolve(), this, options.check) for this in recipe.read_all(options.names)]
    except recipe.Mistake as mistake:
        print(mistake, file=sys.stderr)
        return 2
    return 1 if options.check and not all(unchanged) else 0


if __name__ == "__main__":
    sys.exit(main())
