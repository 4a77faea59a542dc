"""Four machines that write to one, at an Ethernet switch: what pauses, marks and drops do to them."""

import itertools

from program import SOURCE, expect, main, refused, result, run

FIVE = SOURCE / "platform/configs/roce.toml"
DCQCN = ("hca.dcqcn.enabled=true", "fabric.switch_ecn=true")
LINE = 100e9 / 8  # bytes a second


def incast(*sets):
    got = result(*itertools.chain.from_iterable(("--set", one) for one in sets), config=FIVE)
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


def cnps_that_come_less_often_leave_the_line_full():
    everything, _, _ = incast(*DCQCN, "hca.dcqcn.min_time_between_cnps_ns=50000", "traffic.duration_ns=20000000")
    expect(everything["cnps"] > 100, everything)
    expect(everything["rate_bytes_per_second"] > 0.9 * LINE, everything)


def dcqcn_without_marks_does_nothing():
    everything, _, _ = incast("hca.dcqcn.enabled=true")
    expect(everything["cnps"] == everything["packets_marked"] == 0, everything)
    without, _, _ = incast()
    expect(everything["bytes"] == without["bytes"], (everything, without))


def the_same_run_has_the_same_digest():
    first, second = (result(*itertools.chain.from_iterable(("--set", one) for one in DCQCN), config=FIVE)
                     for _ in range(2))
    expect(first["event_digest"] == second["event_digest"], "two runs differ")


def contradictions_are_refused():
    marks = ("fabric.switch_ecn=true", "fabric.switch_ecn_min=500000", "fabric.switch_ecn_max=400000")
    refused(run(*itertools.chain.from_iterable(("--set", one) for one in marks), config=FIVE), "fabric.switch_ecn_min")
    refused(run("--set", "fabric.switch_headroom=8388608", config=FIVE), "fabric.switch_headroom")


main(globals())
