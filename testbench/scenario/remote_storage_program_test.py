"""remote_storage_program_test.py HCASIM SOURCE CASE: a drive that is used over the wire, as a person runs it."""

import hashlib
import os
import tempfile

from program import SOURCE, expect, main, payload, refused, result, run

CONFIG = SOURCE / "platform/configs/remote_storage.toml"
PAGE = 4096


def show(*sets, size=300_000, status=0, config=CONFIG):
    return result("--payload", str(payload(size)), *(word for one in sets for word in ("--set", one)), status=status,
                  config=config)


def check(got, far="A.gpu0", size=300_000, chunk=128 << 10):
    """far: where data are at A. Returns bytes of the file in whole pages."""
    expect(got["verified"] is True and got["failure"] == "", got["failure"])
    digest = hashlib.sha256(payload(size).read_bytes()).hexdigest()
    expect(got["sha256_source"] == got["sha256_target"] == digest, got)
    pages, commands = -(-size // PAGE) * PAGE, -(-size // chunk)
    expect([one["name"] for one in got["transfers"]] ==
           ["Write B.gpu0 -> A.nvme0", f"READ B.gpu0 -> {far}", "write A.nvme0",
            "Read A.nvme0 -> B.gpu0", "read A.nvme0", f"WRITE {far} -> B.gpu0"], got["transfers"])
    in_capsules = far == "A memory" and chunk <= PAGE
    for one in got["transfers"]:
        moved = 0 if in_capsules and one["name"].startswith("READ") else pages
        expect(one["bytes"] == moved and one["messages"] == (commands if moved else 0), one)
    return pages


def a_file_goes_over_the_wire_and_back_and_no_byte_is_in_host_memory():
    for sets, chunk in (([], 128 << 10), (["scenario.message=4096"], 4096), (["scenario.message=12KiB"], 12288),
                        (["scenario.queue_depth=1"], 128 << 10), (["scenario.qps=4"], 128 << 10),
                        (["iommu.present=true"], 128 << 10), (["link.encapsulation=infiniband"], 128 << 10),
                        (["timed=false"], 128 << 10)):
        got = show(*sets)
        pages = check(got, chunk=chunk)
        expect(got["host_dram_payload_bytes"] == 0, got["host_dram_payload_bytes"])
        # Each way: at B, at A by the HCA, at A by the drive.
        expect(got["p2p_payload_bytes"] == 6 * pages, got["p2p_payload_bytes"])


def the_drives_own_memory_is_on_no_other_way():
    for sets in ([], ["iommu.present=true"], ["A.nvme0.memory_buffer=256KiB"]):
        got = show("scenario.through=A.nvme0", *sets)
        pages = check(got, far="A.nvme0 memory")
        expect(got["host_dram_payload_bytes"] == 0, got["host_dram_payload_bytes"])
        expect(got["p2p_payload_bytes"] == 4 * pages, got["p2p_payload_bytes"])


def what_is_in_memory_of_the_host_is_counted_there():
    got = show("scenario.through=A")
    pages = check(got, far="A memory")
    expect(got["host_dram_payload_bytes"] == 4 * pages, got["host_dram_payload_bytes"])
    # Small commands bring their data with them.
    got = show("scenario.through=A", "scenario.message=4096")
    pages = check(got, far="A memory", chunk=4096)
    expect(got["host_dram_payload_bytes"] == 4 * pages, got["host_dram_payload_bytes"])


def payloads_of_any_length_come_back():
    for size in (1, 511, PAGE, PAGE + 1, (128 << 10) + 1):
        check(show(size=size), size=size)


def lost_packets_come_again():
    got = show("link.loss=0.05", "scenario.message=8192")
    check(got, chunk=8192)
    expect(got["retries"] > 0, "nothing was lost, so nothing was tried")
    expect(got["host_dram_payload_bytes"] == 0, got["host_dram_payload_bytes"])


def more_commands_under_way_are_faster():
    one, many = (show(f"scenario.queue_depth={depth}", size=2_000_000) for depth in (1, 32))
    took = [got["transfers"][0]["sim_time_ns"] for got in (one, many)]
    expect(took[0] > 2 * took[1], took)


def a_slow_medium_is_seen_in_its_stage():
    fast, slow = (show(f"A.nvme0.program_latency_ns={ns}", "A.nvme0.cache=64KiB", "scenario.queue_depth=2")
                  for ns in (0, 1_000_000))
    expect(slow["transfers"][2]["sim_time_ns"] > 2 * fast["transfers"][2]["sim_time_ns"], slow["transfers"])


def refuses_mistakes():
    refused(run("--set", "scenario.message=1000", config=CONFIG), "scenario.message", "pages")
    refused(run("--set", "scenario.message=2MiB", config=CONFIG), "scenario.message", "A.nvme0", "1048576")
    refused(run("--set", "scenario.queue_depth=4096", config=CONFIG), "scenario.queue_depth", "4095")
    refused(run("--set", "scenario.qps=128", config=CONFIG), "scenario.qps", "A.nvme0", "127")
    refused(run("--payload", str(payload(3 << 20)), "--set", "A.nvme0.size=2MiB", config=CONFIG),
            "the payload, 3145728 bytes", "namespace of 2097152 bytes", "larger A.nvme0.size")
    refused(run("--set", "scenario.qps=4", "--set", "A.nvme0.queue_pairs=4", config=CONFIG), "scenario.qps", "3 queues")
    refused(run("--set", "A.nvme0.queue_entries=32", config=CONFIG), "scenario.queue_depth", "A.nvme0", "31")
    refused(run("--set", "scenario.qps=100", "--set", "scenario.message=1MiB", config=CONFIG), "A.gpu0")
    refused(run("--set", "scenario.name=remote_storage"), "drive", "nvme0")
    refused(run("--set", "scenario.through=A.nvme0", "--set", "A.nvme0.memory_buffer=0", config=CONFIG), "A.nvme0",
            "memory_buffer")
    for name in ("B", "B.gpu0", "A.hca0", "tape"):
        refused(run("--set", f"scenario.through={name}", config=CONFIG), "scenario.through", "A.gpu0, A.nvme0 or A")
    with tempfile.TemporaryDirectory() as folder:
        text = CONFIG.read_text(encoding="utf-8")
        file = os.path.join(folder, "wrong.toml")
        with open(file, "w", encoding="utf-8") as out:
            out.write(text.replace('queue_depth = 32', 'thru = "A"'))
        line = text[:text.index("queue_depth = 32")].count("\n") + 1
        refused(run(config=file), f"wrong.toml:{line}", "'thru'")
        with open(file, "w", encoding="utf-8") as out:
            out.write(text.replace('    "root0.sw0.gpu0",\n    { path', '    { path').replace(
                'queue_depth = 32', 'through = "A.gpu0"'))
        refused(run(config=file), "scenario.through", "A.nvme0 or A")


main(globals())
