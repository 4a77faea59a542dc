"""shell.py --hcasim PROGRAM [PLATFORM.toml] [options] [-- COMMAND...]: a guest for a person, with every device
attached.

Without a command it is a root shell on this terminal. Ctrl-C belongs to the guest; `exit` or `poweroff` ends it, and so
does Ctrl-] at any time. With a command the guest runs that and ends; its status is ours.
"""

import argparse
import fcntl
import os
import pathlib
import select
import shlex
import shutil
import signal
import struct
import sys
import tempfile
import termios
import tty

import fabric
import image
import machine
import progress
import recipe

LEAVE = b"\x1d"  # Ctrl-]


def parse(arguments):
    own, command = arguments, None
    if "--" in arguments:
        at = arguments.index("--")
        own, command = arguments[:at], arguments[at + 1:]
    parser = argparse.ArgumentParser(prog="./dev guest", description=__doc__.partition("\n\n")[2],
                                     usage="./dev guest [PLATFORM.toml] [options] [-- COMMAND...]")
    parser.add_argument("--hcasim", required=True, help=argparse.SUPPRESS)
    parser.add_argument("platform", nargs="?", default=fabric.SOURCE / "platform/configs/pair.toml",
                        metavar="PLATFORM.toml", help="what is served (default platform/configs/pair.toml)")
    parser.add_argument("--machine", default="both", help="whose functions the guest gets: A, B or both (default)")
    parser.add_argument("--kernel", default=recipe.DEFAULT_KERNEL, choices=recipe.KERNELS, help="default %(default)s")
    parser.add_argument("--root", default="tools", choices=recipe.ROOTS,
                        help="applications: also UCX, Open MPI, NFS (default %(default)s)")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE",
                        help="override a key of the platform")
    parser.add_argument("--memory", default="1G", help="of the guest (default %(default)s)")
    parser.add_argument("--cpus", type=int, default=2, help="of the guest (default %(default)s)")
    parser.add_argument("-e", "--extra", type=pathlib.Path, metavar="DIR",
                        help="appears as /extra in the guest, for both to write")
    parser.add_argument("--commands", action="store_true", help="list each command of the driver in the log")
    parser.add_argument("--pcap", type=pathlib.Path, metavar="FILE", help="write the frames of the cable as pcapng")
    parser.add_argument("--no-drivers", action="store_true", help="leave loading the drivers to you")
    parser.add_argument("--keep", action="store_true", help="keep the logs of the run")
    options = parser.parse_args(own)
    options.command = command
    if options.extra is not None and not options.extra.is_dir():
        parser.error(f"{options.extra} is no directory")
    if options.command is None and not (sys.stdin.isatty() and sys.stdout.isatty()):
        parser.error("a shell needs a terminal; give a command after --")
    return options


def window():
    try:
        return struct.unpack("HH", fcntl.ioctl(0, termios.TIOCGWINSZ, bytes(4)))
    except OSError:
        return 24, 80


def write(data):
    while data:
        data = data[os.write(1, data):]


def converse(guest):
    """Relays what is typed until the guest or the person has enough; what the guest says is written by its own
    thread."""
    before = termios.tcgetattr(0)
    signal.signal(signal.SIGWINCH, lambda *_: guest.tell("size {} {}".format(*window())))
    tty.setraw(0)
    try:
        while not guest.scripts_ended.is_set():
            if select.select([0], [], [], 0.2)[0]:
                typed = os.read(0, 4096)
                if not typed or LEAVE in typed:
                    break
                guest.session.sendall(typed)
    except OSError:
        pass  # the guest has gone while we wrote to it
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)


def serve(options, directory):
    made = image.prepare(options.kernel, options.root)
    served = fabric.Fabric(options.hcasim, directory, options.platform, options.set, options.pcap, options.commands)
    try:
        machines = "".join(served.functions) if options.machine == "both" else options.machine
        rows, columns = window()
        settings = {"ROWS": rows, "COLUMNS": columns, "TERMINAL": os.environ.get("TERM", "xterm"), "LOG": served.output,
                    "COMMANDS": int(options.commands), "DRIVERS": int(not options.no_drivers)}
        setup = machine.Setup(made, served.of(machines), settings=settings, memory=options.memory, cpus=options.cpus,
                              extra=options.extra and options.extra.resolve())
        if options.command is not None:
            setup.command = directory / "command"
            load = "" if options.no_drivers else "load_drivers\n"
            setup.command.write_text(f". /hcasim/inside/drivers.sh\n{load}{shlex.join(options.command)}\n")
        has_log = options.commands or options.keep
        progress.say(f"starting; the log of the device is {served.output}" if has_log else "starting")
        guest = machine.Machine(setup, directory, write)
        try:
            if options.command is None:
                converse(guest)
            else:
                guest.wait(None)
            if guest.status is not None:
                guest.wait_for_power_off(5)
        finally:
            guest.kill()
        if guest.status is None and options.command is not None:
            sys.stderr.write("\n".join(guest.console()) + "\n")
            raise progress.Failure("the guest ended without having finished the command; its console stands above")
        return guest.status or 0
    finally:
        wrong = served.end()
        if wrong:
            progress.say(f"{wrong}; the end of its log:\n" + "\n".join(served.lines()[-10:]))


def main(arguments):
    options = parse(arguments)
    directory = pathlib.Path(tempfile.mkdtemp(prefix="hcasim-guest."))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        return serve(options, directory)
    except progress.Failure as failure:
        sys.stderr.write(f"guest: {failure}\n")
        return 125
    except KeyboardInterrupt:
        return 130
    finally:
        if options.keep:
            progress.say(f"the logs are in {directory}")
        else:
            shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
