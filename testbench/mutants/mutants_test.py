"""A planted file is rewritten, compiled and run with each of its mutants: what a case notices dies, what none can
notice lives, and what does not compile is seen."""

import os
import pathlib
import subprocess
import sys
import tempfile

import build
import mutants
import rewrite
import table

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOY = '''#include <algorithm>
// if (comment) return;
struct Queue {
    unsigned used = 0, size = 4, dropped = 0;
    void forget() { used = 0; }
    bool put(unsigned count) {
        if (count == 0 || used + count > size)
            return false;
        used += count;
        return true;
    }
    unsigned slot(unsigned index) const { return index % size; }
    unsigned room(unsigned wanted) const { return std::min(wanted, size - used); }
    void close() {
        forget();
    }
};
'''
MAIN = '''
int main(int, char** argv) {
    Queue queue;
    switch (argv[1][0]) {
    case 'f': return !(queue.put(4) && !queue.put(1));
    case 'z': return queue.put(0);
    case 's': return queue.slot(5) != 1;
    case 'c': return queue.put(2), queue.close(), queue.used != 0;
    default: return queue.room(9) != 4;
    }
}
'''
CASES = "fzscr"
# (kind, piece): the cases that notice; "" is what lives.
EXPECTED = {
    ("never", "count == 0 || used + count > size"): "fz",
    ("always", "count == 0 || used + count > size"): "f",
    ("operand", "count == 0"): "z",
    ("operand", "used + count > size"): "f",
    ("bound", "used + count > size"): "f",
    ("assign", "used += count"): "f",
    ("wrap", "index % size"): "s",
    ("call", "forget()"): "c",
}


def main():
    with tempfile.TemporaryDirectory() as scratch:
        source = rewrite.Source("model/toy.h", TOY)
        numbers = {mutant.key(): number for number, (mutant, _, _) in enumerate(source.found, 1)}
        path = pathlib.Path(scratch) / "toy.cpp"
        path.write_text(source.rewritten(numbers) + MAIN)
        program = str(pathlib.Path(scratch) / "toy")
        subprocess.run(["c++", "-std=c++23", "-w", f"-I{ROOT}", str(path), "-o", program], check=True)
        assert not failing(program, 0), "the toy does not pass without a mutant"
        noticed = {}
        for mutant, _, _ in source.found:
            noticed.setdefault((mutant.kind, mutant.piece), []).append(failing(program, numbers[mutant.key()]))
        for pair, cases in EXPECTED.items():
            assert noticed.pop(pair) == [cases], f"{pair}: noticed by {noticed.get(pair)}, not by {cases}"
        # Of the two clamps, the one takes what is wanted, the other what there is, which is right in this case.
        assert noticed.pop(("clamp", "std::min(wanted, size - used)")) == ["r", ""], noticed
        assert not noticed, f"guards that nobody planted: {noticed}"

    # The compiler's words name the line; the mutants of that line and no others are left out.
    tree = build.Tree(ROOT)
    tree.sources, tree.refused, tree.numbers = {"model/toy.h": source}, set(), dict(numbers)
    tree._refuse(f"{tree.copy}/model/toy.h:12:45: error: no match\n")
    assert {key.split("\t")[3] for key in tree.refused} == {"wrap"}, tree.refused

    # The same sample for the same seed, and a table that reads as it was written.
    found = {mutant.key(): mutant for mutant, _, _ in source.found}
    chosen = mutants.sample(found, ["model"], 7, 5)
    assert len(chosen) == 5 and chosen == mutants.sample(dict(reversed(found.items())), ["model"], 7, 5)
    rows = [table.Row(mutant, "failed: unit: a | b") for mutant in found.values()]
    again = table.parse(table.written(rows, ["model"], "-"))
    assert {row.mutant for row in again} == set(found.values()) and again[0].verdict == rows[0].verdict
    print(f"{len(found)} planted guards")


def failing(program, number):
    environment = dict(os.environ, HCASIM_MUTANT=str(number))
    return "".join(case for case in CASES if subprocess.run([program, case], env=environment, check=False).returncode)


if __name__ == "__main__":
    sys.exit(main())
