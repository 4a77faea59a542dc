"""Two guests have a network between them whichever comes up first: on a busy machine it may be the one that calls."""

import contextlib
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

import image
import machine
import progress
import recipe


@contextlib.contextmanager
def started(qemu, listener, listens, number):
    """A QEMU that has nothing but its end of the network; its processor stands still."""
    arguments = machine.network_arguments(listener, listens, number)
    process = subprocess.Popen([*map(str, image.qemu_command(qemu)), "-nodefaults", "-no-user-config",
                                "-display", "none", "-S",
                                "-machine", "q35", "-accel", "tcg", "-m", "64M", *arguments], stdin=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def the_caller_may_come_first(qemu, directory):
    with (started(qemu, directory / "network", listens=False, number=2) as caller,
          socket.socket(socket.AF_UNIX) as listener):
        time.sleep(2)  # it has called by then, and nobody was there
        assert caller.poll() is None, "a QEMU whose peer is not there yet does not stay"
        listener.bind(str(directory / "network"))
        listener.listen(1)
        listener.settimeout(60)
        try:
            listener.accept()[0].close()
        except TimeoutError:
            raise AssertionError("a guest that had called too early has no network for good") from None


if __name__ == "__main__":
    try:
        with tempfile.TemporaryDirectory() as scratch:
            the_caller_may_come_first(image.prepare(recipe.DEFAULT_KERNEL).qemu, pathlib.Path(scratch))
    except progress.Unreachable as failure:
        print(f"SKIPPED {failure}")
        sys.exit(failure.STATUS)
    print("the guest that came first was reached")
