"""suite.py RESULTS.json [--dev DEVICE] [NAME...]: rdma-core's own tests, each in a process of its own.

Some tests crash the interpreter and some hang; neither may take the others along. The results are a list of
[name, verdict, text]; verdicts are passed, failed, skipped, crashed and hung.
"""

import collections
import json
import os
import pickle
import signal
import sys
import time
import unittest

SUITE = "/opt/pyverbs"
PATIENCE = 40  # seconds a test may take

sys.path[:0] = [SUITE, SUITE + "/tests"]
os.chdir(SUITE)


def flat(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from flat(item)
        else:
            yield item


def all_tests(names):
    import tests  # pylint: disable=import-outside-toplevel
    loader = unittest.defaultTestLoader
    if names:
        return list(flat(loader.loadTestsFromNames(names)))
    return [test for module in tests.__test_modules__ for test in flat(loader.loadTestsFromModule(module))]


def run_here(test, out):
    """In the child: the verdict goes through the pipe."""
    os.setpgid(0, 0)
    sink = os.open("/dev/null", os.O_WRONLY)
    os.dup2(sink, 1)
    os.dup2(sink, 2)
    result = unittest.TestResult()
    unittest.TestSuite([test]).run(result)
    bad = result.failures + result.errors
    if bad:
        answer = "failed", bad[0][1]
    elif result.skipped:
        answer = "skipped", result.skipped[0][1]
    else:
        answer = "passed", ""
    os.write(out, pickle.dumps((answer[0], answer[1][-6000:])))
    os._exit(0)


def run_apart(test):
    back, out = os.pipe()
    child = os.fork()
    if child == 0:
        run_here(test, out)
    os.close(out)
    deadline, status = time.monotonic() + PATIENCE, None
    while status is None and time.monotonic() < deadline:
        done, code = os.waitpid(child, os.WNOHANG)
        if done:
            status = code
        else:
            time.sleep(0.01)
    try:
        os.killpg(child, signal.SIGKILL)  # what hangs, and processes that a test left
    except ProcessLookupError:
        pass
    if status is None:
        os.waitpid(child, 0)
        verdict = "hung", f"not done after {PATIENCE} s"
    else:
        os.set_blocking(back, False)
        try:
            verdict = pickle.loads(os.read(back, 65536))
        except (BlockingIOError, EOFError, pickle.UnpicklingError):
            verdict = "crashed", f"wait status {status:#x}"
    os.close(back)
    return verdict


def main():
    results, arguments = sys.argv[1], sys.argv[2:]
    device = "mlx5_0"
    if arguments[:1] == ["--dev"]:
        device, arguments = arguments[1], arguments[2:]
    sys.argv[1:] = ["--dev", device]
    from args_parser import parser  # pylint: disable=import-outside-toplevel
    parser.parse_args()
    rows, counts = [], collections.Counter()
    for test in all_tests(arguments):
        begun = time.monotonic()
        verdict, text = run_apart(test)
        counts[verdict] += 1
        rows.append([test.id(), verdict, text])
        last = text.strip().splitlines()[-1][:160] if text.strip() else ""
        print(f"{verdict:8} {test.id()} {time.monotonic() - begun:.1f} s {last}", flush=True)
    with open(results, "w", encoding="utf-8") as file:
        json.dump(rows, file, indent=0)
    print(", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())), flush=True)


if __name__ == "__main__":
    main()
