"""studies_test.py HCASIM SOURCE CASE: the studies of platform/studies, with fewer places, and what they answer."""

import re
import sqlite3
import statistics
import subprocess

from program import PROGRAM, SCRATCH, SOURCE, expect, main

DONE = 0


def sweep(path):
    ran = subprocess.run([PROGRAM, "sweep", path, "--output", SCRATCH / "results.sqlite"], capture_output=True,
                         text=True, timeout=500, check=False)
    expect(ran.returncode == DONE, f"status {ran.returncode}\n{ran.stdout}{ran.stderr}")
    return ran


def shipped(name, *changes, expected=True):
    """A study of the tree with fewer places and messages; as they are, they take seconds of an optimised program, and
    minutes of this one. expected=False: without what is expected at places that are no more. What it says."""
    text = (SOURCE / "platform/studies" / f"{name}.toml").read_text()
    if not expected:
        text = re.sub(r"\[\[expected\]\]\n(?:\w.*\n)+", "", text)
    for before, after in (("../", f"{SOURCE}/platform/"), *changes):
        expect(before in text, f"the study has no {before}")
        text = text.replace(before, after)
    (SCRATCH / "study.toml").write_text(text)
    return sweep(SCRATCH / "study.toml").stdout


def at(name, *settings):
    """The mean of a metric where these are set."""
    where = " AND ".join(["name = ?", *["instr(own, ?)"] * len(settings)])
    with sqlite3.connect(SCRATCH / "results.sqlite") as database:
        (value,), = database.execute(f"SELECT avg(value) FROM point JOIN metric ON point = number WHERE {where}",
                                     (name, *(f"{one}\n" for one in settings)))
    return value


def middle(name, *settings):
    """The median of a metric where these are set: of runs that chance decides, one may be far from the others."""
    where = " AND ".join(["name = ?", *["instr(own, ?)"] * len(settings)])
    with sqlite3.connect(SCRATCH / "results.sqlite") as database:
        found = database.execute(f"SELECT value FROM point JOIN metric ON point = number WHERE {where}",
                                 (name, *(f"{one}\n" for one in settings)))
        return statistics.median(value for value, in found)


def connection_scaling_has_its_knee_in_the_published_band():
    said = shipped("qp_scaling", ("to = 4096, points = 8", "to = 1024, points = 4"),
                   ("values = [256, 1024]", "values = [256]"), ("warm_up = 4096", "warm_up = 1024"),
                   ("messages = 8192", "messages = 2048"), ("until = 1.1", "until = 1.5"))
    expect(said.count("it is in this band") == 2 and "outside of" not in said, said)


def the_reach_of_translations_is_that_of_their_pages():
    said = shipped("mtt_reach", ('to = "4 GiB", points = 7', 'to = "64 MiB", points = 4'),
                   ('["4 KiB", "64 KiB", "2 MiB"]', '["4 KiB", "64 KiB"]'), ("until = 1.3", "until = 2"),
                   ("warm_up = 20000", "warm_up = 8000"), ("messages = 10000", "messages = 4000"), expected=False)
    expect("The knee at traffic.page=4 KiB lies between traffic.region=4 MiB and 8 MiB" in said
           and "it is in this band" in said and "No knee at traffic.page=64 KiB" in said, said)


def a_doorbell_for_a_batch_is_better_than_blue_flame():
    said = shipped("blue_flame", ("[1, 2, 4, 8, 16]", "[1, 16]"), ("messages = 20000", "messages = 8000"))
    expect("rate at traffic.batch=1 traffic.blue_flame=true is " in said, said)
    flame, bell = (at("rate", f"traffic.blue_flame={way}", f"traffic.batch={batch}")
                   for way, batch in (("true", 1), ("false", 16)))
    expect(72 <= flame <= 88 and 1.05 <= bell / flame <= 1.4, f"{flame} {bell} M/s")
    expect(at("rate", "traffic.blue_flame=false", "traffic.batch=1") < 0.95 * flame, "a doorbell costs nothing")


def reads_go_as_far_as_their_window():
    said = shipped("read_window", ('"1 us", to = "1 ms", points = 7', '"10 us", to = "100 us", points = 3'),
                   ("[4, 16, 64]", "[16]"), ("until = 1.1", "until = 1.3"))
    expect("Published is 38 us to 46 us" in said and "it is in this band" in said, said)


def access_control_costs_what_the_upstream_link_lacks():
    shipped("peer_to_peer", ("[2, 4, 8, 16]", "[4, 16]"), ("messages = 800", "messages = 200"))
    for verb in ("write", "read"):
        narrow, wide, straight, free = (at("rate", f"host.acs={acs}", f"pcie.upstream.width={lanes}",
                                           f"traffic.verbs={verb}")
                                        for acs, lanes in (("redirect", 4), ("redirect", 16), ("off", 4), ("off", 16)))
        expect(6 < narrow < 7.9 and wide > 3 * narrow, f"{verb}: redirected {narrow}, {wide} GB/s")
        expect(straight > 3 * narrow and 0.9 < straight / free < 1.1, f"{verb}: straight {straight}, {free} GB/s")


def a_small_buffer_costs_dcqcn_its_rate():
    said = shipped("incast", ('["A..B", "A..D"]', '["A..D"]'), ("[4_194_304, ", "["), ('"20 ms"', '"4 ms"'),
                   ("values = [1, 4]", "values = [1]"))
    expect("it is in this band" in said and "it is outside of this band" in said, said)
    for buffer in ("8388608", "33554432"):
        none, swift = (at("rate", f"hca.congestion_control={one}", f"fabric.switch_buffer={buffer}")
                       for one in ("none", "swift"))
        expect(none > 380 and swift > 350, f"{buffer}: a slow cable: {none} and {swift} Gbit/s")


def small_reductions_let_flows_that_join_share_and_fill_the_line():
    # Of all places the two that something is known of.
    two = "".join(f'[[constraints]]\nproduct = ["hca.dcqcn.rpg_min_dec_fac", "hca.dcqcn.{key}"]\n'
                  f"at_least = {least}\nat_most = {most}\n\n"
                  for key, least, most in (("rpg_time_reset_ns", 9_000_000, 16_000_000),
                                           ("min_time_between_cnps_ns", 190_000, 210_000)))
    said = shipped("dcqcn_joins", ("[50, 80, 98]", "[50, 98]"), (', "20 us"]', "]"),
                   ("values = [5, 20]", "values = [5]"), ('ai_rate" = 20', 'ai_rate" = 5'),
                   ("[[expected]]\nmetric = \"dip\"", f"{two}[[expected]]\nmetric = \"dip\""))
    expect(said.count("it is in this band") == 2 and "\n10 points" in said, said)
    default, tuned = (middle("settled", f"hca.dcqcn.rpg_min_dec_fac={dec}") for dec in (50, 98))
    expect(default > 20 and tuned < default / 2, f"settled after {default} and {tuned} ms")
    default, tuned = (middle("fairness", f"hca.dcqcn.rpg_min_dec_fac={dec}") for dec in (50, 98))
    expect(default < 0.99 < tuned, f"fairness {default} and {tuned}")
    expect("dip is best with 3" in said or "dip is best with 2" in said, said)  # more is better


def the_iotlb_has_its_knee_in_the_published_band():
    said = shipped("iotlb_knee", ("points = 7", "points = 4"), ("until = 1.2", "until = 2"),
                   ("warm_up = 5000", "warm_up = 2000"), ("messages = 10000", "messages = 4000"))
    expect(said.count("it is in this band") == 2 and "No knee at iommu.present=false" in said, said)


def a_time_out_decides_what_loss_costs():
    shipped("loss_recovery", ("[0, 1e-5, 1e-4, 1e-3, 1e-2]", "[0, 1e-2]"), ("messages = 1000", "messages = 300"))
    rates = {}
    for way in ("false", "true"):
        rates[way] = none, short, middle, long = [
            at("rate", f"link.loss={loss}", f"hca.selective_repeat={way}", f"traffic.ack_timeout={timeout}")
            for loss, timeout in ((0, 4), (0.01, 4), (0.01, 8), (0.01, 12))]
    none, short, middle, long = rates["false"]
    expect(none > 90 and 0.5 < short / none < 0.85 and middle < 0.6 * short and long < 0.3 * middle, f"{rates} Gbit/s")
    # The order of modes (IRN, SIGCOMM 2018): whoever repeats selectively is faster, with each time-out.
    expect(all(mine > other for mine, other in zip(rates["true"][1:], rates["false"][1:])), f"{rates} Gbit/s")


def a_ring_is_for_many_bytes_and_a_tree_for_many_hosts():
    said = shipped("all_reduce", ('["node0..1", "node0..3", "node0..7", "node0..15", "node0..31", "node0..63"]',
                                  '["A..B", "A..H"]'), ('["ring", "tree", "double_tree"]', '["ring", "tree"]'),
                   ('["4 KiB", "256 KiB", "8 MiB"]', '["4 KiB", "1 MiB"]'), ("allreduce_64", "allreduce"),
                   expected=False)
    expect("8 of 8 points" in said and "failed" not in said, said)

    def times(size, way, ranks):
        return at("time", f"collective.bytes={size}", f"collective.algorithm={way}", f"collective.ranks={ranks}")
    few, many = "4 KiB", "1 MiB"
    expect(5 < times(few, "ring", "A..H") / times(few, "ring", "A..B") < 8, "14 steps and 2")
    expect(2 < times(few, "tree", "A..H") / times(few, "tree", "A..B") < 4, "3 levels and 1")
    expect(times(few, "tree", "A..H") < 0.6 * times(few, "ring", "A..H"), "a tree is no shorter")
    expect(times(many, "ring", "A..H") < 0.8 * times(many, "tree", "A..H"), "a ring carries no more")


def shipped_studies_can_be_begun():
    studies = sorted((SOURCE / "platform/studies").glob("*.toml"))
    expect(studies, "there are none")
    for path in studies:
        ran = subprocess.run([PROGRAM, "sweep", path, "--check"], capture_output=True, text=True, timeout=100,
                             check=False)
        expect(ran.returncode == DONE and "can run" in ran.stdout, f"{path}: {ran.stdout}{ran.stderr}")
        expect(f"[`{path.stem}`]({path.name})" in (path.parent / "README.md").read_text(), f"{path}: not in the README")


main(globals())
