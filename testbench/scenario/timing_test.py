"""timing_test.py HCASIM SOURCE CASE: what the keys of time do is what they do in hardware: twice a latency never makes a
transfer faster, twice a rate never slower, each bound is seen when it is the smallest, and what goes in comes out."""

import concurrent.futures

from program import PROGRAM, expect, main, payload, result, SCRATCH
import json
import subprocess
import threading

# What one transfer wants to be: message bytes, under way, queue pairs, bytes in all.
SMALL = ("scenario.message=64", "scenario.queue_depth=16", "scenario.qps=1"), 40_000
PAGES = ("scenario.message=4096", "scenario.queue_depth=16", "scenario.qps=1"), 800_000
QUEUES = ("scenario.message=4096", "scenario.queue_depth=4", "scenario.qps=8"), 800_000
LARGE = ("scenario.message=65536", "scenario.queue_depth=64", "scenario.qps=1"), 4_000_000
WORKLOADS = {"64 bytes": SMALL, "4 KiB": PAGES, "8 queue pairs": QUEUES, "64 KiB": LARGE}
# With a remapping unit whose IOTLB never hits: each page is walked for.
WALKED = ("iommu.present=true", "iommu.iotlb_entries=0", "iommu.structure_entries=0", "iommu.context_entries=0")


def measured(workload, *sets):
    """The JSON of a run, and what went through a second by verb, in GB/s."""
    shape, size = workload
    path = SCRATCH / f"payload.{size}"
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
    "hca.doorbell_latency_ns": [400, 100, 50],
    "hca.wqe_latency_ns": [400, 80, 40],
    "hca.packet_latency_ns": [200, 40, 5],
    "hca.responder_latency_ns": [1000, 120, 60],
    "hca.cqe_latency_ns": [1000, 60, 30],
    "hca.mkey_miss_ns": [4000, 500, 250],
    "hca.mtt_miss_ns": [4000, 500, 250],
    "hca.command_latency_ns": [20000, 2000, 0],
    "hca.mkey_cache_entries": [0, 4096],
    "hca.mtt_cache_entries": [0, 16384],
    "pcie.device.latency_ns": [5000, 2000, 600, 300, 150],
    "pcie.device.generation": [1, 3, 5],
    "pcie.device.width": [1, 4, 16],
    "pcie.device.mps": [128, 512, 4096],
    "pcie.device.tags": [1, 8, 64, 256],
    "pcie.upstream.latency_ns": [2000, 300, 150],
    "pcie.upstream.generation": [1, 3, 5],
    "pcie.upstream.width": [1, 4, 16],
    "link.latency_ns": [5000, 1000, 500],
    "link.rate_gbps": [10, 100, 400],
    "iommu.hit_latency_ns": [500, 50, 10],
    "iommu.miss_latency_ns": [1000, 200, 10],
    "iommu.walkers": [1, 2, 16],
    "iommu.iotlb_entries": [0, 64, 4096],
}
NEEDED = {"pcie.upstream.": ("host.acs=redirect",), "iommu.": ("iommu.present=true",),
          "iommu.walkers": WALKED, "iommu.miss_latency_ns": WALKED,
          "hca.mkey_miss_ns": ("hca.mkey_cache_entries=0",), "hca.mtt_miss_ns": ("hca.mtt_cache_entries=0",)}
# Times of what this workload has none of: lost packets, switches, pages that come later, a TLB of the card.
ELSEWHERE = {"link.reorder_delay_ns", "fabric.switch_latency_ns", "hca.device_tlb_latency_ns", "iommu.page_timeout_ns"}
TOLERANCE = 0.98  # what comes together by chance may come apart


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
                    expect(rate >= TOLERANCE * before[verb],
                           f"{name}: {verb} {before[verb]:.3f} GB/s with {key}={slow}, {rate:.3f} with {fast}")
                    has_effect[key] |= rate > 1.02 * before[verb]
    idle = [key for key, has in has_effect.items() if not has and key != "hca.command_latency_ns"]
    expect(not idle, f"no effect at any point: {idle}")


def kept(workload, *sets):
    """The rates of a run in which what goes in comes out and nobody is busy for longer than there is time."""
    got, found = measured(workload, *sets)
    size = workload[1]
    expect(got["p2p_payload_bytes"] + got["redirected_payload_bytes"] == 6 * size,
           f"{sets}: three passes read and write {size} bytes each, and {got['p2p_payload_bytes']} moved")
    for one in got["resources"]:
        expect(one["load"] <= 1 and one["busy_ns"] <= one["units"] * got["sim_time_ns"] * 1.0001,
               f"{sets}: {one['name']} was busy for longer than there was time: {one}")
    return found


def every_latency_of_the_card_is_monotone():
    keys_are_monotone([key for key in ORDERED if key.startswith("hca.")])


def every_key_of_the_links_is_monotone():
    keys_are_monotone([key for key in ORDERED if key.startswith(("pcie.", "link."))])


def every_key_of_the_remapping_unit_is_monotone():
    keys_are_monotone([key for key in ORDERED if key.startswith("iommu.")])


def no_key_of_time_is_left_out():
    listed = json.loads(subprocess.run([PROGRAM, "keys", "--json"], capture_output=True, text=True, check=True).stdout)
    times = {name for name, key in listed.items() if key["kind"] == "time"}
    expect(times <= set(ORDERED) | ELSEWHERE, f"in no table: {sorted(times - set(ORDERED) - ELSEWHERE)}")
    expect(ELSEWHERE <= times, f"no keys of time: {sorted(ELSEWHERE - times)}")
