#!/usr/bin/python3 -B
"""Breaks guards of the model one at a time and sees which test notices (README.md beside)."""

import argparse
import collections
import concurrent.futures
import hashlib
import json
import math
import pathlib
import re
import sys
import time

import build
import run
import table

# How often a kind is drawn, beside the others: what refuses, bounds and orders before what reports.
WEIGHT = {"never": 4, "operand": 4, "bound": 3, "call": 4, "always": 1, "plus": 1, "clamp": 2, "wrap": 3,
          "assign": 1}
ROOT = pathlib.Path(__file__).resolve().parents[2]


def sample(found, rooms, seed, count):
    """So many mutants, evenly over the rooms; the same for the same seed, whatever else there is."""
    queues = {room: [] for room in rooms}
    for key, mutant in found.items():
        draw = (int.from_bytes(hashlib.sha256(f"{seed}\t{key}".encode()).digest()[:8], "big") + 1) / 2**64
        queues[table.room_of(mutant.file, rooms)].append((-math.log(draw) / WEIGHT[mutant.kind], key))
    for queue in queues.values():
        queue.sort(reverse=True)
    chosen = []
    while len(chosen) < count and any(queues.values()):
        for room in rooms:
            if queues[room] and len(chosen) < count:
                chosen.append(queues[room].pop()[1])
    return chosen


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--room", action="append", choices=build.ROOMS, metavar="ROOM",
                        help="only of this room; may be repeated")
    parser.add_argument("--seed", type=int, default=1, help="of the sample (default 1)")
    parser.add_argument("--count", type=int, default=300, help="so many mutants, evenly over the rooms (default 300)")
    parser.add_argument("--grep", help="only those whose file or line match this regular expression, without a sample")
    parser.add_argument("--table", action="store_true", help="those of RESULTS.md in the place of a sample")
    parser.add_argument("--survivors", action="store_true", help="of those, only what did not die the last time")
    parser.add_argument("--levels", default="unit", help="unit, conformance, module, with commas (default unit)")
    parser.add_argument("--jobs", type=int, default=1, help="of the build (default 1)")
    parser.add_argument("--longest", type=float, default=5,
                        help="cases that take longer, in s, are not used (default 5)")
    parser.add_argument("--kept", action="store_true", help="what an earlier run has killed is not tried again")
    parser.add_argument("--workers", type=int, default=1, help="mutants that are tried at once (default 1)")
    parser.add_argument("--no-build", action="store_true", help="use the programs as they are")
    parser.add_argument("--list", action="store_true", help="print the mutants and stop")
    parser.add_argument("--write", action="store_true", help="write RESULTS.md, which keeps what was not tried now")
    parser.add_argument("--prune", action="store_true", help="drop rows of RESULTS.md whose line is gone, and stop")
    return parser.parse_args()


def main():
    options, path = arguments(), ROOT / table.NAME
    old = table.parse(path.read_text()) if path.exists() else []
    if options.prune:
        write(path, [row for row in old if table.is_there(ROOT, row.mutant.file, row.mutant.text)])
        return
    reasons = table.explanations(ROOT)
    gone = [one for one in reasons if not table.is_there(ROOT, one["file"], one["text"])]
    if gone:
        sys.exit("\n".join(f"{table.REASONS}: {one['file']} has no line `{one['text']}`" for one in gone))

    tree = build.Tree(ROOT)
    found = tree.read()
    rooms = options.room or build.ROOMS
    verdicts = tree.base / "verdicts.json"
    known = json.loads(verdicts.read_text()) if verdicts.exists() else {}
    tree.number(found)
    programs = []
    if not options.list:
        for level in options.levels.split(","):
            programs.append(run.Program(tree.build / "testbench" / f"{level}_tests", level, alone=level == "module"))
        if not options.no_build:
            tree.make([program.path.name for program in programs], options.jobs)
    usable = {key: mutant for key, mutant in found.items() if key in tree.numbers and
              any(mutant.file.startswith(room + "/") for room in rooms) and
              ("module" in options.levels or "_module." not in mutant.file)}
    if options.grep:
        chosen = [key for key, one in usable.items() if re.search(options.grep, f"{one.file}: {one.text}")]
    elif options.table:
        chosen = [row.mutant.key() for row in old if row.mutant.key() in usable]
    else:
        chosen = sample(usable, rooms, options.seed, options.count)
    if options.survivors:
        chosen = [key for key in chosen if not known.get(key, {}).get("killed_by")]
    if options.list:
        for key in chosen:
            one = usable[key]
            print(f"{tree.numbers[key]:6} {one.file}: {one.text}\n       {one.kind}: {one.piece}")
        print(f"{len(chosen)} of {len(usable)} mutants")
        return

    for program in programs:
        begin = time.monotonic()
        program.record(tree.base / f"{program.level}.json")
        print(f"{program.level}: {len(program.cases)} cases in {time.monotonic() - begin:.0f} s", flush=True)
        for name in program.unfit:
            print(f"{program.level}: not used, since it does not pass without a mutant: {name}")
    bench, rows, begin = run.Bench(programs, options.longest), [], time.monotonic()
    pool = concurrent.futures.ThreadPoolExecutor(options.workers)
    taken = {key: run.Verdict(**one) for key, one in known.items() if options.kept and one["killed_by"]}
    judged = pool.map(
        lambda key: (taken[key], 0) if key in taken else run.timed_judge(bench, tree.numbers[key]), chosen)
    for at, (key, (verdict, took)) in enumerate(zip(chosen, judged), 1):
        one = usable[key]
        known[key] = vars(verdict)
        verdicts.write_text(json.dumps(known, indent=0))
        reason = next((each for each in reasons if table.explains(each, one)), None)
        if verdict.killed_by:
            rows.append(table.Row(one, f"{verdict.how}: {verdict.killed_by}"))
            if reason and not reason.get("open") and "kind" in reason:
                print(f"{table.REASONS}: explained, but killed: {one.file}: {one.text}")
        elif reason:
            rows.append(table.Row(one, f"{'open' if reason.get('open') else 'equivalent'}: {reason['why']}"))
        else:
            how = f"none of {verdict.tried} cases notices" if verdict.tried else "no case comes to it"
            rows.append(table.Row(one, f"open: {how}"))
        if not verdict.killed_by:
            print(f"{at}/{len(chosen)} {verdict.how} by {verdict.tried} cases: {one.file}: {one.text}\n"
                  f"    {one.kind}: {one.piece}{'' if reason is None else ' (explained)'}  [{took:.0f} s]", flush=True)
    count = collections.Counter("killed" if row.is_killed else "equivalent" if row.is_equivalent else "open"
                                for row in rows)
    print(f"{len(rows)} mutants in {time.monotonic() - begin:.0f} s: {dict(count)}")
    if options.write:
        tried = {row.mutant.key() for row in rows}
        write(path, rows + [row for row in old if row.mutant.key() not in tried and row.mutant.key() in found])


def write(path, rows):
    path.write_text(table.written(rows, build.ROOMS, "A case is named with its level."))


if __name__ == "__main__":
    main()
