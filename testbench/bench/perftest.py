"""perftest.py --hcasim PROGRAM [--profile FILE] [--quick]: what perftest would print of the simulated ConnectX-6 Dx.

Each line is a run of the scenario `traffic` on platform/profiles/connectx6dx.toml by perftest's method: bandwidth with
128 messages under way on a queue pair, a completion for each hundred, posted in bursts by one core; READs and atomics
with 16 under way; latency with one message at a time, inline up to 220 bytes, half of the way there and back (of READs
and atomics the whole way). Beside it stands what was published, with its source; not every source names its card, and
no figure of this table was fitted (the profile was: platform/profiles/README.md).
"""

import argparse
import json
import pathlib
import subprocess
import sys

SIZES = (2, 8, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576)
# by test and bytes: figure and source. perftest's MB are 2^20 bytes.
PUBLISHED_BANDWIDTH = {
    ("write", 2): (2.637, "M/s", "1"), ("write", 8): (2.641, "M/s", "1"), ("write", 65536): (98.4, "Gb/s", "2"),
    ("read", 2): (2.450, "M/s", "3"), ("read", 8): (2.556, "M/s", "3"), ("read", 64): (2.546, "M/s", "3"),
}
PUBLISHED_LATENCY = {("write", 2): (0.80, "4"), ("read", 2): (1.91, "5")}
SOURCES = """
1 linux-rdma/perftest issue 132: ib_write_bw -a, one queue pair, InfiniBand; the card is not named
2 linux-rdma/perftest issue 225: ib_write_bw, 100 Gb/s InfiniBand, 11728 MB/s; the card is not named
3 openucx/ucx issue 8852: ib_read_bw -a, one queue pair, 16 outstanding, InfiniBand; the card is not named
4 product brief of the ConnectX-6: below 0.8 us
5 linux-rdma/perftest issue 131: a ConnectX-5
6 Husky, NSDI 2023: about 5 million atomics a second, many queue pairs"""


class Perftest:
    def __init__(self, arguments):
        self.arguments = arguments

    def run(self, *sets):
        words = [word for one in sets for word in ("--set", one)]
        done = subprocess.run([self.arguments.hcasim, "run", self.arguments.profile, "--quiet", "--json", "-", *words,
                               "--set", "scenario.name=traffic"], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"perftest.py: {' '.join(sets)}: ended with {done.returncode}: {done.stderr.strip()}")
        return json.loads(done.stdout)["traffic"][0]

    def bandwidth(self, verb, size, queue_pairs=1, *more):
        messages = max(512, min(20_000 if not self.arguments.quick else 4_000, (64 << 20) // size))
        return self.run(f"traffic.verbs={verb}", f"scenario.message={size}", "scenario.queue_depth=128",
                        f"scenario.qps={queue_pairs}", "traffic.order=bursts", "traffic.signal_every=100",
                        f"traffic.warm_up={256 * queue_pairs}", f"traffic.messages={messages}", *more)

    def latency(self, verb, size):
        inline = 220 if verb in ("write", "send") else 0
        return self.run(f"traffic.verbs={verb}", f"scenario.message={size}", "traffic.direction=ping_pong",
                        f"traffic.inline={inline}", "traffic.blue_flame=true", "traffic.warm_up=100",
                        "traffic.messages=1000")


def bottleneck_of(done):
    waits = done["rnr_waits"]
    return done["bottleneck"] + (f"; {waits} pauses, since the receiver had no receive ready" if waits else "")


def bandwidths(test, verb, name):
    print(f"\n{name}: one queue pair, 128 under way\n  {'#bytes':>8} {'BW average[Gb/sec]':>19} {'MsgRate[Mpps]':>14} "
          f"{'published':>14}  bottleneck")
    for size in SIZES if verb != "fetch_add" else (8,):
        done = test.bandwidth(verb, size)
        gigabits, rate = done["rate_bytes_per_second"] * 8e-9, done["messages_per_second"] / 1e6
        shown = ""
        if (verb, size) in PUBLISHED_BANDWIDTH:
            figure, unit, source = PUBLISHED_BANDWIDTH[verb, size]
            shown = f"{figure:g} {unit} [{source}]"
        print(f"  {size:>8} {gigabits:>19.2f} {rate:>14.3f} {shown:>14}  {bottleneck_of(done)}", flush=True)


def latencies(test, verb, name):
    print(f"\n{name}: one at a time\n  {'#bytes':>8} {'t_min[usec]':>12} {'t_max[usec]':>12} {'t_typical[usec]':>16} "
          f"{'t_avg[usec]':>12} {'99% [usec]':>11} {'99.9% [usec]':>13} {'published':>10}")
    for size in SIZES[:-2] if verb != "fetch_add" else (8,):
        done = test.latency(verb, size)
        shown = "{0[0]:g} [{0[1]}]".format(PUBLISHED_LATENCY[verb, size]) if (verb, size) in PUBLISHED_LATENCY else ""
        times = [done[f"latency_{word}_ns"] / 1000 for word in ("min", "max", "p50", "mean", "p99", "p99_9")]
        print(f"  {size:>8} {times[0]:>12.2f} {times[1]:>12.2f} {times[2]:>16.2f} {times[3]:>12.2f} {times[4]:>11.2f} "
              f"{times[5]:>13.2f} {shown:>10}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hcasim", required=True, help="the program, of a release build")
    parser.add_argument("--profile", default="platform/profiles/connectx6dx.toml", help="the card (connectx6dx.toml)")
    parser.add_argument("--quick", action="store_true", help="fewer messages")
    arguments = parser.parse_args()
    arguments.hcasim = str(pathlib.Path(arguments.hcasim).resolve())
    test = Perftest(arguments)
    print(f"Simulated by the method of perftest on {arguments.profile}.")
    for verb in ("write", "read", "send", "fetch_add"):
        bandwidths(test, verb, f"ib_{verb.replace('fetch_add', 'atomic')}_bw")
    many = test.bandwidth("fetch_add", 8, 64, "traffic.counters=65536", "traffic.access=uniform", "traffic.cores=8",
                          "scenario.queue_depth=4", "traffic.signal_every=1", "traffic.order=round_robin")
    print("\nib_atomic_bw, 64 queue pairs with 4 under way on each, 65536 counters: "
          f"{many['messages_per_second'] / 1e6:.2f} Mpps (published: about 5 [6])  {many['bottleneck']}")
    for verb in ("write", "read", "send", "fetch_add"):
        latencies(test, verb, f"ib_{verb.replace('fetch_add', 'atomic')}_lat")
    print(SOURCES)


main()
