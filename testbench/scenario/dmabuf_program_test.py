"""dmabuf_program_test.py HCASIM SOURCE CASE: the dma-buf scenario as a person runs it, on each of the ways that its
bytes may take."""

from program import SOURCE, ends_of_keys, expect, main, payload, refused, result, run, sweep

DMABUF = SOURCE / "platform/configs/dmabuf.toml"


def show(*sets, status=0):
    return result(*(word for one in sets for word in ("--set", one)), status=status, config=DMABUF)


def check_steps(got):
    """What holds of every verified run, whichever way its bytes take."""
    expect(got["verified"] is True and got["failure"] == "" and got["advice"] == "", got["failure"])
    for step in got["steps"]:
        is_revoked, is_migrated = step["name"].startswith("revoked"), step["name"].startswith("migrated")
        expect(step["verified"] is True and step["bytes"] == 1 << 20, step)
        expect(step["ended_with"] == ("remote access error" if is_revoked else "success"), step)
        heard = "work queue access error" if is_revoked else "1 page fault" if is_migrated else ""
        expect(step["owner_heard"] == heard, step)
        expect((step["landed_bytes"] < step["bytes"] and step["landed_bytes"] > 0) if is_revoked
               else step["landed_bytes"] == step["bytes"], step)
        is_same = step["sha256_source"] == step["sha256_target"]
        expect(is_same is not is_revoked and len(step["sha256_target"]) == 64, step)
        in_vram = step["direct_bytes"] + step["redirected_bytes"]
        if is_migrated: # one half there, one half in B's memory, all of it in A's
            expect(0 < in_vram < step["bytes"] and in_vram + step["host_bytes"] >= 2 * step["bytes"], step)
        else:
            expect(in_vram >= step["landed_bytes"] and step["host_bytes"] >= step["landed_bytes"], step)
    kinds = [step["name"].partition(":")[0] for step in got["steps"]]
    for kind in ("pinned", "revocable", "reset, connected anew", "on demand", *(f"{what} in the middle of a {operation}"
                 for what in ("revoked", "migrated") for operation in ("WRITE", "READ"))):
        expect(kind in kinds, f"no step is {kind}: {kinds}")
    return got["steps"]


def takes_every_way():
    """The table of access control: straight, redirected, straight again by a card that translates; with the unit and
    without."""
    for sets in (["host.peer_forwarding=false"], ["host.peer_forwarding=false", "iommu.present=false"],
                 ["host.acs=direct_translated", "hca.device_tlb_entries=1024", "host.peer_forwarding=false"]):
        got = show(*sets)
        expect(got["way"].startswith("HCA to GPU: straight"), got["way"])
        for step in check_steps(got):
            expect(step["redirected_bytes"] == 0, f"{sets}: {step}")
            # Nothing but translations of pages, and what a revocation tells the card; a migration copies.
            is_migrated = step["name"].startswith("migrated")
            expect(is_migrated or max(step["B_upstream_up_bytes"], step["B_upstream_down_bytes"]) < step["bytes"] / 64,
                   f"{sets}: {step}")
        links = {link["name"]: link["payload_up_bytes"] + link["payload_down_bytes"] for link in got["pcie_links"]}
        copied = 2 * (1 << 20) + 2 * (1 << 14) # two buffers, in whole blocks, read by the processor
        expect(0 <= links["B.gpu"] - got["p2p_payload_bytes"] <= copied, f"{sets}: {links}, {got['p2p_payload_bytes']}")
    for sets in (["host.acs=redirect"], ["host.acs=redirect", "iommu.present=false"],
                 ["host.acs=redirect", "hca.device_tlb_entries=1024"], ["host.acs=direct_translated"]):
        got = show(*sets)
        expect(got["way"].startswith("HCA to GPU: redirected"), got["way"])
        for step in check_steps(got):
            expect(step["direct_bytes"] == 0, f"{sets}: {step}")
            moved = step["redirected_bytes"]
            one_way = "direct_translated" in sets[0] and "READ" in step["name"] # its completions go straight
            for member in ("B_upstream_up_bytes", "B_upstream_down_bytes"):
                most = moved + 100_000 + (3 * step["bytes"] if step["name"].startswith("migrated") else 0)
                expect(moved <= step[member] < most or one_way, f"{sets}: {step}")


def a_migration_takes_as_long_as_a_processor_reads_memory_of_a_device():
    """gdrcopy reads 0.53 GB/s of a V100's BAR, which is 2 ms a MiB; the way is a little longer here. Word by word it
    were 130."""
    def migrations(*sets):
        return [step["sim_time_ns"] for step in show(*sets)["steps"] if step["name"].startswith("migrated")]

    took = migrations()
    expect(len(took) == 2 and all(1.6e6 < time < 3e6 for time in took), took)
    for key, values in ("host.bar.loads", (1, 4, 16)), ("host.bar.load", (8, 16, 64)):
        slower_first = [migrations(f"{key}={value}") for value in values]
        for slow, fast in zip(slower_first, slower_first[1:]):
            expect(all(1.5 * less < more for more, less in zip(slow, fast)), f"{key}: {slower_first}")


def refused_by_the_host():
    """Registration where there is a unit; else the bytes are lost, which the cards are not told. What to do is
    said."""
    for unit, ended, words in (("true", "registration refused", "no byte was moved"),
                               ("false", "success", "1048576 of 1048576 bytes are not there: the bus has lost")):
        got = show("host.acs=redirect", "host.peer_forwarding=false", f"iommu.present={unit}", status=1)
        expect(got["verified"] is False and len(got["steps"]) == 1, got["steps"])
        step = got["steps"][0]
        expect(step["ended_with"] == ended
               and step["landed_bytes"] == step["direct_bytes"] == step["redirected_bytes"] == 0, step)
        expect(words in got["failure"] and "step 'pinned: WRITE'" in got["failure"], got["failure"])
        expect("host.peer_forwarding=true" in got["advice"] and "host.acs=off" in got["advice"], got["advice"])
        expect(got["way"].startswith("HCA to GPU: not at all"), got["way"])


def refuses_mistakes():
    def refusal(*arguments):
        return run(*arguments, config=DMABUF)
    refused(refusal("--payload", payload(5000)), "bytes of its own", "payload")
    refused(refusal("--set", "timed=false"), "timed", "no middle")
    refused(refusal("--set", "scenario.message=4096"), "scenario.message", "256 KiB")
    refused(refusal("--set", "scenario.message=1 GiB"), "scenario.message", "8 MiB")
    refused(refusal("--set", "gpu.vram=1 MiB"), "gpu.vram")
    refused(refusal("--set", "hca.log_max_message=12"), "hca.log_max_message")
    refused(refusal("--set", "scenario.qps=2"), "scenario.qps")
    refused(refusal("--set", "hca.on_demand_paging=false"), "hca.on_demand_paging")
    refused(refusal("--set", "hca.msix_vectors=2"), "hca.msix_vectors", "3 or more")


def ends_of_its_keys():
    """Of the rooms that this scenario walks through and the other one does not."""
    keys = {key: values for key, values in ends_of_keys().items()
            if key.startswith(("host.", "iommu.", "hca.device_tlb", "hca.page", "hca.pasid", "hca.mtt", "hca.mkey"))}
    # Where each packet takes 10 ms, a message takes longer than its requester waits.
    keys = {key: values for key, values in keys.items() if not key.endswith("_ns")}
    small = ("--set", "scenario.message=128 KiB") # an end of a key is met by the first pages
    sweep(keys, *small, config=DMABUF)
    translating = {key: values for key, values in keys.items()
                   if key.startswith(("iommu.", "hca.device_tlb", "hca.page"))}
    sweep(translating, *small, "--set", "host.acs=direct_translated", "--set", "hca.device_tlb_entries=64",
          config=DMABUF)


main(globals())
