"""clients.py --hcasim PROGRAM --source TREE [--seconds N]: an honest client of `hcasim serve` beside four that
misbehave.

The honest one runs commands of its HCA in shared memory and reads a register, over and over; every answer must be there
and right. The others, each a process: one owes the memory it is asked for (says nothing, drips it byte by byte, hands
over huge pages that are not there, goes in the middle); one keeps half messages; one maps files that no device should
touch; one knocks at the honest one's door. Prints how many answers the honest one had and its longest delay; fails
where one is missing or wrong.
"""

import argparse
import ctypes
import errno
import fcntl
import mmap
import multiprocessing
import os
import pathlib
import random
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

VERSION, DMA_MAP, DMA_UNMAP, REGION_READ, REGION_WRITE, DMA_READ, DMA_WRITE = 1, 2, 3, 9, 10, 11, 12
BAR_0, CONFIG_REGION = 0, 7
COMMAND_REGISTER, COMMAND_QUEUE, COMMAND_DOORBELL = 4, 0x10, 0x18
ENABLE_HCA, DISABLE_HCA = 0x104, 0x105
NO_REPLY = 0x10
MFD_ALLOW_SEALING, MFD_HUGETLB, F_ADD_SEALS, F_SEAL_SHRINK = 2, 4, 1033, 2
PAGE = 4096
PATIENCE = 60  # seconds of the honest one: far above any delay that is to be printed

libc = ctypes.CDLL(None, use_errno=True)


class Gone(Exception):
    """The server has hung up, or refuses."""


class Client:
    def __init__(self, path, capabilities=b"", timeout=PATIENCE):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(timeout)
        self.number = 0
        try:
            self.socket.connect(str(path))
            self.ask(VERSION, struct.pack("<HH", 0, 0) + (capabilities + b"\0" if capabilities else b""))
        except OSError as error:
            raise Gone(str(error)) from error

    def send(self, command, body, flags=0, files=()):
        self.number = self.number + 1 & 0xffff
        message = struct.pack("<HHIII", self.number, command, 16 + len(body), flags, 0) + body
        if files:
            socket.send_fds(self.socket, [message], list(files))
        else:
            self.socket.sendall(message)

    def receive(self, count):
        data = b""
        while len(data) < count:
            part = self.socket.recv(count - len(data))
            if not part:
                raise Gone("hung up")
            data += part
        return data

    def message(self):
        number, command, size, flags, error = struct.unpack("<HHIII", self.receive(16))
        return number, command, flags, error, self.receive(size - 16)

    def ask(self, command, body, files=()):
        """The body of the answer; DMA messages that come before it are left unanswered."""
        self.send(command, body, files=files)
        while True:
            number, answered, flags, error, answer = self.message()
            if flags & 0xf != 1:
                continue
            if number != self.number or answered != command:
                raise Gone(f"answer {answered} to message {number}, expected {command} to {self.number}")
            if flags & 0x20:
                raise OSError(error, os.strerror(error))
            return answer

    def write(self, region, offset, data):
        self.ask(REGION_WRITE, struct.pack("<QII", offset, region, len(data)) + data)

    def read(self, region, offset, count):
        return self.ask(REGION_READ, struct.pack("<QII", offset, region, count))[16:]

    def map(self, address, size, file=None, offset=0):
        self.ask(DMA_MAP, struct.pack("<IIQQQ", 32, 3, offset, address, size), files=() if file is None else (file,))

    def enable(self):
        self.write(CONFIG_REGION, 0x14, struct.pack("<I", 0xe))  # BAR 0 above 4 GiB, clear of memory
        self.write(CONFIG_REGION, COMMAND_REGISTER, struct.pack("<H", 6))

    def set_command_queue(self, address):
        self.write(BAR_0, COMMAND_QUEUE, struct.pack(">I", address >> 32))
        self.write(BAR_0, COMMAND_QUEUE + 4, struct.pack(">I", address & 0xffffffff))

    def ring(self):
        self.write(BAR_0, COMMAND_DOORBELL, struct.pack(">I", 1))


def memory_file(size, flags=MFD_ALLOW_SEALING, seals=F_SEAL_SHRINK):
    file = libc.memfd_create(b"client", flags)
    if file < 0:
        raise OSError(ctypes.get_errno(), "memfd_create")
    try:
        os.ftruncate(file, size)
        fcntl.fcntl(file, F_ADD_SEALS, seals)
    except OSError:
        os.close(file)
        raise
    return file


# --- the honest one ---

def run_commands(path, until):
    """Yields how long each answer took, in seconds."""
    client = Client(path)
    file = memory_file(PAGE)
    memory = mmap.mmap(file, PAGE)
    client.map(0, PAGE, file)
    client.enable()
    client.set_command_queue(0)
    turn = 0
    while time.monotonic() < until:
        begin = time.monotonic()
        if client.read(CONFIG_REGION, 0, 4) != struct.pack("<HH", 0x15b3, identity):
            sys.exit("clients: a register of the honest client's card reads wrong")
        yield time.monotonic() - begin
        begin = time.monotonic()
        command = (ENABLE_HCA, DISABLE_HCA)[turn % 2]
        memory[0:64] = struct.pack(">IIQIIIIIIIIQIBBBB", 7 << 24, 16, 0, command << 16, 0, 0, 0, 0xffffffff, 0, 0, 0, 0,
                                   12, turn & 0xff, 0, 0, 1)
        client.ring()
        while memory[63] & 1:
            if time.monotonic() - begin > PATIENCE:
                sys.exit(f"clients: command {turn} of the honest client has no answer")
            time.sleep(0)
        if memory[63] != 0 or memory[32:40] != bytes(8):
            sys.exit(f"clients: command {turn} of the honest client was answered {memory[63]:#x}, "
                     f"{memory[32:40].hex()}")
        yield time.monotonic() - begin
        turn += 1


identity = 0


def learn_identity(path):
    global identity
    client = Client(path)
    identity = struct.unpack("<HH", client.read(CONFIG_REGION, 0, 4))[1]
    client.socket.close()


# --- the others; each comes back when it has been sent away ---

def owe_memory(path, chance):
    """Its card is told to read a command where no answer comes from."""
    mood = chance.randrange(4)
    client = Client(path, b'{"capabilities":{"max_data_xfer_size":1}}' if mood == 1 else b"", timeout=5)
    if mood == 3:
        try:
            file = memory_file(1 << 30, MFD_ALLOW_SEALING | MFD_HUGETLB)
        except OSError:
            return
        try:
            client.map(0, 1 << 30, file)
        finally:
            os.close(file)
    else:
        client.map(0, 1 << 30)
    client.enable()
    client.set_command_queue(0)
    client.ring()
    end = time.monotonic() + chance.choice((0.05, 0.5, 12))
    while time.monotonic() < end:
        client.socket.settimeout(0.2)
        try:
            number, command, flags, _, body = client.message()
        except TimeoutError:
            client.socket.settimeout(5)
            client.ring()
            client.read(CONFIG_REGION, 0, 64)
            continue
        if mood == 1 and flags & 0xf == 0 and command in (DMA_READ, DMA_WRITE):
            time.sleep(0.02)
            answer = body[:16] + (b"\0" * struct.unpack("<QQ", body[:16])[1] if command == DMA_READ else b"")
            client.socket.sendall(struct.pack("<HHIII", number, command, 16 + len(answer), 1, 0) + answer)


def keep_half_messages(path, chance):
    client = Client(path, timeout=20)
    size = chance.choice((1, 7, 15, 16, 20, 40))
    whole = struct.pack("<HHIII", 1, REGION_WRITE, 16 + 16 + 4096, 0, 0) + struct.pack("<QII", 0, CONFIG_REGION, 4096)
    client.socket.sendall((whole + bytes(8))[:size])
    end = time.monotonic() + chance.choice((0.01, 1, 15))
    while time.monotonic() < end:
        client.socket.settimeout(max(0.01, end - time.monotonic()))
        try:
            if not client.socket.recv(4096):
                return
        except TimeoutError:
            return


def map_what_is_no_memory(path, chance):
    client = Client(path, timeout=20)
    address, refused = 0, 0
    for _ in range(chance.randrange(50, 500)):
        kind, ends = chance.randrange(6), []
        try:
            if kind == 0:
                file = memory_file(1 << 46)
            elif kind == 1:
                file = memory_file(1 << 30, MFD_ALLOW_SEALING | MFD_HUGETLB)
            elif kind == 2:
                file, other = os.pipe()
                ends.append(other)
            elif kind == 3:
                file = os.open("/tmp", os.O_RDONLY)
            elif kind == 4:
                loose = memory_file(1 << 20, seals=0)
                ends.append(loose)
                file = os.open(f"/proc/self/fd/{loose}", os.O_WRONLY)
            else:
                file = memory_file(1 << 20, seals=0)
        except OSError:
            continue
        size = 1 << 46 if kind == 0 else 1 << 20
        try:
            client.map(address, size, file)
            if kind in (2, 3, 4):
                sys.exit(f"clients: a map of what is no memory (kind {kind}) was taken")
            if kind == 5:
                os.ftruncate(file, 0)
            address += size
        except OSError as error:
            if error.errno is None:
                raise
            refused += 1
        finally:
            for end in (file, *ends):
                os.close(end)
    client.ask(DMA_UNMAP, struct.pack("<IIQQ", 24, 2, 0, 0))


def knock(path, chance):
    crowd = []
    for _ in range(chance.randrange(1, 40)):
        one = socket.socket(socket.AF_UNIX)
        one.settimeout(20)
        one.connect(str(path))
        crowd.append(one)
    asking = crowd[0]
    try:
        asking.sendall(struct.pack("<HHIII", 9, VERSION, 20, 0, 0) + struct.pack("<HH", 0, 0))
        answer = asking.recv(4096)
    except ConnectionError:
        answer = b""
    if answer and struct.unpack("<HHIII", answer[:16]) != (9, VERSION, 16, 0x21, errno.EBUSY):
        sys.exit(f"clients: a second client was answered {answer[:16].hex()}")
    for one in crowd:
        one.close()
    time.sleep(chance.choice((0, 0.01)))


def misbehave(how, path, seed, until):
    chance = random.Random(seed)
    turns = 0
    while time.monotonic() < until:
        try:
            how(path, chance)
        except (OSError, Gone):
            time.sleep(0.005)
        turns += 1
    print(f"  {how.__name__.replace('_', ' ')}: {turns} turns", flush=True)


# --- all at once ---

def serve(program, source, scratch):
    output = pathlib.Path(scratch) / "output"
    directory = pathlib.Path(scratch) / "sockets"
    server = subprocess.Popen([program, "serve", source / "platform/configs/pair.toml", "--socket-dir", directory],
                              stdout=output.open("w"), stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + PATIENCE
    while "\nserving " not in output.read_text():
        if time.monotonic() > end or server.poll() is not None:
            sys.exit("clients: the server does not come up")
        time.sleep(0.01)
    return server, directory


def measure(path, until):
    longest = count = 0
    for delay in run_commands(path, until):
        longest, count = max(longest, delay), count + 1
    return count, longest


def run(program, source, seconds, seed):
    """Answers of the honest client, and the longest delay in seconds; ends the process where something is lost."""
    with tempfile.TemporaryDirectory(prefix="hcasim.") as scratch:
        server, directory = serve(program, source, scratch)
        try:
            door = directory / "hostA.hca.sock"
            learn_identity(door)
            # The honest one is there first: who comes second is turned away, and that is one of the others' parts.
            alone = measure(door, time.monotonic() + min(2, seconds / 4))
            print(f"alone: {alone[0]} answers, longest delay {alone[1] * 1e3:.2f} ms", flush=True)
            honest = run_commands(door, time.monotonic() + seconds)
            longest, count = next(honest), 1
            until = time.monotonic() + seconds
            others = [multiprocessing.Process(target=misbehave,
                                              args=(how, directory / f"{name}.sock", f"{seed}{name}", until))
                      for how, name in ((owe_memory, "hostB.hca"), (keep_half_messages, "hostB.gpu"),
                                        (map_what_is_no_memory, "hostA.gpu"), (knock, "hostA.hca"))]
            for other in others:
                other.start()
            for delay in honest:
                longest, count = max(longest, delay), count + 1
            for other in others:
                other.join(PATIENCE)
                if other.exitcode != 0:
                    sys.exit(f"clients: one that misbehaves found more than it should (seed {seed})")
            server.send_signal(signal.SIGTERM)
            if server.wait(PATIENCE) != 0:
                sys.exit(f"clients: the server ended with status {server.returncode}: {server.stderr.read()}")
            if list(directory.iterdir()):
                sys.exit("clients: sockets are left")
        finally:
            for other in multiprocessing.active_children():
                other.kill()
            server.kill()
            server.wait()
    return count, longest


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--hcasim", required=True)
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "little"))
    options = parser.parse_args()
    print(f"an honest client beside four that misbehave, for {options.seconds:g} s (seed {options.seed})", flush=True)
    count, longest = run(options.hcasim, options.source, options.seconds, options.seed)
    print(f"beside them: {count} answers, none lost, longest delay {longest * 1e3:.2f} ms (wanted: below 50 ms)")


if __name__ == "__main__":
    main()
