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


def complaint(root, name):
    """The first thing that the compiler says of a file; headers are read as if somebody included them."""
    source = [str(name)] if name.suffix == ".cpp" else ["-include", str(name), "-x", "c++", "/dev/null"]
    ran = subprocess.run(["c++", "-I.", *FLAGS, *source], cwd=root, capture_output=True, text=True, check=False)
    if ran.returncode == 0:
        return None
    found = FINDING.search(ran.stderr)
    return f"{name}: a release build stops here: {found.group(0) if found else ran.stderr[-1000:]}"


def check(root):
    names = [name for name in tree.files(root, {".h", ".cpp"}) if asserts(root, name)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return [said for said in pool.map(lambda name: complaint(root, name), names) if said]


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
