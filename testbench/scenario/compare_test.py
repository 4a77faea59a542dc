"""compare_test.py HCASIM SOURCE CASE: runs the program and holds its results against each other, as a project does
with those of yesterday."""

import json
import re
import subprocess
import xml.etree.ElementTree

from program import PROGRAM, SCRATCH, expect, main, payload, refused, run


def result(name, *sets, size=300_000):
    out = SCRATCH / name
    ran = run("--payload", payload(size), "--json", out, *(word for one in sets for word in ("--set", one)))
    expect(ran.returncode in (0, 1), ran.stderr)
    return out


def compare(*arguments, status):
    ran = subprocess.run([PROGRAM, "compare", *arguments], capture_output=True, text=True, timeout=120, check=False)
    expect(ran.returncode == status, f"{arguments}: status {ran.returncode}, not {status}\n{ran.stdout}{ran.stderr}")
    return ran


def edited(path, name, change):
    """A copy of a result with a change made in it."""
    content = json.loads(path.read_text())
    change(content)
    copy = SCRATCH / name
    copy.write_text(json.dumps(content, indent=1))
    return copy


# --- the shape of JUnit files, as the XSDs in use have it (Jenkins' junit-10.xsd, the Ant task's JUnit.xsd) -----------

SUITE = {"name": str, "package": str, "id": int, "timestamp": str, "hostname": str, "tests": int, "failures": int,
         "errors": int, "skipped": int, "time": float}


def look_at_junit(path):
    """(cases, failures, skipped), after the shape was found right."""
    root = xml.etree.ElementTree.parse(path).getroot()
    expect(root.tag == "testsuites" and not root.attrib, root.tag)
    cases, failed, skipped = [], [], []
    for suite in root:
        expect(suite.tag == "testsuite" and set(suite.attrib) == set(SUITE), suite.attrib)
        for name, kind in SUITE.items():
            kind(suite.attrib[name])
        expect(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", suite.attrib["timestamp"]), suite.attrib)
        tags = [child.tag for child in suite]
        own = suite.findall("testcase")
        expect(tags == ["properties", *["testcase"] * len(own), "system-out", "system-err"], tags)
        for case in own:
            expect(set(case.attrib) == {"name", "classname", "time"} and all(case.attrib.values()), case.attrib)
            expect([child.tag for child in case] in ([], ["failure"], ["skipped"]), case.attrib)
        bad, left = [c for c in own if c.find("failure") is not None], [c for c in own if c.find("skipped") is not None]
        for failure in (case.find("failure") for case in bad):
            expect(failure.attrib["message"] and failure.attrib["type"] and failure.text, failure.attrib)
        counted = tuple(int(suite.attrib[name]) for name in ("tests", "failures", "errors", "skipped"))
        expect(counted == (len(own), len(bad), 0, len(left)), f"{counted}, and there are {len(own)} cases")
        names = [(c.attrib["classname"], c.attrib["name"]) for c in own]
        expect(len(set(names)) == len(names), f"two cases have one name: {names}")
        cases += own
        failed += bad
        skipped += left
    return cases, failed, skipped


# --- cases ------------------------------------------------------------------------------------------------------------

def the_same_run_is_equal():
    first, second = result("a.json", "link.loss=0.01"), result("b.json", "link.loss=0.01")
    junit = SCRATCH / "junit.xml"
    ran = compare(first, second, "--junit", junit, status=0)
    got = json.loads(second.read_text())
    expect("\n  0 values differ, " in ran.stdout, ran.stdout)
    for group, members in (("components", got["components"]), ("transfers", got["transfers"])):
        count = len(members)
        expect(count and f"{count} of {count} of {group}" in ran.stdout, f"{group}: {ran.stdout}")
    cases, failed, skipped = look_at_junit(junit)
    expect(not failed and not skipped and len(cases) > 20, f"{len(cases)} cases, {failed}")


def another_seed_is_found():
    first, second = result("a.json", "link.loss=0.01"), result("b.json", "link.loss=0.01", "link.seed=2")
    junit = SCRATCH / "junit.xml"
    ran = compare(first, second, "--junit", junit, status=1)
    expect("first difference: " in ran.stdout and "configured otherwise: link.seed (1, then 2)" in ran.stdout,
           ran.stdout)
    # The marks are right: the log of both is the same up to the first, and not up to the second.
    said = re.search(r"the first [\d,]+ \(to id (\d+), .*?\) are equal, the first [\d,]+ \(to id (\d+), ", ran.stdout)
    expect(said, ran.stdout)
    logs = []
    for name, seed in (("a.jsonl", 1), ("b.jsonl", 2)):
        log = SCRATCH / name
        run("--payload", payload(300_000), "--events", log, "--set", "link.loss=0.01", "--set", f"link.seed={seed}")
        logs.append([json.loads(line) for line in log.read_text().splitlines()])
    for last, same in ((int(said[1]), True), (int(said[2]), False)):
        heads = [[event for event in log if event["id"] <= last] for log in logs]
        expect((heads[0] == heads[1]) == same, f"up to {last} the events are {'not ' if same else ''}equal")
    _, failed, _ = look_at_junit(junit)
    expect({case.attrib["classname"] for case in failed} >= {"hcasim.b.run", "hcasim.b.configuration"}, failed)


def a_change_of_time_is_let_through_where_asked():
    first, second = result("a.json"), result("b.json", "hca.wqe_latency_ns=300")
    compare(first, second, status=1)
    compare(first, second, "--tolerance", "sim_time_ns=50%", status=1)
    allowed = [word for name in ("event_digest=any", "sim_time_ns=50%", "rate_bytes_per_second=50%", "queues=any",
                                 "queue_sums=any", "pcie_links=any", "configuration.hca.wqe_latency_ns=any",
                                 "events=any", "components=any", "resources=any", "bottlenecks=any", "bottleneck=any",
                                 "load=any")
               for word in ("--tolerance", name)]
    ran = compare(first, second, *allowed, status=0)
    expect(re.search(r"^  sim_time_ns .* \+[\d.]+ %  +worse +allowed$", ran.stdout, re.M), ran.stdout)
    broken = edited(second, "c.json", lambda content: content["transfers"][1].update(sha256_target="0" * 64))
    ran = compare(first, broken, *allowed, status=1)
    expect("first difference: transfers: READ  B -> A, sha256_target: " in ran.stdout, ran.stdout)


def the_tolerances_of_the_help_let_a_change_of_time_through():
    """As they are printed there; what the key itself was is no time."""
    text = subprocess.run([PROGRAM, "compare", "--help"], capture_output=True, text=True, timeout=60, check=True).stdout
    recipe = text.split("A change of time alone is let through by")[1].split("\n\n")[0].split()
    expect(recipe[::2] == ["--tolerance"] * 6, recipe)
    first, second = result("a.json", size=1_500_001), result("b.json", "hca.wqe_latency_ns=60", size=1_500_001)
    compare(first, second, status=1)
    compare(first, second, *recipe, "--tolerance", "configuration.hca.wqe_latency_ns=any", status=0)


def a_baseline_is_kept_and_compared_with():
    baseline, junit = SCRATCH / "baseline.json", SCRATCH / "junit.xml"
    plain, lossy = result("plain.json"), result("lossy.json", "link.loss=0.01")
    compare("--update", baseline, lossy, plain, status=0)
    kept = baseline.read_text()
    expect("wall_seconds" not in kept and str(SCRATCH) not in kept and "revision" not in kept, kept)
    compare("--update", baseline, plain, status=0)
    expect(baseline.read_text() == kept, "the same result made another baseline")
    compare(baseline, plain, lossy, status=0)
    ran = compare(baseline, plain, "--junit", junit, status=0)
    expect("no result of it was given" in ran.stdout, ran.stdout)
    expect(len(look_at_junit(junit)[2]) == 1, "what was not compared is not skipped")

    changed = edited(plain, "p.json", lambda content: content["wires"][0].update(packets=7))
    changed.replace(plain)
    ran = compare(baseline, lossy, plain, status=1)
    expect(re.search(r"^  wires: .*: packets +[\d,]+ +7 ", ran.stdout, re.M), ran.stdout)
    expect(baseline.read_text() == kept, "comparing changes the baseline")
    compare("--update", baseline, plain, status=0)
    before, after = kept.splitlines(), baseline.read_text().splitlines()
    expect(len(before) == len(after) and sum(a != b for a, b in zip(before, after)) == 1, "one value is not one line")
    unknown = edited(plain, "new.json", lambda content: None)
    refused(compare(baseline, unknown, status=2), "has no run 'new'", "--update")


def a_baseline_is_not_spoiled():
    baseline, good = SCRATCH / "baseline.json", result("good.json")
    compare("--update", baseline, good, status=0)
    kept, text = baseline.read_text(), good.read_text()
    twin = edited(good, "good", lambda content: None)
    refused(compare("--update", baseline, good, twin, status=2), "know both as 'good'", "rename one")
    refused(compare(baseline, good, twin, status=2), "rename one")
    stopped = edited(good, "stopped.json", lambda content: content.update(stopped="by a signal"))
    refused(compare("--update", baseline, stopped, status=2), "by a signal", "is no baseline")
    refused(compare(good, baseline, status=2), "is to be the first")
    refused(compare("--update", good, twin, status=2), "it is not overwritten")
    other = edited(good, "good", lambda content: content.update(scenario="dmabuf"))
    refused(compare("--update", baseline, other, status=2), "nothing to compare")
    expect(baseline.read_text() == kept and good.read_text() == text, "what is refused is written")


def a_report_on_standard_output_is_nothing_else():
    good = result("good.json")
    ran = compare(good, good, "--junit", "-", status=0)
    junit = SCRATCH / "junit.xml"
    junit.write_text(ran.stdout)
    expect(len(look_at_junit(junit)[0]) > 20, ran.stdout)
    expect("0 values differ" in ran.stderr, ran.stderr)


def hostile_files_are_refused():
    good = result("good.json")
    text = good.read_text()
    bad = SCRATCH / "bad.json"
    for content, *words in ((text[:len(text) // 2], "bad.json:", "byte"), ("", "bad.json:1:1: byte 0"),
                            ("[" * 100_000, "deeper than"), (text.replace('"naks"', '"retries"', 1), "a second time"),
                            (text.replace('"format": 1', '"format": 2'), "bad.json:3: format 2"),
                            (text.replace("hcasim result", "something else"), "bad.json:2: this is 'something else'"),
                            ('{"tests": 3}', "'kind' is missing"), ("\0\0\0", "bad.json:1:1"),
                            (text.replace('"gpudirect"', '"dmabuf"', 1), "'dmabuf'", "nothing to compare")):
        bad.write_text(content)
        for files in ((good, bad), (bad, good)):
            refused(compare(*files, status=2), *words)
    (SCRATCH / "r.pcapng").write_bytes(b"\x0a\x0d\x0d\x0a" + bytes(40))
    refused(compare(good, SCRATCH / "r.pcapng", status=2), "is a recording", "trace diff")
    refused(compare(good, SCRATCH / "nowhere.json", status=2), "nowhere.json")
    refused(compare(good, SCRATCH, status=2), str(SCRATCH))
    refused(compare(good, good, good, status=2), "compared with one other")
    refused(compare("--update", good, good, status=2), "the same file")
    refused(compare("--update", bad, good, status=2), "bad.json", "it is not overwritten")
    refused(compare(good, good, "--junit", good, status=2), "the same file")
    refused(compare(good, good, "--tolerance", "retrys=5%", status=2), "did you mean 'retries'?")
    refused(compare(good, good, "--tolerance", "retries=a lot", status=2), "is no amount")
    refused(compare(good, status=2), "files")
    ran = compare(good, good, "--junit", "/dev/full", status=3)
    expect("/dev/full" in ran.stderr, ran.stderr)


if __name__ == "__main__":
    main(globals())
