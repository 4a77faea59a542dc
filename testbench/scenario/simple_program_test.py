"""Another architecture of an HCA (hca.model = simple) as a person runs it: the traffic that it carries, with one of
either model on a cable, what is reported, what is refused by name."""

import itertools

from program import SOURCE, ends_of_keys, expect, main, refused, result, run, sweep

SIMPLE = SOURCE / "platform/configs/simple.toml"
EIGHT = SOURCE / "platform/configs/traffic_all_to_all.toml"
QUICK = ("traffic.warm_up=0", "traffic.messages=300", "scenario.message=5000")
MIXED = ("A.hca.model=simple", "B.hca.model=connectx"), ("A.hca.model=connectx", "B.hca.model=simple")


def traffic(*sets, config=SIMPLE, status=0):
    """The JSON of a run with keys set."""
    return result(*itertools.chain.from_iterable(("--set", one) for one in sets), config=config, status=status)


def sum_of(got):
    return got["traffic"][0]


def is_done(got, where):
    expect(got["verified"] is True and sum_of(got)["checked"] >= sum_of(got)["messages"] >= 300, f"{where}: {got}")


def every_verb_arrives_in_each_direction_on_each_kind_of_cable():
    for verbs, direction, wire in itertools.product(
            ("write", "read", "send", "write:2, read:1, send:1"), ("one_way", "bidirectional", "ping_pong"),
            ("roce_v2", "roce_v2_ipv6", "infiniband")):
        if direction == "ping_pong" and ":" in verbs:
            continue
        is_done(traffic(f"traffic.verbs={verbs}", f"traffic.direction={direction}", f"link.encapsulation={wire}",
                        *QUICK), f"{verbs}, {direction}, {wire}")


def either_model_talks_to_the_other():
    for models, verbs, wire in itertools.product(MIXED, ("write", "read", "send", "write:2, read:1, send:1"),
                                                 ("roce_v2", "infiniband")):
        got = traffic(*models, f"traffic.verbs={verbs}", f"link.encapsulation={wire}", "link.exact_bytes=true",
                      "traffic.direction=bidirectional", *QUICK)
        is_done(got, f"{models}, {verbs}, {wire}")
        caches = {cache["name"].split(".")[0] for cache in got["caches"]}
        expect(caches == {"B" if models[1].endswith("connectx") else "A"}, f"{models}: {got['caches']}")


def nothing_is_lost_on_a_cable_that_loses():
    for models in ((), *MIXED):
        for verbs in ("write", "read", "send"):
            got = traffic(*models, f"traffic.verbs={verbs}", "link.loss=0.01", "link.reorder=0.005",
                          "link.corrupt=0.005", "link.duplicate=0.005", "traffic.ack_timeout=8", *QUICK)
            is_done(got, f"{models}, {verbs}")
            expect(got["retries"] > 0 and got["duplicates"] > 0, f"{models}, {verbs}: {got['retries']} retries")


def a_dead_cable_is_told():
    got = traffic("link.loss=1", "traffic.ack_timeout=6", "traffic.retry_count=1", status=1)
    expect("transport retry counter exceeded" in got["failure"], got["failure"])


def eight_hosts_talk_to_each_other():
    got = traffic("hca.model=simple", *QUICK, config=EIGHT)
    expect(len(got["flows"]) == 56 and sum_of(got)["messages"] >= 300, f"{sum_of(got)}")


def the_report_has_its_units_and_no_caches():
    got = traffic("traffic.sizes=64 B", "scenario.qps=8", "traffic.cores=8", "traffic.messages=5000")
    expect(got["caches"] == [], f"{got['caches']}")
    names = {one["name"] for one in got["resources"] if one["name"].startswith("A.hca")}
    expect({"A.hca sending unit", "A.hca PCIe reads", "B.hca receiving unit"} <=
           names | {one["name"] for one in got["resources"]}, f"{names}")
    expect(sum_of(got)["bottleneck"] == "A.hca sending unit", f"{sum_of(got)}")


def the_sending_unit_decides_the_rate_of_small_messages():
    """One descriptor after the other: no more messages a second than its times allow."""
    for descriptor, packet in ((120, 40), (500, 40), (120, 400)):
        got = traffic("traffic.sizes=64 B", "scenario.qps=8", "traffic.cores=8", "traffic.messages=5000",
                      f"simple.descriptor_ns={descriptor}", f"simple.packet_ns={packet}")
        most = 1e9 / (descriptor + packet)
        expect(0.9 * most < sum_of(got)["messages_per_second"] < 1.01 * most, f"{most} and {sum_of(got)}")


def more_queue_pairs_cost_nothing():
    """No context is cached, and so none is missed."""
    rates = [sum_of(traffic("traffic.sizes=64 B", f"scenario.qps={pairs}", "scenario.queue_depth=2", "traffic.cores=4",
                            "traffic.warm_up=4096", "traffic.messages=8192",
                            "traffic.signal_every=1"))["messages_per_second"] for pairs in (64, 256, 1024)]
    expect(max(rates) < 1.02 * min(rates), f"{rates}")


def every_time_of_the_card_is_monotone():
    few = ("scenario.qps=1", "scenario.queue_depth=1", "traffic.signal_every=1", "traffic.messages=300",
           "traffic.warm_up=10", "scenario.message=5000")
    for key, values in (("simple.descriptor_ns", (2000, 500, 100, 0)), ("simple.packet_ns", (2000, 500, 100, 0)),
                        ("simple.latency_ns", (2000, 500, 100, 0))):
        found = [sum_of(traffic(*few, f"{key}={value}"))["latency_p50_ns"] for value in values]
        expect(all(before > after for before, after in itertools.pairwise(found)), f"{key}: {found}")
    slow, fast = (traffic(*few, f"simple.command_ns={value}")["sim_time_ns"] for value in (1_000_000, 1000))
    expect(slow > fast + 4_000_000, f"simple.command_ns: {slow} and {fast}")
    deep = ("scenario.qps=1", "scenario.queue_depth=64", "traffic.messages=2000", "scenario.message=4096")
    for key, values in (("simple.pcie_reads", (1, 4, 64)), ("simple.outstanding", (1, 4, 32))):
        found = [sum_of(traffic(*deep, f"{key}={value}"))["messages_per_second"] for value in values]
        expect(found[0] < 0.9 * found[1] < found[2], f"{key}: {found}")
    acks = [next(wire["packets"] for wire in traffic("scenario.message=1048576", "traffic.messages=20",
                                                     "traffic.warm_up=0", f"simple.ack_every={value}")["wires"]
                 if wire["name"] == "B -> A") for value in (1, 16, 1024)]
    expect(acks[0] > acks[1] > acks[2], f"simple.ack_every: {acks}")


def without_times_the_same_bytes_move():
    is_done(traffic("timed=false", "traffic.verbs=write:2, read:1, send:1", *QUICK), "timed = false")


def ends_of_the_keys_of_the_card():
    keys = {name: values for name, values in ends_of_keys().items() if name.startswith("simple.")}
    expect(len(keys) == 11, f"{sorted(keys)}")
    sweep(keys, "--set", "traffic.messages=200", "--set", "traffic.warm_up=0", config=SIMPLE)


def what_it_cannot_do_is_refused_by_its_name():
    for sets, what in ((["traffic.verbs=fetch_add"], "hca.model=simple has no atomics"),
                       (["traffic.verbs=write, compare_swap"], "hca.model=simple has no atomics"),
                       (["traffic.inline=64"], "hca.model=simple has no work requests with data in them"),
                       (["traffic.blue_flame=true"], "hca.model=simple has no doorbells with work requests"),
                       (["traffic.memory=vram"], "hca.model=simple has no way into VRAM"),
                       (["traffic.remote_memory=vram"], "hca.model=simple has no way into VRAM"),
                       (["B.hca.model=connectx", "traffic.verbs=fetch_add"], "hca.model=simple has no atomics"),
                       (["simple.log_max_qp=4", "scenario.qps=16"], "needs 16 queue pairs and has 16"),
                       (["simple.log_max_qp=4", "scenario.qps=17"], "simple.log_max_qp"),
                       (["simple.log_max_region=4", "traffic.regions=8"],
                        "needs 16 memory keys and 16 for its driver, and has 16 ('simple.log_max_region')"),
                       (["fabric.managed=true", "link.encapsulation=infiniband"], "'fabric.managed' has to be false"),
                       (["scenario.name=gpudirect"], "for which the scenario 'gpudirect' has no driver"),
                       (["hca.model=complex"], "hca.model"), (["simple.memory=1 KiB"], "simple.memory")):
        refused(run(*itertools.chain.from_iterable(("--set", one) for one in sets), config=SIMPLE), what)


def a_card_that_is_too_small_says_so():
    got = traffic("simple.memory=64 KiB", "scenario.qps=64", status=1)
    expect("the memory of the card has no room for it" in got["failure"], got["failure"])


def keys_of_the_other_model_have_no_effect():
    ran = run("--set", "hca.units=4", "--set", "traffic.messages=100", config=SIMPLE)
    expect(ran.returncode == 0 and "'hca.units' has no effect: hca.model is simple" in ran.stdout, ran.stdout)
    ran = run("--set", "hca.model=connectx", "--set", "simple.packet_ns=4", "--set", "traffic.messages=100",
              config=SIMPLE)
    expect(ran.returncode == 0 and "'simple.packet_ns' has no effect: hca.model is not simple" in ran.stdout,
           ran.stdout)


def the_same_run_has_the_same_digest():
    first, second = (traffic("link.loss=0.01", "traffic.ack_timeout=8", *QUICK)["event_digest"] for _ in range(2))
    expect(first == second, f"{first} and {second}")


main(globals())
