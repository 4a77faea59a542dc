"""No line of code or prose has more than 120 columns: two of them side by side fit on a screen, and in a review.

Rows of a table, output of programs in a document and data files are as wide as they are."""

import pathlib

import tree

LIMIT = 120
CODE = {".h", ".cpp", ".py", ".sh", ".cmake", ".toml", ".lua"}


def is_code(root, name):
    """Sources by their suffix, CMake's lists, and scripts without a suffix."""
    if name.suffix in CODE or name.name == "CMakeLists.txt":
        return True
    return name.suffix == "" and (pathlib.Path(root) / name).read_bytes()[:2] == b"#!"


def prose(numbered):
    """The numbered lines of a document outside its tables and its blocks between ``` lines."""
    is_block = False
    for number, line in numbered:
        if line.startswith("```"):
            is_block = not is_block
        elif not is_block and not line.startswith("|"):
            yield number, line


def check(root):
    findings = []
    for name in tree.files(root, CODE | {".md", ".txt", ""}):
        numbered = tree.lines(root, name)
        if name.suffix == ".md":
            numbered = prose(numbered)
        elif not is_code(root, name):
            continue
        for number, line in numbered:
            if len(line) > LIMIT:
                findings.append(f"{name}:{number}: {len(line)} columns, at most {LIMIT}")
    return findings


if __name__ == "__main__":
    wide = "x" * (LIMIT + 1)
    tree.run(
        check,
        planted=[
            ({"model/hca/a.h": f"// one\n{wide}\n"}, f"model/hca/a.h:2: {LIMIT + 1} columns"),
            ({"testbench/a.py": wide}, "testbench/a.py:1"),
            ({"testbench/a.sh": wide}, "testbench/a.sh:1"),
            ({"traces/a.lua": wide}, "traces/a.lua:1"),
            ({"CMakeLists.txt": wide}, "CMakeLists.txt:1"),
            ({"dev": f"#!/bin/bash\n{wide}\n"}, "dev:2"),
            ({"README.md": f"```\n{wide}\n```\n| {wide} |\n{wide}\n"}, "README.md:5"),
        ],
        clean={
            "sw/a.cpp": "x" * LIMIT + "\n",
            "sw/b.cpp": "ü" * LIMIT + "\n",  # columns, not bytes
            "README.md": f"| {wide} |\n```\n{wide}\n```\n",  # a row of a table has no second line
            "testbench/guest/rows.txt": wide,
            "testbench/fuzz/corpus/a/1234": wide,
        },
    )
