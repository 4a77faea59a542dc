#!/usr/bin/python3
"""dissector.py tables PROGRAM FOLDER: the tables of the dissector in FOLDER are those that PROGRAM makes of abi/.
dissector.py transcript PROGRAM FOLDER: what tshark reads with the dissector in a recording that PROGRAM writes, held
against what the rooms of the recorded HCA have said in the same recording.
dissector.py damage PROGRAM FOLDER: the same with a dissector that is wrong somewhere; each must be noticed.
dissector.py malformed PROGRAM FOLDER: records that are cut or spoilt do not stop it.
dissector.py alone PROGRAM FOLDER: the Lua of later Wiresharks reads the same, in sound records and in spoilt ones."""
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile

FIELDS = [
    "frame.number", "hcasim.record", "hcasim.cause_frame", "record_mark.cause", "signal.code", "signal.number",
    "hcasim.tlp", "hcasim.address", "hcasim.length", "hcasim.bar", "hcasim.bar_offset", "hcasim.answers",
    "hcasim.structure", "hcasim.what", "hcasim.command", "hcasim.queue", "hcasim.key", "hcasim.payload",
    "hcasim.malformed", "hcasim.event", "hcasim.source", "hcasim.text", "payload_reference.length", "command_in.opcode",
    "create_qp_in.opcode", "command_queue_entry.owner", "command_out.status", "create_qp_out.qpn",
    "create_cq_out.cqn", "create_eq_out.eq_number", "send_doorbell.qpn", "cq_doorbell.cqn", "wqe_ctrl_seg.qpn",
    "wqe_ctrl_seg.opcode", "wqe_ctrl_seg.wqe_index", "wqe_raddr_seg.raddr", "wqe_raddr_seg.rkey",
    "wqe_data_seg.byte_count", "wqe_data_seg.addr", "wqe_data_seg.lkey",
    "wqe_inline_seg.byte_count", "cqe64.qpn", "cqe64.opcode", "cqe64.wqe_counter",
    "eqe.event_type", "eqe_comp.cqn", "eqe_cmd.vector", "qp_doorbell_record.send_counter",
    "initial_seg.command_doorbell_vector", "event.command_executed.opcode", "event.command_executed.status",
    "event.wqe_fetched.qpn", "event.wqe_fetched.opcode", "event.wqe_fetched.index", "event.wqe_fetched.length",
    "event.doorbell_rung.qpn", "event.doorbell_rung.uar", "event.doorbell_rung.producer",
    "event.completion_armed.cqn", "event.completion_written.cqn", "event.completion_written.qpn",
    "event.completion_written.opcode", "event.completion_written.wqe_counter", "event.event_written.eqn",
    "event.event_written.type", "_ws.lua.error",
]
FIELDS = [field if field.startswith(("frame.", "hcasim.", "_ws.")) else "hcasim." + field for field in FIELDS]
ERRORS = "_ws.lua.error"
PAGE = 4096


def tshark(trace, folder, *arguments):
    """Rows of the fields, by their names, and what tshark complains about."""
    command = ["tshark", "-n", "-X", f"lua_script:{folder}/hcasim.lua", "-r", trace, *arguments, "-T", "fields"]
    for field in FIELDS:
        command += ["-e", field]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    rows = [dict(zip(FIELDS, line.split("\t"))) for line in ran.stdout.splitlines()]
    words = [line for line in ran.stderr.splitlines() if line and "Running as user" not in line]
    return [Row(row) for row in rows], ran.returncode, " ".join(words)


class Row(dict):
    """A frame; fields by their names without "hcasim."."""
    def text(self, name):
        return self.get("hcasim." + name, "")

    def has(self, name):
        return self.text(name) != ""

    def number(self, name, place=0):
        return int(self.text(name).split(",")[place], 0)

    def sum(self, name):
        return sum(int(part, 0) for part in self.text(name).split(",")) if self.has(name) else 0

    def count(self, name):
        return len(self.text(name).split(",")) if self.has(name) else 0


def row_number(row, name):
    return row.number(name) if row.has(name) else None


def events(rows, event, *members):
    return [tuple(row.number(f"event.{event}.{member}") for member in members)
            for row in rows if row.has(f"event.{event}.{members[0]}")]


def seen(rows, structure, *fields):
    """The values of fields in all accesses of a structure that have them, one for each time that a frame has it."""
    return [tuple(row.number(field, min(place, row.count(field) - 1)) for field in fields)
            for row in rows if row.text("structure") == structure and row.has(fields[-1])
            for place in range(row.count(fields[-1]))]


def in_step(rows):
    """Whatever the HCA says it has done is read in what it did."""
    read = [row for row in rows if row.text("tlp") == "CplD"]
    written = [row for row in rows if row.text("tlp") == "MWr"]
    # A WQE that comes whole with its doorbell: neither it nor the doorbell record is read.
    came = [row for row in written if row.text("structure") == "blue_flame" and row.has("wqe_ctrl_seg.qpn")]
    rung_by_wqe = {row.number("wqe_ctrl_seg.qpn") for row in came}
    wqes = [row for row in rows if row in came or (row in read and row.has("wqe_ctrl_seg.qpn"))]
    fetch = ["wqe_ctrl_seg." + member for member in ("qpn", "opcode", "wqe_index")]
    finish = ["qpn", "opcode", "wqe_counter"]
    pairs = [
        ("commands", events(rows, "command_executed", "opcode"),
         seen(read, "command_queue_entry", "command_in.opcode")),
        ("answers", events(rows, "command_executed", "status"),
         seen(written, "command_queue_entry", "command_out.status")),
        ("doorbells", events(rows, "doorbell_rung", "qpn", "uar"),
         [(row.number("wqe_ctrl_seg.qpn" if row in came else "send_doorbell.qpn"), row.number("bar_offset") // PAGE)
          for row in written
          if row in came or (row.text("structure") == "send_doorbell" and row.has("send_doorbell.qpn"))]),
        ("doorbell records", [(producer,) for qpn, producer in events(rows, "doorbell_rung", "qpn", "producer")
                              if qpn not in rung_by_wqe],
         seen(read, "qp_doorbell_record", "qp_doorbell_record.send_counter")),
        ("armed queues", events(rows, "completion_armed", "cqn"), seen(written, "cq_doorbell", "cq_doorbell.cqn")),
        ("WQEs", events(rows, "wqe_fetched", "qpn", "opcode", "index"),
         [value for row in wqes for value in seen([row], row.text("structure"), *fetch)]),
        ("lengths", events(rows, "wqe_fetched", "length"),
         [(row.sum("wqe_data_seg.byte_count") + row.sum("wqe_inline_seg.byte_count"),) for row in wqes]),
        ("completions", events(rows, "completion_written", *finish),
         seen(written, "cqe64", *["cqe64." + member for member in finish])),
        ("their queues", events(rows, "completion_written", "cqn"), seen(written, "cqe64", "queue")),
        ("events", events(rows, "event_written", "eqn", "type"), seen(written, "eqe", "queue", "eqe.event_type")),
    ]
    for name, said, found in pairs:
        if not said:
            yield f"{name}: the recording has none"
        if said != found:
            yield f"{name}: the HCA has said {said}, the dissector reads {found}"


def first_write(rows, facts):
    """The WRITE, as the program that made it knows it: from the store of the driver to the interrupt, by the fields."""
    qpn, length, rkey, lkey, address = facts
    wqe = next((place for place, row in enumerate(rows) if row.has("wqe_raddr_seg.raddr")), None)
    if wqe is None:
        yield "the first WRITE: no WQE"
        return
    meant = {"wqe_ctrl_seg.qpn": qpn, "wqe_raddr_seg.raddr": address, "wqe_raddr_seg.rkey": rkey,
             "wqe_data_seg.byte_count": length, "wqe_data_seg.lkey": lkey}
    read = {field: row_number(rows[wqe], field) for field in meant}
    if read != meant:
        yield f"the first WRITE is {meant}, the dissector reads {read}"
    if not any(row.text("structure") == "send_doorbell" for row in rows[:wqe]):
        yield "the first WRITE: no send doorbell in front of it"
    steps = [
        ("payload", lambda row: row.text("tlp") == "CplD" and row_number(row, "key") == lkey
         and row.text("address") == rows[wqe].text("wqe_data_seg.addr") and len(row.text("payload")) == 2 * length),
        ("CQE", lambda row: row.text("structure") == "cqe64"),
        ("EQE", lambda row: row.has("eqe_comp.cqn")),
        ("interrupt", lambda row: row.text("what").startswith("interrupt")),
    ]
    place = wqe
    for name, fits in steps:
        place = next((n for n in range(place + 1, len(rows)) if fits(rows[n])), None)
        if place is None:
            yield f"the first WRITE: no {name} after what must be in front of it"
            return
    states = [row.text("command") for row in rows if row.text("structure") == "command_queue_entry"
              and row.text("tlp") == "CplD"]
    wanted = ["ENABLE_HCA", "INIT_HCA", "CREATE_EQ", "ALLOC_PD", "CREATE_CQ", "CREATE_MKEY", "CREATE_QP", "RST2INIT_QP",
              "INIT2RTR_QP", "RTR2RTS_QP", "2RST_QP"]
    left = iter(states)
    if not all(name in left for name in wanted):
        yield f"the commands are {states}"
    made = [row.number("create_qp_out.qpn") for row in rows if row.has("create_qp_out.qpn")]
    if qpn not in made:
        yield f"CREATE_QP has made {made}, not {qpn}"
    received = [row.sum("wqe_data_seg.byte_count") for row in rows if row.text("structure") == "receive_wqe"
                and row.text("tlp") == "CplD"]
    if received[:1] != [2048]:
        yield f"the receive WQE has {received} bytes, not 2048"
    if not any(row.text("structure") == "blue_flame" for row in rows):
        yield "no WQE goes through BlueFlame"


def links(rows):
    """Numbers of records, causes and answers, counted again here."""
    record = 0
    frame_of = {}
    for row in rows:
        if row.has("record"):
            record += 1
            frame_of[record] = int(row["frame.number"])
            if row.number("record") != record:
                yield f"frame {row['frame.number']} is record {record}, the dissector reads {row.text('record')}"
        if row.has("record_mark.cause") and row.number("record_mark.cause") != 0:
            cause = frame_of.get(row.number("record_mark.cause"))
            if row.text("cause_frame") != str(cause):
                yield f"frame {row['frame.number']} is caused by {cause}, not by {row.text('cause_frame')}"
        if row.text("tlp") in ("Cpl", "CplD"):
            asked = rows[row.number("answers") - 1] if row.has("answers") else None
            if asked is None or asked.text("tlp") != "MRd" or asked.number("address") != row.number("address"):
                yield f"frame {row['frame.number']} answers no read"
    if record == 0:
        yield "no record has a number"


def findings_of(trace, folder, facts):
    rows, code, words = tshark(trace, folder)
    if code != 0 or words:
        yield f"tshark ends with {code}: {words}"
    for row in rows:
        for field in ("hcasim.malformed", ERRORS):
            if row.get(field):
                yield f"frame {row['frame.number']}: {row[field]}"
    yield from in_step(rows)
    yield from first_write(rows, facts)
    yield from links(rows)
    texts = [row.text("text") for row in rows]
    for text in ("witness", "mtu = 4096\\n", "left.hca"):
        if text not in texts:
            yield f"no custom block says {text}"
    if any(row.has("event") and row.text("source") != "left.hca" for row in rows):
        yield "an event without its source"
    # Without a filter the first pass has no fields; with one, the second pass is a second look.
    for arguments in (["-2"], ["-2", "-R", "frame"]):
        if tshark(trace, folder, *arguments)[0] != rows:
            yield f"with {' '.join(arguments)} the frames show something else"


def beginnings(trace, folder):
    """BAR 0 is an HCA's after its revision was read, or when the user says so."""
    for arguments, structure in ([], ""), (["-o", "hcasim.always:TRUE"], "initial_seg"):
        rows = tshark(trace, folder, "-c", "10", *arguments)[0]
        first = next((row for row in rows if row.text("tlp") == "CplD"), Row())
        if first.text("structure") != structure:
            yield f"with {arguments} the first read is of {first.text('structure')!r}, not of {structure!r}"


def recorded(program, directory):
    """A recording, and what its program says of it."""
    trace = os.path.join(directory, "trace.pcapng")
    ran = subprocess.run([program, trace], check=True, capture_output=True, text=True)
    return trace, [int(word) for word in ran.stdout.split()]


def transcript(program, folder):
    with tempfile.TemporaryDirectory() as directory:
        trace, facts = recorded(program, directory)
        return [*findings_of(trace, folder, facts), *beginnings(trace, folder)]


# What a dissector may have wrong, each a text of a file and what stands there instead.
WRONG = [
    ("hcasim_tables.lua", '{"wqe_counter", 480, 16}', '{"wqe_counter", 464, 16}'),
    ("hcasim_tables.lua", '{"raddr", 0, 64}', '{"raddr", 64, 64}'),
    ("hcasim_tables.lua", '"RST2INIT_QP"', '"INIT2INIT_QP"'),
    ("hcasim_tables.lua", '"DoorbellRung", {"qpn", 4}', '"DoorbellRung", {"qpn", 2}'),
    ("hcasim_tables.lua", "uar_cq_doorbell = 32", "uar_cq_doorbell = 16"),
    ("hcasim.lua", "note.record = pinfo", "note.record = 1 + pinfo"),
    ("hcasim.lua", "pinfo.number - state.custom", "pinfo.number"),
    ("hcasim.lua", "state.entries[data:sub(from + 1, from + 16)] = rest", ""),
    ("hcasim.lua", "if is_new then understand", "if true then understand"),
    ("hcasim.lua", "not number_of()", "false"),
    ("hcasim_device.lua", "status == 0 then effect", "status == 1 then effect"),
    ("hcasim_device.lua", 'begin = of("page_offset") * 64', "begin = 64"),
    ("hcasim_device.lua", "begin = begin + area.bytes", ""),
    ("hcasim_device.lua", "inside >= begin + layouts.size", "inside < begin + layouts.size"),
    ("hcasim_wqe.lua", 'if part.remote then segment', 'if part.atomic then segment'),
]


def damage(program, folder):
    missed = []
    with tempfile.TemporaryDirectory() as directory:
        trace, facts = recorded(program, directory)
        for number, (name, right, wrong) in enumerate(WRONG):
            copy = pathlib.Path(directory) / f"copy{number}"
            shutil.copytree(folder, copy)
            text = (copy / name).read_text(encoding="utf-8")
            if right not in text:
                missed.append(f"{name} has no {right}")
            (copy / name).write_text(text.replace(right, wrong, 1), encoding="utf-8")
            if next(findings_of(trace, copy, facts), None) is None:  # the first one is enough
                missed.append(f"nobody notices that {name} has {wrong!r} instead of {right!r}")
    return missed


# --- records that are no records ---

PACKET = 6
PACKET_HEAD = 28  # type, length, interface, time, captured and original length


def blocks(data):
    at = 0
    while at < len(data):
        length = struct.unpack_from("<I", data, at + 4)[0]
        yield data[at:at + length]
        at += length


def packet(block, data, original):
    padded = data + bytes(-len(data) % 4)
    head = bytearray(block[:PACKET_HEAD])
    length = PACKET_HEAD + len(padded) + 4
    struct.pack_into("<I", head, 4, length)
    struct.pack_into("<II", head, 20, len(data), max(original, len(data)))
    return bytes(head) + padded + struct.pack("<I", length)


def spoilt(data, generator):
    """The recording with each record cut somewhere, or with other bytes, in front of the record itself."""
    out = []
    for block in blocks(data):
        if struct.unpack_from("<I", block)[0] == PACKET:
            captured, original = struct.unpack_from("<II", block, 20)
            record = block[PACKET_HEAD:PACKET_HEAD + captured]
            out.append(packet(block, record[:generator.randrange(captured)], original))
            other = bytearray(record)
            for _ in range(generator.choice((1, 1, 2, 8))):
                other[generator.randrange(captured)] = generator.choice((0, 1, 0x7f, 0x80, 0xff))
            out.append(packet(block, bytes(other), original))
        out.append(block)
    return b"".join(out)


def malformed(program, folder):
    findings = []
    with tempfile.TemporaryDirectory() as directory:
        trace, _ = recorded(program, directory)
        whole = pathlib.Path(trace).read_bytes()
        said = 0
        for seed in range(4):
            generator = random.Random(seed)
            pathlib.Path(trace).write_bytes(spoilt(whole, generator))
            rows, code, words = tshark(trace, folder)
            said += sum(row.has("malformed") for row in rows)
            errors = [f"frame {row['frame.number']}: {row[ERRORS]}" for row in rows if row[ERRORS]]
            if code != 0 or words or errors:
                findings.append(f"seed {seed}: tshark ends with {code}: {words} {errors[:3]}")
        if said == 0:
            findings.append("no record is called malformed")
        # The same with a dissector that trusts what it reads: then there are errors to be seen.
        copy = pathlib.Path(directory) / "copy"
        shutil.copytree(folder, copy)
        text = (copy / "hcasim.lua").read_text(encoding="utf-8")
        guard = 'if buffer:captured_len() < mark_bytes then return malformed(tree, pinfo, "no mark") end'
        (copy / "hcasim.lua").write_text(text.replace(guard, ""), encoding="utf-8")
        if not any(row[ERRORS] for row in tshark(trace, copy)[0]):
            findings.append("nobody notices an error in Lua")
    return findings


def alone(program, folder):
    interpreter = shutil.which("lua5.4")
    if interpreter is None:
        return ["no lua5.4: the package of that name has it"]
    script = pathlib.Path(__file__).with_name("dissector_alone.lua")
    findings = []
    with tempfile.TemporaryDirectory() as directory:
        trace, _ = recorded(program, directory)
        whole = pathlib.Path(trace).read_bytes()
        for name in ("sound", "spoilt"):
            ran = subprocess.run([interpreter, script, folder, trace], capture_output=True, text=True, check=False)
            if ran.returncode != 0:
                findings.append(f"{name}: {ran.stderr}")
            names, *lines = ran.stdout.splitlines() or [""]
            read = [dict(zip(names.split("\t"), line.split("\t"))) for line in lines]
            said = [{field: row[field] for field in names.split("\t")} for row in tshark(trace, folder)[0]]
            differing = [(a, b) for a, b in zip(read, said) if a != b]
            if differing or len(read) != len(said):
                findings.append(f"{name}: {len(read)} frames, tshark has {len(said)}; of them differ {differing[:3]}")
            pathlib.Path(trace).write_bytes(spoilt(whole, random.Random(0)))
    return findings


def tables(program, folder):
    written = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    path = pathlib.Path(folder) / "hcasim_tables.lua"
    if path.read_text(encoding="utf-8") != written:
        return [f"{path} is not what abi/ and traces/ have: {program} > {path}"]
    return []


if __name__ == "__main__":
    found = {"tables": tables, "transcript": transcript, "damage": damage,
             "malformed": malformed, "alone": alone}[sys.argv[1]](sys.argv[2], sys.argv[3])
    print("\n".join(found) if found else "nothing found")
    sys.exit(1 if found else 0)
