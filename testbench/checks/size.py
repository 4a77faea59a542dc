"""A file of more than 450 lines usually holds two rooms (CONVENTIONS "Where things go")."""

import tree

LIMIT = 450


def check(root):
    findings = []
    for name in tree.files(root, {".h", ".cpp", ".py", ".cmake"}):
        count = len(tree.lines(root, name))
        if count > LIMIT:
            findings.append(f"{name}: {count} lines, at most {LIMIT}: look for the second room in it")
    return findings


if __name__ == "__main__":
    tree.run(
        check,
        planted=[
            ({"model/hca/a.cpp": "\n" * (LIMIT + 1)}, f"model/hca/a.cpp: {LIMIT + 1} lines"),
            ({"testbench/unit/a_test.cpp": "x\n" * 1000}, "1000 lines"),
        ],
        clean={"sw/a.h": "\n" * LIMIT, "traces/golden/dump.txt": "\n" * 5000},
    )
