"""drive_test.py HCASIM HCADRIVE SOURCE CASE: drivers in one process, the cards in another."""

import hashlib
import json
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

from recording import has_end, records

SERVER, PROGRAM, SOURCE, CASE = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]), sys.argv[4]
PAIR, GPUDIRECT = "pair.toml", "gpudirect.toml"


def expect(condition, what):
    if not condition:
        sys.exit(f"{CASE}: {what}")


class Bench:
    """A server with its sockets, and runs of the program against it."""

    def __init__(self, scratch, config, *arguments):
        self.scratch = pathlib.Path(scratch)
        self.directory = self.scratch / "sockets"
        self.output = self.scratch / "output"
        self.server = subprocess.Popen([SERVER, "serve", SOURCE / "platform/configs" / config,
                                        "--socket-dir", self.directory, *arguments],
                                       stdout=self.output.open("w"), stderr=subprocess.PIPE, text=True)
        self.wait_for("hostB.gpu:")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.kill()
        self.server.wait()

    def wait_for(self, text, count=1):
        deadline = time.monotonic() + 60
        while self.output.read_text().count(text) < count:
            expect(time.monotonic() < deadline and self.server.poll() is None,
                   f"the server does not say '{text}' {count} times")
            time.sleep(0.01)

    def payload(self, size):
        path = self.scratch / "payload"
        path.write_bytes(random.Random(11).randbytes(size))
        return path

    def start(self, *arguments):
        return subprocess.Popen([PROGRAM, self.directory, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True)

    def run(self, *arguments, status=0):
        ran = subprocess.run([PROGRAM, self.directory, *arguments], capture_output=True, text=True, timeout=250,
                             check=False)
        expect(ran.returncode == status, f"status {ran.returncode}\n{ran.stdout[-3000:]}{ran.stderr}")
        return ran

    def verified(self, path, *arguments):
        """Runs to the end, looks at everything it says."""
        out = self.scratch / "result.json"
        ran = self.run("--payload", path, "--json", out, *arguments)
        got = json.loads(out.read_text())
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        expect(got["verified"] is True and got["failure"] == "", got)
        expect(got["sha256_source"] == got["sha256_target"] == digest, got)
        expect([t["name"] for t in got["transfers"]] == ["WRITE A -> B", "READ  B -> A", "SEND  A -> B"],
               got["transfers"])
        expect(all(t["verified"] and t["bytes"] == path.stat().st_size for t in got["transfers"]), got["transfers"])
        expect(ran.stdout.endswith("\n  verified\n"), ran.stdout[-1000:])
        expect(ran.stderr == "", ran.stderr)
        return got

    def end(self):
        """The server has seen everybody off and ends as it should."""
        self.server.send_signal(signal.SIGTERM)
        expect(self.server.wait(timeout=60) == 0, f"status {self.server.returncode}: {self.server.stderr.read()}")


def over_infiniband(scratch):
    with Bench(scratch, PAIR) as bench:
        bench.verified(bench.payload(1_500_001))
        bench.end()


def over_roce_in_simulated_time(scratch):
    with Bench(scratch, GPUDIRECT) as bench:
        bench.verified(bench.payload(1_500_001))
        bench.end()


def over_roce_with_ipv6(scratch):
    with Bench(scratch, GPUDIRECT, "--set", "link.encapsulation=roce_v2_ipv6") as bench:
        bench.verified(bench.payload(300_000), "--ipv6")
        bench.end()


def over_a_lossy_wire(scratch):
    faults = ["link.loss=0.01", "link.reorder=0.01", "link.duplicate=0.01", "link.corrupt=0.005"]
    with Bench(scratch, GPUDIRECT, *(word for fault in faults for word in ("--set", fault))) as bench:
        bench.verified(bench.payload(1_500_001), "--mtu", "1024")
        bench.end()


def many_queue_pairs_and_small_messages(scratch):
    with Bench(scratch, PAIR) as bench:
        got = bench.verified(bench.payload(1_000_003), "--message", "1000", "--qps", "16", "--depth", "32",
                             "--mtu", "256")
        expect([t["messages"] for t in got["transfers"]] == [1001] * 3, got["transfers"])
        bench.end()


def one_after_another(scratch):
    with Bench(scratch, PAIR) as bench:
        for _ in range(5):
            bench.verified(bench.payload(200_000))
        bench.end()


def recorded_with_all_its_clients(scratch):
    """One comes and goes, another dies, a third comes: all of it is in one recording, soon after it has happened."""
    trace = pathlib.Path(scratch) / "trace"
    with Bench(scratch, PAIR, "--set", "gpu.vram=64 MiB", "--record", trace) as bench:
        bench.verified(bench.payload(100_000))
        deadline, first = time.monotonic() + 30, 0
        while time.monotonic() < deadline and (first == 0 or first != sum(records(trace).values())):
            first = sum(records(trace).values())
            time.sleep(0.5)
        victim = bench.start("--payload", bench.payload(10_000_000), "--message", "4096")
        time.sleep(1)
        victim.kill()
        victim.communicate()
        bench.verified(bench.payload(100_000))
        expect(not has_end(trace), "the file ends before its server")
        bench.end()
    count = records(trace)
    expect(list(count) == ["A.root.switch.hca", "A.root.switch.hca.port1", "A.root.switch.gpu",
                           "B.root.switch.hca", "B.root.switch.hca.port1", "B.root.switch.gpu", "events"], count)
    expect(sum(count.values()) > 2 * first > 1000, f"{first} records of the first session, {count} of all")
    expect(has_end(trace), "no end block")


def killed_in_the_middle(scratch):
    """A program that dies while it moves bytes leaves cards that the next one finds as new."""
    with Bench(scratch, PAIR) as bench:
        path = bench.payload(64 << 20)
        for turn in range(5):
            victim = bench.start("--payload", path, "--message", "4096")
            if turn > 0:  # in the midst of the bring-up, of the copy, of the transfers
                time.sleep(0.03 * turn)
            victim.kill()
            victim.communicate()
        began = bench.start("--payload", path, "--message", "512")
        line = began.stdout.readline()
        expect(line.startswith("gpudirect: "), line)
        time.sleep(0.5)
        expect(began.poll() is None, "over before it could be killed: the payload is too small")
        began.kill()
        began.communicate()
        bench.verified(bench.payload(1_500_001))
        bench.end()


def the_server_dies(scratch):
    with Bench(scratch, PAIR) as bench:
        path = bench.payload(64 << 20)
        program = bench.start("--payload", path, "--message", "512")
        program.stdout.readline()
        time.sleep(0.5)
        expect(program.poll() is None, "over before the server could be killed: the payload is too small")
        bench.server.kill()
        begin = time.monotonic()
        output, errors = program.communicate(timeout=60)
        expect(time.monotonic() - begin < 30, "it took too long to notice")
        expect(program.returncode == 1, f"status {program.returncode}\n{output[-2000:]}{errors}")
        expect("NOT VERIFIED: " in output and "does not answer" in output, output[-2000:])


def nobody_serves(scratch):
    missing = pathlib.Path(scratch) / "missing"
    ran = subprocess.run([PROGRAM, missing], capture_output=True, text=True, timeout=60, check=False)
    expect(ran.returncode == 2 and f"{missing}: is no directory; start `hcasim serve" in ran.stderr, ran.stderr)
    ran = subprocess.run([PROGRAM, scratch], capture_output=True, text=True, timeout=60, check=False)
    expect(ran.returncode == 2, f"status {ran.returncode}")
    expect("hostA.hca.sock: connect: No such file or directory; is there a server" in ran.stderr, ran.stderr)
    expect(ran.stderr.count("\n") == 1, ran.stderr)


def cards_in_the_wrong_place(scratch):
    with Bench(scratch, PAIR) as bench:
        names = [bench.directory / f"host{host}.{card}.sock" for host in "AB" for card in ("gpu", "hca")]
        ran = subprocess.run([PROGRAM, *names], capture_output=True, text=True, timeout=60, check=False)
        expect(ran.returncode == 2, f"status {ran.returncode}: {ran.stderr}")
        expect(f"{names[0]}: is function 10de:20b0, which is not the HCA of machine A" in ran.stderr, ran.stderr)
        names = [bench.directory / f"host{host}.{card}.sock" for card in ("hca", "gpu") for host in "AB"]
        ran = subprocess.run([PROGRAM, *names], capture_output=True, text=True, timeout=60, check=False)
        expect(ran.returncode == 2 and "which is not the GPU of machine A" in ran.stderr, ran.stderr)
        bench.end()


def no_room_for_the_payload(scratch):
    with Bench(scratch, PAIR, "--set", "gpu.vram=1 MiB") as bench:
        ran = bench.run("--payload", bench.payload(3 << 20), status=1)
        expect("NOT VERIFIED: " in ran.stdout and "allocate VRAM" in ran.stdout, ran.stdout)
        bench.verified(bench.payload(100_000))
        bench.end()


def refuses_mistakes(_):
    for words in (["--frob"], [], ["x", "--mtu", "1000"], ["x", "--depth"], ["x", "--qps", "0"], ["a", "b"],
                  ["x", "--message", "12k"]):
        ran = subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=60, check=False)
        expect(ran.returncode == 2, f"{words}: status {ran.returncode}")
        expect(ran.stderr.startswith("hcadrive: ") and ran.stderr.count("\n") == 1 and not ran.stdout,
               f"{words}: {ran.stderr}")
    ran = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True, timeout=60, check=False)
    expect(ran.returncode == 0 and "Exit status" in ran.stdout, ran.stdout)


with tempfile.TemporaryDirectory(prefix="hcasim.") as directory:
    globals()[CASE](directory)
