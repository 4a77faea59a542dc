"""What a person sees while something takes long: a line a step, and on a terminal a line that moves."""

import subprocess
import sys
import time


class Failure(Exception):
    """Something outside of us went wrong; the text says what, where and what to do."""


class Unreachable(Failure):
    """Debian's mirrors do not answer: there is no guest to test with, and that is nobody's fault here."""

    STATUS = 77  # of the program; the test then counts as skipped, not as passed


def say(text):
    print(f"-- guest: {text}", file=sys.stderr, flush=True)


def size_of(directory):
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file() and not path.is_symlink())


def run(what, command, watched=None, failure=Failure, **keywords):
    """Runs a command quietly and says that it goes on: seconds, and the megabytes that gather below `watched`."""
    begun = time.monotonic()
    shown = begun
    moving = sys.stderr.isatty()
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace", **keywords) as process:
        output = ""
        while True:
            try:
                output, _ = process.communicate(timeout=0.5)
                break
            except subprocess.TimeoutExpired:
                now = time.monotonic()
                if now - shown < (0.5 if moving else 20):
                    continue
                shown = now
                line = f"-- guest: {what}: {now - begun:.0f} s"
                if watched is not None and watched.exists():
                    line += f", {gathered(watched) / 1e6:.0f} MB"
                print(f"\r{line}\033[K" if moving else line, end="" if moving else "\n", file=sys.stderr, flush=True)
    if moving and shown != begun:
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    if process.returncode != 0:
        raise failure(f"{what}: {command[0]} ended with {process.returncode}:\n{output[-3000:]}")
    say(f"{what}: {time.monotonic() - begun:.1f} s")
    return output


def gathered(directory):
    try:
        return size_of(directory)
    except OSError:  # files come and go meanwhile
        return 0
