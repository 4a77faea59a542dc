"""timing_test.py HCASIM SOURCE CASE: what the keys of time do is what they do in hardware: twice a latency never makes
a transfer faster, twice a rate never slower, each bound is seen when it is the smallest, what goes in comes out."""

import concurrent.futures
import json
import subprocess
import threading

from program import CONFIG, PROGRAM, SCRATCH, call, expect, main, payload

# What one transfer wants to be: message bytes, under way, queue pairs, bytes in all.
SMALL = ("scenario.message=64", "scenario.queue_depth=16", "scenario.qps=1"), 40_000
PAGES = ("scenario.message=4096", "scenario.queue_depth=16", "scenario.qps=1"), 800_000
QUEUES = ("scenario.message=4096", "scenario.queue_depth=4", "scenario.qps=8"), 800_000
LARGE = ("scenario.message=65536", "scenario.queue_depth=64", "scenario.qps=1"), 4_000_000
WORKLOADS = {"64 bytes": SMALL, "4 KiB": PAGES, "8 queue pairs": QUEUES, "64 KiB": LARGE}
# With a remapping unit whose IOTLB never hits: each page is walked for.
WALKED = ("iommu.present=true", "iommu.iotlb_entries=0", "iommu.structure_entries=0", "iommu.context_entries=0")


MAKING = threading.Lock()  # payload() has one name for all that it makes


def measured(workload, *sets):
    """The JSON of a run, and what went through a second by verb, in GB/s."""
    shape, size = workload
    path = SCRATCH / f"payload.{size}"
    with MAKING:
        if not path.exists():
            payload(size).rename(path)
    out = SCRATCH / f"result.{threading.get_ident()}"
    words = [word for one in (*shape, *sets) for word in ("--set", one)]
    ran = subprocess.run([PROGRAM, "run", str(CONFIG), "--payload", str(path), "--json", str(out), "--quiet", *words],
                         capture_output=True, text=True, timeout=250, check=False)
    expect(ran.returncode == 0, f"{sets}: status {ran.returncode}\n{ran.stdout[-2000:]}{ran.stderr}")
    got = json.loads(out.read_text())
    out.unlink()
    expect(got["verified"] and got["retries"] == 0, f"{sets}: {got['failure']}, {got['retries']} retries")
    return got, {one["name"].split()[0]: one["rate_bytes_per_second"] / 1e9 for one in got["transfers"]}


def rates(workload, *sets):
    return measured(workload, *sets)[1]


# Keys of time and size, from what must be slowest to what must be fastest, and what they need to have an effect.
ORDERED = {
    "host.post_ns": [1000, 200, 0],
    "host.poll_ns": [1000, 200, 0],
    "host.store_ns": [1000, 200, 0],
    "host.interrupt_ns": [20000, 2000, 0],
    "host.llc_miss_ns": [2000, 200, 0],
    "hca.units": [1, 2, 8],
    "hca.unit_wqe_ns": [1000, 150, 20],
    "hca.unit_read_ns": [1000, 150, 20],
    "hca.doorbell_latency_ns": [400, 100, 50],
    "hca.wqe_latency_ns": [400, 80, 40],
    "hca.packet_latency_ns": [1000, 200, 5],
    "hca.responder_latency_ns": [1000, 120, 60],
    "hca.cqe_latency_ns": [1000, 60, 30],
    "hca.mkey_miss_ns": [4000, 500, 250],
    "hca.mtt_miss_ns": [4000, 500, 250],
    "hca.command_latency_ns": [20000, 2000, 0],
    "hca.qp_cache_entries": [0, 1024],
    "hca.cq_cache_entries": [0, 1024],
    "hca.mkey_cache_entries": [0, 4096],
    "hca.mtt_cache_entries": [0, 16384],
    "hca.miss_engines": [1, 2, 16],
    "pcie.device.latency_ns": [5000, 2000, 600, 300, 150],
    "pcie.device.generation": [1, 3, 5],
    "pcie.device.width": [1, 4, 16],
    "pcie.device.mps": [128, 512, 4096],
    "pcie.device.tags": [1, 8, 64, 256],
    "pcie.device.posted_credits": [32, 128, 2048],
    "pcie.device.nonposted_credits": [1, 8, 64, 0],
    "pcie.device.tlp_ns": [200, 40, 0],
    "pcie.upstream.latency_ns": [2000, 300, 150],
    "pcie.upstream.generation": [1, 3, 5],
    "pcie.upstream.width": [1, 4, 16],
    "pcie.upstream.posted_credits": [32, 128, 2048],
    "pcie.upstream.nonposted_credits": [1, 8, 64, 0],
    "pcie.upstream.completion_credits": [32, 128, 0],
    "link.latency_ns": [5000, 1000, 500],
    "link.rate_gbps": [10, 100, 400],
    "link.credit_blocks": [128, 512, 4096],
    "iommu.hit_latency_ns": [500, 50, 10],
    "iommu.miss_latency_ns": [1000, 200, 10],
    "iommu.walkers": [1, 2, 16],
    "iommu.iotlb_entries": [0, 64, 4096],
}
NEEDED = {"pcie.upstream.": ("host.acs=redirect",), "pcie.device.mps": ("link.rate_gbps=400",),
          "iommu.": ("iommu.present=true",),
          "iommu.walkers": WALKED, "iommu.miss_latency_ns": WALKED,
          "hca.mkey_miss_ns": ("hca.mkey_cache_entries=0",), "hca.mtt_miss_ns": ("hca.mtt_cache_entries=0",),
          "hca.units": ("hca.unit_wqe_ns=2000",),
          "link.credit_blocks": ("link.encapsulation=infiniband",),
          "host.llc_miss_ns": ("host.llc=64 KiB", "host.ddio_ways=0"),
          "hca.miss_engines": ("hca.mkey_cache_entries=0", "hca.mtt_cache_entries=0", "hca.qp_cache_entries=0")}
# Times of what this workload has none of: lost packets, switches, pages that come later, a TLB of the card.
# Those of congestion control are parameters of a feedback, which is in congestion_program_test and reaction_point_test;
# those of traffic say how long it is measured, and that of collectives is in collective_program_test.
ELSEWHERE = {"link.reorder_delay_ns", "hca.adaptive_retransmission_ns", "fabric.switch_latency_ns",
             "fabric.reroute_ns", "hca.device_tlb_latency_ns",
             "hca.dcqcn.rpg_time_reset_ns", "hca.dcqcn.rate_reduce_monitor_period_ns", "hca.dcqcn.dce_tcp_rtt_ns",
             "hca.dcqcn.min_time_between_cnps_ns", "hca.swift.base_target_ns", "hca.swift.fs_range_ns",
             "traffic.warm_up_ns", "traffic.duration_ns", "traffic.join_ns", "traffic.stay_ns",
             "collective.skew_ns",
             # of another card, whose test is simple_program_test.py
             "simple.descriptor_ns", "simple.packet_ns", "simple.latency_ns", "simple.command_ns"}
TOLERANCE = 0.95  # what software finds at once, and asks for at once, differs a little from point to point
# Messages that complete together are posted together, and wait for each other at their processing unit: 16 of them for
# 300 ns on average, of a round trip of 4 us. What spaces them, slower software or hardware, takes that wait away.
BURSTS = {("64 bytes", "WRITE"): 0.8, ("64 bytes", "READ"): 0.8,
          # A burst takes all that this receiver has posted. The next one has the record of what is posted, and a
          # receive WQE, read for its first message; what spaces the messages leaves time to read both ahead.
          ("64 bytes", "SEND"): 0.6}


def needs_of(key):
    exact = NEEDED.get(key)
    return exact if exact is not None else next((n for start, n in NEEDED.items() if key.startswith(start)), ())


def keys_are_monotone(names):
    """At several sizes, depths and numbers of queue pairs, by verb; and each run keeps the laws of conservation."""
    points = [(key, value, name) for key in names for value in ORDERED[key] for name in WORKLOADS]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = dict(zip(points, pool.map(
            lambda one: kept(WORKLOADS[one[2]], f"{one[0]}={one[1]}", *needs_of(one[0])), points)))
    has_effect = dict.fromkeys(names, False)
    for key in names:
        for name in WORKLOADS:
            for slow, fast in zip(ORDERED[key], ORDERED[key][1:]):
                before, after = found[key, slow, name], found[key, fast, name]
                for verb, rate in after.items():
                    expect(rate >= BURSTS.get((name, verb), TOLERANCE) * before[verb],
                           f"{name}: {verb} {before[verb]:.3f} GB/s with {key}={slow}, {rate:.3f} with {fast}")
                    has_effect[key] |= rate > 1.02 * before[verb]
    idle = [key for key, has in has_effect.items() if not has and key != "hca.command_latency_ns"]
    expect(not idle, f"no effect at any point: {idle}")


def kept(workload, *sets):
    """The rates of a run in which what goes in comes out and nobody is busy for longer than there is time."""
    got, found = measured(workload, *sets)
    size = workload[1]
    moved, least = got["p2p_payload_bytes"] + got["redirected_payload_bytes"], 6 * size
    # What came before its receive WQE is read and sent again.
    expect(moved == least or (got["rnr_waits"] > 0 and least < moved < 2 * least),
           f"{sets}: three passes read and write {size} bytes each, and {moved} moved")
    for one in got["resources"]:
        expect(one["load"] <= 1 and one["busy_ns"] <= one["units"] * got["sim_time_ns"] * 1.0001,
               f"{sets}: {one['name']} was busy for longer than there was time: {one}")
    return found


def every_latency_of_the_card_is_monotone():
    keys_are_monotone([key for key in ORDERED if key.startswith("hca.")])


def every_cost_of_software_is_monotone():
    keys_are_monotone([key for key in ORDERED if key.startswith("host.")])


def every_key_of_the_links_is_monotone():
    keys_are_monotone([key for key in ORDERED if key.startswith(("pcie.", "link."))])


def every_key_of_the_remapping_unit_is_monotone():
    keys_are_monotone([key for key in ORDERED if key.startswith("iommu.")])


def no_key_of_time_is_left_out():
    listed = json.loads(subprocess.run([PROGRAM, "keys", "--json"], capture_output=True, text=True, check=True).stdout)
    times = {name for name, key in listed.items() if key["kind"] == "time_ns"}
    expect(times <= set(ORDERED) | ELSEWHERE, f"in no table: {sorted(times - set(ORDERED) - ELSEWHERE)}")
    expect(ELSEWHERE <= times, f"no keys of time: {sorted(ELSEWHERE - times)}")


WIRE = 100e9 / 8 * 4096 / (4096 + 82) / 1e9  # GB/s of packets of 4 KiB at 100 Gbit/s, preamble and gap included


def bottleneck(got, device):
    return next(one["busiest"] for one in got["bottlenecks"] if one["name"] == device)


def reads_of_4_kib_with_16_outstanding_go_at_the_rate_of_the_link():
    """The responder has several READs at work; it took one at a time: 3.4 GB/s, and 64 queue pairs hardly helped."""
    found = rates((("scenario.message=4096", "scenario.queue_depth=64", "scenario.qps=1"), 4_000_000))
    expect(found["READ"] >= 0.95 * WIRE, found)
    expect(found["WRITE"] >= 0.95 * WIRE, found)


def requests_by_way_of_the_host_are_bounded_by_links_walkers_and_tags():
    """Each bound is seen where it is the smallest; a completion in the future stopped whoever came before it."""
    large = ("scenario.message=65536", "scenario.queue_depth=64", "scenario.qps=1"), 4_000_000
    straight, redirected = rates(large), rates(large, "host.acs=redirect")
    for verb, rate in redirected.items():
        expect(rate >= 0.93 * straight[verb], f"{verb}: {straight[verb]:.2f} straight, {rate:.2f} by the host")
    # A link of 2.5 GT/s and 8 lanes has 1.62 GB/s for TLPs each way, of which 7 % are headers; it is nearly full.
    narrow = rates(large, "host.acs=redirect", "pcie.upstream.generation=1", "pcie.upstream.width=8")
    expect(0.93 * 0.93 * 1.62 < narrow["WRITE"] < 0.93 * 1.62, narrow)
    got, few = measured(large, "host.acs=redirect", "pcie.device.tags=4")
    expect(few["WRITE"] < 0.5 * redirected["WRITE"] and bottleneck(got, "A.hca") == "tags", (few, got["bottlenecks"]))
    more = rates(large, "host.acs=redirect", "pcie.device.tags=8")
    expect(1.8 < more["WRITE"] / few["WRITE"] < 2.2, f"twice the tags: {few} and {more}")
    one, two = (rates(large, "host.acs=redirect", *WALKED, f"iommu.walkers={walkers}") for walkers in (1, 2))
    expect(one["WRITE"] < 0.7 * redirected["WRITE"] and two["WRITE"] > 1.5 * one["WRITE"], f"walkers: {one}, {two}")


def a_long_way_to_memory_costs_what_the_tags_leave_and_no_more():
    """256 requests of 512 bytes are on their way at a time, however long it is: no cliff, but Little's law."""
    large = ("scenario.message=65536", "scenario.queue_depth=64", "scenario.qps=1"), 4_000_000
    latencies = [500, 1000, 2000, 3000, 5000]
    found = [rates(large, "link.rate_gbps=400", "pcie.device.posted_credits=0",
                   f"pcie.device.latency_ns={latency}")["WRITE"] for latency in latencies]
    for latency, rate in zip(latencies, found):
        round_trip = 4 * latency + 1000  # two links each way; what else there is
        bound = 256 * 512 / round_trip
        expect(0.6 * min(bound, 25) <= rate <= 1.1 * bound, f"{latency} ns: {rate:.2f} GB/s, by the tags {bound:.2f}")


def writes_are_bounded_by_the_room_of_their_receivers():
    """64 credits are 1 KiB, which comes back after two latencies; twice the room lets twice as much through."""
    large = ("scenario.message=65536", "scenario.queue_depth=64", "scenario.qps=1"), 2_000_000
    slow = "pcie.device.latency_ns=1000"
    (got, few), (_, more) = (measured(large, slow, f"pcie.device.posted_credits={credits}") for credits in (64, 128))
    expect(0.4 < few["WRITE"] <= 1024 / 2000 * 1.01, few)
    expect(1.8 < more["WRITE"] / few["WRITE"] < 2.2, (few, more))
    named = [one["bottleneck"] for one in got["transfers"]]
    expect(all("credits" in one for one in named), named)


def reads_are_bounded_by_the_credits_of_their_requests():
    """A request of 512 bytes has a credit for two latencies and a read of memory, 2090 ns: 8 are 1.96 GB/s, of WRITEs
    whose payload the card reads, and of READs at the responder; twice as many let twice as much through."""
    for message, depth in ((4096, 64), (65536, 64)):
        load = (f"scenario.message={message}", f"scenario.queue_depth={depth}", "scenario.qps=4"), 2_000_000
        slow = "pcie.device.latency_ns=1000"
        (got, few), (_, more) = (measured(load, slow, f"pcie.device.nonposted_credits={n}") for n in (8, 16))
        for verb in ("WRITE", "READ", "SEND"):
            expect(1.5 < few[verb] <= 8 * 512 / 2000 * 1.02, f"{message} bytes, {verb}: {few}")
            expect(1.7 < more[verb] / few[verb] < 2.2, f"{message} bytes, {verb}: {few}, {more}")
        named = [one["bottleneck"] for one in got["transfers"]]
        expect(all("request credits" in one for one in named), f"{message} bytes: {named}")
    # By the root complex the credits of the link above the switch count, and the switch fills.
    load = ("scenario.message=65536", "scenario.queue_depth=64", "scenario.qps=4"), 2_000_000
    slow = "pcie.upstream.latency_ns=1000"
    few = rates(load, slow, "host.acs=redirect", "pcie.upstream.nonposted_credits=8")
    free = rates(load, slow, "host.acs=redirect")
    expect(few["WRITE"] < 0.6 * free["WRITE"], f"{few}, {free}")


def completions_are_bounded_by_the_room_of_the_switch_below():
    """64 credits are 1 KiB, which comes back after two latencies."""
    load = ("scenario.message=65536", "scenario.queue_depth=64", "scenario.qps=1"), 1_000_000
    slow = "pcie.upstream.latency_ns=1000", "host.acs=redirect"
    few, more = (rates(load, *slow, f"pcie.upstream.completion_credits={n}") for n in (64, 128))
    expect(0.3 < few["WRITE"] <= 1024 / 2000 * 1.02, few)
    expect(1.7 < more["WRITE"] / few["WRITE"] < 2.2, (few, more))


def the_pipeline_that_is_slower_is_named():
    small = ("scenario.message=64", "scenario.queue_depth=64", "scenario.qps=8"), 100_000
    got, found = measured(small, "hca.packet_latency_ns=500")
    expect(bottleneck(got, "A.hca") in ("receive pipeline", "transmit pipeline"), got["bottlenecks"])
    # A packet each way takes 500 ns of its pipeline.
    expect(found["WRITE"] * 1e9 / 64 <= 2e6 * 1.01, found)


def misses_of_contexts_are_reads_that_are_seen_on_the_bus():
    hits, misses = (measured(PAGES, *sets)[0] for sets in ((), ("hca.mtt_cache_entries=0", "hca.mkey_cache_entries=0")))

    def up(got):
        return next(one["tlps_up"] for one in got["pcie_links"] if one["name"] == "A.hca")

    missed = sum(one["misses"] for one in misses["caches"] if one["name"] in ("A.hca MKey", "A.hca MTT"))
    expect(missed > 500 and up(misses) - up(hits) >= 0.95 * missed, f"{missed} misses, {up(misses) - up(hits)} TLPs")


def who_waits_for_tags_contexts_or_credits_plays_it_again():
    """What a card is told of its tags is recorded, and it is told so again."""
    shape, size = LARGE
    for sets in (("pcie.device.tags=2",), ("hca.mtt_cache_entries=0", "hca.qp_cache_entries=0"),
                 ("link.encapsulation=infiniband", "link.credit_blocks=80")):
        recording = SCRATCH / "waits.pcapng"
        words = [word for one in (*shape, *sets) for word in ("--set", one)]
        path = payload(300_000)
        ran = call("run", str(CONFIG), "--payload", str(path), "--quiet", "--record", str(recording), *words)
        expect(ran.returncode == 0, f"{sets}: {ran.stdout[-1000:]}{ran.stderr}")
        shown = call("trace", "show", str(recording)).stdout
        expect("pcie.device.tags=2" not in sets or "its next read could leave" in shown, "tags never ran out")
        for mode in ("--strict", "--untimed"):
            played = call("replay", mode, str(recording))
            expect(played.returncode == 0, f"{sets} {mode}: {played.stdout[-2000:]}{played.stderr}")
        recording.unlink()


main(globals())
