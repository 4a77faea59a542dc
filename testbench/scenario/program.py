"""What tests of the program share: it is run, its JSON read, what is wrong said. Each has a function a case, named on
the command line: SCRIPT HCASIM SOURCE CASE."""

import concurrent.futures
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import threading

PROGRAM, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
CONFIG = SOURCE / "platform/configs/gpudirect.toml"
SCRATCH = pathlib.Path(tempfile.mkdtemp(prefix="hcasim."))


def payload(size=1_500_001):
    """Bytes that are no whole number of anything: the last message, packet and TLP are short."""
    path = SCRATCH / "payload"
    path.write_bytes(random.Random(7).randbytes(size))
    return path


def run(*arguments, config=CONFIG, is_checked=True):
    """Runs, and holds what the devices did against the rules of the specifications; is_checked=False: not so, since it
    would take long, or since devices that are recorded are lent no memory, and those of this run are."""
    recording = SCRATCH / f"checked.{threading.get_ident()}"
    if not is_checked or any(str(one) in ("--record", "--check", "--print-config", "--help") for one in arguments):
        return call("run", config, *arguments)
    ran = call("run", config, *arguments, "--record", recording)
    if recording.exists():
        keep_the_rules(recording, arguments)
        recording.unlink()
    return ran


def call(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=250, check=False)


def keep_the_rules(recording, arguments):
    """As `hcasim trace check` has them; a run that was stopped in the middle has broken none by that."""
    checked = call("trace", "check", recording)
    expect(checked.returncode == 0, f"{' '.join(map(str, arguments))}: {checked.stdout[-3000:]}{checked.stderr}")


def result(*arguments, status=0, config=CONFIG, is_checked=True):
    """Runs, and returns the JSON."""
    out = SCRATCH / "result.json"
    ran = run("--json", out, *arguments, config=config, is_checked=is_checked)
    expect(ran.returncode == status, f"status {ran.returncode}\n{ran.stdout[-3000:]}{ran.stderr}")
    return json.loads(out.read_text())


def expect(condition, what):
    if not condition:
        sys.exit(f"{sys.argv[3]}: {what}")


def refused(ran, *words):
    """Status 2, nothing on standard output but what was said before, and one line that names the words."""
    expect(ran.returncode == 2, f"status {ran.returncode}, not 2: {ran.stderr}")
    expect(ran.stderr.count("\n") == 1, f"not one line: {ran.stderr}")
    for word in words:
        expect(word in ran.stderr, f"'{word}' is not in: {ran.stderr}")


def ends_of_keys():
    """Every key that has a range: its values at either end, or each of its choices."""
    listed = subprocess.run([PROGRAM, "keys", "--json"], capture_output=True, text=True, check=True).stdout
    found = {}
    for name, key in json.loads(listed).items():
        if key["kind"] == "boolean":
            found[name] = ["true", "false"]
        elif "choices" in key:
            found[name] = key["choices"]
        elif "minimum" in key:
            found[name] = [key["minimum"], key["maximum"]]
    return found


CHECKED = 16  # one run of so many of a sweep is held against the rules: recorded, some take ten times as long


def sweep(keys, *arguments, config=CONFIG, dead=()):
    """Verified, or refused in one line; the dead ones run and are not verified."""
    runs = [f"{key}={value}" for key, values in keys.items() for value in values]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        outcomes = pool.map(lambda at: run(*arguments, "--set", runs[at], config=config, is_checked=at % CHECKED == 0),
                            range(len(runs)))
        for one, ran in zip(runs, outcomes):
            expect(ran.returncode in ({1} if one in dead else {0, 2}),
                   f"{one}: status {ran.returncode}\n{ran.stdout[-1000:]}{ran.stderr}")
            expect(ran.stderr.count("\n") == (1 if ran.returncode == 2 else 0), f"{one}: {ran.stderr}")
            expect(ran.returncode != 0 or ran.stdout.endswith("\n  verified\n"), f"{one}: {ran.stdout[-1000:]}")


TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None), "integer": int,
         "number": (int, float)}


def violations(value, schema, at="$"):
    """What in `value` is not as `schema` has it: the part of JSON Schema that our schemas use, and nothing
    else."""
    unknown = set(schema) - {"$schema", "title", "description", "type", "required", "properties",
                             "additionalProperties", "items", "minimum", "maximum", "pattern"}
    expect(not unknown, f"{at}: the schema has what this test does not know: {unknown}")
    types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if not any(isinstance(value, TYPES[name]) and (name == "boolean" or not isinstance(value, bool)) for name in types):
        return [f"{at}: {value!r} is no {types}"]
    found = []
    if isinstance(value, dict):
        found += [f"{at}: {name} is missing" for name in schema.get("required", []) if name not in value]
        for name, member in value.items():
            rule = schema.get("properties", {}).get(name, schema.get("additionalProperties", True))
            found += [f"{at}: {name} is unknown"] if rule is False else violations(member, rule, f"{at}.{name}")
    elif isinstance(value, list):
        for i, item in enumerate(value):
            found += violations(item, schema["items"], f"{at}[{i}]")
    elif isinstance(value, str):
        if not re.search(schema.get("pattern", ""), value):
            found.append(f"{at}: {value!r} is not like {schema['pattern']}")
    elif value is not None and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        found.append(f"{at}: {value} is out of range")
    return found


def main(cases):
    """Runs the case that was asked for, of a script's names."""
    try:
        cases[sys.argv[3]]()
    finally:
        for name in os.listdir(SCRATCH):
            os.unlink(SCRATCH / name)
        SCRATCH.rmdir()
