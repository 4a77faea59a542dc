"""The scenarios allreduce, alltoall and parameter_server as a person runs them: every algorithm at several numbers of
ranks, what is conserved, what holds them back, what is refused."""

import itertools
import json
import signal
import subprocess
import time

from program import PROGRAM, SCRATCH, SOURCE, expect, main, refused, result, run

EIGHT = SOURCE / "platform/configs/allreduce.toml"
GPUS = SOURCE / "platform/configs/allreduce_gpus.toml"
ALGORITHMS = ("ring", "tree", "double_tree")
QUICK = ("collective.warm_up=0", "collective.operations=2", "collective.bytes=60000", "scenario.message=4096")


def collective(*sets, config=EIGHT, status=0, is_checked=False):
    """The JSON of a run with keys set."""
    return result(*itertools.chain.from_iterable(("--set", one) for one in sets), config=config, status=status,
                  is_checked=is_checked)


def operation(got):
    return got["operations"][0]


def every_algorithm_adds_up_what_all_have():
    """2 (n - 1) times the data cross the wire, whatever the algorithm, since nobody adds in between."""
    for algorithm, last in itertools.product(ALGORITHMS, "BCEH"):
        ranks = ord(last) - ord("A") + 1
        got = collective(f"collective.algorithm={algorithm}", f"collective.ranks=A..{last}", *QUICK,
                         is_checked=last == "C")
        where, all_flows, one = f"{algorithm}, {ranks} ranks", got["traffic"][0], operation(got)
        expect(all_flows["bytes"] == 2 * 2 * (ranks - 1) * 60000, f"{where}: {all_flows}")
        expect(sum(flow["bytes"] for flow in got["flows"]) == all_flows["bytes"], f"{where}: {got['flows']}")
        expect(all_flows["checked"] == all_flows["messages"], f"{where}: {all_flows}")
        expect(one["operations"] == 2 * ranks and one["ranks"] == ranks, f"{where}: {one}")
        expect(one["latency_min_ns"] <= one["latency_p50_ns"] <= one["latency_max_ns"], f"{where}: {one}")
        expect(abs(one["algorithm_bytes_per_second"] - 60000e9 / one["time_ns"]) < 1, f"{where}: {one}")
        factor = one["bus_bytes_per_second"] / one["algorithm_bytes_per_second"]
        expect(abs(factor - 2 * (ranks - 1) / ranks) < 1e-9, f"{where}: {one}")
        expect(all_flows["elapsed_ns"] <= 2 * one["time_ns"] + 1, f"{where}: {one} {all_flows}")
        if algorithm == "ring":
            expect(len(got["flows"]) == ranks, f"{where}: {got['flows']}")


def a_ring_uses_its_wires_and_a_tree_is_quick():
    large = ("collective.bytes=4194304", "collective.operations=2", "collective.reduce_gbps=0")
    rates = {one: operation(collective(f"collective.algorithm={one}", *large))["bus_bytes_per_second"] * 8e-9
             for one in ALGORITHMS}
    expect(80 < rates["ring"] < 100, f"{rates} Gb/s of 100")
    expect(rates["ring"] > rates["double_tree"] > 1.2 * rates["tree"], f"{rates}")
    small = ("collective.bytes=1024", "collective.operations=4")
    times = {algorithm: operation(collective(f"collective.algorithm={algorithm}", *small))["time_ns"]
             for algorithm in ALGORITHMS}
    expect(times["tree"] < 0.7 * times["ring"], f"{times}")


def what_adds_slowly_holds_all_back():
    """A rank of a ring adds (n - 1) / n of its data."""
    got = collective("collective.reduce_gbps=8", "collective.bytes=1048576", "collective.operations=2")
    least = 7 / 8 * 1048576  # a byte takes a nanosecond
    expect(least < operation(got)["time_ns"] < 2 * least, f"{operation(got)}")
    expect(got["traffic"][0]["bottleneck"].endswith("reduction"), f"{got['traffic']}")


def ranks_that_begin_late_spoil_nothing():
    """Places for chunks are few, those who add are slow, and nobody begins when the others do."""
    for name, algorithm in (*(("allreduce", one) for one in ALGORITHMS), ("alltoall", "ring"),
                            ("parameter_server", "ring")):
        sets = (f"scenario.name={name}", f"collective.algorithm={algorithm}", "scenario.queue_depth=2",
                "scenario.message=2048", "collective.bytes=65536", "collective.reduce_gbps=4", "collective.warm_up=0")
        calm = collective(*sets, "collective.operations=6")
        late = collective(*sets, "collective.operations=6", "collective.skew_ns=200000")
        expect(operation(late)["time_ns"] > operation(calm)["time_ns"] + 50_000,
               f"{name} {algorithm}: {operation(late)} {operation(calm)}")


def data_in_vram_is_in_no_host():
    got = collective(*QUICK, "collective.operations=1", config=GPUS, is_checked=True)
    expect(got["p2p_payload_bytes"] >= 2 * 8 * 60000, f"{got['p2p_payload_bytes']}")
    expect(got["host_dram_payload_bytes"] < 60000, f"{got['host_dram_payload_bytes']}")


def each_has_a_block_from_each():
    for last, channels in itertools.product("BCH", (1, 2)):
        ranks = ord(last) - ord("A") + 1
        got = collective("scenario.name=alltoall", f"collective.ranks=A..{last}", f"scenario.qps={channels}",
                         "collective.warm_up=0", f"collective.bytes={ranks * 5000}", "scenario.message=2048",
                         "collective.operations=3", is_checked=last == "C")
        where = f"{ranks} ranks, {channels} channels"
        expect(len(got["flows"]) == ranks * (ranks - 1), f"{where}: {got['flows']}")
        expect({flow["bytes"] for flow in got["flows"]} == {3 * 5000}, f"{where}: {got['flows']}")
        factor = operation(got)["bus_bytes_per_second"] / operation(got)["algorithm_bytes_per_second"]
        expect(abs(factor - (ranks - 1) / ranks) < 1e-9, f"{where}: {operation(got)}")


def workers_have_what_servers_have_added_up():
    for servers, count in (("A", 1), ("H, B", 2)):
        got = collective("scenario.name=parameter_server", f"collective.servers={servers}", *QUICK,
                         is_checked=count == 1)
        one = operation(got)
        expect(one["operations"] == 2 * (8 - count) and one["bus_bytes_per_second"] is None, f"{servers}: {one}")
        names = [name.strip() for name in servers.split(",")]
        pushed = {name: sum(flow["bytes"] for flow in got["flows"] if f"-> {name}.hca0" in flow["name"])
                  for name in names}
        # Pushed, and then read: both are of the worker's flow.
        expect(set(pushed.values()) == {2 * 2 * (8 - count) * 60000 // count}, f"{servers}: {pushed}")


def without_times_every_workload_moves_its_bytes():
    for name in ("traffic", "allreduce", "alltoall", "parameter_server", "kv", "storage", "checkpoint"):
        got = result("--set", "timed=false", config=SOURCE / f"platform/configs/{name}.toml", is_checked=False)
        expect(got["verified"] and got["traffic"][0]["messages"] > 0, f"{name}: {got['traffic']}")


def lost_packets_change_no_sum():
    for name in ("allreduce", "alltoall", "parameter_server"):
        got = collective(f"scenario.name={name}", "collective.ranks=A..D", "link.loss=0.01", "traffic.ack_timeout=4",
                         "collective.bytes=65536", "scenario.message=8192", "collective.operations=2")
        expect(got["verified"] and got["retries"] > 0, f"{name}: {got['retries']}")
    dead = collective("link.loss=1", "traffic.ack_timeout=4", "traffic.retry_count=1", *QUICK, status=1)
    expect("retry" in dead["failure"], dead["failure"])


def the_same_seed_does_the_same():
    sets = (*QUICK, "collective.skew_ns=50000")
    first, again, other = (collective(*sets, f"scenario.seed={seed}") for seed in (1, 1, 2))
    expect(first["event_digest"] == again["event_digest"], "not the same run")
    expect(first["event_digest"] != other["event_digest"], "the seed draws nothing")


def what_cannot_be_is_refused_with_its_line():
    for sets, words in (
            (("collective.ranks=Z",), ("collective.ranks", "Z is no HCA")),
            (("collective.ranks=A",), ("collective.ranks", "fewer than two")),
            (("collective.ranks=A, A",), ("collective.ranks", "twice")),
            (("collective.bytes=1001",), ("collective.bytes", "4 bytes")),
            (("scenario.message=2",), ("scenario.message", "word")),
            (("collective.bytes=1000", "scenario.name=alltoall"), ("collective.bytes", "a multiple of 32")),
            (("scenario.name=parameter_server", "collective.servers=B", "collective.ranks=C..D"),
             ("collective.servers", "B.hca0 is none of the ranks")),
            (("scenario.name=parameter_server", "collective.servers=A..H"), ("collective.servers", "all ranks")),
            (("collective.bytes=2 GiB",), ("collective.bytes", "half")),
            (("collective.bytes=1 GiB", "scenario.message=4"), ("scenario.message", "more than")),
            (("scenario.qps=65536", "hca.log_max_qp=20"), ("scenario.qps", "262144")),
            (("scenario.name=parameter_server", "collective.servers=A", "scenario.queue_depth=8192",
              "collective.bytes=70 MiB"), ("scenario.queue_depth", "half")),
            (("traffic.memory=vram",), ("traffic.memory", "no GPU"))):
        refused(run(*itertools.chain.from_iterable(("--set", one) for one in sets), config=EIGHT), *words)


def a_signal_ends_it_with_its_report():
    """In the middle, when drivers of all ranks hold queue pairs that nobody can let go any more."""
    for number, name in ((signal.SIGINT, "interrupted (SIGINT)"), (signal.SIGTERM, "terminated (SIGTERM)")):
        out = SCRATCH / "stopped.json"
        log = SCRATCH / "events"
        sets = [word for one in (*QUICK, "collective.operations=1000000") for word in ("--set", one)]
        with subprocess.Popen([PROGRAM, "run", EIGHT, "--json", out, "--events", log, *sets],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
            while not any(path.stat().st_size > 1 << 20 for path in SCRATCH.glob(".events.*")):
                expect(process.poll() is None, "it ended by itself")
                time.sleep(0.05)
            process.send_signal(number)
            stderr = process.communicate(timeout=250)[1]
        expect(process.returncode == 128 + number and name in stderr, f"status {process.returncode}: {stderr}")
        got = json.loads(out.read_text())
        expect(got["stopped"] == name and got["verified"] is False, f"{got['stopped']}: {got['failure']}")


main(globals())
