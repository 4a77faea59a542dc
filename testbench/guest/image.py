"""image.py [KERNEL|ROOT...]: the parts of a guest, made once and kept: QEMU, a root file system, kernels.

Each part is a directory of the cache (${XDG_CACHE_HOME:-~/.cache}/hcasim/guest), named after a hash of all that went
into its recipe, so that a fresh clone finds what an earlier one made. A part is made aside, under a lock, and renamed
when it is whole: half a part never counts, and of two builders one waits for the other.
"""

import contextlib
import dataclasses
import fcntl
import hashlib
import inspect
import lzma
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import packages
import progress
import recipe

HERE = pathlib.Path(__file__).resolve().parent
LIBRARIES = "usr/lib/x86_64-linux-gnu"


@dataclasses.dataclass(frozen=True)
class Image:
    qemu: pathlib.Path    # an unpacked tree
    root: pathlib.Path    # root.img
    kernel: pathlib.Path  # vmlinux, initrd, modules.img


def cache():
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "hcasim" / "guest"


def prepare(kernel, root_name="tools"):
    """All parts of a guest with that kernel and root; makes those that are missing."""
    if kernel not in recipe.KERNELS:
        raise progress.Failure(f"no kernel is called {kernel}; there are {', '.join(recipe.KERNELS)}")
    if root_name not in recipe.ROOTS:
        raise progress.Failure(f"no root is called {root_name}; there are {', '.join(recipe.ROOTS)}")
    suites, pattern = recipe.KERNELS[kernel]
    qemu = part("qemu", [recipe.QEMU_SUITES, recipe.QEMU_PINNED, recipe.QEMU_PACKAGES, make_qemu], make_qemu)
    root = make_root_part("tools")
    stage = (HERE / "inside/stage").read_text()
    made = part(f"kernel-{kernel}",
                [suites, pattern, recipe.MODULES, recipe.EARLY_MODULES, stage, root.name, make_kernel, make_disk,
                 unpack_elf, unpack_zstd, unpack_xz, choose_modules, make_stage],
                lambda into, scratch: make_kernel(into, scratch, suites, pattern, root))
    return Image(qemu, root if root_name == "tools" else make_root_part(root_name), made)


def make_root_part(name):
    names = recipe.ROOTS[name]
    return part("root" if name == "tools" else f"{name}-root",
                [recipe.ROOT_SUITES, names, make_root, settle, make_disk],
                lambda into, scratch: make_root(into, scratch, names))


def part(name, ingredients, make):
    """The directory of a part. make(into, scratch) fills `into`; `scratch` is removed afterwards.

    ingredients: data and functions; another text of one of them makes another part.
    """
    recipe_text = [inspect.getsource(one) if callable(one) else one
                   for one in ingredients] + [inspect.getsource(packages)]
    key = hashlib.sha256(repr(recipe_text).encode()).hexdigest()[:16]
    made = cache() / f"{name}-{key}"
    if made.exists():
        os.utime(made)
        return made
    cache().mkdir(parents=True, exist_ok=True)
    with locked(cache() / f".{name}.lock", name):
        if made.exists():  # by whom we waited for
            return made
        for left in cache().glob(f".{name}.making.*"):  # by somebody who was killed: nobody else holds the lock
            shutil.rmtree(left, ignore_errors=True)
        progress.say(f"making {made}")
        aside = pathlib.Path(tempfile.mkdtemp(prefix=f".{name}.making.", dir=cache()))
        try:
            (aside / "made").mkdir()
            (aside / "scratch").mkdir()
            make(aside / "made", aside / "scratch")
            os.sync()
            os.utime(aside / "made")  # unpacking a package gives a directory the package's time
            (aside / "made").rename(made)
        finally:
            shutil.rmtree(aside, ignore_errors=True)
        forget_old(name, made)
    return made


def forget_old(name, made, days=30):
    """Other recipes' parts that nobody has used for long."""
    for other in cache().glob(f"{name}-*"):
        if other != made and time.time() - other.stat().st_mtime > days * 86400:
            progress.say(f"removing {other}, unused for {days} days")
            shutil.rmtree(other, ignore_errors=True)


@contextlib.contextmanager
def locked(path, name):
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress.say(f"somebody else is making {name}: waiting")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


# --- QEMU -------------------------------------------------------------------------------------------------------------

def make_qemu(into, scratch):
    source = packages.Packages(scratch / "apt", recipe.QEMU_SUITES, recipe.QEMU_PINNED)
    source.unpack("QEMU", recipe.QEMU_PACKAGES, into)
    devices = subprocess.run([*qemu_command(into), "-device", "help"], capture_output=True, text=True, check=False)
    if '"vfio-user-pci"' not in devices.stdout:
        raise progress.Failure(f"this QEMU has no vfio-user-pci: {devices.stderr[-500:]}")


def qemu_command(tree):
    """An unpacked tree has no /lib64: the loader is called by its path, and QEMU told where its data are."""
    libraries = tree / LIBRARIES
    return [libraries / "ld-linux-x86-64.so.2", "--library-path", f"{libraries}:{libraries}/pulseaudio", "--argv0",
            "qemu-system-x86_64", tree / "usr/bin/qemu-system-x86_64", "-L", tree / "usr/share/qemu", "-L",
            tree / "usr/share/seabios", "-L", tree / "usr/lib/ipxe/qemu"]


# --- the root file system ---------------------------------------------------------------------------------------------

def make_root(into, scratch, names):
    tree = scratch / "tree"
    packages.Packages(scratch / "apt", recipe.ROOT_SUITES).unpack("the guest's tools", names, tree)
    settle(tree)
    shutil.copy(tree / "usr/bin/busybox", into / "busybox")
    make_disk("the root file system", tree, into / "root.img", free_mb=256)


def settle(tree):
    """What maintainer scripts would have done, and the tests of pyverbs out of the documents."""
    for link, target in (("usr/bin/sh", "bash"), ("usr/bin/awk", "gawk"), ("usr/bin/vi", "vim.tiny"),
                         ("usr/bin/nc", "nc.openbsd"), ("usr/bin/pager", "less")):
        (tree / link).unlink(missing_ok=True)
        (tree / link).symlink_to(target)
    for name, text in (("passwd", "root:x:0:0:root:/root:/bin/bash\n"), ("group", "root:x:0:\n"),
                       ("hostname", "guest\n"), ("hosts", "127.0.0.1 localhost guest\n"), ("shells", "/bin/bash\n")):
        (tree / "etc" / name).write_text(text)
    for name in ("proc", "sys", "dev", "run", "tmp", "root", "hcasim", "exchange", "extra", "usr/lib/modules",
                 "var/lib"):
        (tree / name).mkdir(parents=True, exist_ok=True)
    tests = tree / "opt/pyverbs/tests"
    shutil.copytree(tree / "usr/share/doc/rdma-core/tests", tests)
    progress.run("unpacking the tests of pyverbs",
                 ["sh", "-c", 'find "$1" -name "*.gz" -exec gzip -df {} +', "sh", tests])
    for name in ("doc", "man", "locale", "info", "lintian", "doc-base", "i18n"):
        shutil.rmtree(tree / "usr/share" / name, ignore_errors=True)
    subprocess.run(["/sbin/ldconfig", "-r", tree], check=False, capture_output=True)
    # Byte code by the guest's own Python; without it each test would compile its modules anew.
    python = next((tree / "usr/bin").glob("python3.[0-9]*"))
    progress.run("compiling Python's libraries",
                 [tree / LIBRARIES / "ld-linux-x86-64.so.2", "--library-path", tree / LIBRARIES, python,
                  "-m", "compileall", "-qq",
                  "-s", tree, "-p", "/", tree / "usr/lib/python3", tests, *(tree / "usr/lib").glob("python3.[0-9]*")],
                 env={**os.environ, "PYTHONHOME": str(tree / "usr")})


def make_disk(what, tree, disk, free_mb):
    megabytes = progress.size_of(tree) // 1_000_000
    progress.run(f"writing {what}", ["/sbin/mke2fs", "-q", "-t", "ext4", "-O", "^has_journal,^orphan_file", "-m", "0",
                                     "-E", "root_owner=0:0", "-d", tree, disk, f"{megabytes * 5 // 4 + free_mb}M"])


# --- a kernel ---------------------------------------------------------------------------------------------------------

def make_kernel(into, scratch, suites, pattern, root):
    source = packages.Packages(scratch / "apt", suites)
    name = source.newest(pattern)
    tree = scratch / "tree"
    # From 7.2 on the kernel and its modules are packages of their own.
    release = re.escape(name.removeprefix("linux-image-"))
    source.unpack(name, [name, *source.matching(rf"^linux-(base|binary|modules)-{release}$")], tree, dependencies=False)
    (into / "name").write_text(name + "\n")
    if not (tree / "lib").exists():
        (tree / "lib").symlink_to("usr/lib")
    modules = next((tree / "lib/modules").iterdir())
    unpack_elf(next(iter([*tree.glob("boot/vmlinuz-*"), *modules.glob("vmlinuz")])), into / "vmlinux")
    chosen = scratch / "chosen"
    choose_modules(modules, tree, chosen)
    make_disk("the modules", chosen / "lib/modules", into / "modules.img", free_mb=8)
    make_stage(chosen, modules.name, root / "busybox", scratch / "stage", into / "initrd")


def unpack_elf(compressed, elf):
    """The kernel as an ELF file: booted by PVH it saves the guest a second or two of unpacking itself."""
    data = compressed.read_bytes()
    for magic, unpack in ((b"\x28\xb5\x2f\xfd", unpack_zstd), (b"\xfd7zXZ\0", unpack_xz)):
        at = data.find(magic)
        while at >= 0:
            found = unpack(data[at:])
            if found[:4] == b"\x7fELF":
                elf.write_bytes(found)
                return
            at = data.find(magic, at + 1)
    raise progress.Failure(f"{compressed.name} holds no kernel that zstd or xz could unpack")


def unpack_zstd(data):
    return subprocess.run(["zstd", "-dcq"], input=data, capture_output=True, check=False).stdout


def unpack_xz(data):
    with contextlib.suppress(lzma.LZMAError):
        return lzma.LZMADecompressor().decompress(data)
    return b""


def choose_modules(modules, tree, chosen):
    """The modules of the recipe and what they depend on, uncompressed, so that loading one costs the guest less."""
    if not (modules / "modules.dep").exists():
        progress.run("dependencies of the modules", ["/sbin/depmod", "-b", tree, modules.name])
    depends = {}
    for line in (modules / "modules.dep").read_text().splitlines():
        path, _, needed = line.partition(":")
        depends[path] = needed.split()
    wanted = [path for path in depends if any(re.search(pattern, path) for pattern in recipe.MODULES)]
    taken = set()
    while wanted:
        path = wanted.pop()
        if path not in taken:
            taken.add(path)
            wanted += depends[path]
    target = chosen / "lib/modules" / modules.name
    for path in taken:
        data = (modules / path).read_bytes()
        if path.endswith(".xz"):
            data = lzma.decompress(data)
        elif path.endswith(".zst"):
            data = unpack_zstd(data)
        plain = target / path.removesuffix(".xz").removesuffix(".zst")
        plain.parent.mkdir(parents=True, exist_ok=True)
        plain.write_bytes(data)
    for name in ("modules.builtin", "modules.order", "modules.builtin.modinfo"):
        shutil.copy(modules / name, target)
    progress.run(f"dependencies of {len(taken)} modules", ["/sbin/depmod", "-b", chosen, modules.name])


def make_stage(chosen, version, busybox, stage, initrd):
    """The first stage: busybox, the modules that the root needs, and inside/stage as its init."""
    for name in ("bin", "modules", "system", "proc", "dev"):
        (stage / name).mkdir(parents=True)
    shutil.copy(busybox, stage / "bin/busybox")
    shutil.copy(HERE / "inside/stage", stage / "init")
    (stage / "init").chmod(0o755)
    shown = subprocess.run(["/sbin/modprobe", "-d", chosen, "-S", version, "-a",
                            "--show-depends", *recipe.EARLY_MODULES],
                           capture_output=True, text=True, check=True).stdout
    files = dict.fromkeys(line.split()[1] for line in shown.splitlines() if line.startswith("insmod "))
    for number, file in enumerate(files):
        shutil.copy(file, stage / "modules" / f"{number:02}.ko")
    names = sorted(path.relative_to(stage).as_posix() for path in stage.rglob("*"))
    with initrd.open("wb") as out:
        subprocess.run(["cpio", "--quiet", "-R", "0:0", "-o", "-H", "newc"], input="\n".join(names).encode() + b"\n",
                       stdout=out, cwd=stage, check=True)


if __name__ == "__main__":
    try:
        for wanted in sys.argv[1:] or [recipe.DEFAULT_KERNEL]:
            print(prepare(recipe.DEFAULT_KERNEL, wanted).root if wanted in recipe.ROOTS else prepare(wanted).kernel)
    except progress.Unreachable as failure:
        print(f"guest: SKIPPED: {failure}", file=sys.stderr)
        sys.exit(failure.STATUS)
    except progress.Failure as failure:
        sys.exit(f"guest: {failure}")
