"""Programs of ours for a guest: copies of them and of the libraries that they want, for a loader of the guest's own."""

import re
import shutil
import subprocess

import progress

LIBRARY = re.compile(r"^\s*(\S+) => (/\S+)")
# These belong together with the guest's loader; Debian 13 has them in versions that take programs of Debian 12.
OF_THE_GUEST = re.compile(r"^(libc|libm|libpthread|libdl|librt|ld-linux.*)\.so")


def provide(names, built, into):
    """Copies programs from where they were built; the guest runs them with LD_LIBRARY_PATH at the same directory."""
    if not names:
        return
    into.mkdir()
    for name in names:
        program = built / name
        if not program.exists():
            raise progress.Failure(f"{program}: is not there; build the target {name} of that tree first")
        shutil.copy2(program, into)
        listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
        for found in filter(None, map(LIBRARY.match, listed.splitlines())):
            if not OF_THE_GUEST.match(found[1]):
                shutil.copy2(found[2], into / found[1])
