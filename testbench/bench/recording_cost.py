"""recording_cost.py --hcasim PROGRAM --source TREE [--turns N] [--bytes N] [--into FOLDER] [--most RATIO]: what
recording costs a run of the program.

A payload goes from VRAM to VRAM by WRITE, READ and SEND, in messages of 64 KiB: unrecorded, recorded at one HCA, and
recorded at every device, in turns. Prints the medians of the wall times and their ratios to the unrecorded run, for a
payload in which no page is like another and for one that repeats itself. With --most it fails where one is higher.
"""

import argparse
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

MESSAGE = 64 << 10
LIMIT = 2.0  # what recording may cost
WHAT = {"nothing": None, "one HCA": "A.hca0", "all": "all"}


def payloads(count):
    """By name, `count` bytes each. The same ones each time: their contents decide how well they are compressed."""
    numbers = random.Random(1)
    return {"all different": numbers.randbytes(count),
            "all the same": (numbers.randbytes(MESSAGE) * (count // MESSAGE + 1))[:count]}


def run(arguments, payload, recording, at):
    """Seconds that the run took, and bytes of its recording."""
    command = [arguments.hcasim, "run", "platform/configs/gpudirect.toml", "--quiet", "--payload", str(payload),
               "--set", "scenario.message=64 KiB"]
    if at is not None:
        recording.unlink(missing_ok=True)  # truncating the last one's memory is no part of recording
        command += ["--record", str(recording), "--at", at]
    begin = time.perf_counter()
    done = subprocess.run(command, cwd=arguments.source, capture_output=True, text=True)
    seconds = time.perf_counter() - begin
    if done.returncode != 0:
        sys.exit(f"recording_cost.py: {' '.join(command)}: ended with {done.returncode}: {done.stderr.strip()}")
    return seconds, recording.stat().st_size if at is not None else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hcasim", required=True, help="the program, of a release build")
    parser.add_argument("--source", default=".", help="the tree, which has the configuration")
    parser.add_argument("--turns", type=int, default=7, help="runs of each kind; the median counts")
    parser.add_argument("--bytes", type=int, default=50_000_000, help="of the payload")
    parser.add_argument("--into", help="where the recordings are written, and removed (default: for temporary files)")
    parser.add_argument("--most", type=float, default=0, help="fail when a recorded run takes this many times as long")
    arguments = parser.parse_args()
    arguments.hcasim = str(pathlib.Path(arguments.hcasim).resolve())

    worst = 0
    print(f"{'hcasim run, 64 KiB messages':<32} {'recorded':<9} {'wall time':>10} {'recording':>12} {'ratio':>8}")
    with tempfile.TemporaryDirectory(prefix="hcasim-cost-", dir=arguments.into) as folder:
        folder = pathlib.Path(folder)
        recording = folder / "run.pcapng"
        for name, content in payloads(arguments.bytes).items():
            payload = folder / "payload"
            payload.write_bytes(content)
            turns = [{what: run(arguments, payload, recording, at) for what, at in WHAT.items()}
                     for _ in range(arguments.turns)]
            bare = statistics.median(turn["nothing"][0] for turn in turns)
            for what in WHAT:
                seconds = statistics.median(turn[what][0] for turn in turns)
                ratio = seconds / bare
                worst = max(worst, ratio)
                print(f"{'payload ' + name:<32} {what:<9} {seconds * 1000:>7.0f} ms "
                      f"{turns[-1][what][1] / 1e6:>9.1f} MB {ratio:>7.2f}x")
    print(f"highest ratio: {worst:.2f} (recording may cost {LIMIT:g} times the wall time of a run)")
    return 1 if arguments.most and worst > arguments.most else 0


if __name__ == "__main__":
    sys.exit(main())
