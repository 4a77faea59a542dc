"""program_test.py HCASIM SOURCE CASE: runs the program and looks at what it leaves behind: status, lines, files."""

import hashlib
import json
import re
import struct
import subprocess
import sys
import xml.dom.minidom

from program import PROGRAM, SCRATCH, SOURCE, ends_of_keys, expect, main, payload, refused, result, run, sweep

FAULTS = ["--set", "link.loss=0.01", "--set", "link.reorder=0.01", "--set", "link.duplicate=0.01",
          "--set", "link.corrupt=0.005"]


def protocols(capture):
    """The kinds of frames by what stands at the layer below the transport: 0x0800, 0x86dd, or the LNH of InfiniBand."""
    found, data, at, link_type = set(), capture.read_bytes(), 0, None
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == 1:
            link_type = struct.unpack_from("<H", data, at + 8)[0]
        elif kind == 6:
            frame = data[at + 28:at + length]
            found.add(struct.unpack_from(">H", frame, 12)[0] if link_type == 1 else frame[16 + 1] & 3)  # ERF in front
        at += length
    return found


def check_capture(*arguments):
    capture = SCRATCH / "wire.pcapng"
    got = result("--payload", payload(), "--pcap", capture, *arguments)
    look = subprocess.run([sys.executable, "-B", SOURCE / "testbench/witness/check_capture.py", capture],
                          capture_output=True, text=True, timeout=250, check=False)
    expect(look.returncode == 0, f"{look.stdout[-3000:]}{look.stderr[-3000:]}")
    return got, capture


# --- cases ------------------------------------------------------------------------------------------------------------

def verifies_itself():
    path = payload()
    got = result("--payload", path, is_checked=False)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    expect(got["verified"] is True, got)
    expect(got["sha256_source"] == got["sha256_target"] == digest, got)
    expect(got["payload_bytes"] == 1_500_001, got)
    expect(got["completions_error"] == 0 and got["completions_ok"] > 0, got)
    expect(got["host_dram_payload_bytes"] == 0, got)
    expect(got["p2p_payload_bytes"] >= 3 * 2 * 1_500_001, "three passes leave one VRAM and enter another")
    expect([t["verified"] for t in got["transfers"]] == [True] * 3, got["transfers"])


def keys_of_the_json():
    got = result("--payload", payload(5000))
    kinds = {"scenario": str, "verified": bool, "payload_bytes": int, "sha256_source": str, "sha256_target": str,
             "failure": str, "completions_ok": int, "completions_error": int, "p2p_payload_bytes": int,
             "host_dram_payload_bytes": int, "redirected_payload_bytes": int,
             "wire_packets": int, "sim_time_ns": int, "wall_seconds": float, "event_digest": str}
    for key, kind in kinds.items():
        expect(isinstance(got.get(key), kind), f"{key}: {got.get(key)!r}")


def same_seed_same_digest():
    path = payload()
    first = result("--payload", path, *FAULTS, is_checked=False)
    second = result("--payload", path, *FAULTS)
    other = result("--payload", path, *FAULTS, "--set", "link.seed=2")
    expect(first["event_digest"] == second["event_digest"], "the same seed gave another run")
    expect(first["sim_time_ns"] == second["sim_time_ns"], "the same seed took another time")
    expect(first["event_digest"] != other["event_digest"], "another seed gave the same run")


def lossy_wire_verifies():
    for seed in range(1, 6):
        got = result("--payload", payload(), *FAULTS, "--set", f"link.seed={seed}", "--set", "scenario.mtu=1024")
        expect(got["verified"] is True and got["completions_error"] == 0, got)
        expect(got["retries"] > 0, "faults without a retry")
        expect(got["reasons"]["LinkFault: lost"] > 0 and got["reasons"]["LinkFault: corrupted"] > 0, got["reasons"])
        expect(got["packets_dropped"] > 0, "corrupted packets were taken")


def untimed_moves_the_same():
    path = payload()
    timed, untimed = result("--payload", path), result("--payload", path, "--set", "timed=false")
    expect(untimed["verified"] and untimed["sim_time_ns"] == 0, untimed)
    for key in ("sha256_target", "completions_ok", "wire_packets", "p2p_payload_bytes"):
        expect(timed[key] == untimed[key], f"{key}: {timed[key]} timed, {untimed[key]} untimed")


def capture_roce_v2():
    got, capture = check_capture("--set", "link.encapsulation=roce_v2")
    frames = subprocess.run(["tshark", "-r", capture, "-T", "fields", "-e", "frame.number"], capture_output=True,
                            text=True, check=True)
    expect(len(frames.stdout.split()) == got["wire_packets"],
           f"{len(frames.stdout.split())} frames of {got['wire_packets']} packets")
    expect(protocols(capture) == {0x0800}, f"not IPv4: {protocols(capture)}")


def capture_roce_v2_ipv6():
    _, capture = check_capture("--set", "link.encapsulation=roce_v2_ipv6")
    expect(protocols(capture) == {0x86DD}, f"not IPv6: {protocols(capture)}")


def capture_infiniband():
    _, capture = check_capture("--set", "link.encapsulation=infiniband")
    expect(protocols(capture) == {2}, f"not InfiniBand within a subnet: {protocols(capture)}")


def lossy_capture():
    # The capture sees a packet as it leaves the port; what the cable does to it comes later.
    check_capture(*FAULTS)


def events_are_all_there():
    log = SCRATCH / "events.jsonl"
    got = result("--payload", payload(100_000), "--events", log)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    counts = {}
    for line in lines:
        counts[line["event"]] = counts.get(line["event"], 0) + 1
    expect(counts == {name: count for name, count in got["events"].items() if count}, f"{counts}\n{got['events']}")
    numbers = {line["id"] for line in lines}
    expect(len(numbers) == len(lines) and all(line.get("cause", 0) < line["id"] for line in lines),
           "an event has the number of another one, or was led to by a later one")
    led = [line for line in lines if line["event"] in ("WqeFetched", "Translated", "PacketSent", "PacketReceived")]
    lost = [line for line in led if line.get("cause") not in numbers]
    expect(led and not lost, f"what a work request led to names another line as its cause: {lost[:3]}")
    plain = result("--payload", payload(100_000))
    expect(plain["event_digest"] == got["event_digest"], "being looked at changes the run")


def fails_with_a_result():
    # Nothing arrives: no defect of the configuration, so it runs, and says what came of it.
    out = SCRATCH / "result.json"
    ran = run("--payload", payload(5000), "--json", out, "--set", "link.loss=1")
    expect(ran.returncode == 1, f"status {ran.returncode}\n{ran.stdout[-3000:]}{ran.stderr}")
    expect(ran.stderr == "", ran.stderr)
    got, good = json.loads(out.read_text()), result("--payload", payload(5000))
    expect(got["verified"] is False and "retry counter exceeded" in got["failure"], got)
    expect(f"NOT VERIFIED: {got['failure']}" in ran.stdout, ran.stdout[-3000:])
    expect(set(got) == set(good), set(got) ^ set(good))
    expect(got["wire_packets"] == got["wires"][0]["lost"] > 0, got["wires"])
    expect(got["completions_error"] > 0 and got["retries"] > 0, got)
    expect([t["name"] for t in got["transfers"]] == ["WRITE A -> B"], got["transfers"])
    expect(got["transfers"][0]["retries"] == got["retries"], got["transfers"])
    expect(good["verified"] is True and good["failure"] == "", good)


def explains_what_fails():
    why = SCRATCH / "why.txt"
    ran = run("--payload", payload(5000), "--set", "link.loss=1", f"--explain={why}")
    expect(ran.returncode == 1 and ran.stderr == "", f"status {ran.returncode}: {ran.stderr}")
    text = why.read_text()
    found = re.search(r"^\S+ s, (\S+): QP (0x[0-9a-f]+), send WQE 0x[0-9a-f]+ \(\w+\): IBV_WC_RETRY_EXC_ERR \(.*\)\.\n"
                      r"  Decoded: error CQE in CQ .* vendor syndrome 0x70 .*\n  Rule: .*\[IBA .*\]\.\n"
                      r"  Likely cause: .*\.\n", text, re.M)
    expect(found, text)
    same = run("--payload", payload(5000), "--set", "link.loss=1", "--explain")
    expect(same.stderr == text, f"standard error has something else: {same.stderr}")
    good = run("--payload", payload(5000), "--explain")
    expect(good.returncode == 0 and good.stderr == "", f"a run without mistakes is explained: {good.stderr}")


def ends_of_all_keys():
    """Every key at either end of its range, or at each of its choices."""
    path, keys = payload(20_001), ends_of_keys()
    texts = {"scenario." + key for key in ("name", "payload", "from", "through", "to", "to_through", "omit")}
    texts |= {"traffic." + key for key in ("from", "to", "replay", "verbs", "sizes")}
    texts |= {"collective.ranks", "collective.servers", "kv.clients", "kv.servers", "kv.sizes"}
    texts |= {"storage.targets", "storage.clients", "storage.sizes", "checkpoint.ranks", "checkpoint.targets"}
    every = json.loads(subprocess.run([PROGRAM, "keys", "--json"], capture_output=True, text=True, check=True).stdout)
    texts |= {"fabric.topology"}
    missing = set(every) - texts - set(keys)
    expect(not missing, f"not found in the listing with a range: {missing}")
    sweep(keys, "--payload", path, dead={"link.loss=1", "link.corrupt=1"})


def ways_between_devices():
    """Straight through the switch, by way of the root complex, refused by it; the same bytes in the first two."""
    path = payload(300_001)
    straight = result("--payload", path, "--set", "host.peer_forwarding=false")
    moved = straight["p2p_payload_bytes"]
    expect(moved >= 3 * 2 * 300_001 and straight["redirected_payload_bytes"] == 0, straight)
    redirected = result("--payload", path, "--set", "host.acs=redirect")
    expect(redirected["verified"] is True and redirected["sha256_target"] == straight["sha256_target"], redirected)
    expect(redirected["p2p_payload_bytes"] == 0 and redirected["redirected_payload_bytes"] == moved, redirected)
    expect(redirected["host_dram_payload_bytes"] == 0, redirected)

    def upstream(got, member):
        return sum(link[member] for link in got["pcie_links"] if link["name"].endswith(".upstream"))
    for member in ("payload_up_bytes", "payload_down_bytes"):
        expect(upstream(straight, member) < moved / 10,
               f"{member} without redirect: {upstream(straight, member)} of {moved}")
        expect(upstream(redirected, member) > moved,
               f"{member} with redirect: {upstream(redirected, member)} of {moved}")

    why, out = SCRATCH / "blocked.txt", SCRATCH / "blocked.json"
    ran = run("--payload", path, "--set", "host.acs=redirect", "--set", "host.peer_forwarding=false", "--json", out,
              f"--explain={why}")
    expect(ran.returncode == 1 and ran.stderr == "", f"status {ran.returncode}: {ran.stderr}")
    got, text = json.loads(out.read_text()), why.read_text()
    expect(got["verified"] is False and got["failure"] != "" and got["redirected_payload_bytes"] == 0, got)
    expect(got["events"]["RequestBlocked"] > 0, got["events"])
    expect("port 00:01.0 blocks a request of device" in text and "host.peer_forwarding" in text, text)
    expect("IBV_WC_" in text, text)


def behind_a_remapping_unit():
    """The same file, with the unit on: straight, redirected, straight again by a card that translates; or refused."""
    path, unit = payload(300_001), ["--set", "iommu.present=true"]
    for sets, member in ((["host.peer_forwarding=false"], "p2p_payload_bytes"),
                         (["host.acs=redirect"], "redirected_payload_bytes"),
                         (["host.acs=direct_translated", "host.peer_forwarding=false", "iommu.device_tlb=true",
                           "hca.device_tlb_entries=64"],
                          "p2p_payload_bytes")):
        got = result("--payload", path, *unit, *(word for one in sets for word in ("--set", one)))
        ways = {key: got[key] for key in ("p2p_payload_bytes", "redirected_payload_bytes", "host_dram_payload_bytes")}
        expect(got["verified"] is True and [key for key, value in ways.items() if value] == [member], f"{sets}: {ways}")
        iotlb = [cache["hits"] + cache["misses"] for cache in got["caches"] if "IOTLB" in cache["name"]]
        expect(len(iotlb) == 2 and min(iotlb) > 0, got["caches"])
    got = result("--payload", path, *unit, "--set", "host.acs=redirect", "--set", "host.peer_forwarding=false",
                 status=1)
    expect("does not pass them on" in got["failure"] and "host.peer_forwarding=true" in got["advice"], got)
    expect(got["wire_packets"] == 0, "nothing is registered, so nothing is sent")


def keys_together():
    """What fits each for itself, and not together."""
    path = payload(20_001)
    many = ["--set", "scenario.qps=4096", "--set", "scenario.message=8"]
    expect(result("--payload", path, *many, is_checked=False)["verified"] is True, "4096 queue pairs")
    # Rings are as deep as there is work for them, so that a depth that nobody fills needs no memory.
    deep = result("--payload", path, *many, "--set", "scenario.queue_depth=8192", is_checked=False)
    expect(deep["verified"] is True, "deep queues")
    few = ["--set", "hca.log_max_cq_size=10"]
    refused(run("--payload", path, *many, *few), "hca.log_max_cq_size of 12")
    refused(run("--payload", path, "--set", "scenario.qps=16384", "--set", "host.B.memory=64 MiB"), "host.B.memory")
    refused(run("--payload", path, "--set", "scenario.qps=16", "--set", "hca.log_max_qp=4"), "hca.log_max_qp")
    refused(run("--payload", path, "--set", "link.rate_gbps=1e-9"), "link.rate_gbps")
    refused(run("--payload", path, "--set", "hca.msix_vectors=1"), "hca.msix_vectors")
    uneven = ["--set", "hca.log_max_read_requester=7", "--set", "hca.log_max_read_responder=0",
              "--set", "scenario.message=64"]
    expect(result("--payload", path, *uneven)["verified"] is True, "more READs asked than answered at once")
    small = result("--payload", path, "--set", "scenario.message=1")
    expect(small["verified"] is True and small["transfers"][0]["messages"] == 20_001, small)
    refused(run("--payload", payload(5_000_000), "--set", "scenario.message=1"), "5000000 messages", "2 bytes or more")


def platforms_are_drawn():
    for config in sorted((SOURCE / "platform/configs").glob("*.toml")):
        picture = SCRATCH / "picture.svg"
        ran = subprocess.run([PROGRAM, "show", config, "--svg", picture], capture_output=True, text=True, timeout=250,
                             check=False)
        expect(ran.returncode == 0 and "\nfabric: " in ran.stdout, f"{config}: {ran.stdout}{ran.stderr}")
        expect(ran.stdout.count("\n") < 80, f"{config}: longer than two screens: {ran.stdout}")
        xml.dom.minidom.parse(str(picture))


def refuses_configuration():
    bad = SCRATCH / "p2p.toml"
    bad.write_text("[scenario]\nname = \"gpudirect\"\n[link]\nlos = 0.1\n")
    refused(run(config=bad), "p2p.toml:4: unknown key 'los', did you mean 'loss'?")
    bad.write_text("[link]\nloss = \"much\"\n")
    refused(run(config=bad), "p2p.toml:2:", "a number")
    bad.write_text("[scenario]\nname = \"gpudirekt\"\n")
    refused(run(config=bad), "unknown scenario 'gpudirekt'", "gpudirect")
    refused(run(config=SCRATCH / "missing.toml"), "missing.toml", "No such file")


def refuses_override():
    refused(run("--set", "link.los=1"), "--set link.los=1", "did you mean 'link.loss'?")
    refused(run("--set", "link.loss=7"), "allowed is 0 to 1")
    refused(run("--frob"), "--frob")


def refuses_payload():
    refused(run("--payload", SCRATCH / "missing"), "missing", "No such file")
    empty = SCRATCH / "empty"
    empty.touch()
    refused(run("--payload", empty), "empty")


def refuses_too_large():
    ran = run("--payload", payload(3 << 20), "--set", "gpu.vram=1 MiB")
    refused(ran, "gpu.vram")


main(globals())
