"""The table of what became of each mutant (RESULTS.md), and the explanations of those that may live
(explanations.toml). Both name a guard by its file and the text of its line, so that lines may move."""

import dataclasses
import pathlib
import re
import tomllib

import rewrite

NAME, REASONS = "testbench/mutants/RESULTS.md", "testbench/mutants/explanations.toml"
HEAD = "| guard | change | verdict |\n|---|---|---|\n"
KILLED = re.compile(r"(failed|crashed|hung): (\w+): (.*)")


def code(text):
    return "`" + text.replace("|", "\\|") + "`"


def counted(text, number):
    return text + (f" ({number + 1})" if number else "")


def cells(line):
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


class Row:
    """A mutant and its verdict: "failed: LEVEL: CASE" (or crashed, hung), "equivalent: WHY", "open: WHY"."""

    def __init__(self, mutant, verdict):
        self.mutant, self.verdict = mutant, verdict

    @property
    def is_killed(self):
        return KILLED.fullmatch(self.verdict) is not None

    @property
    def is_equivalent(self):
        return self.verdict.startswith("equivalent: ")

    def line(self):
        one = self.mutant
        change = f"{one.kind}: {counted(code(one.piece), one.again)}"
        return f"| {counted(code(one.text), one.nth)} | {change} | {self.verdict.replace('|', chr(92) + '|')} |\n"


def parse(text):
    """Rows of a table, as `written` made it."""
    rows, file = [], None
    guard, change = re.compile(r"`(.*)`(?: \((\d+)\))?"), re.compile(r"(\w+): `(.*)`(?: \((\d+)\))?")
    for line in text.splitlines():
        if line.startswith("### "):
            file = line[4:].strip()
        elif file and line.startswith("| `"):
            first, second, verdict = cells(line)
            a, b = guard.fullmatch(first), change.fullmatch(second)
            rows.append(Row(rewrite.Mutant(file, a[1], int(a[2] or 1) - 1, b[1], b[2], int(b[3] or 1) - 1), verdict))
    return rows


def room_of(file, rooms):
    return max((room for room in rooms if file.startswith(room + "/")), key=len)


def written(rows, rooms, how):
    """The table of these rows; `how` says how they were made."""
    out = ["# What became of each mutant\n\n",
           f"Written by `testbench/mutants/mutants.py`; see the README beside. {how}\n\n",
           "| room | mutants | killed | equivalent | open | killed of those that are not equivalent |\n",
           "|---|---|---|---|---|---|\n"]
    by_room = {room: [row for row in rows if room_of(row.mutant.file, rooms) == room] for room in rooms}
    for room, ours in [*by_room.items(), ("all", rows)]:
        killed, equivalent = sum(row.is_killed for row in ours), sum(row.is_equivalent for row in ours)
        share = f"{100 * killed / (len(ours) - equivalent):.1f} %" if len(ours) > equivalent else "-"
        numbers = (len(ours), killed, equivalent, len(ours) - killed - equivalent, share)
        out.append(f"| {room} | " + " | ".join(map(str, numbers)) + " |\n")
    out.append("\n" + "".join(f"* {kind}: {meaning}\n" for kind, meaning in rewrite.KINDS.items()))
    file = None
    for row in sorted(rows, key=lambda row: dataclasses.astuple(row.mutant)):
        if row.mutant.file != file:
            file = row.mutant.file
            out += [f"\n### {file}\n\n", HEAD]
        out.append(row.line())
    return "".join(out)


def explanations(root):
    """Rows of explanations.toml: file, text, why; kind and piece where a line has several guards; open = true where it
    is a gap and no equivalent."""
    path = pathlib.Path(root) / REASONS
    return tomllib.loads(path.read_text())["mutant"] if path.exists() else []


def explains(reason, mutant):
    return (reason["file"] == mutant.file and reason["text"] == mutant.text and
            reason.get("kind", mutant.kind) == mutant.kind and reason.get("piece", mutant.piece) == mutant.piece)


def is_there(root, file, text, known={}):
    path = pathlib.Path(root) / file
    if path not in known:
        known[path] = {line.strip() for line in path.read_text().splitlines()} if path.exists() else set()
    return text in known[path]


def case_names(root):
    """Every name of a Catch2 case."""
    names = set()
    for path in (pathlib.Path(root) / "testbench").rglob("*_test.cpp"):
        for match in re.finditer(r'TEST_CASE(?:_\w+)?\(\s*(?:\w+,\s*)?((?:"(?:[^"\\]|\\.)*"\s*)+)', path.read_text()):
            names.add("".join(re.findall(r'"((?:[^"\\]|\\.)*)"', match[1])).replace('\\"', '"').replace("\\\\", "\\"))
    return names


def inconsistencies(root):
    """What of the table and the explanations is no longer true of the tree."""
    findings, path = [], pathlib.Path(root) / NAME
    reasons = explanations(root)
    for reason in reasons:
        if not is_there(root, reason["file"], reason["text"]):
            findings.append(f"{REASONS}: {reason['file']} has no line `{reason['text']}`: explain what it is now")
    if not path.exists():
        return findings
    names = case_names(root)
    for row in parse(path.read_text()):
        one, killed = row.mutant, KILLED.fullmatch(row.verdict)
        if not is_there(root, one.file, one.text):
            findings.append(f"{NAME}: {one.file} has no line `{one.text}`: try its guards again, or --prune the table")
        elif killed and killed[3] not in names and killed[3].rpartition(" - ")[0] not in names:
            findings.append(f'{NAME}: no case is named "{killed[3]}", which killed `{one.text}` of {one.file}')
        elif row.is_equivalent and not any(explains(reason, one) for reason in reasons):
            findings.append(f"{NAME}: `{one.text}` of {one.file} may live and {REASONS} does not say why")
        elif not killed and not row.is_equivalent and not row.verdict.startswith("open: "):
            findings.append(f"{NAME}: `{one.text}` of {one.file} has no verdict: {row.verdict}")
    return findings
