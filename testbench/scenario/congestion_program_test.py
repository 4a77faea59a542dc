"""Machines that write to one, at an Ethernet switch: what pauses, marks and drops do to them, and windows."""

import itertools

from program import SCRATCH, SOURCE, expect, main, refused, result, run

FIVE = SOURCE / "platform/configs/roce.toml"
DCQCN = ("hca.dcqcn.enabled=true", "fabric.switch_ecn=true")
SWIFT = ("hca.congestion_control=swift",)
LINE = 100e9 / 8  # bytes a second
PAYLOAD = 0.95  # of the line: packets of 4 KiB have headers, preambles and gaps beside it


def incast(*sets, config=FIVE, status=0, is_checked=True):
    got = result(*itertools.chain.from_iterable(("--set", one) for one in sets), config=config, status=status,
                 is_checked=is_checked)
    return got["traffic"][0], [flow["bytes"] for flow in got["flows"]], got


def a_switch_that_pauses_loses_nothing_and_is_fair():
    everything, flows, _ = incast("fabric.switch_buffer=2097152")  # less than is under way
    expect(everything["pauses"] > 0, everything)
    expect(everything["switch_drops"] == everything["retries"] == everything["packets_marked"] == 0, everything)
    expect(everything["fairness"] > 0.99, flows)
    expect(everything["rate_bytes_per_second"] > 0.96 * LINE, everything)
    expect(everything["bottleneck"] == "wire tor.5 -> E.hca0", everything)


def a_switch_that_drops_makes_senders_repeat():
    everything, _, whole = incast("fabric.switch_pfc=false", "fabric.switch_buffer=1048576", "traffic.warm_up_ns=0")
    expect(everything["pauses"] == 0, everything)
    expect(everything["switch_drops"] > 0, everything)
    expect(whole["retries"] > 0, whole["retries"])


def the_default_parameters_of_dcqcn_leave_a_part_of_the_line_unused():
    """Barre et al. saw 197.7 of 400 Gbit/s at the receiver of four senders with the firmware's defaults."""
    everything, flows, _ = incast(*DCQCN, "traffic.duration_ns=20000000")
    expect(everything["packets_marked"] > 100 and everything["cnps"] > 100, everything)
    expect(everything["switch_drops"] == everything["retries"] == 0, everything)
    expect(0.4 * LINE < everything["rate_bytes_per_second"] < 0.7 * LINE, everything)
    expect(min(flows) > 0, flows)
    expect(everything["bottleneck"].endswith("congestion rates"), everything)


def cnps_that_come_less_often_leave_the_line_full():
    everything, _, _ = incast(*DCQCN, "hca.dcqcn.min_time_between_cnps_ns=50000", "traffic.duration_ns=20000000")
    expect(everything["cnps"] > 100, everything)
    expect(everything["rate_bytes_per_second"] > 0.9 * LINE, everything)


def dcqcn_without_marks_does_nothing():
    everything, _, _ = incast("hca.dcqcn.enabled=true")
    expect(everything["cnps"] == everything["packets_marked"] == 0, everything)
    without, _, _ = incast()
    expect(everything["bytes"] == without["bytes"], (everything, without))


def sixteen():
    """Sixteen machines that write to the seventeenth."""
    text = FIVE.read_text()
    for before, after in (("A..E", "A..Q"), ("A..D", "A..P"), ('to = "E"', 'to = "Q"'),
                          ('["tor"]', '[{ name = "tor", ports = 17 }]')):
        expect(before in text, f"the configuration has no {before}")
        text = text.replace(before, after)
    path = SCRATCH / "sixteen.toml"
    path.write_text(text)
    return path


def windows_keep_the_queue_of_an_incast_short():
    """16 to 1 without pauses: few drops beside those without windows, and round trips near the target of 25 us and
    what flow scaling adds to it at windows of some packets."""
    lossy = ("fabric.switch_pfc=false", "fabric.switch_buffer=1048576", "traffic.warm_up_ns=0", "traffic.verify=false")
    # Who loses all that it has sent hears of it by a time-out of 67 ms: without windows some lose eight times in a row.
    free, _, _ = incast(*lossy, config=sixteen(), status=1)
    everything, flows, _ = incast(*lossy, *SWIFT, "hca.swift.first_cwnd=4", config=sixteen())
    expect(free["window_cuts"] == free["window_waits_ns"] == 0 and free["round_trip_ns"] is None, free)
    expect(free["switch_drops"] > 100, free)
    expect(everything["switch_drops"] < free["switch_drops"] / 20, (everything, free))
    expect(everything["window_cuts"] > 100 and everything["window_waits_ns"] > 0, everything)
    expect(25_000 < everything["round_trip_ns"] < 60_000, everything)
    expect(everything["rate_bytes_per_second"] > 0.9 * PAYLOAD * LINE, everything)
    expect(everything["fairness"] > 0.9 and min(flows) > 0, flows)


def a_window_alone_fills_the_line():
    everything, _, _ = incast(*SWIFT, "traffic.from=A")
    expect(everything["switch_drops"] == everything["pauses"] == everything["retries"] == 0, everything)
    without, _, _ = incast("traffic.from=A")
    expect(everything["rate_bytes_per_second"] > 0.95 * without["rate_bytes_per_second"] > 0.9 * LINE,
           (everything, without))


def who_joins_later_gets_as_much():
    """A begins, B a millisecond later; from two milliseconds behind that on they have equal shares."""
    ends = {"A": 0, "B": 1_000_000}
    lines = [f"{begin + i} {name} E write {64 * 1024}" for name, begin in ends.items() for i in range(1500)]
    (SCRATCH / "joins.txt").write_text("\n".join(lines) + "\n")
    sets = (f"traffic.replay={SCRATCH / 'joins.txt'}", "traffic.from=", "traffic.to=", "traffic.verify=false",
            "traffic.warm_up_ns=3000000", "traffic.duration_ns=3000000", "fabric.switch_pfc=false")
    everything, flows, _ = incast(*sets, *SWIFT)
    expect(everything["switch_drops"] == 0, everything)
    expect(everything["fairness"] > 0.98, flows)
    expect(everything["rate_bytes_per_second"] > 0.9 * PAYLOAD * LINE, everything)


JOINS = ("link.rate_gbps=400", "pcie.device.generation=5", "pcie.upstream.generation=5",
         "fabric.switch_buffer=8388608", "scenario.message=16 KiB", "scenario.queue_depth=128",
         "traffic.join_ns=4000000", "traffic.warm_up_ns=0", "traffic.duration_ns=24000000", "traffic.intervals=24",
         "traffic.verify=false")


def four_join(*sets):
    """What all flows got, and the intervals in which all four were there."""
    everything, _, whole = incast(*DCQCN, *JOINS, *sets, is_checked=False)  # a gigabyte of packets
    expect([one["flows"] for one in whole["intervals"]][:10] == [1] * 4 + [2] * 4 + [3] * 2, whole["intervals"])
    there = [one for one in whole["intervals"] if one["flows"] == 4]
    expect(len(there) == 12, [one["flows"] for one in whole["intervals"]])
    return everything, there, sum(one["rate_bytes_per_second"] for one in there) / len(there) / (4 * LINE)


def with_the_default_parameters_of_dcqcn_four_that_join_do_not_share_equally_to_the_end():
    """Barre et al., a BlueField-3 at 400 Gbit/s: it oscillates, dips to 40 to 70 %, is down to half and unfair."""
    everything, there, filled = four_join()
    expect(everything["settled_ns"] is None, everything)
    expect(filled < 0.85, filled)
    expect(0.35 < min(one["rate_bytes_per_second"] for one in there) / (4 * LINE) < 0.7, there)
    expect(min(one["fairness"] for one in there) < 0.9, there)


def who_has_left_sends_nothing_more_and_the_last_one_ends_the_run():
    sets = ("traffic.join_ns=200000", "traffic.stay_ns=500000", "traffic.warm_up_ns=0", "traffic.duration_ns=50000000",
            "traffic.verify=false", "traffic.intervals=1000")
    for more in ((), ("traffic.rate=50000", "traffic.arrivals=fixed")):
        everything, flows, whole = incast(*sets, *more)
        expect(everything["elapsed_ns"] == 3 * 200_000 + 500_000, everything)
        there = [one["flows"] for one in whole["intervals"]]
        expect(max(there) == 3 and there[0] == there[-1] == 1, there)
        expect(min(flows) > 0.9 * (50_000 * 0.0005 - 1) * 64 * 1024, flows)
        if more:
            expect(max(flows) <= 50_000 * 0.0005 * 64 * 1024, flows)


def a_run_that_no_flow_stays_to_measure_says_that_nothing_was_measured():
    ran = run("--set", "traffic.stay_ns=100000", "--set", "traffic.warm_up_ns=400000", config=FIVE)
    expect(ran.returncode == 1 and "no message was done in the time that was measured" in ran.stderr + ran.stdout,
           (ran.returncode, ran.stdout, ran.stderr))


def messages_that_come_seldom_are_waited_for():
    everything, _, _ = incast("traffic.rate=0.05", "traffic.arrivals=fixed", "traffic.warm_up_ns=0",
                              "traffic.duration_ns=50000000000", "traffic.from=A")
    expect(everything["messages"] == 2, everything)


def flows_join_only_where_they_have_a_time():
    for key in ("traffic.join_ns", "traffic.stay_ns"):
        for more in ("timed=false", "traffic.direction=ping_pong"):
            end = ("traffic.messages=10",) if more == "timed=false" else ()
            sets = itertools.chain.from_iterable(("--set", one) for one in (f"{key}=1000", more, *end))
            refused(run(*sets, config=FIVE), key)


def windows_limit_the_reads_of_one_from_many():
    """What comes to whoever reads is limited by its own windows: READs of four packets, which are counted in flight."""
    many = ("traffic.pattern=from_one", "traffic.from=E", "traffic.to=A..D", "traffic.verbs=read",
            "scenario.message=16 KiB", "fabric.switch_pfc=false", "fabric.switch_buffer=262144", "traffic.warm_up_ns=0",
            "traffic.verify=false")
    free, _, _ = incast(*many)
    everything, _, _ = incast(*many, *SWIFT)
    expect(free["switch_drops"] > 0, free)
    expect(everything["switch_drops"] < free["switch_drops"] / 2, (everything, free))  # those until windows are known
    expect(everything["window_waits_ns"] > 0, everything)


def congestion_control_needs_ethernet():
    ran = run("--set", "hca.congestion_control=swift", "--set", "link.encapsulation=infiniband")
    expect(ran.returncode == 0 and "'hca.congestion_control' has no effect: congestion control needs" in ran.stdout,
           ran.stdout)


def one_key_says_what_the_other_does():
    """The older key of DCQCN is as good as the newer one, and both together say one thing or are refused."""
    old, new, both = (incast(*sets, "fabric.switch_ecn=true", "traffic.duration_ns=1000000")[2]["event_digest"]
                      for sets in (("hca.dcqcn.enabled=true",), ("hca.congestion_control=dcqcn",),
                                   ("hca.dcqcn.enabled=true", "hca.congestion_control=dcqcn")))
    expect(old == new == both, (old, new, both))
    path = SCRATCH / "two.toml"
    text = FIVE.read_text().replace("[scenario]", "[hca]\ndcqcn.enabled = true\n\n[scenario]", 1)
    path.write_text(text)
    line = text[:text.index("dcqcn.enabled = true")].count("\n") + 1
    for control in ("swift", "none"):
        refused(run("--set", f"hca.congestion_control={control}", config=path), "'hca.congestion_control'",
                f"two.toml:{line}", "--set")
    refused(run("--set", "hca.congestion_control=dcqcn", "--set", "hca.dcqcn.enabled=false", config=FIVE),
            "contradict each other")
    refused(run("--set", "A.hca0.congestion_control=swift", config=path), "contradict each other")
    refused(run("--set", "hca.congestion_control=cubic", config=FIVE), "hca.congestion_control")


def the_same_run_has_the_same_digest():
    for control in (DCQCN, SWIFT):
        first, second = (result(*itertools.chain.from_iterable(("--set", one) for one in control), config=FIVE)
                         for _ in range(2))
        expect(first["event_digest"] == second["event_digest"], f"two runs of {control} differ")


def contradictions_are_refused():
    marks = ("fabric.switch_ecn=true", "fabric.switch_ecn_min=500000", "fabric.switch_ecn_max=400000")
    refused(run(*itertools.chain.from_iterable(("--set", one) for one in marks), config=FIVE), "fabric.switch_ecn_min")
    refused(run("--set", "fabric.switch_headroom=8388608", config=FIVE), "fabric.switch_headroom")
    # Headroom is that of the ports that a switch has, and not of those that switches have where nobody says.
    eight = SOURCE / "platform/configs/alltoall.toml"
    refused(run("--set", "fabric.switch_buffer=4718592", config=eight), "fabric.switch_headroom", "36 ports of leaf",
            "fabric.switch_buffer")
    got = result("--set", "fabric.switch_buffer=4780000", config=eight)
    expect(got["traffic"][0]["pauses"] > 0, f"nobody was paused: {got['traffic']}")


main(globals())
