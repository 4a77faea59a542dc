"""`hcasim trace import`: what others have recorded, as a person imports it."""

import subprocess

from program import PROGRAM, SCRATCH, SOURCE, expect, main, payload, refused, run


def trace(*arguments):
    return subprocess.run([PROGRAM, "trace", *arguments], capture_output=True, text=True, timeout=250, check=False)


def shown(file, *arguments):
    ran = trace("show", file, *arguments)
    expect(ran.returncode == 0, ran.stderr)
    return ran.stdout


def published_dumps_decode():
    golden = SOURCE / "traces/golden/published"
    log, out = SCRATCH / "log", SCRATCH / "out.pcapng"
    log.write_text((golden / "wqe_raw_send.txt").read_text() + (golden / "cqe_send.txt").read_text())
    ran = trace("import", "--dump", log, "--out", out)
    expect(ran.returncode == 0, ran.stderr)
    expect(ran.stdout.startswith("1 WQEs of 1 queue pairs, 1 CQEs of 1 completion queues"), ran.stdout)
    text = shown(out)
    expect("WQE 0 of QP 0x1150: SEND, a WQE of 48 bytes" in text, text)
    expect("CQE in CQ 0x4c2: QP 0x1150, requester, WQE 0" in text, text)
    for command in (["replay", out], ["trace", "reduce", out, "--out", SCRATCH / "less"]):
        ran = subprocess.run([PROGRAM, *command], capture_output=True, text=True, timeout=250, check=False)
        refused(ran, str(out), "cannot be played", "it has no configuration", "hcasim trace show")


def a_capture_drives_a_responder():
    """A capture of our own is one of RoCEv2 like any other; its WRITEs are answered by another responder."""
    for encapsulation in "roce_v2", "roce_v2_ipv6":
        capture, out = SCRATCH / "capture.pcapng", SCRATCH / "out.pcapng"
        ran = run("--pcap", capture, "--payload", payload(), "--set", f"link.encapsulation={encapsulation}",
                  "--set", "timed=false")
        expect(ran.returncode == 0, ran.stderr)
        ran = trace("import", "--roce", capture, "--out", out)
        if ran.returncode == 2 and "--flow 1" in ran.stderr:
            ran = trace("import", "--roce", capture, "--out", out, "--flow", "1")
        expect(ran.returncode == 0, ran.stderr)
        expect("NAKs (" not in ran.stdout and " 0 RNR NAKs" in ran.stdout, ran.stdout)
        expect("responder  A.root.switch.hca: " in ran.stdout, ran.stdout)
        expect(" MiB written" in ran.stdout, ran.stdout)
        text = shown(out, "--kind", "frame")
        expect("RDMA WRITE" in text and "Acknowledge" in text, text[:3000])


def refuses_mistakes():
    out = SCRATCH / "out"
    refused(trace("import", "--out", out), "--dump LOG or --roce CAPTURE")
    refused(trace("import", "--dump", SCRATCH / "nowhere", "--out", out), "nowhere")
    refused(trace("import", "--roce", SCRATCH / "nowhere", "--out", out), "nowhere", "No such file")
    refused(trace("import", "--dump", SOURCE / "README.md", "--out", out), "foreign", "MLX5_DEBUG", "byte ")
    refused(trace("import", "--roce", SOURCE / "README.md", "--out", out), "foreign", "no pcap or pcapng")
    refused(trace("import", "--roce", SOURCE / "README.md", "--flow", "x", "--out", out), "--flow")
    broken = SCRATCH / "broken"
    broken.write_text("dump wqe at 0x1000\n0000000a 00115003 00000008 00000000\n")
    refused(trace("import", "--dump", broken, "--out", out), "truncated: line 2", "begins in line 1")
    expect(not out.exists(), "a refused import has left a file")
    before = broken.read_text()
    for kind in "--dump", "--roce":
        refused(trace("import", kind, broken, "--out", broken), "--out", str(broken))
        expect(broken.read_text() == before, f"{kind}: what was to be imported is overwritten")


if __name__ == "__main__":
    main(globals())
