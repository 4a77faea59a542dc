"""A platform, served: starts `hcasim serve`, knows its sockets by machine, and ends it."""

import pathlib
import re
import shutil
import signal
import subprocess
import time

import progress

SOURCE = pathlib.Path(__file__).resolve().parents[2]
FUNCTION = re.compile(r"^((?:host)?([A-Z]+)\.\S+): (/.*)$")
HCA = re.compile(r"^(?:host)?[A-Z]+\.hca\d*$")
HOLDS = re.compile(r"^(?:host)?[A-Z]+\.hca\d* holds ")
DOORBELLS = re.compile(r"^(?:host)?[A-Z]+\.hca\d* doorbells: ")
CLOSING = re.compile(r"^serving \d+ functions")


class Fabric:
    """A running `hcasim serve`. Its output is a file, so that it never waits for a reader."""

    def __init__(self, program, directory, platform, overrides=(), capture=None, commands=True, recording=None,
                 record=()):
        self.output = directory / "hcasim.log"
        self.is_killed = False
        shutil.rmtree(directory / "sockets", ignore_errors=True)  # of one that was killed
        command = [program, "serve", platform, "--socket-dir", directory / "sockets"]
        for override in overrides:
            command += ["--set", override]
        if commands:
            command.append("--commands")
        if capture is not None:
            command += ["--pcap", capture]
        if recording is not None:
            command += ["--record", recording]
            for part in record:
                command += ["--at", part]
        with self.output.open("w") as output:
            # A session of its own: Ctrl-C on a terminal is for the guest or for us, not for the device.
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                            start_new_session=True)
        self._wait_until_served()

    def _wait_until_served(self):
        deadline = time.monotonic() + 60
        while not any(map(CLOSING.match, self.lines())):
            if self.process.poll() is not None:
                raise progress.Failure(f"hcasim serve ended with {self.process.returncode}:\n"
                                       f"{self.output.read_text()[-2000:]}")
            if time.monotonic() > deadline:
                self.kill()
                raise progress.Failure(f"hcasim serve does not come up:\n{self.output.read_text()[-2000:]}")
            time.sleep(0.02)
        self.functions = {}  # machine: [(function, socket)]
        for found in filter(None, map(FUNCTION.match, self.lines())):
            self.functions.setdefault(found[2], []).append((found[1], found[3]))

    def lines(self):
        return self.output.read_text(errors="replace").splitlines()

    def of(self, machines):
        """The functions of some machines, e.g. "AB"; all of them become devices of one guest."""
        missing = [machine for machine in machines if machine not in self.functions]
        if missing:
            raise progress.Failure(f"the platform has no machine {', '.join(missing)}; "
                                   f"it has {', '.join(self.functions)}")
        return [function for machine in machines for function in self.functions[machine]]

    def holdings(self, patience=10):
        """What each HCA holds for its driver, a line each, and behind them how doorbells of polled ones came."""
        hcas = sum(bool(HCA.match(name)) for functions in self.functions.values() for name, _ in functions)
        before = len(self.lines())
        self.process.send_signal(signal.SIGUSR1)
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            lines = self.lines()[before:]
            said = [line for line in lines if HOLDS.match(line)]
            if len(said) == hcas:
                return said + [line for line in lines if DOORBELLS.match(line)]
            time.sleep(0.02)
        return [f"no answer within {patience} s"]

    def memory_kib(self):
        """What it has of memory of its own; that of guests, which it maps, does not count."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"^RssAnon:\s+(\d+) kB", status, re.MULTILINE)[1])

    def end(self, patience=30):
        """Ends it as Ctrl-C would; returns what is wrong with the way it ended, or None."""
        if self.process.poll() is not None:
            return f"hcasim had ended by itself, with {self.process.returncode}"
        self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(timeout=patience)
        except subprocess.TimeoutExpired:
            self.kill()
            return f"hcasim did not end within {patience} s"
        return None if status == 0 else f"hcasim ended with {status}"

    def kill(self):
        self.is_killed = True
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
