"""What only an assertion looks at does not stop a release build, in which there are none and warnings are errors.

The tests build with assertions, and a release takes too long for each of their runs; so every file that asserts is read
by the compiler as a release has it, and nothing is made of it."""

import concurrent.futures
import os
import re
import subprocess

import tree

ROOMS = ("abi", "firmware", "model", "platform", "sw", "traces")
FLAGS = ["-std=c++23", "-DNDEBUG", "-DSC_INCLUDE_DYNAMIC_PROCESSES", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic",
         "-Wshadow", "-Werror"]
ASSERTS = re.compile(r"\bassert\(")
FINDING = re.compile(r"^[^\n]*: (?:fatal )?error: .*$", re.M)


def asserts(root, name):
    return name.parts[0] in ROOMS and any(ASSERTS.search(line) for _, line in tree.lines(root, name))


def stops(root, names):
    """What the compiler says of these files, read as one; nothing where it takes them."""
    text = "".join(f'#include "{name}"\n' for name in names)
    ran = subprocess.run(["c++", "-I.", *FLAGS, "-x", "c++", "-"], cwd=root, input=text, capture_output=True, text=True,
                         check=False)
    return ran.stderr if ran.returncode != 0 else None


def complaints(root, names):
    """Files that are read together are read once; one by one where they stop, also since two do not go together."""
    if stops(root, names) is None:
        return []
    said = []
    for name in names:
        words = stops(root, [name])
        if words is not None:
            found = FINDING.search(words)
            said.append(f"{name}: a release build stops here: {found.group(0) if found else words[-1000:]}")
    return said


def check(root):
    groups = {}
    for name in tree.files(root, {".h", ".cpp"}):
        if asserts(root, name):
            groups.setdefault(name.parts[0], []).append(name)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return sum(pool.map(lambda names: complaints(root, names), groups.values()), [])


if __name__ == "__main__":
    tree.run(
        check,
        planted=[
            ({"model/a.cpp": "#include <cassert>\nvoid f(int a) {\n    assert(a > 0);\n}\n"}, "unused parameter"),
            ({"sw/a.h": "#include <cassert>\ninline void f() {\n    const int a = 1;\n    assert(a > 0);\n}\n"},
             "sw/a.h: a release build stops here"),
        ],
        clean={
            "model/a.cpp": "#include <cassert>\nvoid f([[maybe_unused]] int a) {\n    assert(a > 0);\n}\n",
            "testbench/a.cpp": "#include <cassert>\nvoid f(int a) {\n    assert(a > 0);\n}\n",
        },
    )
