"""No behaviour hangs on the text of a string: what the model, the firmware and the platform compare are numbers.

Texts are for people. A reason, a state or a mode that somebody compares has an enumeration or a table of sentences
(traces/reason.h). Names that come from outside (files, configurations, protocols in text) are read elsewhere."""

import re

import tree

ROOMS = re.compile(r"(abi|traces|model|firmware|platform)/.*")
# Where words of a file, a command line or a protocol become values, and where names of parts and keys are looked up.
FROM_OUTSIDE = re.compile(
    r"platform/(observe/files/.*|bridge/vfio_user/(capabilities|function_port)\.cpp|"
    r"topology/(describe.*|effect|keys|keys_printed|names|part_keys|read.*|value|what_to_record|written)\.cpp)|"
    r"traces/tool/filter\.cpp"
)
LITERAL = r'"(?:[^"\\]|\\.)*"(?:sv|s)?'
COMPARED = re.compile(rf"(?:[=!]=|<=>)\s*{LITERAL}|{LITERAL}\s*(?:[=!]=|<=>)|\b(?:strcmp|strncmp)\s*\(|"
                      rf"\.(?:compare|starts_with|ends_with|contains)\(\s*{LITERAL}")
# A text that has a name in the same file, and comparisons with it.
NAMED = re.compile(rf"\bconstexpr\s+(?:std::string_view|char|auto)\b[\s*]*(\w+)(?:\[\])?\s*(?:=\s*|\{{\s*){LITERAL}")
COMPARED_NAME = r"(?:[=!]=|<=>)\s*(?:NAME)\b|\b(?:NAME)\s*(?:[=!]=|<=>)"


def check(root):
    findings = []
    for name in tree.files(root, {".h", ".cpp"}):
        path = name.as_posix()
        if not ROOMS.fullmatch(path) or FROM_OUTSIDE.fullmatch(path):
            continue
        # Without comments, and as one text: a comparison may stand on two lines.
        code = "\n".join(re.sub(rf"({LITERAL})|//.*", lambda found: found[1] or "", line)
                         for _, line in tree.lines(root, name))
        texts = "|".join(sorted(set(NAMED.findall(code))))
        patterns = [COMPARED] + ([re.compile(COMPARED_NAME.replace("NAME", texts))] if texts else [])
        for pattern in patterns:
            for found in pattern.finditer(code):
                line = code[code.rfind("\n", 0, found.start()) + 1:code.find("\n", found.end())]
                if not line.lstrip().startswith(("static_assert", "#")):
                    number = code.count("\n", 0, found.start()) + 1
                    text = " ".join(found[0].split())
                    findings.append(f"{name}:{number}: compares a text ({text}): give it a number")
    return findings


if __name__ == "__main__":
    tree.run(
        check,
        planted=[
            ({"model/hca/a.cpp": 'if (reason == "no right")\n'}, "model/hca/a.cpp:1"),
            ({"firmware/a.cpp": '\nreturn "love" != why;\n'}, "firmware/a.cpp:2"),
            ({"platform/observe/life/a.cpp": 'if (name.starts_with("A."))\n'}, "platform/observe/life/a.cpp:1"),
            ({"model/hca/a.h": 'if (std::strcmp(a, b) == 0)\n'}, "model/hca/a.h:1"),
            ({"model/hca/a.cpp": 'if (the_reason_that_was_given ==\n    "no right")\n'}, "model/hca/a.cpp:1"),
            ({"platform/host/a.cpp": 'constexpr std::string_view off = "off";\nif (mode != off)\n'},
             "platform/host/a.cpp:2"),
            ({"platform/topology/config.h": 'return acs != "off";\n'}, "platform/topology/config.h:1"),
            ({"platform/bridge/a.cpp": 'if (mode == "fast")\n'}, "platform/bridge/a.cpp:1"),
            ({"platform/topology/a_module.cpp": 'if (acs == "off")\n'}, "platform/topology/a_module.cpp:1"),
        ],
        clean={
            "model/hca/a.cpp": 'drop(packet, "bad ICRC", at); // reason == "bad ICRC"\nif (a == b) say("x == y");\n',
            "model/hca/b.cpp": 'static_assert(name(code) == "RC Send Only");\n',
            "platform/topology/value.cpp": 'if (word == "true")\n',
            "platform/observe/files/a.cpp": 'if (path == "-")\n',
            "testbench/a.cpp": 'CHECK(text == "a");\n',
        },
    )
