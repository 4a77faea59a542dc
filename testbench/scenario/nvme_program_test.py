"""nvme_program_test.py HCASIM SOURCE CASE: a drive as a person runs it, and what held it back."""

from program import SOURCE, expect, main, payload, refused, result, run

CONFIG = SOURCE / "platform/configs/nvme.toml"


def show(*sets, size=3_000_000):
    got = result("--payload", str(payload(size)), *(word for one in sets for word in ("--set", one)), config=CONFIG)
    expect(got["verified"] is True, got["failure"])
    return got


def resources(got):
    return {one["name"].removeprefix("A.nvme0 "): one for one in got["resources"]}


def a_run_says_which_resource_was_busiest_and_what_its_requests_waited_for():
    got = show()
    found = resources(got)
    expect(list(found) == ["processors", "map", "dies", "channels", "write cache", "from host", "to host",
                           "PCIe upstream", "PCIe downstream", "PCIe credits upstream", "PCIe credits downstream",
                           "tags"], list(found))
    expect(found["dies"]["units"] == 64 and found["channels"]["units"] == 8, found)
    for name in ("dies", "channels", "from host", "to host"):
        expect(found[name]["uses"] > 0 and found[name]["busy_ns"] > 0 and 0 < found[name]["load"] <= 1, found[name])
    # As many bytes as there are, and on the channels no fewer.
    expect(found["from host"]["bytes"] >= 3_000_000 and found["to host"]["bytes"] >= 3_000_000, found)
    expect([one["name"] for one in got["bottlenecks"]] == ["A.nvme0"], got["bottlenecks"])
    text = run("--payload", str(payload(3_000_000)), config=CONFIG)
    expect("A.nvme0 dies" in text.stdout and "A.nvme0: busiest: " in text.stdout, text.stdout)


def a_slow_part_is_named():
    for setting, name in (("A.nvme0.read_latency_ns=2000000", "dies"), ("A.nvme0.host_rate=100000000", "host"),
                          ("A.nvme0.channel_rate=10000000", "channels")):
        got = show(setting)
        expect(name in got["bottlenecks"][0]["busiest"], (setting, got["bottlenecks"]))


def a_table_that_does_not_fit_has_a_cache_among_the_caches():
    got = show("A.nvme0.map_memory=4KiB")
    found = {one["name"]: one for one in got["caches"]}["A.nvme0 map cache"]
    expect(found["hits"] > 0 and found["misses"] > 0, found)


def what_a_drive_is_said_to_fail_at_fails_the_run_and_is_named():
    # A read that fails would be healed by the write before it.
    for faults, status in (("write 40..41", "Write Fault"), ("full 40", "Capacity Exceeded"), ("flush", "Write Fault")):
        shown = run("--payload", str(payload(3_000_000)), "--set", f"A.nvme0.faults={faults}", config=CONFIG)
        expect(shown.returncode == 1 and status in shown.stdout + shown.stderr, (faults, shown))
    refused(run("--set", "A.nvme0.faults=raed 40", config=CONFIG), "A.nvme0", "'faults' has",
            '"raed 40", which is none')
    refused(run("--payload", payload(3_000_000), "--set", "A.nvme0.faults=read 4000000000", config=CONFIG,
                is_checked=False), "nvme0: faults has block")


def a_payload_that_is_larger_than_the_drive_is_refused():
    refused(run("--payload", str(payload(2_000_000)), "--set", "A.nvme0.size=1 MiB", config=CONFIG, is_checked=False),
            "2000000 bytes, does not fit into the first namespace of 1048576 bytes", "A.nvme0.size")


def without_time_nothing_is_busy():
    got = show("timed=false")
    expect(got["resources"] == [] or all(one["busy_ns"] == 0 for one in got["resources"]), got["resources"])
    expect(all(one["busiest"] == "" for one in got["bottlenecks"]), got["bottlenecks"])


main(globals())
