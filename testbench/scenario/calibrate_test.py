"""Calibration as a person runs it: `hcasim calibrate`. Each function is a case."""

import json
import subprocess

from program import PROGRAM, SCRATCH, SOURCE, call, expect, main, refused

PROFILES = SOURCE / "platform/profiles"
CARDS = ("connect-ib", "connectx5", "connectx6dx", "connectx7")


def calibrate(*arguments, profile="connectx5"):
    return subprocess.run([PROGRAM, "calibrate", PROFILES / f"{profile}.toml", *arguments], capture_output=True,
                          text=True, timeout=550, check=False)


def profiles_are_configurations():
    """A profile says of each of its values that it can be, and that it has an effect; `hcasim run` takes it, too."""
    for card in CARDS:
        checked = call("check", PROFILES / f"{card}.toml")
        expect(checked.returncode == 0, f"{card}: status {checked.returncode}\n{checked.stdout}{checked.stderr}")
        expect("no effect" not in checked.stdout, f"{card}: {checked.stdout}")


def each_value_of_a_profile_has_its_source():
    for card in CARDS:
        for line in (PROFILES / f"{card}.toml").read_text().splitlines():
            if "=" in line and not line.startswith("#"):
                source = line.partition("#")[2].strip()
                expect(source.startswith(("row ", "section ", "assumed")), f"{card}: no source: {line}")


def a_few_rows_are_measured():
    """Latencies: what one message takes, without and with the read of its payload."""
    out = SCRATCH / "calibration.json"
    ran = calibrate("--row", "^1[.]write", "--json", out)
    expect(ran.returncode in (0, 1), f"status {ran.returncode}\n{ran.stdout}{ran.stderr}")
    rows = {row["row"]: row for row in json.loads(out.read_text())["connectx5"]["rows"]}
    expect(set(rows) == {"1.write-inline", "1.write", "1.write-ddio-off"}, f"rows {sorted(rows)}")
    expect(0.3 < rows["1.write-inline"]["model"] < rows["1.write"]["model"] < 3, f"no latencies: {rows}")
    cached, uncached = rows["1.write"]["model"], rows["1.write-ddio-off"]["model"]
    expect(cached + 0.05 < uncached < cached + 0.3, f"DRAM takes {uncached} us, and the cache {cached}")
    for words in ("1.write-inline", "in band", "counted", "F1 to F3"):
        expect(words in ran.stdout, f"no '{words}': {ran.stdout}")


def a_slower_link_is_seen():
    """A key beside the profile changes what is measured, and the status."""
    out = SCRATCH / "slow.json"
    ran = calibrate("--row", "^1[.]write-inline$", "--set", "link.latency_ns=5000", "--json", out)
    expect(ran.returncode == 1, f"status {ran.returncode}\n{ran.stdout}{ran.stderr}")
    row = json.loads(out.read_text())["connectx5"]["rows"][0]
    expect(row["verdict"] == "MISS" and row["model"] > 5, f"{row}")


def rows_are_listed():
    ran = call("calibrate", "--list")
    expect(ran.returncode == 0, f"status {ran.returncode}: {ran.stderr}")
    for words in ("F1.read-64", "9.adaptive", "SRNIC, NSDI 2023", "connect-ib"):
        expect(words in ran.stdout, f"no '{words}': {ran.stdout}")


def calibration_refuses_mistakes():
    other = SCRATCH / "other.toml"
    other.write_text("")
    refused(call("calibrate", other), "connectx5")
    for arguments in ((other,), ("--row", "nosuch"), ("--row", "[")):
        ran = call("calibrate", *arguments)
        expect(ran.stderr.count("hcasim: ") == 1, f"says who it is {ran.stderr.count('hcasim: ')} times: {ran.stderr}")
    refused(call("calibrate", PROFILES / "connectx5.toml", "--jobs", "0"), "--jobs")
    refused(call("calibrate", PROFILES / "connectx5.toml", "--row", "("), "--row")
    refused(call("calibrate", PROFILES / "connectx5.toml", "--row", "no such row"), "--list")
    refused(call("calibrate", PROFILES / "connectx5.toml", "--set", "hca.unit=1"), "hca.unit")
    refused(call("calibrate", "--list", "--json", "-"), "--json -", "--list")


main(globals())
