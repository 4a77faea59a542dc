-- Layouts of abi/ and of the trace format, read from the generated tables: a field of Wireshark for each row, and the
-- values of rows from bytes. Returns a function and has no effect of its own, so that Wireshark may load it as well.
-- Runs in Lua 5.2 and 5.4: no bit operators, no integer division; numbers stay below 2^53.

return function(tables, prefix)
    local layouts = {fields = {}}
    local names = {}  -- of an enumeration: value -> text
    local ids = {}    -- of an enumeration: value -> enumerator

    for key, rows in pairs(tables.enumerations) do
        names[key], ids[key] = {}, {}
        for _, row in ipairs(rows) do
            if row[1] < 4294967296 then -- Wireshark looks values of 32 bits up
                names[key][row[1]] = row[2]
                ids[key][row[1]] = row[3] or row[2]
            end
        end
    end

    local function field_of(abbreviation, name, bits, enumeration, is_raw)
        if is_raw then return ProtoField.bytes(abbreviation, name) end
        if bits > 32 then return ProtoField.uint64(abbreviation, name, base.HEX) end
        if enumeration then return ProtoField.uint32(abbreviation, name, base.DEC, names[enumeration]) end
        return ProtoField.uint32(abbreviation, name, bits < 8 and base.DEC or base.DEC_HEX)
    end

    local known = {}
    for name, rows in pairs(tables.layouts) do
        local layout = {name = name, size = rows.size, little = rows.little, rows = {}, row = {}}
        for _, row in ipairs(rows) do
            local abbreviation = prefix .. "." .. name .. "." .. row[1]
            local is_raw = row.raw or row[3] > 64
            local entry = {name = row[1], bit = row[2], bits = row[3], enum = row.enum, layout = row.layout,
                           is_raw = is_raw, from = math.floor(row[2] / 8), to = math.floor((row[2] + row[3] + 7) / 8)}
            if not row.layout then
                entry.field = field_of(abbreviation, row[1], row[3], row.enum, is_raw)
                layouts.fields[#layouts.fields + 1] = entry.field
            end
            layout.rows[#layout.rows + 1] = entry
            layout.row[row[1]] = entry
        end
        layout.tree = ProtoField.none(prefix .. "." .. name, name)
        layouts.fields[#layouts.fields + 1] = layout.tree
        known[name] = layout
    end

    --- The enumerator of a row's value, as abi/ spells it; and what a reader wants to see. "?" where there is none.
    function layouts.id(name, row, value) return ids[known[name].row[row].enum][value] or "?" end
    function layouts.text(name, row, value) return names[known[name].row[row].enum][value] or "?" end
    --- The enumerator of a value of an enumeration that belongs to no row.
    function layouts.id_of(enumeration, value) return ids[enumeration][value] or "?" end
    --- Texts of an enumeration by its name, for fields of events.
    function layouts.texts(enumeration) return names[enumeration] end

    function layouts.has(name) return known[name] ~= nil end
    function layouts.size(name) return known[name].size end
    --- Byte offset of a row.
    function layouts.offset(name, row) return known[name].row[row].from end

    local function add_row(tree, layout, row, range)
        if row.is_raw then
            tree:add(row.field, range)
        elseif layout.little then
            tree:add(row.field, range, row.bits > 32 and range:le_uint64() or range:le_uint())
        else
            tree:add(row.field, range, range:bitfield(row.bit % 8, row.bits))
        end
    end

    --- Adds the rows of a layout to the tree that lie whole in the bytes there are.
    ---
    --- at      where the bytes begin in the buffer
    --- length  how many there are
    --- first   which byte of the layout the first of them is
    function layouts.add(tree, buffer, name, at, length, first)
        local layout = known[name]
        local stop = math.min(first + length, layout.size)
        if stop <= first then return nil end
        local branch = tree:add(layout.tree, buffer:range(at, stop - first))
        for _, row in ipairs(layout.rows) do
            if row.layout and known[row.layout] then
                local begin, finish = math.max(row.from, first), math.min(row.to, stop)
                if begin < finish then
                    layouts.add(branch, buffer, row.layout, at + begin - first, finish - begin, begin - row.from)
                end
            elseif row.field and row.from >= first and row.to <= stop then
                add_row(branch, layout, row, buffer:range(at + row.from - first, row.to - row.from))
            end
        end
        return branch
    end

    --- Bits of a string of bytes, at most 32 of them, counted as big-endian documents count; nil behind its end.
    local function bits_of(bytes, bit, count)
        local from, to = math.floor(bit / 8), math.floor((bit + count - 1) / 8)
        if to >= #bytes then return nil end
        local value = 0
        for at = from, to do value = value * 256 + bytes:byte(at + 1) end
        local behind = (to + 1) * 8 - (bit + count)
        return math.floor(value / 2 ^ behind) % math.floor(2 ^ count)
    end

    --- The value of a row from a string that begins with byte `first` of the layout, nil where it is not in it. A row
    --- of a nested layout is named by its path: value(bytes, 0, "create_cq_in", "cq_context", "log_cq_size").
    function layouts.value(bytes, first, name, ...)
        local layout, base_bit, row = known[name], -8 * first, nil
        for _, step in ipairs({...}) do
            if row then base_bit, layout = base_bit + row.bit, known[row.layout] end
            row = layout.row[step]
        end
        local bit = base_bit + row.bit
        if bit < 0 then return nil end
        if not layout.little then return bits_of(bytes, bit, row.bits) end
        local value, at = 0, math.floor(bit / 8)
        if at + math.floor(row.bits / 8) > #bytes then return nil end
        for byte = math.floor(row.bits / 8), 1, -1 do value = value * 256 + bytes:byte(at + byte) end
        return value
    end

    --- The value of a row of a layout that begins at `at` in a buffer of Wireshark and is whole there.
    function layouts.read(buffer, at, name, ...)
        return layouts.value(buffer:range(at, known[name].size):bytes():raw(), 0, name, ...)
    end

    --- An address of 64 bits as the number of its page of 4 KiB and the offset in it, which numbers can hold.
    function layouts.address_of(high, low) return high * 1048576 + math.floor(low / 4096), low % 4096 end
    --- The big-endian address at an offset; nil where there is none.
    function layouts.address_at(bytes, at)
        local high, low = bits_of(bytes, at * 8, 32), bits_of(bytes, at * 8 + 32, 32)
        if not high or not low then return nil end
        return layouts.address_of(high, low)
    end

    return layouts
end
