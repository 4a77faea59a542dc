"""pyverbs_table.py DIRECTORY: judges DIRECTORY/pyverbs.json and writes testbench/conformance/pyverbs.md.

Prints what is wrong, a line each: tests that did not pass, skips for which pyverbs_skips.txt has no row, and rows that
no skip needs any more. The table has no times and a fixed order: the same outcome is the same file. --self-test proves
the judgement.
"""

import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
SKIPS = HERE / "pyverbs_skips.txt"
TABLE = HERE.parent / "conformance/pyverbs.md"


def read_skips(text):
    """Rows `test  |  reason that the test gives  |  what we do not have`; the first two are patterns. A fourth part `by
    chance` says that the test draws what it asks for: a run need not have the skip."""
    rows = []
    for number, row in enumerate(text.splitlines(), 1):
        if not row.strip() or row.startswith("#"):
            continue
        parts = [part.strip() for part in row.split("  |  ")]
        if len(parts) not in (3, 4) or not all(parts) or parts[3:] not in ([], ["by chance"]):
            raise ValueError(f"pyverbs_skips.txt:{number}: a row is `test  |  reason  |  what we do not have`, "
                             "or that and `  |  by chance`")
        rows.append((re.compile(parts[0]), re.compile(parts[1]), parts[2], len(parts) == 4))
    return rows


def first_words(text):
    """Of a traceback the last line; without addresses and numbers of a run."""
    line = text.strip().splitlines()[-1] if text.strip() else ""
    return re.sub(r"0x[0-9a-f]+", "0x...", line).replace("|", "/")


def judge(results, skips):
    """Findings, and the table's rows (test, verdict, reason)."""
    findings, rows, used = [], [], set()
    for test, verdict, text in sorted(results):
        said = first_words(text)
        reason = said
        if verdict == "skipped":
            row = next((index for index, (name, why, *_) in enumerate(skips) if name.search(test) and why.search(said)),
                       None)
            if row is None:
                findings.append(f"{test} is skipped, and the list does not say that it may be: {said}")
            else:
                used.add(row)
                reason = f"{skips[row][2]} ({said})"
        elif verdict != "passed":
            findings.append(f"{test} {verdict}: {said}")
        # Some tests throw dice for what they want: the table is the same whatever they threw.
        chance = next((row for row in skips if row[3] and row[0].search(test)), None)
        if chance and verdict in ("passed", "skipped"):
            verdict, reason = "by chance", f"it passes, or throws dice for {chance[2]} and is skipped"
        rows.append((test, verdict, reason))
    findings += [f"no test is skipped any more for: {skips[index][2]}" for index in range(len(skips))
                 if index not in used and not skips[index][3]]
    if not results:
        findings.append("there are no results")
    return findings, rows


def print_table(rows):
    counts = {verdict: sum(row[1] == verdict for row in rows)
              for verdict in ("passed", "failed", "skipped", "by chance", "crashed", "hung")}
    lines = ["# rdma-core's tests on the simulated card", "",
             "Written by `./dev test guest pyverbs`: the tests of Debian's `python3-pyverbs`, unchanged, in a guest "
             "with stock",
             "`mlx5_core` and `mlx5_ib`. A skip is a capability that we do not advertise.", "",
             "| " + " | ".join(counts) + " | all |", "|" + "---:|" * (len(counts) + 1),
             "| " + " | ".join(map(str, counts.values())) + f" | {len(rows)} |", "", "| test | verdict | reason |",
             "|---|---|---|"]
    lines += [f"| {test.removeprefix('tests.')} | {verdict} | {reason} |" for test, verdict, reason in rows]
    return "\n".join(lines) + "\n"


def prove():
    skips = read_skips("test_x  |  not supported  |  no x\ntest_y  |  .  |  no y\n")
    results = [["test_b", "passed", ""], ["test_x.a", "skipped", "x is not supported"], ["test_y", "skipped", "why"]]
    findings, rows = judge(results, skips)
    assert findings == [] and [row[0] for row in rows] == ["test_b", "test_x.a", "test_y"], findings
    assert rows[1][2] == "no x (x is not supported)"
    for planted, seen in ((["test_f", "failed", "Traceback\nError: at 0x7fab"], "test_f failed: Error: at 0x..."),
                          (["test_h", "hung", "not done"], "test_h hung"),
                          (["test_z", "skipped", "not supported"], "test_z is skipped")):
        findings, _ = judge(results + [planted], skips)
        assert len(findings) == 1 and findings[0].startswith(seen), findings
    dice = read_skips("test_x|_y  |  .  |  no x\ntest_b  |  .  |  no b  |  by chance\n")
    for verdict in ("passed", "skipped"):
        findings, rows = judge([["test_b", verdict, "why"], *results[1:]], dice)
        assert findings == [] and rows[0] == ("test_b", "by chance",
                                              "it passes, or throws dice for no b and is skipped"), rows
    assert judge(results[:2], skips)[0] == ["no test is skipped any more for: no y"]
    assert judge(results, read_skips("test_x|_y  |  .  |  no x\ntest_c  |  .  |  no c  |  by chance\n"))[0] == []
    assert judge([], [])[0] == ["there are no results"]


def main():
    if sys.argv[1:] == ["--self-test"]:
        prove()
        read_skips(SKIPS.read_text())
        print("planted results are found")
        return 0
    results = pathlib.Path(sys.argv[1]) / "pyverbs.json"
    if not results.exists():
        print("the tests of pyverbs left no results")
        return 1
    findings, rows = judge(json.loads(results.read_text()), read_skips(SKIPS.read_text()))
    text = print_table(rows)
    if not TABLE.exists() or TABLE.read_text() != text:
        TABLE.write_text(text)
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
