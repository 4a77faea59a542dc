"""The table of mutants is true of the tree (testbench/mutants): each line that was broken is there still, each case
that noticed has its name still, and what may live is explained."""

import pathlib
import sys

import tree

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "mutants"))
import table  # noqa: E402


def check(root):
    return table.inconsistencies(root)


ROW = "| `if (is_full)` | never: `is_full` | {} |\n"
CODE = {"model/hca/a.cpp": "void f() {\n    if (is_full)\n        return;\n}\n",
        "testbench/unit/a_test.cpp": 'TEST_CASE("a full queue takes "\n          "nothing", "[unit][a]") {}\n'}


def planted(row, **more):
    return {**CODE, table.NAME: "### model/hca/a.cpp\n\n" + row, **more}


REASON = '[[mutant]]\nfile = "model/hca/a.cpp"\ntext = "{}"\nwhy = "it costs time only"\n'

if __name__ == "__main__":
    tree.run(
        check,
        planted=[
            (planted(ROW.format("failed: unit: a full queue takes something")), "no case is named"),
            (planted(ROW.replace("full", "gone").format("failed: unit: a full queue takes nothing")), "has no line"),
            (planted(ROW.format("equivalent: it costs time only")), "does not say why"),
            (planted("", **{table.REASONS: REASON.format("if (is_gone)")}), "has no line"),
        ],
        clean=planted(ROW.format("failed: unit: a full queue takes nothing") +
                      ROW.replace("never", "always").format("equivalent: it costs time only"),
                      **{table.REASONS: REASON.format("if (is_full)")}),
    )
