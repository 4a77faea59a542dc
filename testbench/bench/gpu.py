"""gpu.py --hcasim PROGRAM --source TREE: GPUs that drive drives and HCAs, beside published figures, in simulated time.

Shapes, not speeds of this machine: puts a second against the number of threads that have a queue pair each (IBGDA),
reads a second against queue pairs and depth (BaM), and the time of one command. Each row has what the model says, what
was published, their ratio, and what the model was busy with. The last lines say how fast the simulator itself was.
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import time

RDMA, NVME, HOST = ("platform/configs/gpu_rdma.toml", "platform/configs/gpu_nvme.toml",
                    "platform/configs/gpudirect.toml")


class Bench:
    def __init__(self, arguments, folder):
        self.arguments, self.folder = arguments, folder
        self.wall, self.moved = 0.0, 0

    def payload(self, count):
        path = self.folder / f"payload{count}"
        if not path.exists():
            path.write_bytes(random.Random(1).randbytes(count))
        return path

    def run(self, config, size, *sets):
        words = [word for one in sets for word in ("--set", one)]
        done = subprocess.run([self.arguments.hcasim, "run", config, "--quiet", "--payload", str(self.payload(size)),
                               *words, "--json", "-"], cwd=self.arguments.source, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"gpu.py: {config} {' '.join(sets)}: ended with {done.returncode}: {done.stderr.strip()}")
        result = json.loads(done.stdout)
        self.wall += result["transfers"][0]["wall_seconds"]
        self.moved += sum(one["bytes"] for one in result["transfers"])
        return result


def busiest(result, device):
    """What the device's times were made of, as far as it says."""
    for one in result.get("bottlenecks", []):
        if one["name"] == device:
            return f"{one['busiest']}, {100 * one['load']:.0f} %"
    return "latencies: nothing was busy throughout"


def row(what, model, published, unit, bound):
    ratio = f"{model / published:6.2f}" if published else "      "
    figure = f"{published:9.2f}" if published else "        -"
    print(f"  {what:<58} {model:9.2f} {figure} {ratio}  {unit:<8} {bound}")


def heading(text, note):
    print(f"\n{text}\n  {note}\n  {'':<58} {'model':>9} {'published':>9} {'ratio':>6}")


def puts(bench):
    heading("Puts from a GPU (IBGDA; NVIDIA's blog on a ConnectX-6: by the GPU about 180 Mops with 8 CTAs and more, by "
            "a CPU proxy 1.7 Mops flat)",
            "64 bytes a put, 32 under way a thread, a doorbell for each that becomes free; both GPUs put at once")
    rates = {}
    for threads in (1, 2, 4, 8, 16, 32):
        result = bench.run(RDMA, 256 << 10, f"scenario.qps={threads}", "scenario.message=64", "scenario.queue_depth=32",
                           "A.gpu0.profile=1", "B.gpu0.profile=1")
        exchange = result["transfers"][0]
        rates[threads] = exchange["messages"] / exchange["sim_time_ns"] * 1e3
        row(f"{threads} threads", rates[threads], 180 if threads >= 8 else None, "Mops", busiest(result, "A.hca0"))
    proxy = bench.run(HOST, 64 << 10, "scenario.message=64", "scenario.queue_depth=32")
    seconds = proxy["transfers"][0]["sim_time_ns"] * 1e-9
    row("by a processor, whose own software takes no time here", proxy["transfers"][0]["messages"] / seconds / 1e6, 1.7,
        "Mops", busiest(proxy, "A.hca0"))
    row("32 threads beside one (published: scales to 8 CTAs)", rates[32] / rates[1], None, "times", "")


def reads(bench):
    heading("Commands from a GPU to one drive (BaM: 4 KiB from one Samsung drive, 0.80 M/s with 128 queue pairs)",
            "4 KiB a command, half of them writes, queues in VRAM; the drive's own times are the configuration's")
    for queues, depth in ((1, 1), (1, 16), (4, 16), (16, 16), (64, 16)):
        result = bench.run(NVME, max(256 << 10, queues * depth * 16 << 10), f"scenario.qps={queues}",
                           f"scenario.queue_depth={depth}", "scenario.message=4 KiB", "A.gpu0.profile=1")
        moved = result["transfers"][0]
        seconds = moved["sim_time_ns"] * 1e-9
        row(f"{queues} queue pairs, {depth} under way on each", moved["messages"] / seconds / 1e6,
            0.80 if queues >= 64 else None, "M/s", busiest(result, "A.nvme0"))


def one_command(bench):
    heading("One command of 512 bytes at a time (ROCm XIO: everything in VRAM 35.1 us, queues in the host 38.4 us)",
            "which is the drive's time for the most part: another drive, another figure")
    result = bench.run(NVME, 64 << 10, "scenario.qps=1", "scenario.queue_depth=1", "scenario.message=4 KiB",
                       "A.gpu0.profile=1")
    moved = result["transfers"][0]
    row("queues and data in VRAM, 4 KiB", moved["sim_time_ns"] * 1e-3 / moved["messages"], 35.1, "us",
        busiest(result, "A.nvme0"))


def memcpy_rate():
    block = bytearray(64 << 20)
    begin = time.perf_counter()
    for _ in range(8):
        bytes(block)
    return 8 * len(block) / (time.perf_counter() - begin)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hcasim", required=True, help="the program, of a release build")
    parser.add_argument("--source", default=".", help="the tree, which has the configurations")
    arguments = parser.parse_args()
    arguments.hcasim = str(pathlib.Path(arguments.hcasim).resolve())
    with tempfile.TemporaryDirectory(prefix="hcasim-gpu-") as folder:
        bench = Bench(arguments, pathlib.Path(folder))
        print("Simulated time. The ratio is the model's figure by the published one; no figure was fitted.")
        puts(bench)
        reads(bench)
        one_command(bench)
        copied = memcpy_rate()
        print(f"\nThe simulator: {bench.moved / bench.wall / 1e6:.1f} MB a second in small requests of GPU programs; "
              f"memcpy here: {copied / 1e9:.1f} GB a second.")


main()
