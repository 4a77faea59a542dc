"""The scenarios storage and checkpoint as a person runs them: drives of other hosts, what comes back from them, what is
refused."""

import itertools
import pathlib
import tempfile

from program import SOURCE, expect, main, refused, result, run

STORAGE = SOURCE / "platform/configs/storage.toml"
CHECKPOINT = SOURCE / "platform/configs/checkpoint.toml"
BLOCK = 4096
QUICK = ("storage.warm_up=0", "storage.operations=60", "storage.span=256 KiB")
SMALL = ("checkpoint.bytes=1 MiB", "checkpoint.warm_up=0", "checkpoint.operations=1")


def setting(sets):
    return itertools.chain.from_iterable(("--set", one) for one in sets)


def storage(*sets, status=0, is_checked=False):
    """The JSON of a run with keys set."""
    return result(*setting(sets), config=STORAGE, status=status, is_checked=is_checked)


def checkpoint(*sets, status=0, is_checked=False):
    return result(*setting(sets), config=CHECKPOINT, status=status, is_checked=is_checked)


def rows(got):
    return {one["name"]: one for one in got["operations"]}


def moved(got, what):
    """Of all drives in the whole run: bytes, commands."""
    found = [one for one in got["transfers"] if one["name"].startswith(what)]
    return sum(one["bytes"] for one in found), sum(one["messages"] for one in found)


def every_block_that_is_read_is_what_was_written():
    for pattern, reads, sizes in itertools.product(("random", "sequential"), (0, 0.5, 1), ("4 KiB", "4 KiB..32 KiB")):
        got = storage(*QUICK, f"storage.pattern={pattern}", f"storage.reads={reads}", f"storage.sizes={sizes}",
                      is_checked=reads == 0.5)
        found, where = rows(got), f"{pattern}, {reads}, {sizes}"
        count = {name: found[name]["operations"] for name in ("read", "write")}
        expect(got["verified"] and sum(count.values()) == 4 * 60, f"{where}: {found}")
        expect((count["read"] == 0) == (reads == 0) and (count["write"] == 0) == (reads == 1), f"{where}: {found}")
        expect(got["traffic"][0]["checked"] * BLOCK == moved(got, "read")[0], f"{where}: {got['traffic']}")
        expect(got["traffic"][0]["messages"] >= 4 * 60, f"{where}: {got['traffic']}")
        for one in found.values():
            if one["operations"]:
                expect(0 < one["latency_min_ns"] <= one["latency_p50_ns"] <= one["latency_p99_ns"], f"{where}: {one}")
                expect(one["bytes"] == BLOCK if sizes == "4 KiB" else 3 * BLOCK < one["bytes"] < 6 * BLOCK,
                       f"{where}: {one}")


def bytes_are_conserved():
    """What clients have asked for is what the drives' cards have moved; beside it are entries of queues alone."""
    for memory in ("host", "vram", "drive"):
        got = storage(*QUICK, f"storage.memory={memory}", "storage.sizes=16 KiB")
        (read, reads), (written, writes) = moved(got, "read"), moved(got, "write")
        expect(read == reads * 4 * BLOCK and written == writes * 4 * BLOCK, got["transfers"])
        # What was under way at the end is done, and not measured.
        late = read + written - got["traffic"][0]["bytes"]
        expect(0 <= late <= 4 * 2 * 8 * 4 * BLOCK, f"{late} bytes more than what was measured")
        if memory == "drive":
            continue  # data stay in it
        links = [one for one in got["pcie_links"] if one["name"] in ("A.nvme0", "B.nvme0")]
        up, down = (sum(one[f"payload_{way}_bytes"] for one in links) for way in ("up", "down"))
        few = 512 * (reads + writes) + 65_536
        expect(read <= up < read + few and written <= down < written + few, f"{links}: {read} read, {written} written")


def more_under_way_is_never_slower():
    rates = [rows(storage("storage.reads=1", "storage.targets=A", "storage.warm_up=20", "storage.operations=150",
                          "storage.sizes=4 KiB", f"scenario.queue_depth={depth}"))["read"]["operations_per_second"]
             for depth in (1, 2, 8, 32)]
    expect(all(0.98 * few < many for few, many in zip(rates, rates[1:])) and 3 * rates[0] < rates[2], rates)
    two = rows(storage("storage.reads=1", "storage.targets=A", "storage.warm_up=20", "storage.operations=150",
                       "storage.sizes=4 KiB", "scenario.queue_depth=1", "scenario.qps=2"))["read"]
    expect(two["operations_per_second"] > 1.5 * rates[0], f"{two} {rates}")


def several_clients_share_a_drive_fairly():
    got = storage("storage.targets=A", "storage.clients=B..F", "storage.reads=0.5", "storage.warm_up=20",
                  "storage.operations=200", "storage.sizes=16 KiB")
    expect(len(got["flows"]) == 5 and got["traffic"][0]["fairness"] > 0.98, got["flows"])
    messages = [one["messages"] for one in got["flows"]]
    expect(min(messages) > 0.8 * max(messages), messages)


def buffers_elsewhere_leave_no_payload_in_memory_of_the_targets():
    seen = {}
    for memory in ("host", "vram", "drive"):
        got = storage(*QUICK, f"storage.memory={memory}", "storage.sizes=16 KiB", is_checked=memory == "vram")
        all_bytes, commands = (sum(pair) for pair in zip(moved(got, "read"), moved(got, "write")))
        seen[memory] = (got["host_dram_payload_bytes"] - all_bytes) / all_bytes
        expect(seen[memory] > 0, got["host_dram_payload_bytes"])  # at the clients, each byte once, and capsules
        expect(commands * 200 > got["host_dram_payload_bytes"] - all_bytes or memory == "host", seen)
    expect(1.9 < seen["host"] < 2.1, seen)  # from the HCA and to the drive, or back


def who_is_not_named_is_a_target_by_its_drive_and_else_a_client():
    got = storage(*QUICK, "storage.targets=", "storage.clients=")
    expect(sorted(one["name"] for one in got["flows"]) ==
           sorted(f"{client}.hca0 -> {target}.hca0" for client in "CDEF" for target in "AB"), got["flows"])
    got = storage(*QUICK, "storage.targets=B", "storage.clients=")
    expect(sorted(one["name"] for one in got["flows"]) == [f"{client}.hca0 -> B.hca0" for client in "ACDEF"],
           got["flows"])


def lost_packets_lose_no_block():
    got = storage(*QUICK, "link.loss=0.01", "traffic.ack_timeout=6", "storage.reads=0.5", is_checked=True)
    expect(got["verified"] and got["retries"] > 0, f"{got['retries']} retries")


def what_goes_wrong_at_a_drive_or_on_the_way_is_told():
    got = storage(*QUICK, "A.nvme0.faults=read 0..1000", "storage.reads=1", status=1)
    expect("a command of A.nvme0 has ended with" in got["failure"], got["failure"])
    got = storage(*QUICK, "A.nvme0.faults=silent 0..1000", "storage.reads=1", status=1)
    expect("nothing was completed for 10 s" in got["failure"], got["failure"])
    got = storage(*QUICK, "link.loss=1", "traffic.ack_timeout=4", "traffic.retry_count=1", status=1)
    expect("hca0: connecting to " in got["failure"], got["failure"])


def a_byte_that_nobody_has_written_is_found_with_drive_block_and_offset():
    """A drive whose file has something in one block, of the part of the second client there."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "disk"
        content = bytearray(1 << 20)
        content[70 * BLOCK + 77] = 1
        file.write_bytes(content)
        sets = (*QUICK, "A.nvme0.size=1 MiB", "storage.targets=A")
        got = storage(*sets, f"A.nvme0.file={file}", "storage.reads=1", "storage.pattern=sequential", status=1)
        expect(got["failure"].startswith("D.hca0: byte 77 of block 70 of A.nvme0 (blocks of 4096 bytes) is not zero"),
               got["failure"])
        got = storage(*sets, f"A.nvme0.file={folder}/other", "storage.reads=0.5")
        expect(got["verified"] and (pathlib.Path(folder) / "other").stat().st_size == 1 << 20, got["failure"])


def the_same_seed_does_the_same():
    first, again, other = (storage(*QUICK, f"scenario.seed={seed}") for seed in (1, 1, 2))
    expect(first["event_digest"] == again["event_digest"], "not the same run")
    expect(first["event_digest"] != other["event_digest"], "the seed draws nothing")


def what_cannot_be_is_refused_with_its_line():
    for sets, words in (
            (("storage.targets=Z",), ("storage.targets", "Z is no HCA")),
            (("storage.targets=C",), ("storage.targets", "C.hca0", "no drive")),
            (("storage.clients=A, C",), ("storage.clients", "A.hca0 is a target, too")),
            (("storage.clients=C, C",), ("storage.clients", "twice")),
            (("storage.targets=A..B", "storage.clients=B"), ("storage.clients", "B.hca0 is a target, too")),
            (("storage.sizes=6 KiB",), ("storage.sizes", "whole blocks")),
            (("storage.sizes=4 KiB..6 KiB",), ("storage.sizes", "whole blocks")),
            (("storage.sizes=4 KB",), ("storage.sizes", "did you mean 'KiB'")),
            (("storage.sizes=2 MiB", "storage.span=4 MiB"), ("storage.sizes", "A.nvme0", "1 MiB at most")),
            (("storage.sizes=520 KiB", "A.nvme0.max_transfer=512 KiB"), ("storage.sizes", "A.nvme0")),
            (("storage.span=6 KiB",), ("storage.span", "whole blocks")),
            (("storage.span=8 KiB",), ("storage.span", "16 KiB", "no room")),
            (("storage.span=65 MiB",), ("storage.span", "A.nvme0", "256 MiB")),
            (("scenario.qps=32",), ("scenario.qps", "A.nvme0", "127")),
            (("scenario.queue_depth=4096",), ("scenario.queue_depth", "A.nvme0", "4095")),
            (("A.nvme0.queue_entries=8",), ("scenario.queue_depth", "A.nvme0", "7 commands")),
            (("storage.memory=drive", "A.nvme0.memory_buffer=8192"), ("storage.memory", "A.nvme0", "memory_buffer")),
            (("storage.memory=drive", "A.nvme0.memory_buffer_uses=7"), ("storage.memory", "memory_buffer_uses")),
            (("storage.memory=vram", "A.gpu0.vram=1 MiB", "scenario.queue_depth=9"), ("scenario.queue_depth", "half")),
            (("storage.sizes=1 MiB", "scenario.queue_depth=200"), ("scenario.queue_depth", "half")),
            (("hca.model=simple",), ("storage", "no driver"))):
        refused(run(*setting(sets), config=STORAGE), *words)
    with tempfile.TemporaryDirectory() as folder:
        text = STORAGE.read_text(encoding="utf-8")
        file = pathlib.Path(folder) / "wrong.toml"
        line = text[:text.index('sizes = "')].count("\n") + 1
        file.write_text(text.replace('sizes = "4 KiB:80, 16 KiB:20"', 'sizes = "5 KiB"'), encoding="utf-8")
        refused(run(config=file), f"wrong.toml:{line}", "storage.sizes")
        file.write_text(text.replace("nvme0", "gpu7").replace('"nvme"', '"gpu"').replace(
            'size = "256 MiB", memory_buffer = "8 MiB"', 'vram = "1 MiB"').replace("A..B\"\nclients", "\"\nclients"),
                        encoding="utf-8")
        refused(run(config=file), "storage.targets", "no host has an HCA and a drive")
        file.write_text(text.replace('    "root0.sw0.gpu0",\n', ""), encoding="utf-8")
        refused(run("--set", "storage.memory=vram", config=file), "storage.memory", "A.hca0", "no GPU")
        file.write_text(text.replace('["root0.sw0.hca0"]', '["root0.sw0.hca0", "root0.sw0.nvme0"]'), encoding="utf-8")
        refused(run("--set", "storage.targets=", "--set", "storage.clients=", config=file), "storage.clients",
                "nobody is left")
        file.write_text(text.replace('"C..F"', '"A..B"', 1), encoding="utf-8")
        refused(run(config=file), "storage.clients", "A.hca0 is a target, too")


def two_drives_are_faster_than_one():
    one, two = (rows(checkpoint(f"checkpoint.targets={names}", *SMALL))["checkpoint"] for names in ("A", "A..B"))
    expect(one["time_ns"] > 1.4 * two["time_ns"], f"{one} {two}")
    for row in (one, two):
        expect(row["ranks"] == 4 and row["bytes"] == 1 << 20 and row["operations"] == 1, row)
        rate = row["bytes"] * 1e9 / row["time_ns"]
        expect(abs(row["algorithm_bytes_per_second"] - rate) < 1e-6 * rate, row)


def twice_as_many_bytes_take_about_twice_as_long():
    few, many = (checkpoint(*SMALL, f"checkpoint.bytes={size} MiB", is_checked=size == 4) for size in (4, 8))
    times = [rows(got)["checkpoint"]["time_ns"] for got in (few, many)]
    expect(1.7 < times[1] / times[0] < 2.2, times)
    expect([moved(got, "write")[0] for got in (few, many)] == [16 << 20, 32 << 20], many["transfers"])
    # Of each rank 16 commands of 128 KiB are read back.
    expect([got["traffic"][0]["checked"] for got in (few, many)] == [4 * 16 * 32] * 2, many["traffic"])


def a_checkpoint_is_on_the_medium():
    """A drive whose cache takes all of it at once has to bring it to its dies, and a checkpoint waits for that."""
    quick, slow = (rows(checkpoint(*SMALL, *(f"{host}.nvme0.program_latency_ns={ns}" for host in "AB")))["checkpoint"]
                   for ns in (1000, 3_000_000))
    expect(slow["time_ns"] > quick["time_ns"] + 2_900_000, f"{quick} {slow}")


def every_checkpoint_counts_and_none_before_the_measured_ones():
    got = checkpoint("checkpoint.bytes=256 KiB", "checkpoint.warm_up=2", "checkpoint.operations=3", is_checked=True)
    row = rows(got)["checkpoint"]
    expect(row["operations"] == 3 and moved(got, "write") == (5 * 4 * (256 << 10), 5 * 4 * 2), got["transfers"])
    expect(got["traffic"][0]["bytes"] == 3 * 4 * (256 << 10), got["traffic"])
    expect(0.8 * row["time_ns"] < row["latency_p50_ns"] < 1.2 * row["time_ns"], row)


def state_of_gpus_is_in_no_memory_of_a_host():
    for memory in ("vram", "drive"):
        got = checkpoint(*SMALL, f"checkpoint.memory={memory}", is_checked=memory == "vram")
        commands = moved(got, "write")[1] + moved(got, "read")[1]
        expect(got["host_dram_payload_bytes"] < 200 * commands, got["host_dram_payload_bytes"])
    got = checkpoint(*SMALL)
    expect(got["host_dram_payload_bytes"] >= 2 * (4 << 20), got["host_dram_payload_bytes"])


def a_state_of_any_number_of_blocks_comes_back():
    for size, ranks in (("4 KiB", "C"), ("132 KiB", "C..E"), ("516 KiB", "C..F")):
        got = checkpoint(*SMALL, f"checkpoint.bytes={size}", f"checkpoint.ranks={ranks}", "scenario.qps=2",
                         "checkpoint.targets=")
        expect(len(got["transfers"]) == (2 if ranks == "C" else 4), got["transfers"])  # who has no rank is left out
        expect(got["verified"] and got["traffic"][0]["checked"] > 0, got["failure"])


def what_cannot_be_a_checkpoint_is_refused():
    for sets, words in (
            (("checkpoint.bytes=6 KiB",), ("checkpoint.bytes", "whole blocks")),
            (("scenario.message=6 KiB",), ("scenario.message", "whole blocks")),
            (("scenario.message=2 MiB",), ("scenario.message", "A.nvme0", "1 MiB at most")),
            (("scenario.message=16 MiB",), ("scenario.message", "8 MiB at most")),
            (("checkpoint.ranks=A",), ("checkpoint.ranks", "A.hca0 is a target, too")),
            (("checkpoint.ranks=C", "checkpoint.targets=A, B"), ("checkpoint.targets", "2 drives", "1 rank")),
            (("checkpoint.targets=D",), ("checkpoint.targets", "D.hca0", "no drive")),
            (("checkpoint.bytes=129 MiB", "gpu.vram=1 GiB"), ("checkpoint.bytes", "A.nvme0", "256 MiB")),
            (("checkpoint.bytes=65 MiB", "gpu.vram=128 MiB"), ("checkpoint.bytes", "C.hca0", "half")),
            (("checkpoint.memory=drive", "A.nvme0.memory_buffer=64 KiB"), ("checkpoint.memory", "memory_buffer"))):
        refused(run(*setting(sets), config=CHECKPOINT), *words)


main(globals())
