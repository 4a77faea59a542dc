"""run_case.py --hcasim-release PROGRAM --hcasim-asan PROGRAM [--results DIR] CASE.sh: one case of the guest level.

Serves the platform, boots the guest or guests, runs the script in each, and judges: the script's status, the kernel's log, the
end of the simulator, the captured frames. Prints what the script prints, with the wall time of its parts, and what is wrong.
"""

import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import case
import fabric
import image
import kernel_log
import machine
import programs
import progress

HERE = pathlib.Path(__file__).resolve().parent
WITNESS = HERE.parent / "witness/check_capture.py"


class Printer:
    """Whole lines of several guests, each with the name of its guest where there are two."""

    def __init__(self):
        self._lock = threading.Lock()
        self._rest = {}

    def to(self, prefix):
        def take(data):
            *lines, rest = (self._rest.get(prefix, b"") + data).split(b"\n")
            self._rest[prefix] = rest
            with self._lock:
                for line in lines:
                    print(prefix + line.decode(errors="replace").rstrip("\r"), flush=True)
        return take

    def flush(self):
        for prefix, rest in self._rest.items():
            if rest:
                print(prefix + rest.decode(errors="replace"))
        self._rest = {}


def boot(this, hcasim, made, served, directory, results, printer):
    """The guests of a case, started; two of them share a network and a directory."""
    guests, parts = [], {}
    shared = directory / "shared"
    shared.mkdir()
    programs.provide(this.programs, hcasim.parent, shared / "programs")
    for number, machines in enumerate(this.machines):
        settings = {"MACHINE": machines if len(this.machines) > 1 else "", "CASE": this.path.stem, "KERNEL": this.kernel}
        network = None
        if len(this.machines) > 1:
            settings["ADDRESS"] = f"10.0.0.{number + 1}"
            settings["PEER"] = f"10.0.0.{2 - number}"
            network = (directory / "network", number == 0, number + 1)
        setup = machine.Setup(made, served.of(machines), HERE / "inside/run_case", settings, this.memory, extra=results,
                              shared=shared, network=network, reboots=this.reboots, iommu=this.iommu)
        prefix = f"{machines}: " if len(this.machines) > 1 else ""

        def remember(words, machines=machines):
            if words[0] == "part":
                parts[machines] = words[1]
        guests.append(machine.Machine(setup, directory / machines, printer.to(prefix), remember))
    return guests, parts


def run(this, hcasim, directory, results):
    """Runs the case; returns what is wrong with it."""
    made = image.prepare(this.kernel)
    wrong, guests = [], []
    printer = Printer()
    capture = directory / "cable.pcapng" if this.capture else None
    served = fabric.Fabric(hcasim, directory, fabric.SOURCE / this.platform, this.set, capture, commands=True)
    try:
        begun = time.monotonic()
        guests, parts = boot(this, hcasim, made, served, directory, results, printer)
        for guest, machines in zip(guests, this.machines):
            if not guest.wait(max(1, begun + this.timeout - time.monotonic())):
                wrong.append(f"guest {machines}: not done after {this.timeout} s, in part '{parts.get(machines, 'boot')}'")
            elif guest.status is None:
                wrong.append(f"guest {machines}: died in part '{parts.get(machines, 'boot')}'")
            elif guest.status != 0:
                wrong.append(f"guest {machines}: the script ended with {guest.status}")
            if guest.status is None:
                wrong += [f"  console: {line}" for line in guest.console()]
                wrong += [f"  QEMU: {line}" for line in guest.errors.read_text().splitlines()[-5:]]
        for guest in guests:
            guest.kill()
        printer.flush()
        wrong += judge_kernels(guests)
        print(f"boot to script {' and '.join(f'{guest.ready_after or 0:.1f}' for guest in guests)} s, all "
              f"{time.monotonic() - begun:.1f} s")
    finally:
        for guest in guests:
            guest.kill()
        ended = served.end()
    if ended:
        wrong.append(ended)
    if capture is not None and not ended:
        wrong += judge_capture(capture)
    if wrong:
        wrong += ["the end of the device's log:", *(f"  {line}" for line in served.lines()[-15:])]
    return wrong


def judge_kernels(guests):
    known = kernel_log.read_known(kernel_log.KNOWN.read_text())
    wrong = []
    for guest in guests:
        for log in sorted(guest.exchange.glob("kernel.*.log")):
            wrong += [f"the kernel said, unknown to us: {line}" for line in kernel_log.judge(log.read_text(errors="replace"), known)]
    return wrong


def judge_capture(path):
    begun = time.monotonic()
    judged = subprocess.run([sys.executable, "-B", WITNESS, path], capture_output=True, text=True, check=False)
    print(judged.stdout, end="")
    print(f"judging the frames {time.monotonic() - begun:.1f} s")
    return [] if judged.returncode == 0 else [f"the frames: {line}" for line in (judged.stdout + judged.stderr).splitlines()[-20:]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hcasim-release", type=pathlib.Path, required=True)
    parser.add_argument("--hcasim-asan", type=pathlib.Path, required=True)
    parser.add_argument("--results", type=pathlib.Path, help="what the script leaves in /extra comes here")
    parser.add_argument("case", type=pathlib.Path)
    options = parser.parse_args()
    this = case.read(options.case)
    if options.results:
        options.results.mkdir(parents=True, exist_ok=True)
    directory = pathlib.Path(tempfile.mkdtemp(prefix="hcasim-guest."))
    try:
        wrong = run(this, getattr(options, f"hcasim_{this.build}"), directory, options.results)
    except progress.Failure as failure:
        wrong = [str(failure)]
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    if this.expect:
        # A case that proves that a fault is seen.
        seen = [line for line in wrong if this.expect in line]
        wrong = [] if seen else [f"'{this.expect}' was to be found wrong, but only this was: {wrong}"]
    for line in wrong:
        print(f"WRONG {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
