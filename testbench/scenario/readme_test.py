"""readme_test.py HCASIM SOURCE CASE: what README.md shows is what the program says.

A block of README.md with a line `<!-- shows: COMMAND -->` before it is the output of that command of the shell, run in
the tree; `<!-- shows /EXPRESSION/: COMMAND -->` are the lines in which the expression is found. In commands $OUT is a
folder for what they write. Wall times are those of whoever wrote them. `readme_test.py HCASIM SOURCE write` writes the
blocks anew."""

import os
import re
import subprocess
import sys

from program import PROGRAM, SCRATCH, SOURCE, expect, main

README = SOURCE / "README.md"
SHOWN = re.compile(r"<!-- shows(?: /(?P<lines>.*)/)?: (?P<command>[^`]*?) -->\n```\n(?P<block>(?:.*\n)*?)```\n")
WALL = re.compile(r"(?<= )[0-9.]+ m?s(?=  +equal)|(?<=wall time ).* m?s$")


def output_of(command):
    if not (SCRATCH / "hcasim").exists():
        (SCRATCH / "hcasim").symlink_to(PROGRAM)
    ran = subprocess.run(["sh", "-c", command], cwd=SOURCE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                         text=True, check=False, timeout=500,
                         env={**os.environ, "PATH": f"{SCRATCH}:{os.environ['PATH']}", "OUT": str(SCRATCH)})
    return ran.stdout.replace(f"{SCRATCH}/", "")


def shown_by(command, lines):
    output = output_of(command)
    if lines:
        output = "".join(line + "\n" for line in output.splitlines() if re.search(lines, line))
    expect(output, f"{command}: nothing is shown by it")
    return re.sub(r" +$", "", output, flags=re.MULTILINE)


def is_of_the_program_itself(command):
    """What is moved without --payload is the program, whose size is that of its build: a sanitizer's does not fit
    everywhere, and what is shown then is how it is refused. Scenarios with bytes of their own refuse a payload."""
    for config, options in re.findall(r"hcasim run (\S+)([^|;]*)", command):
        if "--payload" not in options and run_check(config) == 0:
            return True
    return False


def run_check(config):
    return subprocess.run([PROGRAM, "check", config, "--payload", "LICENSE"], cwd=SOURCE, check=False,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode


def without_wall_times(text):
    """They may be longer or shorter, and the columns with them."""
    return [re.sub(" +", " ", WALL.sub("#", line)) for line in text.strip("\n").splitlines()]


def what_the_readme_shows_is_what_the_program_says():
    blocks = list(SHOWN.finditer(README.read_text()))
    expect(len(blocks) >= 6, f"the README has {len(blocks)} blocks")
    for found in blocks:
        expect(not is_of_the_program_itself(found["command"]), f"{found['command']}: what it moves is the program")
        said = without_wall_times(shown_by(found["command"], found["lines"]))
        shown = without_wall_times(found["block"])
        for number, (ours, theirs) in enumerate(zip(shown, said)):
            expect(ours == theirs, f"{found['command']}: line {number + 1} is\n{theirs}\nand README.md has\n{ours}\n"
                   "write it anew: readme_test.py HCASIM SOURCE write")
        expect(len(shown) == len(said), f"{found['command']}: {len(said)} lines, and README.md has {len(shown)}")


def a_block_that_is_wrong_is_found():
    text = README.read_text()
    found = next(SHOWN.finditer(text))
    said = shown_by(found["command"], found["lines"])
    number = re.search(r"[0-9]{3,}", said)
    expect(without_wall_times(said) != without_wall_times(said.replace(number[0], "0", 1)), "a number does not count")
    expect(without_wall_times("x  0.1 s  equal") == without_wall_times("x  20.25 s  equal"), "wall times count")


def a_setting_is_behind_a_set_of_its_own():
    """`--set a.b=1 c.d=2` is refused."""
    for shown in re.findall(r"`[^`\n]+`", README.read_text()):
        expect(not re.search(r"\w\.\w+=\S+ \w[\w.]*\.\w+=", shown), f"two settings behind one --set: {shown}")


def each_room_of_the_model_is_in_the_tree():
    row = next(line for line in README.read_text().splitlines() if line.startswith("| [`model/`]"))
    for room in (SOURCE / "model").iterdir():
        expect(not room.is_dir() or f"`{room.name}`" in row or f"(model/{room.name}/" in row, f"{room} is not in {row}")


def write():
    text = README.read_text()
    README.write_text(SHOWN.sub(lambda found: found[0].replace(
        f"```\n{found['block']}```", f"```\n{shown_by(found['command'], found['lines']).strip(chr(10))}\n```"), text))


if __name__ == "__main__":
    write() if sys.argv[3:] == ["write"] else main(globals())
