"""The scenario `traffic` as a person runs it: every pattern and verb at small sizes, what is conserved, what cannot get
slower, what is refused."""

import itertools

from program import SCRATCH, SOURCE, expect, main, refused, result, run

PAIR = SOURCE / "platform/configs/traffic.toml"
EIGHT = SOURCE / "platform/configs/traffic_all_to_all.toml"
QUICK = ("traffic.warm_up=0", "traffic.messages=200", "scenario.message=1000")
# Ethernet, IPv4, UDP, BTH, RETH, ICRC and FCS of a packet that is a whole WRITE; without preamble and gap.
HEADERS_OF_A_WRITE = 14 + 20 + 8 + 12 + 16 + 4


def traffic(*sets, config=PAIR, status=0, is_checked=False):
    """The JSON of a run with keys set."""
    return result(*itertools.chain.from_iterable(("--set", one) for one in sets), config=config, status=status,
                  is_checked=is_checked)


def sum_of(got):
    return got["traffic"][0]


def every_verb_arrives_in_each_direction():
    for verbs, direction in itertools.product(
            ("write", "read", "send", "fetch_add", "compare_swap", "write:2, read:1, send:1, fetch_add:1"),
            ("one_way", "bidirectional", "ping_pong")):
        if direction == "ping_pong" and ":" in verbs:
            continue
        got = traffic(f"traffic.verbs={verbs}", f"traffic.direction={direction}", *QUICK, is_checked=verbs == "send")
        where = f"{verbs}, {direction}"
        flows = got["flows"]
        expect(len(flows) == (2 if direction == "bidirectional" else 1), f"{where}: {flows}")
        all_flows = sum_of(got)
        expect(all_flows["messages"] >= 200, f"{where}: {all_flows}")
        for what in ("messages", "bytes"):
            expect(sum(flow[what] for flow in flows) == all_flows[what], f"{where}: {what}")
            expect(sum(part[what] for part in got["intervals"]) == all_flows[what], f"{where}: {what} of intervals")
        expect(all_flows["latency_min_ns"] <= all_flows["latency_p50_ns"] <= all_flows["latency_p99_ns"]
               <= all_flows["latency_max_ns"], f"{where}: {all_flows}")
        if verbs in ("write", "read", "send"):
            expect(all_flows["checked"] >= all_flows["messages"], f"{where}: not all were looked at: {all_flows}")


def bytes_are_conserved():
    """What was written is what arrived, and what crossed the wire without its headers."""
    got = traffic("traffic.warm_up=0", "traffic.messages=500", "scenario.message=1000", "traffic.signal_every=1")
    messages = sum_of(got)["checked"]
    wire = next(wire for wire in got["wires"] if wire["name"] == "A -> B")
    expect(wire["packets"] == messages, f"{wire} for {messages} messages")
    expect(wire["bytes"] == messages * (1000 + HEADERS_OF_A_WRITE), f"{wire} for {messages} messages")
    expect(got["completions_ok"] == messages, f"{got['completions_ok']} completions of {messages}")
    expect(got["host_dram_payload_bytes"] >= 2 * 1000 * messages, "read at one end and written at the other")


def every_pattern_has_its_flows():
    for pattern, flows in (("pairs", 4), ("permutation", 8), ("all_to_all", 56), ("to_one", 7), ("from_one", 7)):
        got = traffic(f"traffic.pattern={pattern}", *QUICK, config=EIGHT, is_checked=pattern == "all_to_all")
        expect(len(got["flows"]) == flows, f"{pattern}: {[flow['name'] for flow in got['flows']]}")
        expect(200 <= sum_of(got)["messages"] < 400, f"{pattern}: {sum_of(got)}")
        if pattern == "to_one":
            expect({flow["name"].split(" -> ")[1] for flow in got["flows"]} == {"A.hca0"}, f"{got['flows']}")


def more_under_way_is_never_slower():
    rates = [sum_of(traffic(f"scenario.queue_depth={depth}", "scenario.qps=1", "traffic.signal_every=1",
                            "traffic.warm_up=100", "traffic.messages=1000"))["messages_per_second"]
             for depth in (1, 2, 4, 8, 16)]
    expect(all(after > before * 0.999 for before, after in itertools.pairwise(rates)), f"{rates}")
    expect(rates[-1] > 3 * rates[0], f"{rates}")


def all_to_one_is_held_back_by_the_wire_of_that_one():
    got = traffic("traffic.pattern=to_one", "traffic.to=C", "traffic.warm_up=2000", "traffic.messages=6000",
                  "scenario.message=16384", config=EIGHT)
    expect(sum_of(got)["bottleneck"].startswith("wire rail."), f"{sum_of(got)}")
    expect(sum_of(got)["bottleneck"].endswith("-> C.hca0"), f"{sum_of(got)}")
    expect(sum_of(got)["fairness"] > 0.95, f"{sum_of(got)}")
    expect(got["held_back"][0]["share"] > 0.5, f"{got['held_back']}")
    rate = sum_of(got)["rate_bytes_per_second"] * 8e-9
    expect(85 < rate < 100, f"{rate} Gb/s of 100")


def who_brings_what_a_cache_lacks_is_named_and_twice_as_many_carry_twice_as_much():
    """Of a card that has no caches, its engines for misses; of a remapping unit without any, its walkers. Where it has
    no contexts of queue pairs either, no turn is given that would have to wait for one, and the engines are idle while
    the answers are awaited that turns depend on."""
    small = ("scenario.qps=16", "scenario.message=64", "traffic.signal_every=1", "traffic.warm_up=400",
             "traffic.messages=2000")
    for key, few, many, names, least, needs in (
            ("hca.miss_engines", 2, 4, ("A.hca ICM misses",), 0.9, ("hca.mkey_cache_entries=0",
                                                                   "hca.mtt_cache_entries=0")),
            ("hca.miss_engines", 2, 4, ("A.hca ICM misses", "latency"), 0.6, ("hca.qp_cache_entries=0",
                                                                             "hca.mkey_cache_entries=0")),
            ("iommu.walkers", 1, 2, ("A.root page walkers",), 0.9, ("iommu.present=true", "iommu.iotlb_entries=0",
                                                                   "iommu.structure_entries=0"))):
        slow, fast = (sum_of(traffic(*small, *needs, f"{key}={count}", is_checked=False)) for count in (few, many))
        expect(slow["bottleneck"] in names and slow["load"] > least, f"{key}={few}: {slow}")
        ratio = fast["messages_per_second"] / slow["messages_per_second"]
        expect(1.8 < ratio < 2.2, f"{key}={many} is {ratio:.2f} times as fast as {few}")


def an_open_loop_offers_its_rate():
    """Below what the platform can carry all is sent, with latencies near those of one at a time; above it, the rest
    waits, and latencies count from when messages were to be sent."""
    quick = ("scenario.qps=1", "traffic.signal_every=1", "traffic.warm_up=0", "traffic.messages=0",
             "traffic.duration_ns=2000000", "scenario.message=4096")
    alone = sum_of(traffic(*quick, "scenario.queue_depth=1"))
    calm = sum_of(traffic(*quick, "traffic.rate=100000", "scenario.queue_depth=64"))
    expect(abs(calm["messages_per_second"] - 1e5) < 2e4, f"{calm}")
    expect(abs(calm["latency_p50_ns"] - alone["latency_p50_ns"]) < 0.1 * alone["latency_p50_ns"], f"{calm} {alone}")
    even = sum_of(traffic(*quick, "traffic.rate=100000", "traffic.arrivals=fixed", "scenario.queue_depth=64"))
    expect(even["messages"] == 200 or even["messages"] == 199, f"{even}")
    flood = sum_of(traffic(*quick, "traffic.rate=20000000", "scenario.queue_depth=8"))
    expect(flood["unposted"] > 1000 and flood["offered"] > 30_000, f"{flood}")
    expect(flood["latency_p99_ns"] > 20 * calm["latency_p99_ns"], f"{flood}")


def time_and_messages_end_what_is_measured():
    got = traffic("traffic.warm_up=0", "traffic.warm_up_ns=50000", "traffic.messages=0", "traffic.duration_ns=100000",
                  "traffic.intervals=4")
    expect(sum_of(got)["elapsed_ns"] == 100_000 and len(got["intervals"]) == 4, f"{sum_of(got)} {got['intervals']}")
    expect(all(part["end_ns"] - part["begin_ns"] == 25_000 for part in got["intervals"]), f"{got['intervals']}")
    long = traffic("traffic.messages=20000", "traffic.intervals=3")
    expect(3 <= len(long["intervals"]) <= 6, f"{long['intervals']}")


def memory_is_where_it_is_wanted():
    for sets, peer in ((("traffic.memory=vram", "traffic.remote_memory=vram"), True),
                       (("traffic.remote_memory=vram",), True), ((), False)):
        for verbs in ("write", "read", "send", "fetch_add"):
            got = traffic(f"traffic.verbs={verbs}", *sets, *QUICK)
            expect((got["p2p_payload_bytes"] > 0) == (peer and (verbs != "read" or len(sets) != 0)),
                   f"{verbs} {sets}: {got['p2p_payload_bytes']}")
    for access in ("sequential", "uniform", "zipf"):
        got = traffic(f"traffic.access={access}", "traffic.regions=8", "traffic.region=65536", "traffic.page=65536",
                      *QUICK)
        expect(sum_of(got)["checked"] > 0, f"{access}: {sum_of(got)}")


def a_list_ends_where_several_messages_are_told_at_a_time():
    """Whatever is left over has no completion of its own, and the list is not over without it."""
    listed = SCRATCH / "few.txt"
    for count in (1, 2, 7, 18):
        # The last one comes when nobody has been busy for longer than a run that hangs is waited for.
        times = [*(number * 100 for number in range(count)), 20_000_000_000]
        listed.write_text("".join(f"{time} A B write 4096\n" for time in times))
        got = result("--set", f"traffic.replay={listed}", "--set", "traffic.warm_up=0", "--set",
                     "traffic.signal_every=4", "--set", "scenario.queue_depth=8", config=PAIR)
        expect(got["traffic"][0]["messages"] == count + 1, got["traffic"])


def a_list_of_messages_is_replayed():
    """Every message of it, at its time; what is wrong with it has its line."""
    listed = SCRATCH / "list.txt"
    lines = [f"{1000 * i} {'A B' if i % 3 else 'B A'} {('write', 'read', 'send', 'fetch_add')[i % 4]} "
             f"{8 if i % 4 == 3 else 100 + i}" for i in range(300)]
    listed.write_text("# nanosecond, from, to, verb, bytes\n" + "\n".join(lines) + "\n")
    sets = (f"traffic.replay={listed}", "scenario.qps=2", "traffic.warm_up=0", "traffic.signal_every=1")
    got = traffic(*sets)
    expect({flow["name"]: flow["messages"] for flow in got["flows"]}
           == {"A.hca -> B.hca": 200, "B.hca -> A.hca": 100}, f"{got['flows']}")
    expect(sum_of(got)["bytes"] == sum(int(line.split()[4]) for line in lines), f"{sum_of(got)}")
    expect(sum_of(got)["offered"] == 300 and sum_of(got)["unposted"] == 0, f"{sum_of(got)}")
    expect(299_000 <= sum_of(got)["elapsed_ns"] < 310_000, f"{sum_of(got)}")
    later = sum_of(traffic(*sets, "traffic.warm_up_ns=100000"))
    expect(190 < later["messages"] < 210, f"{later}")
    for line, words in (("0 A B wirte 8", (":2", "did you mean 'write'")), ("0 A Z write 8", (":2", "Z is no HCA")),
                        ("0 A A write 8", (":2", "itself")), ("", ("no message",))):
        listed.write_text(f"# one\n{line}\n")
        refused(run("--set", f"traffic.replay={listed}", config=PAIR), *words)


def bytes_that_come_late_are_waited_for():
    # A card has the bytes, and acknowledges them; they are in memory behind a completion that waits for its context.
    config = SCRATCH / "late.toml"
    config.write_text("""[scenario]
name = "traffic"
message = "4 KiB"
queue_depth = 1
qps = 64
[traffic]
pattern = "all_to_all"
warm_up = 0
messages = 3000
[link]
encapsulation = "infiniband"
[hca]
qp_cache_entries = 256
[[hosts]]
name = "node"
count = 4
parts = ["root0.sw0.hca0"]
[fabric]
switches = [{ name = "leaf0..1", ports = 36 }, { name = "spine0..7", ports = 36 }]
cables = ["node0..3.hca0 -- leaf0..1", "leaf0..1 >< spine0..7"]
""")
    got = sum_of(traffic(config=config))
    expect(got["checked"] >= 3000, f"not all were looked at: {got}")


def the_same_seed_does_the_same():
    sets = ("traffic.verbs=write:1, read:1", "traffic.sizes=8..4096:9, 16384:1", "traffic.access=uniform", *QUICK)
    first, again, other = (traffic(*sets, f"scenario.seed={seed}") for seed in (1, 1, 2))
    expect(first["event_digest"] == again["event_digest"], "not the same run")
    expect(first["event_digest"] != other["event_digest"], "the seed draws nothing")


def rates_say_by_how_much_they_may_be_wrong():
    """The wire is what holds these back, so that the right rate is known; four queue pairs tell at a time."""
    line = sum_of(traffic("scenario.message=65536", "traffic.signal_every=1", "traffic.messages=1000",
                          "traffic.warm_up=100"))
    expect(abs(line["rate_error"] - 4 / line["messages"]) < 1e-9, f"{line}")
    for signal_every, messages in itertools.product((1, 4, 16), (40, 100, 200, 500, 1000)):
        got = sum_of(traffic("scenario.message=65536", f"traffic.signal_every={signal_every}", "traffic.warm_up=10",
                             f"traffic.messages={messages}"))
        where = f"{messages} messages, told by {signal_every}: {got}"
        expect(abs(got["rate_error"] - 4 * signal_every / got["messages"]) < 1e-9, where)
        expect(abs(got["rate_bytes_per_second"] - line["rate_bytes_per_second"])
               <= (got["rate_error"] + 0.01) * got["rate_bytes_per_second"], where)
    for messages, is_said in ((100, True), (2000, False)):
        report = run("--set", f"traffic.messages={messages}", config=PAIR).stdout
        expect(("rates may be wrong by 16 %" in report) == is_said, f"{messages} messages: {report}")
    for config in (EIGHT, SOURCE / "platform/configs/alltoall.toml"):
        got = sum_of(traffic(*QUICK, "collective.operations=1", config=config))
        expect((got["rate_error"] is None) == (config != EIGHT), f"{config}: {got['rate_error']}")


def lost_packets_come_again_and_are_counted():
    got = traffic(*QUICK, "link.loss=0.02", "traffic.ack_timeout=4")
    expect(got["verified"] and got["retries"] > 0, f"{got['retries']}")
    dead = traffic(*QUICK, "link.loss=1", "traffic.ack_timeout=4", "traffic.retry_count=1", status=1)
    expect("retry" in dead["failure"] and not dead["verified"], dead["failure"])


def what_cannot_be_is_refused_with_its_line():
    bad = SOURCE / "platform/configs/traffic.toml"
    for sets, words in (
            (("traffic.verbs=reed",), ("--set", "traffic.verbs", "did you mean 'read'")),
            (("traffic.sizes=4 KB",), ("traffic.sizes", "did you mean 'KiB'")),
            (("traffic.from=Z",), ("traffic.from", "Z is no HCA")),
            (("traffic.from=A, A",), ("traffic.from", "twice")),
            (("traffic.to=A",), ("traffic.pattern", "send to itself")),
            (("traffic.batch=17",), ("traffic.batch", "scenario.queue_depth = 16")),
            (("traffic.signal_every=17",), ("traffic.signal_every", "scenario.queue_depth = 16")),
            (("traffic.messages=0",), ("traffic.messages", "no end")),
            (("traffic.messages=0", "traffic.duration_ns=5", "timed=false"), ("traffic.messages", "timed")),
            (("traffic.rate=5", "timed=false"), ("traffic.rate", "timed")),
            (("traffic.rate=5", "traffic.direction=ping_pong"), ("traffic.rate", "ping-pong")),
            (("traffic.direction=ping_pong", "traffic.verbs=write, read"), ("traffic.verbs", "ping-pong")),
            (("traffic.inline=64", "traffic.memory=vram"), ("traffic.inline", "VRAM")),
            (("traffic.inline=1000",), ("traffic.inline", "work requests of 1040 bytes")),
            (("traffic.rate=2000000000",), ("traffic.rate", "1000000000")),
            (("hca.msix_vectors=1",), ("hca.msix_vectors", "choose 2")),
            (("hca.log_max_cq_size=6",), ("hca.log_max_cq_size", "136 entries", "choose 8")),
            (("hca.log_max_qp_size=4",), ("hca.log_max_qp_size", "32 blocks", "choose 5")),
            (("traffic.region=1024",), ("traffic.region", "no room")),
            (("traffic.region=8 GiB",), ("traffic.region", "half")),
            (("traffic.regions=1048576",), ("traffic.regions", "memory keys")),
            (("scenario.qps=262144", "hca.log_max_qp=20", "scenario.message=8"), ("scenario.qps", "262144")),
            (("scenario.qps=16", "hca.log_max_qp=4"), ("scenario.qps", "has 16")),
            (("traffic.sizes=4 MiB", "hca.log_max_message=21"), ("traffic.sizes", "larger"))):
        refused(run(*itertools.chain.from_iterable(("--set", one) for one in sets), config=bad), *words)
    refused(run("--set", "traffic.memory=vram", config=EIGHT), "traffic.memory", "no GPU")


def the_least_queues_that_are_not_refused_are_enough():
    for sets in (("traffic.inline=988",), ("hca.msix_vectors=2",), ("hca.log_max_cq_size=8",),
                 ("hca.log_max_qp_size=5",), ("hca.log_max_qp_size=5", "traffic.verbs=send"),
                 ("hca.log_max_cq_size=7", "traffic.direction=ping_pong", "traffic.verbs=send")):
        expect(traffic(*QUICK, *sets)["verified"], f"{sets}")
    small = "scenario.message=1073741824", "traffic.direction=ping_pong", "scenario.queue_depth=1"
    refused(run(*itertools.chain.from_iterable(("--set", one) for one in (*small, "traffic.signal_every=1")),
                config=PAIR), "scenario.queue_depth", "half")


main(globals())
