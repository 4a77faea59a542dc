"""gpu_nvme_program_test.py HCASIM SOURCE CASE: a GPU that drives a drive, as a person runs it."""

import hashlib

from program import SCRATCH, SOURCE, call, expect, main, payload, refused, result, run

GPU_NVME = SOURCE / "platform/configs/gpu_nvme.toml"
PROFILES = {"rdna3_text, M1": ["A.gpu0.mechanism=1"], "rdna3_text, M2": ["A.gpu0.mechanism=2"],
            "rdna3_text, M3": ["A.gpu0.mechanism=3"], "coherent": ["A.gpu0.profile=1"]}
OBSERVED = {f"O{number}" for number in range(1, 17)} | {f"P{number}" for number in range(1, 6)}


def show(*sets, status=0, size=300_000):
    return result("--payload", str(payload(size)), *(word for one in sets for word in ("--set", one)), status=status,
                  config=GPU_NVME)


def check(got, path):
    """What holds of every verified run: what a row says itself, and that no byte of the payload was in the host."""
    expect(got["verified"] is True and got["failure"] == "", got["failure"])
    expect("VID 0x1234, SSVID 0x1234, SN HCASIM0001" in got["found"], got["found"])
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    expect(got["sha256_source"] == got["sha256_target"] == digest, got)
    expect(got["host_dram_payload_bytes"] == 0, got["host_dram_payload_bytes"])
    expect(got["p2p_payload_bytes"] + got["redirected_payload_bytes"] >= 2 * path.stat().st_size, got)
    expect(got["completions_ok"] == sum(one["completions_ok"] for one in got["transfers"]) > 0, got["transfers"])
    for row in got["laboratory"]:
        expect(row["agrees"] is True, row)
        expect(row["outcome"] == "correct" or row["explanation"] or row["load"] == "-", row)
    return {row["row"]: row["outcome"] for row in got["laboratory"]
}

def every_profile_agrees_with_what_was_observed():
    for name, sets in PROFILES.items():
        got = show(*sets)
        outcomes = check(got, payload(300_000))
        cited = {one for row in got["laboratory"] for one in row["cites"].replace("(untested)", "").split()}
        expect("O4 (untested)" in {row["cites"] for row in got["laboratory"]}, "O4 counts as an observation")
        expect(cited == OBSERVED, f"{name}: {cited ^ OBSERVED}")
        # What tells the explanations apart: doorbells mapped as UC, with nothing flushed.
        expect(outcomes["L4"] == ("stuck" if name in ("rdna3_text, M1", "rdna3_text, M3") else "correct"), name)
        without = "correct" if name == "coherent" else "stuck"
        expect(outcomes["L3"] == without, name)
        # Pages are UC when the export that makes them so comes before the mapping, and only then.
        setups = {row["row"]: row["setup"] for row in got["laboratory"]}
        expect("SQ NC, CQ NC" in setups["L11"] and "mapped and then exported" in setups["L11"], setups["L11"])
        expect("SQ UC, CQ UC" in setups["L11b"] and "exported as UC and then mapped" in setups["L11b"], setups["L11b"])
        # A GPU that does not reset takes no notice of its control registers.
        outcomes = check(show("A.gpu0.reset_on_cntl_write=false", *sets), payload(300_000))
        expect(outcomes["L9a"] == outcomes["L9b"] == without, f"{name}: {outcomes}")


def the_worst_that_is_legal_lets_a_correct_program_work():
    seen = set()
    for seed in range(1, 7):
        seen.add(check(show("A.gpu0.profile=2", f"A.gpu0.seed={seed}"), payload(300_000))["L3"])
    # Doorbells as imported: in a line of GL2, or on their way at once.
    expect(seen == {"stuck", "correct"}, f"L3 has ended {seen}")


def a_stuck_poll_is_explained():
    rows = {row["row"]: row["explanation"] for row in show()["laboratory"]}
    for words in ("polls dword 3 of completion 0", "VRAM offset", "in GL2", "PCIe wrote memory behind it",
                  "mechanism M1", "heavy flush by engine 17"):
        expect(words in rows["L3"], rows["L3"])
    expect("GL2 holds" in {row["row"]: row["explanation"] for row in show("A.gpu0.mechanism=2")["laboratory"]}["L3"],
           "a held doorbell is not named")


def works_without_a_remapping_unit_and_without_time():
    for sets in (["iommu.present=false"], ["timed=false"], ["scenario.qps=1", "scenario.queue_depth=1"],
                 ["scenario.qps=128", "scenario.message=4096"], ["scenario.qps=3", "scenario.queue_depth=64"]):
        check(show(*sets), payload(300_000))


def its_drive_is_played_again_and_its_gpu_is_not():
    recording = SCRATCH / "gpu_nvme.pcapng"
    ran = call("run", GPU_NVME, "--payload", payload(300_000), "--record", recording)
    expect(ran.returncode == 0, ran.stderr)
    played = call("replay", recording)
    expect(played.returncode == 0 and "A.root1.nvme0: the same" in played.stdout, played.stdout + played.stderr)
    expect("A.root0.gpu0 is not played" in played.stdout + played.stderr, played.stdout + played.stderr)
    asked_for = call("replay", recording, "--at", "A.gpu0")
    expect(asked_for.returncode == 2 and "A.root0.gpu0 is not played: programs ran on it" in asked_for.stderr,
           f"{asked_for.returncode}: {asked_for.stderr}")


def refuses_mistakes():
    def refusal(*arguments):
        return run(*arguments, config=GPU_NVME)
    refused(refusal("--set", "scenario.qps=129"), "scenario.qps", "128")
    refused(refusal("--set", "scenario.queue_depth=65"), "scenario.queue_depth", "64")
    refused(refusal("--set", "scenario.message=4097"), "scenario.message", "4096")
    refused(refusal("--set", "scenario.message=4 MiB"), "scenario.message")
    refused(refusal("--payload", str(payload(2_000_000)), "--set", "A.nvme0.size=1 MiB"),
            "2000000 bytes, does not fit into the first namespace of 1048576 bytes", "A.nvme0.size")
    refused(run("--set", "scenario.name=gpu_nvme"), "caching_gpu")


main(globals())
