"""C++ looks as clang-format writes it by the rules of .clang-format; `./dev format` makes it so."""

import pathlib
import re
import shutil
import subprocess

import tree

PROGRAM = "clang-format-19"  # versions differ in what they write
RULES = pathlib.Path(__file__).resolve().parents[2] / ".clang-format"
FINDING = re.compile(r"^(.*?):(\d+):\d+: (?:error|warning): code should be clang-formatted", re.M)


def check(root):
    if shutil.which(PROGRAM) is None:
        return [f"there is no {PROGRAM}: install the package of that name (`./dev test` does)"]
    names = tree.files(root, {".h", ".cpp"})
    if not names:
        return []
    ran = subprocess.run([PROGRAM, f"--style=file:{RULES}", "--dry-run", "--ferror-limit=0", *map(str, names)],
                         cwd=root, capture_output=True, text=True, check=False)
    first = {}  # one finding a file: the first line that would change
    for name, line in FINDING.findall(ran.stderr):
        first.setdefault(name, line)
    findings = [f"{name}:{line}: not as clang-format writes it; `./dev format` does" for name, line in first.items()]
    if ran.returncode != 0 and not findings:
        findings.append(f"{PROGRAM} ended with {ran.returncode}: {ran.stderr[-1000:]}")
    return findings


if __name__ == "__main__":
    tree.run(
        check,
        planted=[
            ({"model/a.h": "int  a;\nint  b;\n"}, "model/a.h:1: not as clang-format writes it"),
            ({"sw/a.cpp": "int a;\nvoid f() {\n  a = 1;\n}\n"}, "sw/a.cpp:2"),
        ],
        clean={"model/a.h": "struct A {\n    int* a;\n};\n", "testbench/a.py": "x  = 1\n"},
    )
