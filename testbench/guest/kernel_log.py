"""kernel_log.py FILE...: what a kernel's raw log (`dmesg --raw`) says beyond the messages that we know; `--self-test`
proves it.

Known messages are rows of known_messages.txt, `pattern  # reason`. They may excuse warnings and errors; nothing excuses
a BUG, an oops, a WARN or a hung task.
"""

import pathlib
import re
import sys

KNOWN = pathlib.Path(__file__).resolve().parent / "known_messages.txt"
LINE = re.compile(r"^<(\d+)>\[ *[\d.]+\](?:\[[^]]*\])? (.*)$")
WARNING = 4  # and more severe ones have lower numbers
NEVER = re.compile(r"\bBUG\b|\bOops\b|WARNING: |------------\[ cut here|Call Trace:|blocked for more than"
                   r"|general protection|rcu.*(detected|self-detected) stall|soft lockup|Kernel panic|refcount_t: "
                   r"|UBSAN|list_(add|del) corruption")


def read_known(text):
    """(pattern, reason) a row; a row without a reason is refused."""
    known = []
    for number, row in enumerate(text.splitlines(), 1):
        if not row.strip() or row.startswith("#"):
            continue
        pattern, separator, reason = row.partition("  # ")
        if not separator or not reason.strip():
            raise ValueError(f"known_messages.txt:{number}: a message needs a reason: pattern  # reason")
        known.append((re.compile(pattern.strip()), reason.strip()))
    return known


def judge(log, known):
    """The lines nobody knew, in their order."""
    findings = []
    for line in log.splitlines():
        found = LINE.match(line)
        level, text = (int(found[1]) & 7, found[2]) if found else (WARNING, line)
        if NEVER.search(text):
            findings.append(text)
        elif level <= WARNING and text.strip() and not any(pattern.search(text) for pattern, _ in known):
            findings.append(text)
    return findings


def prove():
    known = read_known("# a comment\nclock is slow  # the emulator is\n")
    boot = "<6>[    0.1] mlx5_core 0000:01:00.0: firmware version\n<4>[    0.2] the clock is slow today\n"
    assert judge(boot, known) == []
    for planted in ("<4>[    1.0] mlx5_core 0000:01:00.0: something new", "<3>[    1.0] nvme: bad",
                    "<12>[    1.0] user.warn of a facility", "<6>[    1.0] BUG: clock is slow",
                    "<4>[    1.0] WARNING: CPU: 0 PID: 1 at x clock is slow",
                    "<6>[   20.0][ T12] task blocked for more than 120 s"):
        assert len(judge(boot + planted + "\n", known)) == 1, planted
    assert judge("<6>[    1.0] fine\ntorn line\n", known) == ["torn line"]
    try:
        read_known("pattern without reason\n")
    except ValueError:
        return
    raise AssertionError("a row without a reason was taken")


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        prove()
        read_known(KNOWN.read_text())
        print("planted messages are found")
    else:
        rows = read_known(KNOWN.read_text())
        unknown = [line for name in sys.argv[1:]
                   for line in judge(pathlib.Path(name).read_text(errors="replace"), rows)]
        print("\n".join(unknown))
        sys.exit(1 if unknown else 0)
