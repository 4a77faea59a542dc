"""scale.py --hcasim PROGRAM [--messages N] [--check]: what a message of an all-to-all costs the simulator, by hosts.

Each host writes 4 KiB to each other one, at switches in two levels. It has 63 queue pairs (or nearly so), dealt to the
others, and one message under way on each, so that what a host does is the same whatever their number. The cost of a
message is the difference of two runs of different length, so that setting hosts and queue pairs up counts nothing;
it is the processor's time, which other programs do not change. With --check: 1 where the last run took more than ten
minutes or 8 GiB, or where a message costs more than 1.2 times what it costs with two hosts.
"""

import argparse
import json
import os
import pathlib
import sys
import tempfile
import time

MOST_SECONDS, MOST_BYTES, MOST_RATIO = 600, 8 << 30, 1.2
HOSTS_AT_A_LEAF, SPINES, QUEUE_PAIRS = 16, 8, 63

CONFIG = """[scenario]
name = "traffic"
message = "4 KiB"
queue_depth = 1
qps = {qps}
[traffic]
pattern = "all_to_all"
warm_up = 0
messages = {messages}
[link]
encapsulation = "infiniband"
[[hosts]]
name = "node"
count = {hosts}
memory = "1 GiB"
parts = ["root0.sw0.hca0"]
[fabric]
switches = [{{ name = "leaf0..{last_leaf}", ports = 36 }}, {{ name = "spine0..{last_spine}", ports = 36 }}]
cables = ["node0..{last}.hca0 -- leaf0..{last_leaf}", "leaf0..{last_leaf} >< spine0..{last_spine}"]
"""


class Run:
    """One run of the program, with the time and memory that it took."""

    def __init__(self, program, folder, hosts, messages):
        leaves = max(2, hosts // HOSTS_AT_A_LEAF)
        config, out = folder / f"{hosts}.toml", folder / "result.json"
        config.write_text(CONFIG.format(qps=QUEUE_PAIRS // (hosts - 1), messages=messages, hosts=hosts,
                                        last=hosts - 1, last_leaf=leaves - 1, last_spine=SPINES - 1))
        begin = time.monotonic()
        child = os.posix_spawn(program, [program, "run", str(config), "--quiet", "--json", str(out)], os.environ)
        _, status, used = os.wait4(child, 0)
        self.wall = time.monotonic() - begin
        if status != 0:
            sys.exit(f"scale.py: {hosts} hosts: the run ended with {os.waitstatus_to_exitcode(status)}")
        self.processor, self.bytes = used.ru_utime + used.ru_stime, used.ru_maxrss << 10
        self.done = json.loads(out.read_text())["traffic"][0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hcasim", required=True, help="the program, of a release build")
    parser.add_argument("--messages", type=int, default=1_000_000, help="of the last run (1000000)")
    parser.add_argument("--check", action="store_true", help="end with 1 where it takes more than it should")
    arguments = parser.parse_args()
    program = str(pathlib.Path(arguments.hcasim).resolve())
    few, many = max(1, arguments.messages // 20), max(2, arguments.messages // 5)
    print(f"{'hosts':>6} {'us a message':>13} {'to two hosts':>13} {'set-up, s':>10} {'MiB':>7} {'M/s simulated':>14} "
          f"{'Gb/s simulated':>15}")
    costs = {}
    with tempfile.TemporaryDirectory(prefix="hcasim-scale-") as name:
        folder = pathlib.Path(name)
        for hosts in (2, 4, 8, 16, 32, 64):
            short, long = Run(program, folder, hosts, few), Run(program, folder, hosts, many)
            # What is under way at the end is done, too: `checked` counts all messages.
            cost = (long.processor - short.processor) / (long.done["checked"] - short.done["checked"])
            costs[hosts] = cost
            set_up = max(0.0, short.processor - cost * short.done["checked"])
            print(f"{hosts:>6} {cost * 1e6:>13.2f} {cost / costs[2]:>13.2f} {set_up:>10.2f} {long.bytes >> 20:>7} "
                  f"{long.done['messages_per_second'] / 1e6:>14.2f} "
                  f"{long.done['rate_bytes_per_second'] * 8e-9:>15.1f}", flush=True)
        last = Run(program, folder, 64, arguments.messages)
    print(f"\n64 hosts, {last.done['messages']:,} messages: {last.wall:.1f} s ({last.processor:.1f} s of a processor), "
          f"{last.bytes / 2**30:.2f} GiB")
    worst = max(costs.values()) / costs[2]
    if arguments.check and (last.wall > MOST_SECONDS or last.bytes > MOST_BYTES or worst > MOST_RATIO):
        sys.exit(f"scale.py: more than {MOST_SECONDS} s, {MOST_BYTES >> 30} GiB or {MOST_RATIO} times the cost with "
                 f"two hosts ({worst:.2f})")


main()
