-- Wireshark reads recordings: TLPs and signals of a PCIe link (link type USER0), events (USER1), and what the commands,
-- doorbells, WQEs, CQEs and EQEs in them say. README.md says how to load it, traces/FORMAT.md what stands in a file.
-- Runs in Lua 5.2 and 5.4: no bit operators, no integer division.

local folder = debug.getinfo(1, "S").source:match("^@(.*[/\\])") or ""
local function part(name) return dofile(folder .. "hcasim_" .. name .. ".lua") end
local tables = part("tables")
local layouts = part("layouts")(tables, "hcasim")
local queues = part("queue")(layouts, part("wqe")(tables, layouts))
local new_device = part("device")(tables, layouts, queues)
local read_header = part("tlp")(tables, layouts)
local events = part("event")(tables, layouts, "hcasim.event")
local constants, value = tables.constants, layouts.read

local protocol = Proto("hcasim", "hcasim recording")
local fields = {
    record = ProtoField.uint32("hcasim.record", "Record", base.DEC),
    cause_frame = ProtoField.framenum("hcasim.cause_frame", "Caused by", base.NONE),
    malformed = ProtoField.string("hcasim.malformed", "Malformed"),
    structure = ProtoField.string("hcasim.structure", "Structure"),
    signal = ProtoField.string("hcasim.signal_name", "Signal"),
    what = ProtoField.string("hcasim.what", "What"),
    command = ProtoField.string("hcasim.command", "Command"),
    slot = ProtoField.uint32("hcasim.slot", "Slot of the command queue", base.DEC),
    queue = ProtoField.uint32("hcasim.queue", "Queue", base.DEC_HEX),
    key = ProtoField.uint32("hcasim.key", "Memory key", base.HEX),
    tlp = ProtoField.string("hcasim.tlp", "TLP"),
    prefix = ProtoField.bytes("hcasim.tlp.prefix", "Prefix"),
    address = ProtoField.uint64("hcasim.address", "Address", base.HEX),
    length = ProtoField.uint32("hcasim.length", "Bytes", base.DEC),
    bar = ProtoField.uint32("hcasim.bar", "BAR", base.DEC),
    bar_offset = ProtoField.uint64("hcasim.bar_offset", "Offset in the BAR", base.HEX),
    answers = ProtoField.framenum("hcasim.answers", "Answer to", base.NONE, frametype.RESPONSE),
    payload = ProtoField.bytes("hcasim.payload", "Payload"),
    event = ProtoField.string("hcasim.event", "Event"),
    source = ProtoField.string("hcasim.source", "Source"),
    text = ProtoField.string("hcasim.text", "Text"),
}
local all_fields = {}
for _, field in pairs(fields) do all_fields[#all_fields + 1] = field end
for _, field in ipairs(layouts.fields) do all_fields[#all_fields + 1] = field end

for _, field in ipairs(events.fields) do all_fields[#all_fields + 1] = field end
protocol.fields = all_fields
protocol.prefs.always = Pref.bool("Every function is an HCA", false,
    "Take BAR 0 of each function for an HCA's, though nobody has read the revision of its command interface")

local interface_of = Field.new("frame.interface_id")
local enterprise_of = Field.new("frame.cb_pen")
local number_of = Field.new("frame.number")
if gui_enabled() then Listener.new("frame", nil, true) end -- or there would be no fields while a file is loaded

-- What the frames so far have said.
local state
local function forget()
    state = {custom = 0, frames = {}, frame_of = {}, entries = {}, sources = {}, devices = {}}
end
protocol.init = forget
forget()

local mark_bytes = layouts.size("record_mark")
local reference_bytes = layouts.size("payload_reference")

--- What is kept of a frame for later looks at it, and whether this is the first, at which it may change the state. The
--- first pass of `tshark -2` has no fields, so that a frame does not tell its interface: there the second is the first.
local function note_of(pinfo)
    local note = state.frames[pinfo.number]
    if note then return note, false end
    if not number_of() then return {}, false end
    note = {}
    if enterprise_of() then
        state.custom = state.custom + 1
    else
        note.record = pinfo.number - state.custom
        state.frame_of[note.record] = pinfo.number
    end
    state.frames[pinfo.number] = note
    return note, true
end

local function device_of()
    local interface = interface_of()
    local key = interface and interface.value or 0
    local device = state.devices[key]
    if not device then
        device = {hca = new_device(), reads = {}, tags = {}}
        state.devices[key] = device
    end
    device.hca.is_hca = device.hca.is_hca or protocol.prefs.always
    return device
end

local function malformed(tree, pinfo, why)
    tree:add(fields.malformed, why)
    pinfo.cols.info:append(" [malformed: " .. why .. "]")
end

-- --- TLPs ---

--- Where the payload is: in the frame, or in an entry of the dictionary.
local function find_payload(buffer, header, mark, note)
    local at = header.at + header.size
    local left = buffer:captured_len() - at
    if not header.has_data then return nil end
    if math.floor(mark.flags / constants.by_reference) % 2 == 0 then
        if left < header.dwords * 4 then return nil, "the payload is cut off" end
        return {bytes = buffer:range(at, header.dwords * 4):bytes():raw(), at = at}
    end
    if left < reference_bytes then return nil, "the reference is cut off" end
    local bytes = buffer:range(at, reference_bytes):bytes():raw()
    local from = layouts.offset("payload_reference", "digest")
    note.entry = note.entry or state.entries[bytes:sub(from + 1, from + 16)]
    local offset = layouts.value(bytes, 0, "payload_reference", "offset")
    local length = layouts.value(bytes, 0, "payload_reference", "length")
    if not note.entry then return {reference = at} end
    if offset + length > #note.entry then return {reference = at}, "the reference leaves its entry" end
    return {reference = at, bytes = note.entry:sub(offset + 1, offset + length)}
end

--- A read, so that its completions find it. Reads of one access follow as continuations.
local function remember_read(device, header, mark, note, number)
    local read = {frame = number, page = header.page, offset = header.offset, length = header.length,
                  direction = mark.direction}
    if mark.kind == "continuation" and device.asking then
        table.insert(device.asking, read)
    else
        device.asking = {read, answered = 0}
        device.reads[note.record] = device.asking
    end
    device.tags[header.key .. ":" .. mark.direction] = read
end

local opposite = {inbound = "outbound", outbound = "inbound"}
--- The read that a completion answers: by its cause, else by its tag.
local function find_read(device, header, mark)
    local reads = device.reads[mark.cause]
    if mark.cause == 0 then
        local key = header.key .. ":" .. (opposite[mark.direction] or "")
        local read = device.tags[key]
        device.tags[key] = nil
        return read
    end
    if not reads then return nil end
    reads.answered = reads.answered + 1
    if reads.answered >= #reads then device.reads[mark.cause] = nil end
    return reads[reads.answered]
end

--- What a TLP means to the device; at the first pass.
local function understand(header, payload, mark, note, number)
    local device = device_of()
    local access = {page = header.page, offset = header.offset, is_write = header.has_data}
    local direction = mark.direction
    if header.type == "completion" then
        local read = find_read(device, header, mark)
        if not read then return end
        note.answers, note.address = read.frame, read
        access.page, access.offset, access.is_write = read.page, read.offset, false
        direction = read.direction
        if not header.has_data then return end
    elseif header.type ~= "memory" then
        return
    elseif not header.has_data then
        remember_read(device, header, mark, note, number)
    end
    if payload and payload.bytes then
        access.bytes = payload.bytes:sub(header.lead + 1, header.lead + header.length)
    end
    if direction == "inbound" then
        note.bar, note.position = device.hca:bar_of(access.page, access.offset)
        if note.bar then note.meaning = device.hca:register(access, note.bar, note.position) end
    else
        note.meaning = device.hca:memory(access)
    end
end

local function add_meaning(tree, buffer, header, payload, meaning)
    for _, row in ipairs({"structure", "what", "command", "slot", "queue", "key"}) do
        if meaning[row] then tree:add(fields[row], meaning[row]) end
    end
    local whole, at = buffer, nil
    if payload and payload.bytes then
        at = payload.at
        if not at then
            whole, at = ByteArray.new(payload.bytes, true):tvb("Payload of the dictionary"), 0
        end
    end
    for _, view in ipairs(meaning.views) do
        if view.bytes then
            if #view.bytes > 0 then
                local put = ByteArray.new(view.bytes, true):tvb(view.layout)
                layouts.add(tree, put, view.layout, 0, #view.bytes, 0)
            end
        elseif at then
            local most = math.min(view.length, #payload.bytes - header.lead - view.at)
            layouts.add(tree, whole, view.layout, at + header.lead + view.at, most, view.first or 0)
        end
    end
end

local function dissect_tlp(buffer, pinfo, tree, mark, note, is_new)
    local header, why = read_header(buffer, mark_bytes)
    if not header then return malformed(tree, pinfo, why) end
    for _, at in ipairs(header.prefixes) do tree:add(fields.prefix, buffer:range(at, constants.pasid_prefix_bytes)) end
    tree:add(fields.tlp, buffer:range(header.at, header.size), header.name)
    layouts.add(tree, buffer, header.layout, header.at, header.size, 0)
    local payload, wrong = find_payload(buffer, header, mark, note)
    if wrong then malformed(tree, pinfo, wrong) end
    if is_new then understand(header, payload, mark, note, pinfo.number) end

    local place = header.page and header or note.address
    if place then
        local high, low = math.floor(place.page / 1048576), place.page % 1048576 * 4096 + place.offset
        tree:add(fields.address, UInt64.new(low, high))
    end
    if header.length then tree:add(fields.length, header.length) end
    if note.answers then tree:add(fields.answers, note.answers) end
    if note.bar then
        tree:add(fields.bar, note.bar)
        tree:add(fields.bar_offset, UInt64.new(note.position % 4294967296, math.floor(note.position / 4294967296)))
    end
    if payload and payload.reference then
        layouts.add(tree, buffer, "payload_reference", payload.reference, reference_bytes, 0)
    end
    if payload and payload.bytes and header.length and #payload.bytes > 0 then
        if payload.at then
            tree:add(fields.payload, buffer:range(payload.at, #payload.bytes))
        else
            tree:add(fields.payload, ByteArray.new(payload.bytes, true):tvb("Payload of the dictionary"):range())
        end
    end
    if note.meaning then add_meaning(tree, buffer, header, payload, note.meaning) end
    local what = note.meaning and (note.meaning.what or note.meaning.structure)
    pinfo.cols.info:append(header.name .. (what and " " .. what or ""))
end

-- --- signals, events ---

-- Signals that a transcript has; the others are what a replay needs.
local told = {interrupt = "interrupt %d", reset = "reset", bar_address = "BAR %d", no_answer = "no answer",
              link = "the cable's other end", turn = "its end of the cable"}

local function dissect_signal(buffer, pinfo, tree, mark, is_new)
    if buffer:captured_len() < mark_bytes + layouts.size("signal") then return malformed(tree, pinfo, "no signal") end
    layouts.add(tree, buffer, "signal", mark_bytes, layouts.size("signal"), 0)
    local function of(row) return value(buffer, mark_bytes, "signal", row) end
    local name = layouts.id("signal", "code", of("code"))
    if is_new then
        local device = device_of()
        if name == "bar_address" then
            local at = mark_bytes + layouts.offset("signal", "value")
            local page, offset = layouts.address_of(buffer:range(at + 4, 4):le_uint(), buffer:range(at, 4):le_uint())
            device.hca:bar_is(of("number"), page, offset)
        elseif name == "reset" and mark.direction == "inbound" then
            local old = device.hca
            device.hca, device.reads, device.tags = new_device(), {}, {}
            device.hca.bars, device.hca.is_hca = old.bars, old.is_hca
        end
    end
    tree:add(fields.signal, name)
    local what = told[name] and string.format(told[name], of("number"))
    if what then tree:add(fields.what, what) end
    pinfo.cols.info:append(what or name)
end

local function dissect_event(buffer, pinfo, tree)
    local at = mark_bytes + layouts.size("event_head")
    if buffer:captured_len() < at then return malformed(tree, pinfo, "no event") end
    layouts.add(tree, buffer, "event_head", mark_bytes, layouts.size("event_head"), 0)
    local function of(row) return value(buffer, mark_bytes, "event_head", row) end
    local source = state.sources[of("source")]
    if source then tree:add(fields.source, source) end
    local name, wrong = events.add(tree, buffer, at, of("type"))
    if name then
        tree:add(fields.event, name)
        pinfo.cols.info:append(name)
    end
    if wrong then malformed(tree, pinfo, wrong) end
end

function protocol.dissector(buffer, pinfo, root)
    local note, is_new = note_of(pinfo)
    note.is_ours = true
    pinfo.cols.protocol = "hcasim"
    pinfo.cols.info = ""
    local tree = root:add(protocol, buffer:range())
    if note.record then tree:add(fields.record, note.record) end
    if buffer:captured_len() < mark_bytes then return malformed(tree, pinfo, "no mark") end
    layouts.add(tree, buffer, "record_mark", 0, mark_bytes, 0)
    local function of(row) return value(buffer, 0, "record_mark", row) end
    if of("version") ~= constants.format_version then return malformed(tree, pinfo, "a record of another version") end
    local mark = {kind = layouts.id("record_mark", "kind", of("kind")), flags = of("flags"), cause = of("cause"),
                  direction = layouts.id("record_mark", "direction", of("direction"))}
    if state.frame_of[mark.cause] then tree:add(fields.cause_frame, state.frame_of[mark.cause]) end
    if mark.kind == "signal" then
        dissect_signal(buffer, pinfo, tree, mark, is_new)
    elseif mark.kind == "event" then
        dissect_event(buffer, pinfo, tree)
    elseif mark.kind == "request" or mark.kind == "completion" or mark.kind == "continuation" then
        dissect_tlp(buffer, pinfo, tree, mark, note, is_new)
    else
        malformed(tree, pinfo, "a record of another kind")
    end
end
local encapsulations = DissectorTable.get("wtap_encap")
encapsulations:add(wtap.USER0, protocol)
encapsulations:add(wtap.USER1, protocol)

-- --- every frame: its number as a record, and the custom blocks, which Wireshark counts as frames ---

local every = Proto("hcasim_block", "hcasim block")
local head_at = layouts.offset("trace_block", "magic")

local function dissect_block(buffer, tree, is_new)
    local head_bytes = layouts.size("trace_block") - head_at
    if buffer:captured_len() < head_bytes then return end
    local head = string.rep("\0", head_at) .. buffer:range(0, head_bytes):bytes():raw()
    if head:sub(head_at + 1, head_at + #constants.magic) ~= constants.magic then return end
    local branch = tree:add(protocol, buffer:range())
    layouts.add(branch, buffer, "trace_block", 0, head_bytes, head_at)
    local name = layouts.id("trace_block", "kind", layouts.value(head, 0, "trace_block", "kind"))
    local length = math.min(layouts.value(head, 0, "trace_block", "length"), buffer:captured_len() - head_bytes)
    branch:add(fields.structure, name)
    if length <= 0 then return end
    local layout = name == "end" and "sync" or name
    local size = layouts.has(layout) and math.min(layouts.size(layout), length) or 0
    if size > 0 then layouts.add(branch, buffer, layout, head_bytes, size, 0) end
    local data = buffer:range(head_bytes, length):bytes():raw()
    local rest = data:sub(size + 1)
    if name == "identity" or name == "configuration" or name == "name" then branch:add(fields.text, rest) end
    if not is_new then return end
    if name == "entry" then
        local from = layouts.offset("entry", "digest")
        state.entries[data:sub(from + 1, from + 16)] = rest
    elseif name == "name" and size == layouts.size("name") then
        state.sources[layouts.value(data, 0, "name", "source")] = rest
    end
end

function every.dissector(buffer, pinfo, tree)
    local note, is_new = note_of(pinfo)
    local enterprise = enterprise_of()
    if enterprise then
        if enterprise.value == constants.enterprise_number then dissect_block(buffer, tree, is_new) end
    elseif note.record and not note.is_ours then
        tree:add(protocol, buffer:range()):add(fields.record, note.record)
    end
end
register_postdissector(every, true)
