"""The explorer as a person runs it: `hcasim explore`. Each function is a case."""

import re
import subprocess

from program import PROGRAM, SCRATCH, expect, main, refused
from recording import has_end, records


def explore(*arguments):
    return subprocess.run([PROGRAM, "explore", *arguments], capture_output=True, text=True, timeout=550, check=False)


def pinned(latency=500, rate=100, switch=False, remapping=False):
    """One world of the sweep."""
    fabric = (("fabric.switch=true", "link.encapsulation=infiniband") if switch
              else ("fabric.switch=false", "link.encapsulation=roce_v2"))
    keys = (f"link.latency_ns={latency}", f"link.rate_gbps={rate}", *fabric,
            f"iommu.present={'true' if remapping else 'false'}")
    return tuple(word for key in keys for word in ("--set", key))


WITHOUT_DETECTOR = ("--set", "observe.ownership=false")
SLOW = pinned(latency=30000, rate=1)
SLOW_BEHIND = pinned(latency=30000, rate=1, remapping=True)


def rows_of(stdout):
    """Of the table: scenario, side, actions, points, runs, share of overlap in percent, violations."""
    found = []
    for line in stdout.splitlines():
        row = line.split()
        if row[1:2] in (["requester"], ["responder"]) and row[3:4] != ["tested"]:
            found.append((*row[:3], int(row[3]), int(row[4]), 0.0 if row[5] == "-" else float(row[5]), int(row[-1])))
    return found


def explores_without_a_violation():
    """Every scenario and action on either side, on a slow and long cable: most actions meet the transfer, and each row
    some."""
    ran = explore("all", "--points", "3", *SLOW)
    expect(ran.returncode == 0, f"status {ran.returncode}\n{ran.stdout[-3000:]}{ran.stderr[-1000:]}")
    rows = rows_of(ran.stdout)
    expect(len(rows) == 4 * 2 * (6 + 4), f"{len(rows)} rows, not one for each scenario, side and action\n{ran.stdout}")
    for row in rows:
        expect(row[4] > 0 and row[5] > 0 and row[6] == 0, f"no run, none that met the transfer, or a violation: {row}")
    words = " ".join(ran.stdout.split())
    for status in ("success", "remote access error", "local protection error", "retry"):
        expect(status in words, f"no run ended with '{status}'\n{ran.stdout}")
    expect(re.search(r"met the transfer under way in \d+\.\d % of them", words), f"no share in all: {ran.stdout}")


def explores_several_worlds():
    """Pairs of latency, rate, fabric and remapping, with two transfers by one key and two importers among them; and the
    places where mistakes live: at a translation's time, whose access is still to come, and while the switch has a
    packet."""
    ran = explore("write,read", "--inject", "revoke,unmap", "--points", "2", "--sweep", "pairs")
    expect(ran.returncode == 0, f"status {ran.returncode}\n{ran.stdout[-3000:]}{ran.stderr[-1000:]}")
    for words in ("30000 ns", "1 Gb/s", "cable", "switch", "physical", "remapping", "two transfers", "two importers",
                  "Translated, at its time", "PacketForwarded"):
        expect(words in ran.stdout, f"no world with '{words}'\n{ran.stdout}")


def nothing_tested_is_a_failure():
    """Only one point, before the first packet: the action never meets the transfer."""
    ran = explore("write", "--victim", "responder", "--inject", "flr", "--every", "10000", *SLOW)
    expect(ran.returncode == 4, f"status {ran.returncode}\n{ran.stdout}{ran.stderr}")
    expect("write responder flr, 30000 ns, 1 Gb/s, cable, physical: tested nothing" in ran.stdout, ran.stdout)


def the_monitor_finds_nothing():
    """Each run recorded and held against the rules of the specifications, each of which it can judge."""
    ran = explore("all", "--inject", "revoke,flr", "--points", "1", "--monitor", *SLOW)
    expect(ran.returncode in (0, 4), f"status {ran.returncode}\n{ran.stdout[-3000:]}{ran.stderr[-1000:]}")
    for rule in ("tags unique", "payload before completion", "at most once", "PSN without gap",
                 "READ response complete", "rkey valid"):
        expect(re.search(rf"^  {rule} +[1-9]", ran.stdout, re.M), f"{rule} has judged nothing: {ran.stdout[-2000:]}")


def shows_again(stdout):
    """The command that is printed for a violation shows it."""
    again = re.search(r"again: hcasim (.*)", stdout)
    expect(again, f"no command that shows it again: {stdout}")
    ran = subprocess.run([PROGRAM, *again[1].split()], capture_output=True, text=True, timeout=250, check=False)
    expect(ran.returncode == 1 and "1 runs, 1 violations" in ran.stdout,
           f"the command does not show it again: {ran.stdout}")


def finds(planted, found):
    ran = explore(*planted)
    expect(ran.returncode == 1, f"status {ran.returncode}\n{ran.stdout}{ran.stderr}")
    expect(re.search(found, ran.stdout), f"'{found}' is not in: {ran.stdout}")
    return ran.stdout


def explorer_finds_a_planted_mistake():
    """A revocation that does not reach the card: on either side, by bytes that land in the next owner's buffer or leave
    it, and by the stale key, each without the other."""
    for victim, scenario, finding in (("responder", "write", "was written after"),
                                      ("responder", "read", "the next owner's"),
                                      ("requester", "read", "was written after"),
                                      ("requester", "write", "the next owner's")):
        planted = (scenario, "--victim", victim, "--inject", "revoke", "--points", "6", "--plant", "stale_key", *SLOW)
        finds((*planted, *WITHOUT_DETECTOR), finding)
        shows_again(finds(planted, r"stale mapping: [AB].hca .* \(memory key\)"))


def the_first_violation_is_recorded():
    """And no file is made where there is none."""
    planted = ("write", "--victim", "responder", "--inject", "revoke", "--points", "6", "--plant", "stale_key", *SLOW)
    trace = SCRATCH / "violation"
    said = finds((*planted, *WITHOUT_DETECTOR, "--record", trace), "was written after")
    expect(re.search(f"recorded in {trace}: .*was written after", said), said[-2000:])
    count = records(trace)
    expect(list(count)[-1] == "events" and all(number > 10 or "gpu" in name for name, number in count.items()), count)
    expect(has_end(trace), "no end block")
    none = SCRATCH / "none"
    ran = explore("write", "--victim", "responder", "--inject", "revoke", "--points", "3", *SLOW, "--record", none)
    expect("nothing is recorded" in ran.stdout and not none.exists(), ran.stdout[-2000:])


def explorer_finds_a_move_behind_the_card():
    """A buffer that is registered on demand moves, and the card keeps its old pages. On a cable so slow that the move
    ends first."""
    for victim, finding in (("responder", "the next owner's"), ("requester", "was written after")):
        moving = ("read", "--victim", victim, "--inject", "migrate", "--every", "12", *pinned(rate=0.02),
                  *WITHOUT_DETECTOR)
        shows_again(finds((*moving, "--plant", "stale_key"), finding))
        ran = explore(*moving)
        expect(ran.returncode == 0, f"without the mistake: status {ran.returncode}\n{ran.stdout}{ran.stderr}")


def explorer_finds_a_missing_invalidation():
    """Memory that is given back without the remapping unit being told."""
    for victim, scenario, finding in (("responder", "write", "was written after"),
                                      ("responder", "read", "the next owner's"),
                                      ("requester", "read", "was written after"),
                                      ("requester", "send", "the next owner's")):
        planted = (scenario, "--victim", victim, "--inject", "release", "--points", "6",
                   "--plant", "missing_invalidation", *SLOW_BEHIND)
        finds((*planted, *WITHOUT_DETECTOR), finding)
        shows_again(finds(planted, r"stale mapping: [AB].hca .*remapping unit.* invalidated never"))


def explorer_finds_a_missing_drain():
    """Packets under way keep referring to memory that goes: by a work request, a command, a reset; behind a switch."""
    for plant, action in (("umr_drain", "revoke"), ("command_drain", "unmap"), ("reset_drain", "flr")):
        planted = ("write", "--victim", "requester", "--inject", action, "--points", "6",
                   *pinned(latency=30000, rate=1, switch=True))
        shows_again(finds((*planted, *WITHOUT_DETECTOR, "--plant", plant), "at the peer is 0x.*the next owner's"))
        ran = explore(*planted, *WITHOUT_DETECTOR)
        expect(ran.returncode == 0, f"without the mistake: status {ran.returncode}\n{ran.stdout}{ran.stderr}")


def detector_finds_what_no_byte_shows():
    """The next owner has the very bytes there that a READ is to bring: each completion says success, each byte is
    right."""
    for world, more in ((SLOW, ("--inject", "revoke", "--plant", "stale_key")),
                        (SLOW_BEHIND, ("--inject", "release", "--plant", "missing_invalidation"))):
        planted = ("read", "--victim", "responder", "--points", "6", "--alike", *more, *world)
        ran = explore(*planted, *WITHOUT_DETECTOR)
        expect(ran.returncode == 0, f"the bytes show it:\n{ran.stdout}{ran.stderr}")
        shows_again(finds(planted, "stale mapping: B.hca"))


def explores_behind_remapping_units():
    """The cards behind units; the way between devices through them, too; with TLBs of the cards' own."""
    for more in (("--set", "host.acs=redirect"),
                 ("--set", "hca.device_tlb_entries=64", "--set", "iommu.device_tlb=true")):
        ran = explore("all", "--inject", "revoke,unmap,release", "--points", "2", *SLOW_BEHIND, *more)
        expect(ran.returncode == 0, f"{more}: status {ran.returncode}\n{ran.stdout[-3000:]}{ran.stderr[-1000:]}")
        rows = rows_of(ran.stdout)
        expect(all(row[4] > 0 for row in rows if row[2] == "release"), f"no memory was given back\n{ran.stdout}")


def a_lossy_cable_is_no_violation():
    """What would have told the requester may be lost: then it has tried too often."""
    for seed in range(1, 4):
        ran = explore("write,read", "--inject", "unmap,revoke", "--points", "4", *pinned(latency=2500, rate=1),
                      "--set", "link.loss=0.08", "--set", f"link.seed={seed}")
        expect(ran.returncode == 0, f"seed {seed}: status {ran.returncode}\n{ran.stdout[-3000:]}{ran.stderr[-1000:]}")


def every_row_meets_some(subject, prefix, count):
    """Each row of the subject's meets transfers under way, and has no violation."""
    ran = explore(subject, "--points", "3", "--sweep", "pairs")
    expect(ran.returncode == 0, f"status {ran.returncode}\n{ran.stdout[-3000:]}{ran.stderr[-1000:]}")
    rows = [line.split() for line in ran.stdout.splitlines() if re.match(rf" *{prefix}\w* +\w+ +\w+ +\d", line)]
    expect(len(rows) == count, f"{len(rows)} rows, not one for each transfer, memory and action\n{ran.stdout}")
    for row in rows:
        expect(int(row[4]) > 0 and float(row[5]) > 0 and row[-1] == "0", f"no run, none under way, or more: {row}")
    return ran.stdout


def explores_a_drive():
    """Commands whose memory, queue or controller goes away: each row meets some under way, and no byte lands or leaves
    afterwards."""
    every_row_meets_some("nvme", "nvme_", 2 * (2 * 3 + 2))


def explores_pages_of_a_gpu():
    """Waves and a copy engine, whose pages are taken out or moved: who only reads does not notice a move, and others
    fault."""
    said = every_row_meets_some("gpu_pages", "gpu_", 4 * 2 * 2)
    for row in re.findall(r" *gpu_(?:load|copy_out) +\w+ +move .*", said):
        expect("page fault" not in row, f"a move stops who only reads: {row}")
    for row in re.findall(r" *gpu_\w+ +\w+ +unmap .*", said):
        expect("page fault" in row, f"nobody has met that the pages are gone: {row}")


def explores_a_revoked_bar():
    """A GPU program rings doorbells of a drive, whose BAR is taken back: by itself, with memory space switched off, and
    before a reset."""
    said = every_row_meets_some("gpu_bar", "gpu_", 3)
    expect(said.count("page fault") >= 3, f"no program has met that the BAR is gone: {said}")




def explorer_finds_a_drive_that_does_not_let_go():
    """Data under way still land when the queue was deleted or the controller reset; and what an IOTLB keeps."""
    for action, plant, stale, world in (
            ("delete_queue", "missing_drain", r"by PRP \d+ of command .* of SQ 1", ()),
            ("reset", "missing_drain", r"by PRP \d+ of command .* of SQ 1", ()),
            ("release", "missing_invalidation", "remapping unit.* invalidated never", ("--set", "iommu.present=true"))):
        planted = ("nvme_read", "--victim", "host", "--inject", action, "--points", "6", "--sweep", "none", *world,
                   "--set", "A.nvme0.read_latency_ns=300000", "--plant", plant)
        finds((*planted, *WITHOUT_DETECTOR), "was written after")
        shows_again(finds(planted, f"stale mapping: A.nvme0 .*{stale}"))


PLAIN_GPU = ("--set", "A.gpu0.profile=0", "--set", "A.gpu0.invalidate_ns=0")
SLOW_GPU = ("--set", "A.gpu0.profile=0", "--set", "A.gpu0.invalidate_ns=20000")
# The seed is one of those by which the write of a page table entry rests in the host data path.
WORST_GPU = ("--set", "A.gpu0.profile=2", "--set", "A.gpu0.invalidate_ns=0", "--set", "A.gpu0.seed=3")


def explorer_finds_a_step_that_the_driver_of_a_gpu_leaves_out():
    """Each of them by what waves or a copy engine do with pages that are gone, or by a doorbell that comes late; and
    nothing where none is left out."""
    late = "written after the action had returned"
    leaves = "the next owner's"
    rings = "after its BAR was taken back"
    for scenario, action, plant, world, finding in (
            ("gpu_store", "unmap", "stale_entry", PLAIN_GPU, late),
            ("gpu_load", "unmap", "stale_entry", PLAIN_GPU, leaves),
            ("gpu_load", "move", "missing_invalidation", PLAIN_GPU, leaves),
            ("gpu_copy_in", "unmap", "missing_invalidation", PLAIN_GPU, late),
            ("gpu_copy_out", "move", "missing_invalidation", PLAIN_GPU, leaves),
            ("gpu_store", "unmap", "missing_host_flush", WORST_GPU, late),
            ("gpu_store", "unmap", "unawaited_invalidation", SLOW_GPU, late),
            ("gpu_store", "unmap", "missing_rinse", PLAIN_GPU, late),
            ("gpu_copy_in", "move", "missing_rinse", PLAIN_GPU, late),
            ("gpu_doorbell", "revoke", "stale_entry", PLAIN_GPU, rings),
            ("gpu_doorbell", "disable", "missing_invalidation", PLAIN_GPU, rings),
            ("gpu_doorbell", "flr", "unawaited_invalidation", SLOW_GPU, rings),
            ("gpu_doorbell", "revoke", "missing_rinse", WORST_GPU, rings)):
        exploring = (scenario, "--inject", action, "--points", "6", "--sweep", "none", *world, *WITHOUT_DETECTOR)
        shows_again(finds((*exploring, "--plant", plant), finding))
        ran = explore(*exploring)
        expect(ran.returncode == 0, f"{exploring}: status {ran.returncode}\n{ran.stdout}{ran.stderr}")


def detector_names_the_page_of_a_gpu():
    """By which a wave has gone to memory of the host or a BAR that is somebody else's, or the line in which a store
    had rested."""
    by_page = r"page 0x[0-9a-f]+ of VMID 8.*\(page of a GPU"
    for scenario, more, found in (
            ("gpu_load", ("--victim", "host", "--inject", "unmap", "--alike", "--plant", "missing_invalidation"),
             by_page),
            # The page has its next owner before the kernel ends, which rinses: the processor is quick.
            ("gpu_store", ("--victim", "host", "--inject", "unmap", "--alike", "--plant", "missing_rinse",
                           "--set", "host.store_ns=0"),
             r"the line of 0x[0-9a-f]+ in GL2.*\(page of a GPU"),
            ("gpu_doorbell", ("--inject", "revoke", "--plant", "stale_entry"), by_page)):
        shows_again(finds((scenario, *more, "--points", "6", "--sweep", "none", *PLAIN_GPU),
                          f"stale mapping: A.gpu0 .*{found}"))


def all_is_every_subject():
    """Those that have what is to be injected; what none has is refused."""
    ran = explore("all", "--inject", "flr,unmap", "--points", "1", *SLOW)
    expect(ran.returncode in (0, 4), f"status {ran.returncode}\n{ran.stdout[-3000:]}{ran.stderr[-1000:]}")
    for row in ("write +responder +flr", "nvme_read +host +flr", "gpu_load +vram +unmap", "gpu_doorbell +drive +flr"):
        expect(re.search(row, ran.stdout), f"no row {row}: {ran.stdout}")
    refused(explore("all", "--inject", "love"), "unknown action 'love'")


def what_a_program_of_a_gpu_needs_its_fences_for():
    """Each fence and flush left out: the program fails somewhere, which one command shows again, or it is said why it
    does not; with all of them it never fails."""
    ran = explore("gpu", "--points", "2")
    expect(ran.returncode == 0, f"status {ran.returncode}\n{ran.stdout[-5000:]}{ran.stderr[-1000:]}")
    rows = {tuple(line.split()[:2]): line.split()[2:] for line in ran.stdout.splitlines()
            if re.match(r" *gpu_(nvme|rdma) +\w+ +\d+ ", line)}
    for program in ("gpu_nvme", "gpu_rdma"):
        expect(rows[program, "nothing"][2] == "0", f"{program} fails with nothing left out: {rows}")
    for needed in (("gpu_nvme", "command_before_doorbell"), ("gpu_nvme", "flush"),
                   ("gpu_rdma", "record_before_doorbell"), ("gpu_rdma", "flag_before_data"), ("gpu_rdma", "flush")):
        expect(int(rows[needed][2]) > 0, f"{needed} never fails: {rows}")
    expect("stores of a thread arrive in their order" in ran.stdout, ran.stdout)
    again = re.search(r"again: hcasim (.*command_before_doorbell.*)", ran.stdout)
    shown = subprocess.run([PROGRAM, *again[1].split()], capture_output=True, text=True, timeout=250, check=False)
    expect(shown.returncode == 1 and "without command_before_doorbell" in shown.stdout, shown.stdout)


def a_fence_whose_adversary_stays_away_has_not_been_tested():
    """No cache of a coherent GPU answers for what PCIe has written."""
    ran = explore("gpu_nvme", "--inject", "nothing,flush", "--points", "1", "--set", "A.gpu0.profile=1")
    expect(ran.returncode == 4, f"status {ran.returncode}\n{ran.stdout}{ran.stderr}")
    expect("gpu_nvme without flush: tested nothing" in ran.stdout, ran.stdout)


def explorer_refuses_mistakes():
    refused(explore("gpu", "--inject", "love"), "unknown fence 'love'", "command_before_doorbell")
    refused(explore("gpu_nvme", "--set", "A.gpu0.profile=9"), "A.gpu0.profile")
    for option in (("--victim", "host"), ("--plant", "missing_drain"), ("--every", "2"), ("--monitor",)):
        refused(explore("gpu", *option), "programs of a GPU", "--inject")
    refused(explore("nvme_read", "--inject", "migrate"), "unknown action 'migrate'", "delete_queue")
    # It has run the transfer to know its points, of which a sanitizer may have had something to say.
    ran = explore("write", "--at", "99999", "--sweep", "none", "--inject", "revoke")
    expect(ran.returncode == 2 and "--at 99999: this run has points 0 to " in ran.stderr, (ran.returncode, ran.stderr))
    refused(explore("write", "--late"), "--late", "--at or --every")
    refused(explore("nvme_read", "--importers", "3"), "--importers 3", "HCAs")
    for one in ("scenario.name=kv", "traffic.messages=3"):
        refused(explore("write", "--set", one), f"--set {one}", "transfers of its own")
    for option in ("--points", "--every", "--jobs"):
        ran = explore("write", option, "0")
        refused(ran, option)
        expect(len(ran.stderr) < 200, f"a range with a number of hundreds of digits: {ran.stderr}")
    refused(explore("jump"), "unknown scenario 'jump'", " write ", " nvme_read ", " gpu_doorbell;", " gpu_rdma ")
    for names in ("rdma,jump", "write,jump", "nvme,jump", "nvme_read,jump"):
        refused(explore(names), "unknown scenario 'jump'")
    for names in ("rdma,nvme", "write,nvme_read", "write,gpu_rdma"):
        refused(explore(names), "one kind at a time")
    refused(explore("nvme_read", "--inject", "revoke", "--set", "iommu.present=false"), "--inject revoke",
            "remapping unit")
    refused(explore("write", "--inject", "love"), "unknown action 'love'", "revoke")
    refused(explore("write", "--inject", "release+revoke"), "'release+revoke' cannot be")
    refused(explore("write", "--victim", "you"), "unknown side 'you'", "responder")
    refused(explore("write", "--plant", "tree"), "unknown mistake 'tree'", "stale_key")
    refused(explore("write", "--inject", "release", "--set", "iommu.present=false"), "remapping unit", "iommu.present")
    refused(explore("write", "--plant", "missing_invalidation", "--set", "iommu.present=false"), "remapping unit",
            "iommu.present")
    refused(explore("write", "--set", "hca.packets_per_turn=0"), "hca.packets_per_turn")


main(globals())
