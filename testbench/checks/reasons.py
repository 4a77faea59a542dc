"""Every reason for which the model passes over a doorbell or a packet has its paragraph (platform/observe/passed_over.cpp)."""

import re

import tree

# What rooms call with a reason: drop(packet, "..."), ignore("..."), lost("..."); steps of a route, and why there is no answer.
SAID = re.compile(r'\b(?:drop|ignore|lost)\(([^;{]*?)\);|\{drop, 0, ([^}]*)\}|\b(?:DoorbellIgnored|PacketDropped)\{([^}]*)\}')
ANSWER = re.compile(r'\breturn ("[^"]+");')
LITERAL = re.compile(r'"([^"]+)"')
ROW = re.compile(r'^    \{"([^"]+)", \{"', re.MULTILINE)
TABLES = "platform/observe/passed_over.cpp"
# A reason that is no mistake: an arm that is written twice does no harm.
NO_MISTAKE = {"the event of this arm sequence number is out"}


def said(root):
    for name in tree.files(root, {".cpp", ".h"}):
        if name.parts[0] not in ("model", "firmware"):
            continue
        text = "\n".join(line for _, line in tree.lines(root, name))
        patterns = [SAID, ANSWER] if name.as_posix() == "model/management/agent.cpp" else [SAID]
        for found in (found for pattern in patterns for found in pattern.finditer(text)):
            for reason in LITERAL.findall("".join(group or "" for group in found.groups())):
                yield name, text.count("\n", 0, found.start()) + 1, reason


def check(root):
    tables = [name for name in tree.files(root, {".cpp"}) if name.as_posix() == TABLES]
    known = {row for name in tables for row in ROW.findall("\n".join(line for _, line in tree.lines(root, name)))}
    return [f'{name}:{number}: no paragraph explains "{reason}"; {TABLES} has the tables'
            for name, number, reason in said(root) if reason not in known | NO_MISTAKE]


if __name__ == "__main__":
    ROWS = {TABLES: 'constexpr auto drops = {\n    {"no room", {"a rule", "IBA 1", "a cause"}},\n};\n'}
    tree.run(
        check,
        planted=[
            (ROWS | {"model/hca/a.cpp": '    return drop(packet, "too late", at);\n'}, '"too late"'),
            (ROWS | {"model/hca/a.cpp": '        return ignore("too early");\n'}, '"too early"'),
            (ROWS | {"model/hca/a.cpp": '    drop(packet,\n         "too wide", at);\n'}, 'a.cpp:1: no paragraph explains "too wide"'),
            (ROWS | {"firmware/a.cpp": '    emit(at, traces::DoorbellIgnored{slot, 0, is_odd ? "no room" : "odd"});\n'}, '"odd"'),
            (ROWS | {"model/management/route.cpp": '        return {drop, 0, "nowhere"};\n'}, '"nowhere"'),
            (ROWS | {"model/management/agent.cpp": '        return "nobody";\n'}, '"nobody"'),
            ({"model/hca/a.cpp": '    return drop(packet, "no room", at);\n'}, '"no room"'),
        ],
        clean=ROWS | {"model/hca/a.cpp": '    return drop(packet, "no room", at);\n    drop(packet, wire::name(parsed.error()), at);\n'},
    )
