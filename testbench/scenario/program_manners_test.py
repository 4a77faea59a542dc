"""program_manners_test.py HCASIM SOURCE CASE: how the program behaves towards whoever starts it: files, signals, help,
JSON."""

import hashlib
import json
import os
import pty
import random
import re
import signal
import subprocess
import time

from program import CONFIG, PROGRAM, SCRATCH, SOURCE, expect, main, payload, refused, result, run, violations

VERIFIED, FAILED, REFUSED, OUTPUT_LOST = 0, 1, 2, 3


def words(*arguments, **more):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=250, check=False, **more)


def on_a_terminal(*arguments, columns=60, **environment):
    """Standard output is a terminal; what it shows."""
    inner, outer = pty.openpty()
    subprocess.run(["stty", "cols", str(columns)], stdin=outer, check=True)
    child = subprocess.Popen([PROGRAM, *arguments], stdout=outer, stderr=subprocess.PIPE,
                             env={**os.environ, "TERM": "xterm", **environment})
    os.close(outer)
    shown = b""
    try:
        while part := os.read(inner, 1 << 16):
            shown += part
    except OSError: # the other end is closed
        pass
    child.wait(timeout=250)
    return shown.decode().replace("\r\n", "\n")


# --- files and signals ------------------------------------------------------------------------------------------------

def outputs_are_no_inputs():
    """Nothing that a run reads is overwritten, no two results go to one place; the files are as they were."""
    data, config = payload(5000), SCRATCH / "own.toml"
    config.write_text("timed = true\n")
    (SCRATCH / "link").symlink_to(data)
    os.link(data, SCRATCH / "hard")
    before = data.read_bytes()
    for arguments in (["--json", data], ["--json", SCRATCH / "link"], ["--events", SCRATCH / "hard"],
                      ["--events", config], ["--pcap", config],
                      ["--json", SCRATCH / "x", "--events", SCRATCH / "x"], ["--json", "-", "--events", "/dev/stdout"],
                      [f"--explain={data}"]):
        refused(run("--payload", data, *arguments, config=config), "is the same file as")
        expect(data.read_bytes() == before and config.read_text() == "timed = true\n", f"{arguments}: changed an input")
        expect(not (SCRATCH / "x").exists(), f"{arguments}: left a file")
    refused(run("--json", PROGRAM), "is the same file as this program")
    expect(run("--payload", data, "--json", "/dev/null", "--events", "/dev/null").returncode == VERIFIED,
           "two results to nowhere")


def results_go_to_standard_output():
    """--json - and --events -: nothing else is there, the report is on standard error."""
    data = payload(5000)
    ran = run("--payload", data, "--json", "-")
    expect(ran.returncode == VERIFIED and json.loads(ran.stdout)["verified"] is True, ran.stdout[-500:])
    expect(ran.stderr.endswith("\n  verified\n"), ran.stderr[-500:])
    ran = run("--payload", data, "--events", "-", "--quiet")
    expect({"event", "time_ps"} <= set(json.loads(ran.stdout.splitlines()[0])) and ran.stderr == "",
           ran.stdout[:300] + ran.stderr)
    out = SCRATCH / "redirected"
    with out.open("w") as file:
        subprocess.run([PROGRAM, "run", CONFIG, "--payload", data, "--json", out, "-q"], stdout=file, check=True,
                       timeout=250)
    expect(json.loads(out.read_text())["verified"] is True, "standard output by the name of its file")


def signals_end_a_run_with_its_report():
    for number, name in ((signal.SIGINT, "interrupted (SIGINT)"), (signal.SIGTERM, "terminated (SIGTERM)")):
        out, log = SCRATCH / "result.json", SCRATCH / "events.txt"
        # So slow that it goes on for minutes; and so it does not depend on how fast this machine is.
        process = subprocess.Popen([PROGRAM, "run", CONFIG, "--payload", payload(20_000_000), "--json", out,
                                    "--events", log, "--set", "scenario.message=64"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        # In the middle of a step: the first events are there before its time has begun to pass.
        while not any(path.stat().st_size > 1 << 20 for path in SCRATCH.glob(".events.txt.*")):
            expect(process.poll() is None, "it ended by itself")
            time.sleep(0.05)
        expect(not log.exists() and not out.exists(), "files appear before they are complete")
        process.send_signal(number)
        stdout, stderr = process.communicate(timeout=250)
        expect(process.returncode == 128 + number, f"status {process.returncode}\n{stderr}")
        got = json.loads(out.read_text())
        expect(got["stopped"] == name and got["verified"] is False and name in got["failure"], got["failure"])
        expect(f"NOT VERIFIED: {name}" in stdout and name in stderr, stdout[-500:] + stderr)
        expect(len(got["transfers"]) <= 1 and all(0 <= t["packets"] <= got["wire_packets"]
                                                  and t["sim_time_ns"] > 0 for t in got["transfers"]),
               got["transfers"])
        expect(sum(got["events"].values()) == log.read_text().count("\n") > 0, "the log is not finished")
        out.unlink(), log.unlink()


def lost_output_is_told():
    """A full disk and a closed standard output have a status of their own, and the run ends when they are noticed."""
    data, full = payload(3_000_000), "/dev/full"
    for arguments in (["--json", full], ["--events", full], ["--pcap", full], ["--json", full, "--quiet"]):
        ran = run("--payload", data, *arguments)
        expect(ran.returncode == OUTPUT_LOST, f"{arguments}: status {ran.returncode}\n{ran.stderr}")
        expect("hcasim: /dev/full: cannot be written: No space left on device" in ran.stderr.splitlines(), ran.stderr)
    ran = run("--payload", data, "--events", full)
    expect("SEND  A -> B" not in ran.stdout, "it went on to its end, nobody to be told")
    for command in (["run", CONFIG], ["keys"], ["check", CONFIG], ["run", CONFIG, "--print-config"]):
        with open(full, "w") as file:
            ran = subprocess.run([PROGRAM, *command], stdout=file, stderr=subprocess.PIPE, text=True, timeout=250,
                                 check=False)
        expect(ran.returncode == OUTPUT_LOST, f"{command}: status {ran.returncode}\n{ran.stderr}")
        ran = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", PROGRAM, *command], stderr=subprocess.PIPE, text=True,
                             timeout=250, check=False)
        expect(ran.returncode == OUTPUT_LOST, f"{command}, closed: status {ran.returncode}\n{ran.stderr}")
    # A file that is opened where the streams are closed does not become one of them.
    events = SCRATCH / "events.txt"
    ran = subprocess.run(["sh", "-c", 'exec "$@" <&- >&-', "sh", PROGRAM, "run", CONFIG, "--payload", data,
                          "--events", events],
                         stderr=subprocess.PIPE, text=True, timeout=250, check=False)
    expect(ran.returncode == OUTPUT_LOST and not events.exists(), f"all closed: status {ran.returncode}\n{ran.stderr}")
    for arguments, status in ((["--json", "-"], OUTPUT_LOST), (["--json", full], OUTPUT_LOST),
                              (["--set", "timed=perhaps"], REFUSED)):
        ran = subprocess.run(["sh", "-c", 'exec "$@" 2>&-', "sh", PROGRAM, "run", CONFIG, *arguments],
                             stdout=subprocess.DEVNULL, timeout=250, check=False)
        expect(ran.returncode == status, f"{arguments}, nobody to be told: status {ran.returncode}")
    reader = subprocess.Popen(["true"], stdin=subprocess.PIPE)
    reader.wait()
    ran = subprocess.run([PROGRAM, "run", CONFIG], stdout=reader.stdin, stderr=subprocess.PIPE, text=True, timeout=250,
                         check=False)
    expect(ran.returncode == OUTPUT_LOST and "Broken pipe" in ran.stderr, f"status {ran.returncode}: {ran.stderr}")


# --- what it says -----------------------------------------------------------------------------------------------------

def failures_come_with_advice():
    for one, advice in (("link.loss=1", "link.loss = 1"), ("link.corrupt=1", "link.corrupt = 1")):
        got = result("--payload", payload(5000), "--set", one, status=FAILED)
        expect(advice in got["advice"], f"{one}: {got['advice']}")
    ran = run("--payload", payload(5000), "--set", "link.loss=1")
    expect("What to do: " in ran.stdout, ran.stdout[-1000:])


def what_waits_for_a_subnet_manager_is_refused():
    """By `check` and `run` alike, with both ways out; work that uses no wire is not held back."""
    managed = SOURCE / "platform/configs/fabric.toml"
    refused(words("check", managed), "subnet manager", "fabric.managed=false", "opensm")
    refused(run("--payload", payload(5000), config=managed), "subnet manager", "fabric.managed=false", "opensm")
    good = run("--payload", payload(5000), "--set", "fabric.managed=false", config=managed)
    expect(good.returncode == VERIFIED, f"the advice does not help: {good.stdout[-500:]}")


def help_is_short_and_complete():
    text = words("run", "--help").stdout
    expect(text.count("\n") < 60 and "hcasim keys" in text and "--print-config" in text, text)
    listed = words("keys").stdout
    for key in json.loads(words("keys", "--json").stdout):
        expect(re.search(rf"^  {re.escape(key)} ", listed, re.M), f"{key} is not listed")
    missing = words()
    expect(missing.returncode == REFUSED and "a command is missing" in missing.stderr, missing.stderr)
    for command in ("run", "serve", "explore", "replay", "check", "show", "trace", "keys"):
        expect(re.search(rf"\b{command}\b", missing.stderr), missing.stderr)
    for line in on_a_terminal("keys", columns=60).splitlines():
        expect(len(line) <= 60 or " " not in line.strip(), f"wider than the terminal: {line}")


def help_is_words():
    """Of each command: printable, what it takes is words or says of what kind it is, and nothing is refused that it
    lists."""
    def subcommands(*command):
        text = words(*command, "--help").stdout
        listed = re.search(r"^Subcommands:\n((?:  .*\n)+)", text, re.M)
        return text, re.findall(r"^  (\w+)", listed[1], re.M) if listed else []
    _, commands = subcommands()
    expect(len(commands) == 12, commands)
    waiting, seen = [(name,) for name in commands], []
    while waiting:
        command = waiting.pop()
        ran = subprocess.run([PROGRAM, *command, "--help"], capture_output=True, timeout=250, check=True)
        raw = sorted({byte for byte in ran.stdout if not 0x20 <= byte < 0x7f and byte != 0x0a})
        expect(not raw and ran.stderr == b"", f"{command}: bytes {raw} in its help")
        text, below = subcommands(*command)
        expect("ENUM" not in text, f"{command}: {text}")
        seen.append(command)
        waiting += [(*command, name) for name in below]
        for option, choices in re.findall(r"(--[a-z-]+) \w+:\{([^}]*)\}", text):
            refused(words(*command, option, "\x01"), option, *choices.split(","))
            for choice in choices.split(","):
                said = words(*command, option, choice).stderr # of which nothing is there to work on
                expect(option not in said, f"{command} {option} {choice}: {said}")
    expect(("trace", "show") in seen and len(seen) == 20, seen)
    # Four batches on their way to the file, and the one that is filled.
    expect(re.search(r"the\s+last\s+5\s+MiB", words("run", "--help").stdout), words("run", "--help").stdout)
    expect("verified" not in words("check", "--help").stdout.split("Exit status:")[1], "check runs nothing")


def a_configuration_is_checked_and_printed():
    good, bad, printed = SCRATCH / "good.toml", SCRATCH / "bad.toml", SCRATCH / "printed.toml"
    good.write_text('[scenario]\npayload = "beside"\n[link]\nseed = 4\n')
    (SCRATCH / "beside").write_bytes(b"abc")
    ran = words("check", good, cwd="/")
    expect(ran.returncode == VERIFIED and "can run 'gpudirect'" in ran.stdout, ran.stdout + ran.stderr)
    expect(f"note: {good}:4: 'link.seed' has no effect: " in ran.stdout, ran.stdout)
    bad.write_text('[link]\nlos = 1\n[gpu]\nvram = "1 GB"\n')
    ran = words("check", bad, "--set", "timed=yes")
    expect(ran.returncode == REFUSED and ran.stdout == "" and ran.stderr.splitlines() == [
        f"hcasim: {bad}:2: unknown key 'los', did you mean 'loss'?",
        f"hcasim: {bad}:4: 'vram' has the unknown unit 'GB'; the units are B KiB MiB GiB TiB, did you mean 'GiB'?",
        "hcasim: --set timed=yes: 'timed' wants true or false, not \"yes\", did you mean true?"], ran.stderr)
    refused(words("check", good, "--set", "scenario.qps=100", "--set", "hca.log_max_qp=4"), "scenario.qps")
    text = words("run", good, "--set", "link.loss=0.25", "--print-config").stdout
    printed.write_text(text)
    expect(text == words("run", printed, "--print-config").stdout and "\nloss = 0.25\n" in text
           and "\nseed = 4\n" in text, text)
    got = result(config=good)
    expect(got["payload_path"] == str(SCRATCH / "beside") and got["payload_bytes"] == 3, got["payload_path"])
    expect([idle["key"] for idle in got["keys_without_effect"]] == ["link.seed"], got["keys_without_effect"])


def a_terminal_is_treated_as_one():
    evil = SCRATCH / "\x1b[31mred"
    evil.write_bytes(b"abc")
    ran = run("--payload", evil)
    expect("\x1b" not in ran.stdout and "\\x1b[31mred" in ran.stdout, ran.stdout[:1500])
    refused(run("--payload", SCRATCH / "\x1b]0;title\x07"), "\\x1b]0;title\\x07")
    shown = on_a_terminal("run", CONFIG, "--payload", payload(5000), columns=80)
    expect("\x1b[1;32mverified\x1b[0m" in shown, shown[-500:])
    tables = shown[shown.index("  transfer "):]
    for line in tables.splitlines():
        expect(len(re.sub("\x1b[^m]*m", "", line)) <= 82, f"wider than the terminal: {line}")
    shown = on_a_terminal("run", CONFIG, "--payload", payload(5000), NO_COLOR="1")
    expect("\x1b[" not in shown and "verified" in shown, shown[-500:])
    quiet = run("--payload", payload(5000), "--quiet")
    expect(quiet.returncode == VERIFIED and quiet.stdout == quiet.stderr == "", quiet.stdout + quiet.stderr)
    quiet = run("--payload", payload(5000), "--quiet", "--set", "link.loss=1")
    expect(quiet.returncode == FAILED and quiet.stdout == "", quiet.stdout)
    expect(quiet.stderr.startswith("hcasim: NOT VERIFIED: ") and quiet.stderr.count("\n") == 1, quiet.stderr)


# --- what it writes ---------------------------------------------------------------------------------------------------

def json_is_as_its_schema_says():
    schema = json.loads((SOURCE / "testbench/result/result.schema.json").read_text())
    seen = set()
    for status, config, sets in ((VERIFIED, CONFIG, ["link.loss=0.02"]),
                                 (VERIFIED, CONFIG, ["timed=false", "link.seed=7", "hca.mtt_cache_entries=0"]),
                                 (FAILED, CONFIG, ["link.loss=1"]),
                                 (VERIFIED, SOURCE / "platform/configs/dmabuf.toml", [])):
        moved = ["--payload", payload(500_000)] if config == CONFIG else []
        got = result(*moved, *(word for one in sets for word in ("--set", one)), status=status, config=config)
        wrong = violations(got, schema)
        expect(not wrong, "\n".join(wrong[:20]))
        seen |= {name for name in ("steps", "transfers", "wires", "pcie_links", "caches", "queues", "queue_sums",
                                   "reasons", "keys_without_effect") if got[name]}
        if config == CONFIG:
            for counted in ("retries", "timeouts", "rnr_waits", "naks"):
                expect(sum(t[counted] for t in got["transfers"]) == got[counted], f"{counted}: {got['transfers']}")
    expect(len(seen) == 9, f"only {seen} were ever filled")
    # The check sees something: each of these is one mistake.
    for name, value in (("retries", "4"), ("retries", -1), ("retries", True), ("revision", "main"), ("wires", {}),
                        ("surprise", 1)):
        expect(len(violations({**got, name: value}, schema)) == 1, f"{name} = {value!r} is not seen")
    del got["version"]
    expect(len(violations(got, schema)) == 1, "a missing key is not seen")


def queues_are_counted():
    """Rows of queues add up to what the transfers have, and to their sums where there are more than rows."""
    for qps, sets in ((1, []), (5, ["link.loss=0.02", "scenario.message=65536"]), (70, ["scenario.message=4096"])):
        out = SCRATCH / "result.json"
        ran = run("--payload", payload(600_000), "--json", out,
                  *(word for one in [*sets, f"scenario.qps={qps}"] for word in ("--set", one)))
        expect(ran.returncode == VERIFIED, ran.stderr)
        got = json.loads(out.read_text())
        rows, sums = got["queues"], {(s["card"], s["kind"]): s for s in got["queue_sums"]}
        write, read, send = got["transfers"]
        messages = sum(t["messages"] for t in got["transfers"])
        sending, receiving = sums["A.hca", "send"], sums["B.hca", "receive"]
        expect(sending["queues"] == receiving["queues"] == qps, sums)
        expect(sending["requests"] == sending["completions_ok"] == messages, f"{sending} of {messages} messages")
        expect(sending["bytes"] == write["bytes"] + read["bytes"] + send["bytes"], sending)
        expect(receiving["completions_ok"] == send["messages"] and receiving["bytes"] == send["bytes"], receiving)
        expect(receiving["requests"] is None and receiving["deepest"] is None and sending["armed"] is None,
               "what nobody knows")
        completions = [s for s in sums.values() if s["kind"] == "completion"]
        expect(sum(s["completions_ok"] for s in completions) == got["completions_ok"], completions)
        expect(sum(s["completions_error"] for s in completions) == got["completions_error"], completions)
        expect(sum(s["armed"] for s in completions) == got["events"]["CompletionArmed"], completions)
        expect(sum(s["events"] for s in sums.values() if s["kind"] == "event") == got["events"]["EventWritten"], sums)
        expect(sum(s["requests"] + s["requests_again"] for s in sums.values()
                   if s["kind"] == "send") == got["events"]["WqeFetched"], sums)
        for (card, kind), total in sums.items():
            own = [row for row in rows if (row["card"], row["kind"]) == (card, kind)]
            expect(len(own) == min(64, total["queues"]), f"{card} {kind}: {len(own)} rows of {total['queues']}")
            if total["queues"] <= 64:
                for name in ("requests", "bytes", "completions_ok", "events"):
                    expect(sum(row[name] or 0 for row in own) == (total[name] or 0), f"{card} {kind} {name}: {own}")
        # How deep it gets is the configuration's business; more than it allows is none.
        depth = got["configuration"]["scenario.queue_depth"]
        expect(0 < sending["deepest"] <= depth, f"{sending['deepest']} of {depth}")
        more = re.findall(r"^  and (\d+) more ", ran.stdout, re.M)
        expect(more == ([str(qps - 8)] * 2 if qps > 8 else []), ran.stdout[-3000:])
        busiest = next(row for row in rows if (row["card"], row["kind"]) == ("A.hca", "send"))
        expect(re.search(rf"^  {busiest['name']} +{busiest['requests']:,} ", ran.stdout, re.M),
               f"{busiest['name']}: {ran.stdout[-3000:]}")


def captures_are_in_the_order_of_time():
    capture = SCRATCH / "wire.pcapng"
    for sets in ((), ("timed=false",), ("fabric.switch=true", "link.encapsulation=infiniband"),
                 ("link.latency_ns=100000",)):
        got = result("--payload", payload(3_000_000), "--pcap", capture, "--set", "scenario.qps=4",
                     *(word for one in sets for word in ("--set", one)))
        shown = subprocess.run(["tshark", "-r", capture, "-T", "fields", "-e", "frame.time_epoch"], capture_output=True,
                               text=True, check=True)
        times = [tuple(map(int, line.split("."))) for line in shown.stdout.split()]
        expect(times == sorted(times),
               f"{sets}: {sum(a > b for a, b in zip(times, times[1:]))} of {len(times)} frames are before the one "
               "before")
        expect(len(times) == got["wire_packets"], f"{sets}: {len(times)} frames of {got['wire_packets']} packets")


# --- what it costs ----------------------------------------------------------------------------------------------------

def peak_of(data):
    """Runs, and returns the JSON and the most memory that was resident, in MiB."""
    out = SCRATCH / "result.json"
    # Where addresses are checked, what is freed is kept for a while; that is not the program's.
    checked = os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1"
    child = subprocess.Popen([PROGRAM, "run", CONFIG, "--payload", data, "--json", out, "-q"],
                             env={**os.environ, "ASAN_OPTIONS": checked})
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    expect(child.returncode == VERIFIED, f"status {child.returncode}")
    return json.loads(out.read_text()), used.ru_maxrss / 1024


def a_large_payload_is_streamed():
    """Three times as much costs no more memory, and bytes, counts and digests are those of the whole."""
    data = SCRATCH / "large"
    peaks = []
    for mebibytes in (64, 192):
        block, digest = random.Random(mebibytes).randbytes(1 << 20), hashlib.sha256()
        with data.open("wb") as file:
            for i in range(mebibytes):
                part = i.to_bytes(8, "little") + block[8:]
                file.write(part)
                digest.update(part)
        got, peak = peak_of(data)
        expect(got["sha256_source"] == got["sha256_target"] == digest.hexdigest(), "the digest is not that of the file")
        for transfer in got["transfers"]:
            expect(transfer["bytes"] == mebibytes << 20 and transfer["messages"] == mebibytes, transfer)
            expect(transfer["verified"] is True, transfer)
            expect(transfer["sha256_target"] == digest.hexdigest(), transfer)
        peaks.append(peak)
    expect(peaks[1] < peaks[0] + 16 and peaks[1] < 400, f"128 MiB more cost memory: {peaks} MiB")


main(globals())
