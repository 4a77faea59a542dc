"""storage_stream_program_test.py HCASIM SOURCE CASE: from drive to drive of two hosts, as a person runs it."""

import hashlib

from program import SOURCE, expect, main, payload, refused, result, run

CONFIG = SOURCE / "platform/configs/storage_stream.toml"
PAGE = 4096


def show(*sets, size=300_000, status=0):
    return result("--payload", str(payload(size)), *(word for one in sets for word in ("--set", one)), status=status,
                  config=CONFIG)


def check(got, size=300_000, chunk=128 << 10, way="p2p_payload_bytes"):
    expect(got["verified"] is True and got["failure"] == "", got["failure"])
    digest = hashlib.sha256(payload(size).read_bytes()).hexdigest()
    expect(got["sha256_source"] == got["sha256_target"] == digest, got)
    expect(got["host_dram_payload_bytes"] == 0, got["host_dram_payload_bytes"])
    pages = -(-size // PAGE)
    expect([one["name"] for one in got["transfers"]] ==
           ["read A.nvme0", "WRITE A.gpu0 -> B.gpu0", "write B.nvme0"], got["transfers"])
    for one in got["transfers"]:
        expect(one["bytes"] == pages * PAGE and one["messages"] == -(-size // chunk), one)
    # Into VRAM and out of it, at both hosts.
    expect(got[way] == 4 * pages * PAGE if got["retries"] == 0 else got[way] > 4 * pages * PAGE, got[way])


def a_stream_goes_from_drive_to_drive_and_no_byte_is_in_host_memory():
    for sets, chunk in (([], 128 << 10), (["scenario.message=4096"], 4096), (["scenario.queue_depth=1"], 128 << 10),
                        (["scenario.message=1MiB", "scenario.queue_depth=2"], 1 << 20),
                        (["iommu.present=true"], 128 << 10), (["link.encapsulation=infiniband"], 128 << 10),
                        (["timed=false"], 128 << 10)):
        check(show(*sets), chunk=chunk)


def payloads_of_any_length_arrive():
    for size in (1, 511, PAGE, PAGE + 1, (128 << 10) + 1):
        check(show(size=size), size=size)


def redirected_by_access_control_it_goes_through_the_root_complex():
    check(show("iommu.present=true", "host.acs=redirect"), way="redirected_payload_bytes")


def lost_packets_come_again():
    got = show("link.loss=0.05", "scenario.message=8192")
    check(got, chunk=8192)
    expect(got["retries"] > 0, "nothing was lost, so nothing was tried")


def more_chunks_under_way_are_faster():
    one, many = (show(f"scenario.queue_depth={depth}", size=2_000_000) for depth in (1, 32))
    took = [got["transfers"][1]["sim_time_ns"] for got in (one, many)]
    expect(took[0] > 2 * took[1], took)


def a_slow_medium_is_the_stage_that_holds_the_stream_up():
    fast, slow = (show(f"B.nvme0.program_latency_ns={ns}", "B.nvme0.cache=64KiB", "scenario.queue_depth=2")
                  for ns in (0, 1_000_000))
    expect(slow["transfers"][2]["sim_time_ns"] > 2 * fast["transfers"][2]["sim_time_ns"], slow["transfers"])


def refuses_mistakes():
    refused(run("--set", "scenario.message=1000", config=CONFIG), "scenario.message", "pages")
    refused(run("--set", "scenario.message=1GiB", config=CONFIG), "scenario.message", "A.gpu0")
    refused(run("--set", "scenario.qps=2", config=CONFIG), "scenario.qps")
    file = str(payload(3 << 20))
    for drive in ("A.nvme0", "B.nvme0"): # before anything has run
        refused(run("--payload", file, "--set", f"{drive}.size=2MiB", config=CONFIG), "the payload, 3145728 bytes",
                "namespace of 2097152 bytes", f"larger {drive}.size")
    refused(run("--set", "scenario.name=storage_stream"), "drive", "nvme0")
    got = show("B.nvme0.max_transfer=64KiB", status=1)
    expect("B: a command of the drive moves 65536 bytes at most" in got["failure"], got["failure"])


main(globals())
