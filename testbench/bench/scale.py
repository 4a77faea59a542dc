"""scale.py --hcasim PROGRAM [--messages N] [--message SIZE] [--check]: what a message of an all-to-all costs, by hosts.

Each host writes 4 KiB to each other one, at switches in two levels, with one message under way on each queue pair.
This is done twice. First each host has 63 queue pairs (or nearly so), dealt to the others, so that what a host does is
the same whatever their number, and so that 64 hosts have 32 times the queue pairs and buffers of two: what a message
costs then grows with the hosts as soon as these do not fit into the processor's caches. Then all hosts together have
4,032 queue pairs, whatever their number: what still grows is owed to the number of hosts.

The cost of a message is the difference of two runs of different length, so that setting hosts and queue pairs up
counts nothing. The HCAs have room for all contexts, since a miss is work, too. It is the processor's time, though
others who use its caches do change it. With --check: 1 where the last run took more than ten minutes or 8 GiB, or where
a message costs more than 1.2 times what it costs with two hosts, with as many queue pairs in all.
"""

import argparse
import json
import os
import pathlib
import sys
import tempfile
import time

MOST_SECONDS, MOST_BYTES, MOST_RATIO = 600, 8 << 30, 1.2
HOSTS_AT_A_LEAF, SPINES = 16, 8
HOSTS = (2, 4, 8, 16, 32, 64)
QUEUE_PAIRS_OF_A_HOST, QUEUE_PAIRS_OF_ALL = 63, 63 * 64

CONFIG = """[scenario]
name = "traffic"
message = "{size}"
queue_depth = 1
qps = {qps}
[traffic]
pattern = "all_to_all"
warm_up = 0
messages = {messages}
[link]
encapsulation = "infiniband"
[hca]
qp_cache_entries = 8192
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

    def __init__(self, bench, hosts, queue_pairs, messages):
        leaves = max(2, hosts // HOSTS_AT_A_LEAF)
        config, out = bench.folder / f"{hosts}.toml", bench.folder / "result.json"
        config.write_text(CONFIG.format(size=bench.size, qps=queue_pairs // (hosts - 1), messages=messages,
                                        hosts=hosts, last=hosts - 1, last_leaf=leaves - 1, last_spine=SPINES - 1))
        program = bench.program
        begin = time.monotonic()
        child = os.posix_spawn(program, [program, "run", str(config), "--quiet", "--json", str(out)], os.environ)
        _, status, used = os.wait4(child, 0)
        self.wall = time.monotonic() - begin
        if status != 0:
            sys.exit(f"scale.py: {hosts} hosts: the run ended with {os.waitstatus_to_exitcode(status)}")
        self.processor, self.bytes = used.ru_utime + used.ru_stime, used.ru_maxrss << 10
        self.done = json.loads(out.read_text())["traffic"][0]


class Bench:
    """The program, and what its runs are made of."""

    def __init__(self, program, folder, size, messages):
        self.program, self.folder, self.size = str(pathlib.Path(program).resolve()), pathlib.Path(folder), size
        self.messages = messages

    def table(self, title, queue_pairs_of):
        """Prints a row for each number of hosts; returns the greatest cost, in that with two hosts."""
        print(f"{title}\n{'hosts':>6} {'us a message':>13} {'to two hosts':>13} {'set-up, s':>10} {'MiB':>7} "
              f"{'M/s simulated':>14} {'Gb/s simulated':>15}")
        costs = {}
        for hosts in HOSTS:
            few, many = max(1, self.messages // 20), max(2, self.messages // 5)
            short, long = (Run(self, hosts, queue_pairs_of(hosts), count) for count in (few, many))
            # What is under way at the end is done, too: `checked` counts all messages.
            cost = (long.processor - short.processor) / (long.done["checked"] - short.done["checked"])
            costs[hosts] = cost
            set_up = max(0.0, short.processor - cost * short.done["checked"])
            print(f"{hosts:>6} {cost * 1e6:>13.2f} {cost / costs[2]:>13.2f} {set_up:>10.2f} {long.bytes >> 20:>7} "
                  f"{long.done['messages_per_second'] / 1e6:>14.2f} "
                  f"{long.done['rate_bytes_per_second'] * 8e-9:>15.1f}", flush=True)
        return max(costs.values()) / costs[2]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hcasim", required=True, help="the program, of a release build")
    parser.add_argument("--messages", type=int, default=1_000_000, help="of the last run (1000000)")
    parser.add_argument("--message", default="4 KiB", help="bytes of each ('4 KiB')")
    parser.add_argument("--check", action="store_true", help="end with 1 where it takes more than it should")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hcasim-scale-") as folder:
        bench = Bench(arguments.hcasim, folder, arguments.message, arguments.messages)
        bench.table(f"{QUEUE_PAIRS_OF_A_HOST} queue pairs a host", lambda hosts: QUEUE_PAIRS_OF_A_HOST)
        worst = bench.table(f"\n{QUEUE_PAIRS_OF_ALL:,} queue pairs in all", lambda hosts: QUEUE_PAIRS_OF_ALL // hosts)
        last = Run(bench, HOSTS[-1], QUEUE_PAIRS_OF_A_HOST, arguments.messages)
    print(f"\n{HOSTS[-1]} hosts, {last.done['messages']:,} messages: {last.wall:.1f} s ({last.processor:.1f} s of a "
          f"processor), {last.bytes / 2**30:.2f} GiB")
    if arguments.check and (last.wall > MOST_SECONDS or last.bytes > MOST_BYTES or worst > MOST_RATIO):
        sys.exit(f"scale.py: more than {MOST_SECONDS} s, {MOST_BYTES >> 30} GiB or {MOST_RATIO} times the cost with "
                 f"two hosts ({worst:.2f})")


main()
