"""run_case.py --hcasim-release PROGRAM --hcasim-asan PROGRAM [--results DIR] CASE.sh: one case of the guest level.

Serves the platform, boots the guest or guests, runs the script in each, and judges: the script's status, the kernel's
log, the end of the simulator, the captured frames. Prints what the script prints, with the wall time of its parts, and
what is wrong.
"""

import argparse
import pathlib
import re
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


class Guests:
    """The guests of a case, started; two of them share a network, all of them a directory. `life` counts from 1."""

    def __init__(self, this, life, made, served, directory, results, printer):
        self.case = this
        self.parts = {}
        self.guests = {}
        shared = directory / "shared"
        for number, machines in enumerate(this.machines):
            alone = len(this.machines) == 1
            settings = {"MACHINE": "" if alone else machines, "CASE": this.path.stem, "KERNEL": this.kernel,
                        "LIFE": life, "LIVES": this.lives}
            network = None
            if not alone:
                settings["ADDRESS"] = f"10.0.0.{number + 1}"
                settings["PEER"] = f"10.0.0.{2 - number}"
                network = (directory / f"network.{life}", number == 0, number + 1)
            setup = machine.Setup(made, served.of(machines), HERE / "inside/run_case", settings, this.memory,
                                  extra=results, shared=shared, network=network, reboots=this.reboots,
                                  beside=this.beside, switch=this.switch, iommu=this.iommu)
            self.guests[machines] = machine.Machine(
                setup, directory / f"{machines}.{life}", printer.to("" if alone else f"{machines}: "),
                lambda words, machines=machines: self._heed(machines, words, served))

    def _heed(self, machines, words, served):
        def answer(lines):
            path = self.guests[machines].exchange / words[0]
            path.with_suffix(".part").write_text("".join(f"{line}\n" for line in lines))
            path.with_suffix(".part").rename(path)

        if words[0] == "part":
            self.parts[machines] = words[1]
        elif words[0] == "holdings":
            answer(served.holdings())
        elif words[0] == "memory":
            answer([served.memory_kib()])
        elif words[0] == "die":
            # As a machine that loses its power; what was to come of this life is done.
            self.guests[machines].process.kill()
            self.guests[machines].status = 0
        elif words[0] == "kill":
            # The simulator ends as if the host had killed it, at once and with whatever its devices were at; the guest
            # has lost them, and goes, too.
            served.kill()
            self.guests[machines].process.kill()
            self.guests[machines].status = 0

    def wait(self, deadline):
        """Until all scripts have ended; returns what went wrong."""
        wrong = []
        for machines, guest in self.guests.items():
            where = f"in part '{self.parts.get(machines, 'boot')}'"
            if not guest.wait(max(1, deadline - time.monotonic())):
                wrong.append(f"guest {machines}: not done after {self.case.timeout} s, {where}")
            elif guest.status is None:
                wrong.append(f"guest {machines}: died {where}")
            elif guest.status != 0:
                wrong.append(f"guest {machines}: the script ended with {guest.status}")
            if guest.status is None:
                wrong += [f"  console: {line}" for line in guest.console()]
                wrong += [f"  QEMU: {line}" for line in guest.errors.read_text().splitlines()[-5:]]
        return wrong

    def kill(self):
        for guest in self.guests.values():
            guest.kill()


def run(this, hcasim, directory, results, kept_recording=None):
    """Runs the case; returns what is wrong with it."""
    made = image.prepare(this.kernel, this.root)
    wrong, guests = [], None
    printer = Printer()
    capture = directory / "cable.pcapng" if this.capture else None
    recording = directory / "devices.pcapng.zst" if this.record else None
    overrides = [override.replace("%d", str(directory)) for override in this.set]

    def serve():
        return fabric.Fabric(hcasim, directory, fabric.SOURCE / this.platform, overrides, capture, this.commands,
                             recording, this.record)

    served = serve()
    try:
        (directory / "shared").mkdir()
        programs.provide(this.programs, hcasim.parent, directory / "shared/programs")
        begun = time.monotonic()
        for life in range(1, this.lives + 1):
            if served.is_killed:
                served = serve()
            guests = Guests(this, life, made, served, directory, results, printer)
            wrong += guests.wait(begun + this.timeout)
            guests.kill()
            printer.flush()
            wrong += judge_kernels(guests.guests.values())
            boots = " and ".join(f"{guest.ready_after or 0:.1f}" for guest in guests.guests.values())
            lived = time.monotonic() - begun
            print(f"boot to script {boots} s, all {lived:.1f} s")
            # The time in which the devices had something to do: without that of the first boot.
            lived -= min(guest.ready_after or 0 for guest in guests.guests.values())
    finally:
        if guests is not None:
            guests.kill()
        ended = None if served.is_killed else served.end()
    if ended:
        wrong.append(ended)
    if capture is not None and not ended:
        wrong += judge_capture(capture)
    if recording is not None and not ended:
        wrong += judge_recording(hcasim, recording, lived)
        if kept_recording is not None:
            shutil.copyfile(recording, kept_recording)
    if this.judge:
        wrong += judge_results(HERE / this.judge, results)
    if wrong:
        wrong += ["the end of the device's log:", *(f"  {line}" for line in served.lines()[-15:])]
    return wrong


def judge_kernels(guests, most=12):
    """A kernel that complains does so often: each message once, numbers aside."""
    known = kernel_log.read_known(kernel_log.KNOWN.read_text())
    findings = {}
    for guest in guests:
        for log in sorted(guest.exchange.glob("kernel.*.log")):
            for line in kernel_log.judge(log.read_text(errors="replace"), known):
                findings.setdefault(re.sub(r"[0-9a-f]*[0-9][0-9a-f]*", "#", line), []).append(line)
    wrong = [f"the kernel said, unknown to us: {lines[0]}" + (f" ({len(lines)} times)" if len(lines) > 1 else "")
             for lines in findings.values()]
    return wrong[:most] + ([f"and {len(wrong) - most} more messages"] if len(wrong) > most else [])


def judge_capture(path):
    begun = time.monotonic()
    judged = subprocess.run([sys.executable, "-B", WITNESS, path], capture_output=True, text=True, check=False)
    print(judged.stdout, end="")
    print(f"judging the frames {time.monotonic() - begun:.1f} s")
    return [] if judged.returncode == 0 else [f"the frames: {line}"
                                              for line in (judged.stdout + judged.stderr).splitlines()[-20:]]


def judge_recording(hcasim, path, lived, share=20):
    """The devices alone, each time in another process: the same in each byte and at each time, and far faster than with
    guests. Both times are of this run, on this machine."""
    wrong = []
    print(f"recording {path.stat().st_size / 2**20:.1f} MiB of {lived:.1f} s")
    for _ in range(2):
        begun = time.monotonic()
        replayed = subprocess.run([hcasim, "replay", "--strict", path], capture_output=True, text=True, check=False)
        took = time.monotonic() - begun
        print(f"replayed in {took:.2f} s, 1/{lived / took:.0f} of the time with guests")
        if replayed.returncode != 0:
            wrong += [f"the recording: status {replayed.returncode}: {line}"
                      for line in (replayed.stdout + replayed.stderr).splitlines()[-30:]]
        if took * share > lived:
            wrong.append(f"the recording: played again in {took:.2f} s, more than 1/{share} of {lived:.1f} s")
    return wrong


def judge_results(program, results):
    judged = subprocess.run([sys.executable, "-B", program, results], capture_output=True, text=True, check=False)
    if judged.returncode not in (0, 1):
        return [f"{program.name} could not look: {judged.stderr[-1000:]}"]
    return judged.stdout.splitlines()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hcasim-release", type=pathlib.Path, required=True)
    parser.add_argument("--hcasim-asan", type=pathlib.Path, required=True)
    parser.add_argument("--results", type=pathlib.Path, help="what the script leaves in /extra comes here")
    parser.add_argument("--recording", type=pathlib.Path, help="the recording of a case with `record` is kept here")
    parser.add_argument("case", type=pathlib.Path)
    options = parser.parse_args()
    this = case.read(options.case)
    directory = pathlib.Path(tempfile.mkdtemp(prefix="hcasim-guest."))
    try:
        results = options.results or directory / "results"
        shutil.rmtree(results, ignore_errors=True)  # an earlier run's would be judged for ours
        results.mkdir(parents=True)
        wrong = run(this, getattr(options, f"hcasim_{this.build}"), directory, results.resolve(),
                    options.recording)
    except progress.Unreachable as failure:
        print(f"SKIPPED {failure}")
        return failure.STATUS
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
