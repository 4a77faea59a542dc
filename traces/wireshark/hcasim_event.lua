-- Events: a field of Wireshark for each member, which stand one behind the other. Returns a function and has no effect
-- of its own.

return function(tables, layouts, prefix)
    local events = {fields = {}}
    local known = {} -- by their numbers

    local function field_of(abbreviation, member)
        if member.text then return ProtoField.string(abbreviation, member[1]) end
        if member.enum then
            return ProtoField.uint32(abbreviation, member[1], base.DEC, layouts.texts(member.enum))
        end
        if member[2] == 8 then return ProtoField.uint64(abbreviation, member[1], base.DEC_HEX) end
        return ProtoField.uint32(abbreviation, member[1], base.DEC_HEX)
    end

    for number, row in ipairs(tables.events) do
        local snake = row[1]:gsub("(%l)(%u)", "%1_%2"):lower()
        local event = {name = row[1], members = {}}
        for n = 2, #row do
            local field = field_of(prefix .. "." .. snake .. "." .. row[n][1], row[n])
            events.fields[#events.fields + 1] = field
            event.members[n - 1] = {field = field, size = row[n][2], is_text = row[n].text}
        end
        known[number - 1] = event
    end

    --- Adds the members of an event, which begin at `at`. Returns its name, and what is wrong with it.
    function events.add(tree, buffer, at, number)
        local event = known[number]
        if not event then return nil, "an event of a later version" end
        for _, member in ipairs(event.members) do
            local size = member.size
            local left = buffer:captured_len() - at
            if member.is_text then
                if left < 2 then return event.name, "the event is cut off" end
                size, at, left = buffer:range(at, 2):le_uint(), at + 2, left - 2
            end
            if left < size then return event.name, "the event is cut off" end
            if member.is_text then
                tree:add(member.field, size > 0 and buffer:range(at, size):string() or "")
            else
                local range = buffer:range(at, size)
                tree:add(member.field, range, size == 8 and range:le_uint64() or range:le_uint())
            end
            at = at + size
        end
        return event.name
    end

    return events
end
