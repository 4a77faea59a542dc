"""A file of more than 450 lines usually holds two rooms (CONVENTIONS "Where things go"). Tables that a program has
written hold none."""

import tree

LIMIT = 450
WRITTEN = "not to be edited"  # in the first line


def check(root):
    findings = []
    for name in tree.files(root, {".h", ".cpp", ".py", ".cmake", ".lua"}):
        lines = tree.lines(root, name)
        count = len(lines)
        if count > LIMIT and WRITTEN not in lines[0][1]:
            findings.append(f"{name}: {count} lines, at most {LIMIT}: look for the second room in it")
    return findings


if __name__ == "__main__":
    tree.run(
        check,
        planted=[
            ({"model/hca/a.cpp": "\n" * (LIMIT + 1)}, f"model/hca/a.cpp: {LIMIT + 1} lines"),
            ({"testbench/unit/a_test.cpp": "x\n" * 1000}, "1000 lines"),
            ({"traces/a.lua": "x\n" * 1000}, "traces/a.lua: 1000 lines"),
        ],
        clean={"sw/a.h": "\n" * LIMIT, "traces/b.lua": "-- not to be edited\n" + "x\n" * 1000,
               "traces/golden/dump.txt": "\n" * 5000},
    )
