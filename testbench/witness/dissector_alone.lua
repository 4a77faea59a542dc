-- dissector_alone.lua FOLDER TRACE: runs the dissector in FOLDER without Wireshark, over a recording that is not
-- compressed, and prints fields of each frame: dissector.py compares them with tshark's. The Lua that runs this may be
-- another one than tshark's. Of Wireshark it has only what the dissector uses.
local folder, path = arg[1], arg[2]
local printed = {"hcasim.record", "hcasim.tlp", "hcasim.structure", "hcasim.what", "hcasim.command", "hcasim.queue",
                 "hcasim.event", "hcasim.length", "hcasim.malformed", "hcasim.cqe64.wqe_counter",
                 "hcasim.wqe_data_seg.byte_count", "hcasim.eqe.event_type", "hcasim.event.wqe_fetched.length"}

--- An integer, whatever form the arithmetic has given it; Wireshark takes no other.
local function whole(number)
    assert(type(number) == "number" and number == math.floor(number), "not an integer")
    return math.floor(number)
end

-- --- bytes ---

local Range, Buffer = {}, {}
Range.__index, Buffer.__index = Range, Buffer
function Buffer:captured_len() return #self.text end
function Buffer:range(at, length)
    at = whole(at or 0)
    length = whole(length or #self.text - at)
    assert(at >= 0 and length >= 0 and at + length <= #self.text, "behind the end of the buffer")
    return setmetatable({text = self.text:sub(at + 1, at + length)}, Range)
end
local function number_of(text)
    local value = 0
    for n = 1, #text do value = value * 256 + text:byte(n) end
    return value
end
function Range:bitfield(bit, count)
    if count > 32 then return {} end -- an object of Wireshark
    local first, last = math.floor(bit / 8), math.floor((bit + count - 1) / 8)
    assert(last < #self.text, "behind the end of the range")
    local value = number_of(self.text:sub(first + 1, last + 1))
    return math.floor(value / 2 ^ ((last + 1) * 8 - bit - count)) % math.floor(2 ^ count)
end
function Range:le_uint()
    assert(#self.text >= 1 and #self.text <= 4, "not so many bytes")
    return number_of(self.text:reverse())
end
function Range:le_uint64()
    assert(#self.text == 8, "not so many bytes")
    return {}
end
function Range:bytes() return {raw = function() return self.text end} end
function Range:string() return self.text end
ByteArray = {new = function(text, is_raw)
    assert(is_raw == true and #text > 0)
    return {tvb = function() return setmetatable({text = text}, Buffer) end}
end}
UInt64 = {new = function(low, high) return {whole(low), whole(high)} end}

-- --- protocols, fields, trees ---

local frame, values -- of the frame in work
local known, protocols, after = {}, {}, nil
local function make_field(abbreviation)
    assert(not known[abbreviation], "twice: " .. abbreviation)
    known[abbreviation] = true
    return {abbreviation = abbreviation}
end
ProtoField = setmetatable({}, {__index = function() return make_field end})
base = setmetatable({}, {__index = function(_, name) return name end})
frametype, wtap = base, base
Pref = {bool = function(_, default) return default end}
function Proto(name) return {name = name, prefs = {}} end
function gui_enabled() return false end
Field = {new = function(name) return function() return frame and frame[name] and {value = frame[name]} end end}
DissectorTable = {get = function() return {add = function(_, name, protocol) protocols[name] = protocol end} end}
function register_postdissector(protocol) after = protocol end

local Tree = {}
Tree.__index = Tree
function Tree:add(field, first, second)
    assert(field.abbreviation or field.name, "no field")
    local value = second == nil and first or second
    if type(value) == "number" then value = whole(value) end
    if field.abbreviation and (type(value) == "number" or type(value) == "string") then
        local had = values[field.abbreviation]
        values[field.abbreviation] = (had and had .. "," or "") .. value
    end
    return self
end

-- --- the recording ---

dofile(folder .. "/hcasim.lua")
local file = assert(io.open(path, "rb"))
local data = file:read("*a")
file:close()
print("frame.number\t" .. table.concat(printed, "\t"))
local links, at, count = {}, 0, 0
local function word(place) return number_of(data:sub(place + 1, place + 4):reverse()) end
while at < #data do
    local type, length = word(at), word(at + 4)
    if type == 1 then
        links[#links + 1] = word(at + 8) % 65536
    elseif type == 6 or type == 0x0bad or type == 0x40000bad then
        count, values = count + 1, {}
        frame = {["frame.number"] = count}
        local text
        if type == 6 then
            frame["frame.interface_id"] = word(at + 8)
            text = data:sub(at + 29, at + 28 + word(at + 20))
        else
            frame["frame.cb_pen"] = word(at + 8)
            text = data:sub(at + 13, at + length - 4)
        end
        local buffer = setmetatable({text = text}, Buffer)
        local pinfo = {number = count, visited = false}
        pinfo.cols = setmetatable({}, {__newindex = function() end, __index = {info = {append = function() end}}})
        local link = links[(frame["frame.interface_id"] or -1) + 1]
        local protocol = link and protocols["USER" .. link - 147]
        if protocol then protocol.dissector(buffer, pinfo, setmetatable({}, Tree)) end
        after.dissector(buffer, pinfo, setmetatable({}, Tree))
        local row = {count}
        for _, name in ipairs(printed) do row[#row + 1] = tostring(values[name] or "") end
        print(table.concat(row, "\t"))
    end
    at = at + length
end
