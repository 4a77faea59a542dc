"""The head of each configuration names commands to try: none of them is refused."""

import re
import shlex

from program import SOURCE, call, expect, main

CONFIGS = sorted((SOURCE / "platform/configs").glob("*.toml"))
COMMAND = re.compile(r"#   (hcasim (?P<verb>\w+) (?P<file>\S+)|\.\.\. )(?P<rest>.*)")
# What asks no more than that command does, and runs nothing.
TRIED_BY = {"run": "check", "serve": "show", "show": "show"}


def commands(config):
    """Of each command in the head of `config`: its verb and file, and what it sets."""
    verb = file = None
    for line in config.read_text().splitlines():
        if not line.startswith("#"):
            return
        if (found := COMMAND.fullmatch(line)) is None:
            continue
        verb, file = found["verb"] or verb, found["file"] or file
        words = shlex.split(re.split(r"   |\[|\]", found["rest"])[0])  # behind that a remark, or what may be left out
        yield verb, file, [part for flag, value in zip(words, words[1:]) if flag == "--set" for part in (flag, value)]


def tried(verb, file, sets):
    """The command, by what asks no more than it does. What moves a payload gets a small one: without one it is this
    program, which with its sanitizers is larger than a drive."""
    if TRIED_BY[verb] == "check":
        checked = call("check", file, *sets, "--payload", SOURCE / "LICENSE")
        if "moves bytes of its own" not in checked.stderr:
            return checked
    return call(TRIED_BY[verb], file, *sets)


def no_command_in_the_head_of_a_configuration_is_refused():
    setting = 0
    for config in CONFIGS:
        for verb, file, sets in commands(config):
            expect((SOURCE / file).exists(), f"{config}: there is no {file}")
            if verb in TRIED_BY:
                checked = tried(verb, SOURCE / file, sets)
                expect(checked.returncode == 0, f"{config}: {file} {' '.join(sets)}: {checked.stderr}")
            setting += bool(sets)
    expect(setting >= 30, f"only {setting} commands that set anything were found")


main(globals())
