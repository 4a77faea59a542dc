"""gpu_rdma_program_test.py HCASIM SOURCE CASE: GPUs that drive their HCAs, as a person runs it."""

import hashlib
import json
import re

from program import SOURCE, expect, main, payload, refused, result, run

PAIR = SOURCE / "platform/configs/gpu_rdma.toml"
EIGHT = SOURCE / "platform/configs/gpu_all_reduce.toml"


def show(*sets, status=0, size=200_000, config=PAIR):
    return result("--payload", str(payload(size)), *(word for one in sets for word in ("--set", one)), status=status,
                  config=config)


def both(setting):
    return [f"{gpu}.gpu0.{setting}" for gpu in "AB"]


def check(got, path, nodes):
    expect(got["verified"] is True and got["failure"] == "", got["failure"])
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    expect(got["sha256_source"] == got["sha256_target"] == digest, got)
    expect(got["host_dram_payload_bytes"] == 0, got["host_dram_payload_bytes"])
    names = [one["name"] for one in got["transfers"]]
    expect(len(names) == 2 * nodes and all(one["verified"] for one in got["transfers"]), names)
    # Each tensor is read and written once, and in the sum all but one chunk of each twice.
    least = 2 * nodes * path.stat().st_size + 4 * (nodes - 1) * path.stat().st_size
    expect(got["p2p_payload_bytes"] + got["redirected_payload_bytes"] >= least, got["p2p_payload_bytes"])
    expect(got["completions_error"] == 0 and got["completions_ok"] > 0, got)
    # Each request is one of a transfer, and each transfer has a time of its own.
    expect(sum(one["messages"] for one in got["transfers"]) == got["completions_ok"], got["transfers"])
    expect(all(one["messages"] > 0 for one in got["transfers"]), got["transfers"])
    if got["configuration"]["timed"]:
        expect(all(0 < one["sim_time_ns"] for one in got["transfers"]), got["transfers"])


def two_gpus_exchange_and_add_tensors():
    for sets in ([], both("profile=1"), both("mechanism=2"), both("mechanism=3"), ["iommu.present=true"],
                 ["timed=false"], ["link.encapsulation=infiniband"], ["scenario.qps=1", "scenario.queue_depth=1"],
                 ["scenario.qps=64", "scenario.message=256"]):
        check(show(*sets), payload(200_000), 2)


def the_worst_that_is_legal_lets_a_correct_program_work():
    for seed in range(1, 7):
        check(show(*both("profile=2"), *both(f"seed={seed}")), payload(200_000), 2)


# Small requests and a short queue: the HCA is at work whenever the program goes on.
TIGHT = ["scenario.adversary=true", "scenario.message=512", "scenario.queue_depth=4", *both("profile=2")]


def the_worst_order_of_memory_lets_a_correct_program_work():
    for seed in range(1, 5):
        check(show(*TIGHT, f"scenario.seed={seed}", size=40_000), payload(40_000), 2)


def failure_without(fence, seed):
    """What is said of a run without this fence; nothing: it went well."""
    sets = [*TIGHT, f"scenario.seed={seed}", f"scenario.omit={fence}"]
    done = run("--payload", str(payload(40_000)), "--json", "-", "--quiet",
               *(word for one in sets for word in ("--set", one)), config=PAIR, is_checked=False)
    expect(done.returncode in (0, 1), done.stderr)
    return json.loads(done.stdout)["failure"]


def a_fence_of_doorbells_that_is_left_out_is_missed_and_named():
    for fence in ("request_before_record", "record_before_doorbell"):
        failure = next(filter(None, (failure_without(fence, seed) for seed in range(1, 5))), "")
        expect(failure, f"without {fence} nothing goes wrong")
        expect(f"fence {fence} orders them" in failure, failure)


def a_flag_that_is_no_fence_is_missed_each_time_and_explained():
    """Which line, which cache, who has written behind it, and what would release it."""
    for seed in range(1, 4):
        failure = failure_without("flag_before_data", seed)
        expect(re.search(r"all-reduce at [AB]\.gpu0: what arrived differs; [AB]\.gpu0, thread \d+: its load at 0x\w+, "
                         r"at [\d.]+ us, gave old bytes: the line of VRAM offset 0x\w+ was in GL[01] since \d+ ns; "
                         r"PCIe wrote memory behind it at \d+ ns; released by a load with glc, or an acquire fence.*; "
                         r"fence flag_before_data orders them", failure), failure or "nothing goes wrong")


def lost_packets_come_again():
    got = show("link.loss=0.05", "scenario.message=8192")
    check(got, payload(200_000), 2)
    expect(got["retries"] > 0, "nothing was lost, so nothing was tried")


def eight_gpus_add_up():
    check(show(config=EIGHT), payload(200_000), 8)


def refuses_mistakes():
    refused(run("--set", "scenario.qps=65", config=PAIR), "scenario.qps", "64")
    for name in ("all", "phase_before_entry", "owner_before_syndrome"):
        refused(run("--set", f"scenario.omit={name}", config=PAIR), "scenario.omit",
                "there are request_before_record, record_before_doorbell, flag_before_data")
    refused(run("--set", "scenario.name=gpu_rdma"), "caching_gpu")


main(globals())
