"""A case of the guest level: a bash script with a head of `# key: value` lines.

name      a true sentence, the name of the test        platform  what is served, below the repository
set       overrides of its keys, several a line; in them %d is a directory that lasts for the whole case
machines  AB: one guest with both; A B: two guests
kernel    6.1, 6.12 or 7.2                             memory    of each guest
timeout   seconds for the script, boot included        reboots   yes: a reboot goes on instead of ending
capture   yes: the cable's frames are judged           build     release (default) or asan
record    parts, or all: these devices are recorded, and played again without the guests, twice
run       by hand: not registered as a test; on demand: with `./dev test guest` alone
expect    a part of the finding without which the case fails
iommu     yes: the devices are behind an IOMMU         programs  of ours, with their libraries, in /shared/programs
lives     guests one after another on one platform, or on a new one where the one before was killed
beside    yes: a drive of the emulator's own is in the guest, too
switch    yes: the devices are behind one PCIe switch, so that the kernel lets them reach each other
commands  no: the device lists none, which saves it time
root      tools (default) or applications: recipe.py says what is in it
judge     a program beside this one; it gets the directory that the guest saw as /extra, and prints what is wrong
"""

import dataclasses
import pathlib
import re

import progress
import recipe

HEAD = re.compile(r"^# ([a-z]+): (.*)$")


@dataclasses.dataclass
class Case:
    path: pathlib.Path
    name: str
    platform: str = "platform/configs/pair.toml"
    set: list = dataclasses.field(default_factory=list)
    machines: list = dataclasses.field(default_factory=lambda: ["AB"])
    kernel: str = recipe.DEFAULT_KERNEL
    memory: str = "1G"
    timeout: int = 120
    reboots: bool = False
    capture: bool = False
    record: list = dataclasses.field(default_factory=list)
    build: str = "release"
    run: str = ""
    expect: str = ""
    iommu: bool = False
    beside: bool = False
    switch: bool = False
    programs: list = dataclasses.field(default_factory=list)
    lives: int = 1
    commands: bool = True
    root: str = "tools"
    judge: str = ""


def read(path):
    """The case of a file; refuses a key that does not exist, since it would silently do nothing."""
    head = {}
    for line in path.read_text().splitlines():
        if not line.startswith("#"):
            break
        found = HEAD.match(line)
        if found:
            head[found[1]] = found[2].strip()
    known = {field.name for field in dataclasses.fields(Case)} - {"path"}
    if unknown := head.keys() - known:
        raise progress.Failure(f"{path}: no key is called {', '.join(sorted(unknown))}; "
                               f"there are {', '.join(sorted(known))}")
    if "name" not in head:
        raise progress.Failure(f"{path}: has no name")
    for key in ("set", "machines", "programs", "record"):
        if key in head:
            head[key] = head[key].split()
    for key in ("reboots", "capture", "iommu", "beside", "switch", "commands"):
        if key in head:
            head[key] = head[key] == "yes"
    for key in ("timeout", "lives"):
        if key in head:
            head[key] = int(head[key])
    if head.get("kernel", recipe.DEFAULT_KERNEL) not in recipe.KERNELS:
        raise progress.Failure(f"{path}: no kernel is called {head['kernel']}")
    if head.get("root", "tools") not in recipe.ROOTS:
        raise progress.Failure(f"{path}: no root is called {head['root']}")
    return Case(path, **head)
