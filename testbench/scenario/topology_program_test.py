"""Fabrics from one line, with all hosts sending to all: every byte arrives, no credit waits for itself; and cables and
switches that fail while they do."""

import itertools
import json
import subprocess

from program import PROGRAM, SCRATCH, expect, main, refused, result, run

TOPOLOGIES = {"fat_tree(k=4)": 16, "leaf_spine(leaves=4, spines=2, hosts=4)": 16,
              "leaf_spine(leaves=2, spines=2, hosts=8, oversubscription=2)": 16,
              "dragonfly(a=2, p=2, h=1)": 12, "dragonfly(a=3, p=2, h=1)": 24}
TIGHT = ("link.credit_blocks=66", "traffic.ack_timeout=14", "traffic.retry_count=1")
SMALL = "leaf_spine(leaves=2, spines=2, hosts=2)"


def platform(topology, hosts, keys="", parts="root0.sw0.hca0", encapsulation="infiniband", fabric="", scenario="",
             end=""):
    """A configuration with so many hosts that write to each other."""
    path = SCRATCH / "platform.toml"
    path.write_text(f"""[scenario]
name = "traffic"
message = "4 KiB"
queue_depth = 16
{scenario}
[traffic]
pattern = "all_to_all"
warm_up = 0
messages = 4000
{keys}
[link]
encapsulation = "{encapsulation}"
[[hosts]]
name = "node"
count = {hosts}
memory = "1 GiB"
parts = ["{parts}"]
[fabric]
topology = "{topology}"
{fabric}
{end}""")
    return path


def traffic(config, *sets, status=0, is_checked=False):
    return result(*itertools.chain.from_iterable(("--set", one) for one in sets), config=config, status=status,
                  is_checked=is_checked)


def wires(got, begin, end):
    """Packets on cables from switches of one kind to those of another."""
    return {wire["name"]: wire["packets"] for wire in got["wires"]
            if wire["name"].startswith(begin) and f"-> {end}" in wire["name"]}


def all_to_all_arrives_on_every_topology():
    for (topology, hosts), encapsulation in itertools.product(TOPOLOGIES.items(), ("infiniband", "roce_v2")):
        got = traffic(platform(topology, hosts, encapsulation=encapsulation),
                      is_checked=topology == "fat_tree(k=4)")
        where = f"{topology}, {encapsulation}"
        expect(got["verified"] and got["retries"] == 0, f"{where}: {got['failure']}, {got['retries']} retries")
        expect(len(got["flows"]) == hosts * (hosts - 1), f"{where}: {len(got['flows'])} flows")
    rails = traffic(platform("rail_optimized(rails=4, hosts=4, spines=2)", 4, parts="root0..3.hca0..3"))
    expect(rails["verified"] and len(rails["flows"]) == 240, f"{rails['failure']}, {len(rails['flows'])} flows")


def equal_ways_are_used_alike():
    """Ethernet leaves hash their flows over spines, InfiniBand ones go by the number of the HCA."""
    for encapsulation, most in (("infiniband", 1.2), ("roce_v2", 2.0)):
        got = traffic(platform("leaf_spine(leaves=4, spines=4, hosts=4)", 16, encapsulation=encapsulation))
        up = wires(got, "leaf", "spine")
        expect(len(up) == 16 and min(up.values()) > 0, f"{encapsulation}: {up}")
        expect(max(up.values()) < most * min(up.values()), f"{encapsulation}: {up}")
    cores = wires(traffic(platform("fat_tree(k=4)", 16)), "pod", "core")
    expect(len(cores) == 16 and max(cores.values()) < 1.3 * min(cores.values()), f"{cores}")


def with_buffers_of_one_packet_no_credit_waits_for_itself():
    """Full load and the least buffers there are, which is when a circle of waiting packets would stop them all."""
    for topology, hosts in TOPOLOGIES.items():
        got = traffic(platform(topology, hosts), *TIGHT)
        expect(got["verified"] and got["retries"] == 0, f"{topology}: {got['failure']}, {got['retries']} retries")


def a_circle_by_the_fewest_switches_stops():
    """What `auto` is there for: packets wait for each other, nothing arrives, and requesters give up."""
    ring = SCRATCH / "ring.toml"
    text = platform("x", 8).read_text().replace('topology = "x"', """
switches = ["s0..7"]
cables = ["node0..7.hca0 -- s0..7", "s0..6 -- s1..7", "s7 -- s0"]""")
    ring.write_text(text)
    for config in (ring, platform("dragonfly(a=3, p=2, h=1)", 24)):
        stopped = traffic(config, *TIGHT, "fabric.routing=minimal", status=1)
        expect("retry" in stopped["failure"], stopped["failure"])
        expect(stopped["traffic"][0]["messages"] == 0, f"{stopped['traffic'][0]}")
    for routing in ("auto", "up_down"):
        got = traffic(ring, *TIGHT, f"fabric.routing={routing}")
        expect(got["verified"] and got["retries"] == 0, f"{routing}: {got['failure']}, {got['retries']} retries")


def one_line_is_what_somebody_writes():
    """The drawing, and the run, of a topology and of its switches and cables in lists."""
    one = platform(SMALL, 4)
    by_line = subprocess.run([PROGRAM, "show", one], capture_output=True, text=True, check=True).stdout
    digest = traffic(one)["event_digest"]
    written = SCRATCH / "written.toml"
    written.write_text(one.read_text().replace(f'topology = "{SMALL}"', """
switches = [{ name = "leaf0..1", ports = 4 }, { name = "spine0..1", ports = 2 }]
cables = ["node0..3.hca0 -- leaf0..1", "leaf0..1 >< spine0..1"]"""))
    by_hand = subprocess.run([PROGRAM, "show", written], capture_output=True, text=True, check=True).stdout
    expect(by_line == by_hand, f"{by_line}\n{by_hand}")
    expect(digest == traffic(written)["event_digest"], "not the same run")


def a_topology_can_be_swept():
    platform(SMALL, 4, keys="").rename(SCRATCH / "base.toml")
    study = SCRATCH / "study.toml"
    study.write_text(f"""base = "base.toml"
[set]
traffic.messages = 200
[[axes]]
key = "fabric.topology"
values = ["{SMALL}", "leaf_spine(leaves=4,spines=2,hosts=1)", "dragonfly(a=1, p=1, h=3)"]
[[metrics]]
name = "p50"
value = "traffic[all].latency_p50_ns"
""")
    ran = subprocess.run([PROGRAM, "sweep", study, "--output", SCRATCH / "topologies.sqlite"], capture_output=True,
                         text=True, check=False)
    expect(ran.returncode == 0, f"{ran.returncode}: {ran.stdout}{ran.stderr}")


FAILING = """[[failures]]
switch = "spine1"
at = "20 us"
"""


def spine_fails(*sets, until="", reroute="200 us", status=0, encapsulation="infiniband", is_checked=False, keys=""):
    config = platform("leaf_spine(leaves=2, spines=2, hosts=2)", 4, encapsulation=encapsulation,
                      fabric=f'reroute_ns = "{reroute}"', keys="ack_timeout = 5\n" + keys,
                      end=FAILING + (f'until = "{until}"\n' if until else ""))
    return traffic(config, *sets, status=status, is_checked=is_checked)


def a_spine_that_fails_costs_retries_and_nothing_else():
    for encapsulation in ("infiniband", "roce_v2"):
        whole = traffic(platform("leaf_spine(leaves=2, spines=2, hosts=2)", 4, encapsulation=encapsulation,
                                 keys="ack_timeout = 5"))
        got = spine_fails(encapsulation=encapsulation, is_checked=True)
        failure = got["failures"][0]
        expect(got["verified"] and got["retries"] > 0 and got["timeouts"] > 0,
               f"{encapsulation}: {got['failure']}, {got['retries']} retries")
        expect(got["completions_error"] == 0, f"{encapsulation}: {got['completions_error']} errors")
        expect(failure["name"] == "spine1" and failure["at_ns"] == 20_000 and failure["until_ns"] is None, f"{failure}")
        expect(failure["lost"] + failure["discarded"] > 0, f"{encapsulation}: {failure}")
        expect(whole["failures"] == [] and whole["retries"] == 0, f"{encapsulation}: {whole['failures']}")
        less, more = wires(got, "leaf", "spine1"), wires(got, "leaf", "spine0")
        expect(sum(more.values()) > 4 * sum(less.values()) > 0, f"{encapsulation}: {less} {more}")
        expect(got["traffic"][0]["elapsed_ns"] > whole["traffic"][0]["elapsed_ns"],
               f"{encapsulation}: {got['traffic'][0]['elapsed_ns']} and {whole['traffic'][0]['elapsed_ns']}")


def without_other_ways_a_queue_pair_gives_up():
    """As the specification says: after so many repetitions (IBA 9.7.5.1.3), with the tables as they were."""
    got = spine_fails("traffic.retry_count=2", reroute="10 s", status=1)
    expect("retry" in got["failure"].lower(), got["failure"])
    expect(got["completions_error"] > 0 and got["timeouts"] > 0, f"{got['completions_error']} {got['timeouts']}")
    alone = platform("leaf_spine(leaves=2, spines=1, hosts=2)", 4, keys="ack_timeout = 5\nretry_count = 2",
                     fabric="reroute_ns = 1000", end='[[failures]]\ncable = "node3.hca0 -- leaf1"\nat = 20000\n')
    got = traffic(alone, status=1)
    expect("retry" in got["failure"].lower(), got["failure"])


def a_repaired_spine_is_used_again():
    """Its cables carry more than they had before they broke, and less than they would have without a failure."""
    unbroken = traffic(platform(SMALL, 4, keys="ack_timeout = 5"), "traffic.messages=20000")
    never = spine_fails("traffic.messages=20000", reroute="20 us")
    again = spine_fails("traffic.messages=20000", until="60 us", reroute="20 us")
    whole, without, used = (sum(wires(got, "leaf", "spine1").values()) for got in (unbroken, never, again))
    expect(without < 0.2 * used < used < whole, f"{without}, {used} and {whole}")
    expect(again["verified"] and again["failures"][0]["until_ns"] == 60_000, f"{again['failures']}")


def a_short_failure_ends_before_anybody_goes_another_way():
    got = spine_fails(until="25 us", reroute="10 s")
    expect(got["verified"] and got["retries"] > 0, f"{got['failure']}, {got['retries']} retries")


def adaptive_routing_lets_packets_overtake_and_responders_refuse():
    """A responder takes packets in their order: what comes ahead is a sequence error (IBA 9.7.5.2.8), and all of it is
    sent again. A spine that fails is left out by its leaves at once."""
    config = platform("leaf_spine(leaves=4, spines=2, hosts=4)", 16, keys="ack_timeout = 6")
    fixed, free = (traffic(config, f"fabric.adaptive_routing={on}") for on in ("false", "true"))
    expect(fixed["verified"] and fixed["naks"] == 0, f"{fixed['naks']} NAKs")
    expect(free["verified"] and free["naks"] > 0 and free["retries"] > 0, f"{free['failure']}, {free['naks']} NAKs")
    got = spine_fails("fabric.adaptive_routing=true", reroute="10 s")
    expect(got["verified"] and got["failures"][0]["discarded"] < 100, f"{got['failure']}, {got['failures']}")


def the_report_names_failures_and_what_they_cost():
    ran = run("--set", "traffic.messages=500", config=platform(SMALL, 4, keys="ack_timeout = 5", end=FAILING),
              is_checked=False)
    expect("spine1" in ran.stdout and "discarded" in ran.stdout, ran.stdout)


def the_same_failure_does_the_same():
    first, second = (spine_fails() for _ in range(2))
    expect(first["event_digest"] == second["event_digest"], "two runs differ")


def what_cannot_be_is_refused_with_its_line():
    config = platform(SMALL, 4)
    line = 1 + config.read_text().split("\n").index(f'topology = "{SMALL}"')
    refused(run(config=platform("fat_tree(k=4)", 4), is_checked=False), f"platform.toml:{line}", "16 HCAs")
    platform(SMALL, 4)
    for topology, words in (("fat_tree(k=4)", ("--set", "16 HCAs", "make 4")), ("leaf_spine(leaves=2)", ("'spines'",)),
                            ("fat_tree(k=4", ("as in fat_tree(k=4)",)), ("clos(k=4)", ("no topology 'clos'",))):
        refused(run("--set", f"fabric.topology={topology}", config=config, is_checked=False), *words)
    refused(run("--set", "fabric.topology=", config=config, is_checked=False), "no cable")
    late = platform(SMALL, 4, end='[[failures]]\ncable = "leaf0 -- spine7"\nat = 5\n')
    refused(run(config=late, is_checked=False), f"platform.toml:{line + 2}", "spine7")
    refused(run("--set", "timed=false", config=platform(SMALL, 4, end=FAILING), is_checked=False), "timed = false")


def keys_are_listed_with_their_topologies():
    listed = subprocess.run([PROGRAM, "keys"], capture_output=True, text=True, check=True).stdout
    for word in ("fat_tree(k=4)", "oversubscription", "[[failures]]", "fabric.reroute_ns"):
        expect(word in listed, word)
    json.loads(subprocess.run([PROGRAM, "keys", "--json"], capture_output=True, text=True, check=True).stdout)


main(globals())
