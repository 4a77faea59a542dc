"""The cache of guests: a part is made once, whole or not at all, whoever else is at it."""

import multiprocessing
import os
import pathlib
import signal
import tempfile
import time

import image


def make(into, _):
    with (pathlib.Path(os.environ["XDG_CACHE_HOME"]) / "makers").open("a") as makers:
        makers.write("x")
    (into / "first").write_text("1")
    time.sleep(float(os.environ.get("SLOW", "0")))
    (into / "second").write_text("2")
    os.utime(into, (0, 0))  # as unpacking an old package does


def build(queue=None):
    made = image.part("thing", ["recipe"], make)
    if queue is not None:
        queue.put(sorted(path.name for path in made.iterdir()))


def makers(base):
    return len((base / "makers").read_text())


def two_at_once(base):
    os.environ["SLOW"] = "1"
    queue = multiprocessing.Queue()
    builders = [multiprocessing.Process(target=build, args=(queue,)) for _ in range(2)]
    for builder in builders:
        builder.start()
    assert [queue.get(timeout=30) for _ in builders] == [["first", "second"]] * 2
    assert makers(base) == 1, "the second one was to wait for the first one's"
    for builder in builders:
        builder.join()


def killed_half_way(base):
    os.environ["SLOW"] = "60"
    builder = multiprocessing.Process(target=build)
    builder.start()
    while not list(image.cache().glob(".thing.making.*/made/first")):
        time.sleep(0.01)
    os.kill(builder.pid, signal.SIGKILL)
    builder.join()
    assert not [path for path in image.cache().iterdir() if not path.name.startswith(".")], "half a part counts"
    os.environ["SLOW"] = "0"
    build()
    assert makers(base) == 2
    assert not list(image.cache().glob(".thing.making.*")), "the other's half is still there"
    build()
    assert makers(base) == 2, "a part that is there was made again"


def another_recipe(_):
    os.environ["SLOW"] = "0"
    assert image.part("thing", ["recipe"], make) != image.part("thing", ["another"], make)


def old_ones_go(_):
    os.environ["SLOW"] = "0"
    old, new = (image.part("thing", [recipe], make) for recipe in ("old", "new"))
    os.utime(old, (0, 0))
    newest = image.part("thing", ["newest"], make)
    assert not old.exists() and new.exists() and newest.exists()


def fails(base):
    def broken(into, _):
        (into / "first").write_text("1")
        raise OSError("the network is gone")
    try:
        image.part("other", ["recipe"], broken)
    except OSError:
        assert not [path for path in image.cache().iterdir() if "other-" in path.name or "making" in path.name], base
        return
    raise AssertionError("a failure was not reported")


for test in (two_at_once, killed_half_way, another_recipe, old_ones_go, fails):
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["XDG_CACHE_HOME"] = scratch
        test(pathlib.Path(scratch))
        print(f"ok {test.__name__}")
