"""Rules of the specifications and the tests that fail when one is broken (testbench/conformance/rules.tsv): each test
that is named exists, each chapter is written as its specification writes it, and there are enough of both."""

import pathlib
import re

import tree

TABLE = pathlib.Path("testbench/conformance/rules.tsv")
COLUMNS = ["specification", "chapter", "rule", "test", "proof"]
LEAST = 200
PROVED = "proved"  # the rule was broken in the code, and the test was seen to fail

NUMBERED = re.compile(r"(A\d+|\d+)(\.\d+)*")
SECTION = re.compile(r"§\d+(\.\d+)*")
NAMED = re.compile(r'"[^"]+"')
CHAPTERS = {
    "IBA": NUMBERED,
    "RoCEv2": NUMBERED,
    "RFC 3168": NUMBERED,
    "IEEE 802.1Q": NUMBERED,
    "PCIe": SECTION,
    "PRM": NAMED,
    "VT-d": NAMED,
    "NVMe base 2.0": NAMED,
    "NVM command set 1.0": NAMED,
    "vfio-user": NAMED,
}

CASE = re.compile(r'\bTEST_CASE(?:_METHOD)?\(\s*(?:\w+,\s*)?((?:"(?:[^"\\]|\\.)*"\s*)+)')
PIECE = re.compile(r'"((?:[^"\\]|\\.)*)"')


def tests(root):
    """Names of all cases as the table has them: the level, which is the folder below testbench, and the case."""
    found = set()
    for name in tree.files(root, {".cpp"}):
        if name.parts[0] != "testbench" or not name.name.endswith("_test.cpp"):
            continue
        text = "\n".join(line for _, line in tree.lines(root, name))
        for case in CASE.findall(text):
            found.add(name.parts[1] + ": " + "".join(PIECE.findall(case)).replace('\\"', '"').replace("\\\\", "\\"))
    return found


def check(root):
    path = pathlib.Path(root) / TABLE
    if not path.is_file():
        return [f"{TABLE}: there is no such table"]
    known = tests(root)
    findings, rules, proved, has_head = [], {}, 0, False
    for number, line in tree.lines(root, TABLE):
        if line.startswith("#"):
            continue
        where = f"{TABLE}:{number}"
        row = line.split("\t")
        if not has_head:
            has_head = True
            if row != COLUMNS:
                findings.append(f"{where}: the columns are {', '.join(COLUMNS)}, between tabulators")
            continue
        if len(row) != len(COLUMNS) or not all(row[:-1]):
            findings.append(f"{where}: {len(COLUMNS)} columns between tabulators, of which the last one may be empty")
            continue
        specification, chapter, rule, test, proof = row
        if specification not in CHAPTERS:
            findings.append(f"{where}: no specification '{specification}'; there are {', '.join(CHAPTERS)}")
        elif not CHAPTERS[specification].fullmatch(chapter):
            findings.append(f"{where}: no chapter of {specification} is written '{chapter}'")
        if test not in known:
            findings.append(f"{where}: no test '{test}'; name the one that fails when the rule is broken")
        if proof not in ("", PROVED):
            findings.append(f"{where}: the proof is '{PROVED}' or nothing, not '{proof}'")
        if (before := rules.setdefault((specification, chapter, rule), number)) != number:
            findings.append(f"{where}: the same rule as in line {before}")
        proved += proof == PROVED
    if len(rules) < LEAST:
        findings.append(f"{TABLE}: {len(rules)} rules, at least {LEAST}")
    elif 5 * proved < len(rules):
        findings.append(f"{TABLE}: {proved} of {len(rules)} rules are proved, at least a fifth")
    return findings


def planted_tree(*rows, count=LEAST, proof=PROVED):
    """A tree with so many good rules, and the rows behind them."""
    good = [f"IBA\t9.7.{i}\ta rule\tunit: it is kept\t{proof}" for i in range(count)]
    return {
        str(TABLE): "\n".join(["# a table", "\t".join(COLUMNS), *good, *rows]) + "\n",
        "testbench/unit/a_test.cpp": 'TEST_CASE("it is "\n          "kept", "[unit]") {}\n',
    }


if __name__ == "__main__":
    tree.run(
        check,
        planted=[
            ({"a.txt": "\n"}, "there is no such table"),
            (planted_tree(count=LEAST - 1), f"{LEAST - 1} rules, at least {LEAST}"),
            (planted_tree(proof=""), "are proved, at least a fifth"),
            (planted_tree("IBA\tA14\tanother\tunit: it is not kept\t"), "no test 'unit: it is not kept'"),
            (planted_tree("IBA\tA14\tanother\tmodule: it is kept\t"), "no test 'module: it is kept'"),
            (planted_tree("IBA\tchapter 9\tanother\tunit: it is kept\t"), "no chapter of IBA is written 'chapter 9'"),
            (planted_tree("PRM\tCQE\tanother\tunit: it is kept\t"), "no chapter of PRM is written 'CQE'"),
            (planted_tree("PCIe\t2.4\tanother\tunit: it is kept\t"), "no chapter of PCIe is written '2.4'"),
            (planted_tree("IBTA\t9.7\tanother\tunit: it is kept\t"), "no specification 'IBTA'"),
            (planted_tree("IBA\t9.7.0\ta rule\tunit: it is kept\t"), "the same rule as in line 3"),
            (planted_tree("IBA\t9.7\tanother\tunit: it is kept\tperhaps"), "not 'perhaps'"),
            (planted_tree("IBA\t9.7\tanother\tunit: it is kept"), "5 columns between tabulators"),
            (planted_tree("IBA\t9.7\t\tunit: it is kept\t"), "5 columns between tabulators"),
        ],
        clean=planted_tree("IBA\tA14\tanother\tunit: it is kept\t", "PCIe\t§2.4.1\tanother\tunit: it is kept\t",
                           'PRM\t"CQE"\tanother\tunit: it is kept\t'),
    )
