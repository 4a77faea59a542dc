"""One guest: QEMU's command line, its two channels to us, its end.

The session (hvc0 in the guest) is what a person or a script reads and writes. The control channel, a port beside it,
carries lines: from the guest `ready SECONDS`, `part NAME`, `exit STATUS`; to it `size ROWS COLUMNS`. The kernel's
console is a file.
"""

import dataclasses
import json
import pathlib
import shlex
import socket
import subprocess
import threading
import time

import image
import progress

HERE = pathlib.Path(__file__).resolve().parent
KERNEL_ARGUMENTS = "quiet console=ttyS0 panic=-1 mitigations=off audit=0 no_timer_check net.ifnames=0 log_buf_len=4M"


@dataclasses.dataclass
class Setup:
    """What a guest is to be; `settings` are variables of its scripts."""
    image: image.Image
    functions: list                 # (name, socket) of the devices, in the order of their slots
    command: pathlib.Path | None = None  # a bash script; without one a person gets a shell
    settings: dict = dataclasses.field(default_factory=dict)
    memory: str = "1G"
    cpus: int = 2
    extra: pathlib.Path | None = None    # a directory that appears as /extra
    shared: pathlib.Path | None = None   # a directory that several guests see as /shared
    network: tuple | None = None         # (socket, whether we listen, number of the guest)
    reboots: bool = False                # a reboot of the guest starts it again instead of ending it
    kernel_arguments: str = ""
    beside: bool = False                 # a drive of the emulator's own is there, too
    switch: bool = False                 # the devices are behind one PCIe switch, and not on root ports of their own
    iommu: bool = False                  # the devices are behind an Intel IOMMU, and the kernel uses it


def network_arguments(path, listens, number):
    """Ethernet of the guest with that number; of two, one listens on the socket and the other calls."""
    # Without asking again, one that calls before the other listens would never have a network, and not say so.
    end = "server=on" if listens else "server=off,reconnect-ms=100"
    return ["-netdev", f"stream,id=net,{end},addr.type=unix,addr.path={path}",
            "-device", f"virtio-net-pci,netdev=net,mac=52:54:00:00:00:{number:02x}"]


class Machine:
    """A running guest. `on_output(bytes)` gets its session, `on_control(words)` the lines that are not ours to know."""

    def __init__(self, setup, directory, on_output, on_control=lambda words: None):
        self.directory = directory
        self.status = None        # exit status of the script
        self.ready_after = None   # seconds from start to the first script
        self._on_control = on_control
        exchange = directory / "exchange"
        exchange.mkdir(parents=True)
        self.exchange = exchange
        if setup.command is not None:
            (exchange / "command").write_bytes(setup.command.read_bytes())
        shares = [name for name in ("extra", "shared") if getattr(setup, name) is not None]
        settings = {"FUNCTIONS": " ".join(name for name, _ in setup.functions), "SHARES": " ".join(shares),
                    **setup.settings}
        (exchange / "settings").write_text("".join(f"{key}={shlex.quote(str(value))}\n"
                                                   for key, value in settings.items()))
        self._listeners = {}
        for name in ("session", "control"):
            self._listeners[name] = socket.socket(socket.AF_UNIX)
            self._listeners[name].bind(str(directory / name))
            self._listeners[name].listen(1)
            self._listeners[name].settimeout(60)
        self.begun = time.monotonic()
        self.errors = directory / "qemu.log"
        with self.errors.open("w") as errors:
            self.process = subprocess.Popen([str(word) for word in self._command(setup)], stdin=subprocess.DEVNULL,
                                            stdout=errors, stderr=subprocess.STDOUT, start_new_session=True)
        self.session, self.control = self._accept("session"), self._accept("control")
        self.scripts_ended = threading.Event()
        self._threads = [threading.Thread(target=self._read_session, args=(on_output,), daemon=True),
                         threading.Thread(target=self._read_control, daemon=True)]
        for thread in self._threads:
            thread.start()

    # --- the command line ---------------------------------------------------------------------------------------------

    def _command(self, setup):
        kernel, directory = setup.image.kernel, self.directory
        command = [
            *image.qemu_command(setup.image.qemu), "-nodefaults", "-no-user-config", "-display", "none",
            # A signal ends it; what it runs out of memory is shared, since the devices read it from outside.
            "-machine", "q35,memory-backend=memory", "-accel", "tcg,thread=multi", "-smp", setup.cpus,
            "-m", setup.memory, "-object", f"memory-backend-memfd,id=memory,size={setup.memory},share=on",
            # Without these two flags memcpy is not `rep movsb`, which TCG runs byte by byte.
            "-cpu", "max,-erms,-fsrm",
            "-kernel", kernel / "vmlinux", "-initrd", kernel / "initrd",
            "-append", " ".join([KERNEL_ARGUMENTS, *(["intel_iommu=on"] if setup.iommu else []),
                                 setup.kernel_arguments]).strip(),
            "-serial", f"file:{directory / 'console.log'}",
            "-chardev", f"socket,id=session,path={directory / 'session'}",
            "-chardev", f"socket,id=control,path={directory / 'control'}",
            "-device", "virtio-serial-pci", "-device", "virtconsole,chardev=session",
            "-device", "virtserialport,chardev=control,name=hcasim.control",
        ]
        if not setup.reboots:
            command.append("-no-reboot")
        if setup.iommu:
            # Before the devices that it translates for. With caching mode the kernel tells QEMU of what it maps.
            command += ["-machine", "kernel-irqchip=split", "-device", "intel-iommu,intremap=on,caching-mode=on"]
        for name, disk, mode in (("root", setup.image.root / "root.img", "snapshot=on"),
                                 ("modules", kernel / "modules.img", "readonly=on")):
            command += ["-drive", f"id={name},if=none,format=raw,file={disk},{mode}",
                        "-device", f"virtio-blk-pci,drive={name}"]
        for tag, path, mode in (("hcasim", HERE, ",readonly=on"), ("exchange", self.exchange, ""),
                                ("extra", setup.extra, ""), ("shared", setup.shared, "")):
            if path is not None:
                command += ["-virtfs", f"local,path={path},mount_tag={tag},security_model=none,multidevs=remap{mode}"]
        if setup.network is not None:
            command += network_arguments(*setup.network)
        if setup.switch:
            command += ["-device", "pcie-root-port,id=root,chassis=98,slot=98",
                        "-device", "x3130-upstream,id=up,bus=root"]
        port = "xio3130-downstream,bus=up," if setup.switch else "pcie-root-port,"
        for number, (_, path) in enumerate(setup.functions, 1):
            device = {"driver": "vfio-user-pci", "bus": f"slot{number}", "rombar": 0, "x-msg-timeout": 30000,
                      "socket": {"type": "unix", "path": str(path)}}
            command += ["-device", f"{port}id=slot{number},chassis={number},slot={number}",
                        "-device", json.dumps(device)]
        if setup.beside:
            medium = directory / "beside.img"
            with medium.open("wb") as file:
                file.truncate(256 << 20)
            command += ["-drive", f"id=beside,if=none,format=raw,file={medium},discard=unmap",
                        "-device", "pcie-root-port,id=beside,chassis=99,slot=99",
                        "-device", "nvme,bus=beside,serial=emulator,drive=beside"]
        return command

    # --- its channels -------------------------------------------------------------------------------------------------

    def _accept(self, name):
        listener = self._listeners[name]
        listener.settimeout(0.2)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                connection, _ = listener.accept()
                connection.settimeout(None)
                listener.close()
                return connection
            except TimeoutError:
                pass
        self.kill()
        raise progress.Failure(f"QEMU does not start:\n{self.errors.read_text()[-2000:]}")

    def _read_session(self, on_output):
        while data := self._receive(self.session):
            on_output(data)

    def _read_control(self):
        rest = b""
        while data := self._receive(self.control):
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                self._heed(line.decode(errors="replace").split(maxsplit=1))
        self.scripts_ended.set()

    @staticmethod
    def _receive(connection):
        try:
            return connection.recv(65536)
        except OSError:
            return b""

    def _heed(self, words):
        if words[:1] == ["ready"] and self.ready_after is None:
            self.ready_after = time.monotonic() - self.begun
        if words[:1] == ["exit"]:
            self.status = int(words[1])
            self.scripts_ended.set()
        if words:
            self._on_control(words)

    def tell(self, line):
        try:
            self.control.sendall(line.encode() + b"\n")
        except OSError:
            pass  # it is gone, which others notice

    # --- its end ------------------------------------------------------------------------------------------------------

    def wait(self, seconds):
        """Until its script or QEMU has ended; False when the time is over first."""
        return self.scripts_ended.wait(seconds)

    def wait_for_power_off(self, seconds):
        try:
            self.process.wait(timeout=seconds)
            return True
        except subprocess.TimeoutExpired:
            return False

    def kill(self):
        """Ends QEMU now; what the guest had written before it said `exit` has arrived."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        for thread in getattr(self, "_threads", []):
            if thread is not threading.current_thread():
                thread.join(timeout=10)

    def console(self, count=25):
        """The last lines of the kernel's console."""
        path = self.directory / "console.log"
        return path.read_text(errors="replace").splitlines()[-count:] if path.exists() else []
