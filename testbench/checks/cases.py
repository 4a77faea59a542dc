"""Each case of a test script is one of CTest's: a function without parameters that nobody calls is a case, and CMake
names it."""

import re

import tree

CASE = re.compile(r"^def (\w+)\(\):", re.M)


def check(root):
    named = set()
    for name in tree.files(root, {".cmake", ".txt"}):
        for _, line in tree.lines(root, name):
            named.update(re.findall(r"\w+", line))
    findings = []
    for name in tree.files(root, {".py"}):
        if not name.name.endswith("_test.py"):
            continue
        text = "\n".join(line for _, line in tree.lines(root, name))
        words = re.findall(r"\w+", text)
        for case in CASE.findall(text):
            if words.count(case) == 1 and case not in named:
                findings.append(f"{name}: no test runs {case}; add it to the CMake file beside")
    return findings


if __name__ == "__main__":
    tree.run(
        check,
        planted=[
            ({"testbench/a_test.py": "def it_works():\n    pass\n"}, "testbench/a_test.py: no test runs it_works"),
        ],
        clean={
            "testbench/a_test.py": "def it_works():\n    helper()\n\n\ndef helper():\n    pass\n\n\ndef made(size):\n"
                                   "    pass\n",
            "testbench/a.cmake": "add_program_tests(a a_test.py 60\n    it_works)\n",
            "testbench/tool.py": "def main():\n    pass\n",
        },
    )
