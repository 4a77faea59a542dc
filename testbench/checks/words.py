"""No behaviour hangs on the text of a string: what the model, the firmware and the sinks compare are numbers.

Texts are for people. A reason, a state or a mode that somebody compares has an enumeration or a table of sentences
(traces/reason.h). Names that come from outside (files, configurations, protocols in text) are read elsewhere."""

import re

import tree

ROOMS = re.compile(r"(abi|traces|model|firmware|platform/(card|host|observe))/.*")
# The name of a file that stands for standard output.
FROM_OUTSIDE = re.compile(r"platform/observe/files/.*")
LITERAL = r'"(?:[^"\\]|\\.)*"(?:sv|s)?'
COMPARED = re.compile(rf"(?:[=!]=|<=>)\s*{LITERAL}|{LITERAL}\s*(?:[=!]=|<=>)|\b(?:strcmp|strncmp)\s*\(|"
                      rf"\.(?:compare|starts_with|ends_with|contains)\(\s*{LITERAL}")
# The part of a component's name that says which component it belongs to.
ALLOWED = {"platform/observe/diagnostics/explain.cpp": 'name.ends_with(".pcie")'}


def check(root):
    findings = []
    for name in tree.files(root, {".h", ".cpp"}):
        path = name.as_posix()
        if not ROOMS.fullmatch(path) or FROM_OUTSIDE.fullmatch(path):
            continue
        for number, line in tree.lines(root, name):
            code = re.sub(rf"({LITERAL})|//.*", lambda found: found[1] or "", line)
            found = COMPARED.search(code)
            if found and not code.lstrip().startswith(("static_assert", "#")) and ALLOWED.get(path, "\n") not in code:
                findings.append(f"{name}:{number}: compares a text ({found[0].strip()}): give it a number")
    return findings


if __name__ == "__main__":
    tree.run(
        check,
        planted=[
            ({"model/hca/a.cpp": 'if (reason == "no right")\n'}, "model/hca/a.cpp:1"),
            ({"firmware/a.cpp": '\nreturn "love" != why;\n'}, "firmware/a.cpp:2"),
            ({"platform/observe/life/a.cpp": 'if (name.starts_with("A."))\n'}, "platform/observe/life/a.cpp:1"),
            ({"model/hca/a.h": 'if (std::strcmp(a, b) == 0)\n'}, "model/hca/a.h:1"),
        ],
        clean={
            "model/hca/a.cpp": 'drop(packet, "bad ICRC", at); // reason == "bad ICRC"\nif (a == b) say("x == y");\n',
            "model/hca/b.cpp": 'static_assert(name(code) == "RC Send Only");\n',
            "platform/topology/a.cpp": 'if (word == "true")\n',
            "platform/observe/files/a.cpp": 'if (path == "-")\n',
            "testbench/a.cpp": 'CHECK(text == "a");\n',
        },
    )
