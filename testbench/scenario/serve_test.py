"""serve_test.py HCASIM SOURCE CASE: `hcasim serve` as a person and a client meet it: what it prints, its sockets, its
end."""

import os
import pathlib
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

PROGRAM, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
CONFIG = SOURCE / "platform/configs/pair.toml"
FUNCTIONS = [f"host{host}.{card}" for host in "AB" for card in ("hca", "gpu")]
VERSION, GET_REGION_INFO, REGION_READ, REGION_WRITE, BAR_0, CONFIG_REGION = 1, 5, 9, 10, 0, 7
COMMAND_REGISTER, COMMAND_DOORBELL = 0x04, 0x18


def expect(condition, what):
    if not condition:
        sys.exit(f"{sys.argv[3]}: {what}")


class Server:
    """A running program; its standard output is a file, so that it never waits for a reader."""

    def __init__(self, scratch, *arguments):
        self.directory = pathlib.Path(scratch) / "sockets"
        self.output = pathlib.Path(scratch) / "output"
        self.process = subprocess.Popen([PROGRAM, "serve", CONFIG, "--socket-dir", self.directory, *arguments],
                                        stdout=self.output.open("w"), stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 60
        while "hostB.gpu:" not in self.output.read_text():
            expect(time.monotonic() < deadline and self.process.poll() is None, "the server does not come up")
            time.sleep(0.01)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def path(self, name):
        return self.directory / f"{name}.sock"

    def end(self, number):
        self.process.send_signal(number)
        expect(self.process.wait(timeout=60) == 0, f"status {self.process.returncode}: {self.process.stderr.read()}")
        expect(not list(self.directory.iterdir()), f"sockets are left: {list(self.directory.iterdir())}")


class Client:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(60)
        self.socket.connect(str(path))
        self.ask(VERSION, struct.pack("<HH", 0, 0))

    def ask(self, command, body):
        self.socket.sendall(struct.pack("<HHIII", 7, command, 16 + len(body), 0, 0) + body)
        number, answered, size, flags, error = struct.unpack("<HHIII", self.receive(16))
        expect((number, answered, flags, error) == (7, command, 1, 0),
               f"answer {answered}, flags {flags}, error {error}")
        return self.receive(size - 16)

    def receive(self, count):
        data = b""
        while len(data) < count:
            part = self.socket.recv(count - len(data))
            expect(part, "the server has hung up")
            data += part
        return data

    def identity(self):
        return struct.unpack("<HH", self.ask(REGION_READ, struct.pack("<QII", 0, CONFIG_REGION, 4))[16:])


def every_function_is_served(scratch):
    with Server(scratch) as server:
        text = server.output.read_text()
        for name in FUNCTIONS:
            expect(f"{name}: {server.path(name)}" in text, f"{name} is not named")
            expect(f'"path":"{server.path(name)}"' in text, f"how to attach to {name} is not said")
        clients = {name: Client(server.path(name)) for name in FUNCTIONS}
        for name, client in clients.items():
            vendor, _ = client.identity()
            expect(vendor == (0x15b3 if name.endswith("hca") else 0x10de), f"{name} is of vendor {vendor:#x}")
        server.end(signal.SIGTERM)


def clients_come_and_go(scratch):
    with Server(scratch) as server:
        stays = Client(server.path("hostB.hca"))
        for turn in range(20):
            client = Client(server.path("hostA.hca"))
            if turn % 2:
                client.socket.sendall(os.urandom(200))
            client.socket.close()
        expect(stays.identity()[0] == 0x15b3, "the end of another client was noticed")
        server.end(signal.SIGINT)


def refuses_a_socket_in_use(scratch):
    with Server(scratch) as server:
        second = subprocess.run([PROGRAM, "serve", CONFIG, "--socket-dir", server.directory], capture_output=True,
                                text=True, timeout=60, check=False)
        expect(second.returncode == 2, f"status {second.returncode}")
        expect(second.stderr == f"hcasim: {server.path('hostA.hca')}: somebody else listens there\n", second.stderr)
        Client(server.path("hostA.hca"))
        server.end(signal.SIGTERM)


def refuses_a_directory_that_cannot_be(scratch):
    ran = subprocess.run([PROGRAM, "serve", CONFIG, "--socket-dir", "/dev/null/x"], capture_output=True, text=True,
                         timeout=60, check=False)
    expect(ran.returncode == 2 and ran.stderr.startswith("hcasim: /dev/null/x: "),
           f"status {ran.returncode}: {ran.stderr}")


def offers_uar_pages_to_be_mapped_when_asked_to(scratch):
    """A region with one sparse area (linux/vfio.h), once the client has room for the answer."""
    def info(client, room):
        return client.ask(GET_REGION_INFO, struct.pack("<IIIIQQ", room, 0, BAR_0, 0, 0, 0))

    for arguments, needed in (((), 32), (("--polled-doorbells",), 64), (("--set", "A.hca.polled_doorbells=true"), 64)):
        with Server(scratch, *arguments) as server:
            client = Client(server.path("hostA.hca"))
            argsz, flags, _, _, size, _ = struct.unpack("<IIIIQQ", info(client, 32))
            expect((argsz, size) == (needed, 4 << 20), f"{arguments}: argsz {argsz}, size {size:#x}")
            expect(flags == (3 if needed == 32 else 7), f"{arguments}: flags {flags:#x}")
            if needed == 64:
                answer = info(client, 64)
                flags, at = struct.unpack_from("<I4xI", answer, 4)
                expect((flags, at, len(answer)) == (15, 32, 64), f"flags {flags:#x}, capability at {at}")
                number, version, following, areas, offset, length = struct.unpack_from("<HHII4xQQ", answer, at)
                expect((number, version, following, areas) == (1, 1, 0, 1), f"capability {number}.{version}")
                expect((offset, length) == (520 << 12, 504 << 12), f"area {offset:#x}+{length:#x}")
            server.end(signal.SIGTERM)


def refuses_to_poll_where_there_is_nothing_to_poll(scratch):
    ran = subprocess.run([PROGRAM, "serve", SOURCE / "platform/configs/nvme.toml", "--socket-dir",
                          f"{scratch}/none", "--polled-doorbells"], capture_output=True, text=True, timeout=60,
                         check=False)
    expect(ran.returncode == 2 and ran.stderr == "hcasim: --polled-doorbells: no HCA of the platform is served\n",
           f"status {ran.returncode}: {ran.stderr}")


def explains_what_a_driver_does_wrong(scratch):
    why = pathlib.Path(scratch) / "why.txt"
    with Server(scratch, f"--explain={why}") as server:
        client = Client(server.path("hostA.hca"))
        client.ask(REGION_WRITE, struct.pack("<QII", COMMAND_REGISTER, CONFIG_REGION, 2) + struct.pack("<H", 6))
        client.ask(REGION_WRITE, struct.pack("<QII", COMMAND_DOORBELL, BAR_0, 4) + struct.pack(">I", 1))
        deadline = time.monotonic() + 60
        while "Likely cause" not in why.read_text():
            expect(time.monotonic() < deadline, f"nothing is explained while the server runs: {why.read_text()}")
            time.sleep(0.01)
        text = why.read_text()
        expect("A.hca: command doorbell of slot 0 (bit 0 of command_doorbell_vector) ignored: "
               "command doorbell before the command queue's address.\n" in text, text)
        expect('Rule: the address of the command queue is written before its doorbell [PRM "Initialization segment"].\n'
               in text, text)
        server.end(signal.SIGTERM)


def hostile_clients_cost_an_honest_one_nothing(_):
    sys.path.insert(0, str(SOURCE / "testbench/bench"))
    import clients
    seed = int(os.environ.get("HCASIM_SEED", int.from_bytes(os.urandom(4), "little")))
    print(f"HCASIM_SEED={seed}", flush=True)
    count, _ = clients.run(PROGRAM, SOURCE, 15, seed)
    expect(count > 100, f"the honest client had {count} answers")


def ends_on_every_signal_that_asks_for_it(scratch):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        here = pathlib.Path(scratch) / str(int(number))
        here.mkdir()
        why = here / "why.txt"
        with Server(here, f"--explain={why}") as server:
            client = Client(server.path("hostA.hca"))
            client.ask(REGION_WRITE, struct.pack("<QII", COMMAND_REGISTER, CONFIG_REGION, 2) + struct.pack("<H", 6))
            client.ask(REGION_WRITE, struct.pack("<QII", COMMAND_DOORBELL, BAR_0, 4) + struct.pack(">I", 1))
            server.end(number)
            expect("Likely cause" in why.read_text(),
                   f"signal {number}: what was seen is not written: {why.read_text()}")


def ends_when_nobody_listens_to_it(scratch):
    directory = pathlib.Path(scratch) / "sockets"
    server = subprocess.Popen([PROGRAM, "serve", CONFIG, "--socket-dir", directory], stdout=subprocess.PIPE, text=True)
    while "serving " not in server.stdout.readline():
        pass
    server.stdout.close()
    Client(directory / "hostA.hca.sock")  # of which it would tell
    expect(server.wait(timeout=60) == 0, f"status {server.returncode}")
    expect(not list(directory.iterdir()), f"sockets are left: {list(directory.iterdir())}")


def stays_when_told_to_outlive_its_terminal(scratch):
    directory = pathlib.Path(scratch) / "sockets"
    server = subprocess.Popen([PROGRAM, "serve", CONFIG, "--socket-dir", directory], stdout=subprocess.PIPE, text=True,
                              preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    while "serving " not in server.stdout.readline():
        pass
    server.send_signal(signal.SIGHUP)
    Client(directory / "hostA.hca.sock").identity()
    server.send_signal(signal.SIGTERM)
    expect(server.wait(timeout=60) == 0, f"status {server.returncode}")


def refuses_a_directory_that_others_may_write_to(scratch):
    directory = pathlib.Path(scratch) / "open"
    directory.mkdir()
    directory.chmod(0o777)
    ran = subprocess.run([PROGRAM, "serve", CONFIG, "--socket-dir", directory], capture_output=True, text=True,
                         timeout=60, check=False)
    expect(ran.returncode == 2 and ran.stderr.startswith(f"hcasim: {directory}: others may write there"),
           f"status {ran.returncode}: {ran.stderr}")


def lost_output_is_told(scratch):
    """A full disk is told while the server runs, which goes on; its status says it at the end. Nothing lost, nothing
    told."""
    for output in ("--events", "--pcap"):
        here = pathlib.Path(scratch) / output
        here.mkdir()
        with Server(here, f"{output}=/dev/full") as server:
            if output == "--events":
                told = "hcasim: /dev/full: cannot be written: No space left on device\n"
                client = Client(server.path("hostA.hca"))
                client.ask(REGION_WRITE, struct.pack("<QII", COMMAND_REGISTER, CONFIG_REGION, 2) + struct.pack("<H", 6))
                client.ask(REGION_WRITE, struct.pack("<QII", COMMAND_DOORBELL, BAR_0, 4) + struct.pack(">I", 1))
                expect(select.select([server.process.stderr], [], [], 60)[0]
                       and server.process.stderr.readline() == told, "it is not told at once")
                expect(client.identity()[0] == 0x15b3, "the client has lost its card")
            server.process.send_signal(signal.SIGTERM)
            expect(server.process.wait(timeout=60) == 3, f"{output}: status {server.process.returncode}")
            rest = server.process.stderr.read()
            expect("/dev/full" in rest if output == "--pcap" else rest == "", f"{output}: {rest}")
    with Server(pathlib.Path(scratch), "--events=/dev/full") as server:
        server.end(signal.SIGTERM)  # nobody was there, nothing was to be written
    log = pathlib.Path(scratch) / "events.txt"
    with Server(pathlib.Path(scratch), f"--events={log}") as server:
        client = Client(server.path("hostA.hca"))
        client.ask(REGION_WRITE, struct.pack("<QII", COMMAND_REGISTER, CONFIG_REGION, 2) + struct.pack("<H", 6))
        client.ask(REGION_WRITE, struct.pack("<QII", COMMAND_DOORBELL, BAR_0, 4) + struct.pack(">I", 1))
        deadline = time.monotonic() + 60
        while "DoorbellIgnored" not in log.read_text():
            expect(time.monotonic() < deadline, f"events are not there while the server runs: {log.read_text()}")
            time.sleep(0.01)
        server.end(signal.SIGTERM)


def outputs_are_no_inputs(scratch):
    config = pathlib.Path(scratch) / "own.toml"
    config.write_bytes(CONFIG.read_bytes())
    for output in ("--events", "--pcap", "--explain"):
        ran = subprocess.run([PROGRAM, "serve", config, "--socket-dir", scratch + "/sockets", f"{output}={config}"],
                             capture_output=True, text=True, timeout=60, check=False)
        expect(ran.returncode == 2 and "is the same file as" in ran.stderr,
               f"{output}: status {ran.returncode}: {ran.stderr}")
        expect(config.read_bytes() == CONFIG.read_bytes(), f"{output} has changed the configuration")


with tempfile.TemporaryDirectory(prefix="hcasim.") as directory:
    globals()[sys.argv[3]](directory)
