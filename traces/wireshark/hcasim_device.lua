-- What a recording tells of an HCA as it goes by: where its BARs, its command queue, its mailboxes and its queues are,
-- and thereby what an access of the bus means. Returns a function and has no effect of its own.
--
-- A meaning is {structure, what, views, command, slot, queue}: the name of the structure, a sentence, and views
-- {layout, at, length, first} of the payload or {layout, bytes} of bytes that were put together from several.
-- Addresses are the number of a page of 4 KiB and the offset in it: 64 bits do not fit into a number of Lua 5.2.

return function(tables, layouts, queues)
    local constants = tables.constants
    local page_bytes = 4096
    local most_area_bytes = 67108864 -- what a damaged command says must not keep Wireshark busy
    local entry_bytes = layouts.size("command_queue_entry")
    local inline_bytes = layouts.size("command_in")
    local value = layouts.value

    local Device = {}
    Device.__index = Device

    local function new()
        return setmetatable({bars = {}, areas = {}, regions = {}, slots = {}, queues = {}}, Device)
    end

    -- --- what is where in memory ---

    --- Says what the bytes at an address are; what was said of them before is forgotten.
    function Device:is(area, page, offset, length, base)
        local done = 0
        local areas = area.kind == "memory" and self.regions or self.areas -- queues may be in registered memory
        length = math.min(length, most_area_bytes)
        while done < length do
            local part = math.min(length - done, page_bytes - offset)
            local list = areas[page] or {}
            for n = #list, 1, -1 do -- what lies whole in it, or is over
                local old = list[n]
                if old.area.is_gone or (old.from >= offset and old.to <= offset + part) then table.remove(list, n) end
            end
            list[#list + 1] = {from = offset, to = offset + part, area = area, base = (base or 0) + done}
            areas[page] = list
            done, page, offset = done + part, page + 1, 0
        end
    end

    --- The area that an address is in, and the offset in the area.
    function Device:find(page, offset)
        for _, areas in ipairs({self.areas, self.regions}) do
            local list = areas[page] or {}
            for n = #list, 1, -1 do
                local at = list[n]
                if offset >= at.from and offset < at.to and not at.area.is_gone then
                    return at.area, at.base + offset - at.from
                end
            end
        end
    end

    --- The bytes [begin, finish) of what a list of pages holds are this area.
    function Device:are(area, pages, page_size, begin, finish)
        local position = begin
        finish = math.min(finish, begin + most_area_bytes)
        while position < finish do
            local page = pages[math.floor(position / page_size) + 1]
            if not page then return end
            local inside = position % page_size
            local part = math.min(finish - position, page_size - inside)
            self:is(area, page + math.floor(inside / page_bytes), inside % page_bytes, part, position - begin)
            position = position + part
        end
    end

    -- --- queues, as the commands make them ---

    local function pages_of(input, layout)
        local pages, at = {}, layouts.size(layout)
        while at + 8 <= #input do
            pages[#pages + 1] = layouts.address_at(input, at)
            at = at + 8
        end
        return pages
    end

    function Device:replace(kind, number, queue)
        local key = kind .. number
        for _, area in ipairs(self.queues[key] or {}) do area.is_gone = true end
        self.queues[key] = queue
    end

    --- The pages behind a command are these areas, one behind the other.
    function Device:lay_out(input, layout, context, areas)
        local function of(row) return value(input, 0, layout, context, row) end
        local page_size = page_bytes * 2 ^ of("log_page_size")
        local begin = of("page_offset") * 64
        for _, area in ipairs(areas) do
            self:are(area, pages_of(input, layout), page_size, begin, begin + area.bytes)
            begin = begin + area.bytes
        end
    end

    local effects = {}
    function effects.create_eq(device, input, output)
        local function of(row) return value(input, 0, "create_eq_in", "eq_context_entry", row) end
        local area = {kind = "eq", number = value(output, 0, "create_eq_out", "eq_number"),
                      bytes = layouts.size("eqe") * 2 ^ of("log_eq_size")}
        device:replace("eq", area.number, {area})
        device:lay_out(input, "create_eq_in", "eq_context_entry", {area})
    end
    function effects.create_cq(device, input, output)
        local function of(row) return value(input, 0, "create_cq_in", "cq_context", row) end
        local entry = layouts.size("cqe64") * (of("cqe_sz") == constants.cqe_bytes_128 and 2 or 1)
        local area = {kind = "cq", number = value(output, 0, "create_cq_out", "cqn"), entry = entry,
                      bytes = entry * 2 ^ of("log_cq_size")}
        local record = {kind = "cq_record", number = area.number}
        device:replace("cq", area.number, {area, record})
        if value(input, 0, "create_cq_in", "cq_umem_valid") == 0 then
            device:lay_out(input, "create_cq_in", "cq_context", {area})
        end
        if of("dbr_umem_valid") == 0 then
            local at = layouts.offset("create_cq_in", "cq_context") + layouts.offset("cqc", "dbr_addr")
            local page, offset = layouts.address_at(input, at)
            device:is(record, page, offset, layouts.size("cq_doorbell_record"))
        end
    end
    function effects.create_qp(device, input, output)
        local function of(row) return value(input, 0, "create_qp_in", "qpc", row) end
        local number = value(output, 0, "create_qp_out", "qpn")
        local transport = layouts.id("qpc", "st", of("st"))
        local has_own = layouts.id("qpc", "rq_type", of("rq_type")) == "regular"
        local stride = constants.wqe_ds_bytes * 2 ^ of("log_rq_stride")
        local receive = {kind = "rq", number = number, stride = stride, transport = transport,
                         bytes = has_own and stride * 2 ^ of("log_rq_size") or 0}
        local send = {kind = "sq", number = number, transport = transport,
                      bytes = of("no_sq") == 1 and 0 or constants.wqe_bb_bytes * 2 ^ of("log_sq_size")}
        local record = {kind = "qp_record", number = number}
        device:replace("qp", number, {receive, send, record})
        if value(input, 0, "create_qp_in", "wq_umem_valid") == 0 then
            device:lay_out(input, "create_qp_in", "qpc", {receive, send})
        end
        if of("dbr_umem_valid") == 0 then
            local at = layouts.offset("create_qp_in", "qpc") + layouts.offset("qpc", "dbr_addr")
            local page, offset = layouts.address_at(input, at)
            device:is(record, page, offset, layouts.size("qp_doorbell_record"))
        end
    end
    function effects.create_mkey(device, input, output)
        local function of(row) return value(input, 0, "create_mkey_in", "memory_key_mkey_entry", row) end
        local mode = layouts.id_of("mkey.access_mode", of("access_mode_4_2") * 4 + of("access_mode_1_0"))
        if mode ~= "mtt" or value(input, 0, "create_mkey_in", "mkey_umem_valid") == 1 then return end
        local index = value(output, 0, "create_mkey_out", "mkey_index")
        local area = {kind = "memory", number = index, key = index * 256 + of("mkey_7_0")}
        local context = layouts.offset("create_mkey_in", "memory_key_mkey_entry")
        local start, offset = layouts.address_at(input, context + layouts.offset("mkc", "start_addr"))
        local pages, rest = layouts.address_at(input, context + layouts.offset("mkc", "len"))
        local page_size = math.max(2 ^ of("log_page_size"), page_bytes)
        local begin = start % (page_size / page_bytes) * page_bytes + offset
        device:replace("mkey", index, {area})
        device:are(area, pages_of(input, "create_mkey_in"), page_size, begin, begin + pages * page_bytes + rest)
    end
    function effects.destroy_mkey(device, input)
        device:replace("mkey", value(input, 0, "destroy_mkey_in", "mkey_index"), nil)
    end
    function effects.destroy_eq(device, input)
        device:replace("eq", value(input, 0, "destroy_eq_in", "eq_number"), nil)
    end
    function effects.destroy_cq(device, input)
        device:replace("cq", value(input, 0, "destroy_cq_in", "cqn"), nil)
    end
    function effects.destroy_qp(device, input)
        device:replace("qp", value(input, 0, "destroy_qp_in", "qpn"), nil)
    end

    -- --- commands ---

    local function command_name(slot) return slot and slot.text or "?" end

    --- The device has read an entry of the command queue.
    local function entry_is_read(device, number, bytes)
        local function of(row) return value(bytes, 0, "command_queue_entry", row) end
        local at = layouts.offset("command_queue_entry", "input")
        local input = bytes:sub(at + 1, at + inline_bytes)
        local opcode = value(input, 0, "command_in", "opcode")
        local slot = {number = number, input = input, output = "", tail = "",
                      id = layouts.id("command_in", "opcode", opcode),
                      text = layouts.text("command_in", "opcode", opcode),
                      input_length = of("input_length"), output_length = of("output_length")}
        device.slots[number] = slot
        local function chain(row, is_input, length)
            if length <= inline_bytes then return end
            local page, offset = layouts.address_at(bytes, layouts.offset("command_queue_entry", row))
            device:is({kind = "mailbox", slot = slot, is_input = is_input, block = 0}, page, offset,
                layouts.size("command_mailbox"))
        end
        chain("input_mailbox", true, slot.input_length)
        chain("output_mailbox", false, slot.output_length)
        return slot
    end

    --- All of a command's input, when it is there, as a view.
    local function input_view(slot)
        local layout = slot.id .. "_in"
        if #slot.input < slot.input_length or slot.is_shown then return nil end
        slot.is_shown = true
        slot.input = slot.input:sub(1, slot.input_length)
        return layouts.has(layout) and {layout = layout, bytes = slot.input} or nil
    end

    local function output_is_written(device, slot, bytes)
        local whole = bytes .. slot.tail
        local layout = slot.id .. "_out"
        local status = value(whole, 0, "command_out", "status")
        local effect = effects[slot.id]
        local is_whole = layouts.has(slot.id .. "_in") and #slot.input >= layouts.size(slot.id .. "_in")
        if effect and is_whole and status == 0 then effect(device, slot.input, whole) end
        local text = layouts.text("command_out", "status", status)
        return layouts.has(layout) and {layout = layout, bytes = whole} or nil, text
    end

    local function in_command_queue(device, position, access)
        local number, inside = math.floor(position / device.stride), position % device.stride
        local meaning = {structure = "command_queue_entry", slot = number, views = {}}
        if access.bytes then
            meaning.views[1] = {layout = "command_queue_entry", at = 0, length = #access.bytes, first = inside}
        end
        if access.bytes and not access.is_write and inside == 0 and #access.bytes >= entry_bytes then
            local slot = entry_is_read(device, number, access.bytes)
            local at = layouts.offset("command_queue_entry", "input")
            meaning.views[2] = {layout = "command_in", at = at, length = inline_bytes}
            meaning.views[3] = input_view(slot)
            meaning.what = string.format("command in slot %d: %s", number, slot.text)
        elseif access.is_write and access.bytes and inside == layouts.offset("command_queue_entry", "output") then
            local slot = device.slots[number]
            if slot and #access.bytes >= inline_bytes then
                local view, status = output_is_written(device, slot, access.bytes:sub(1, inline_bytes))
                meaning.views[2] = {layout = "command_out", at = 0, length = inline_bytes}
                meaning.views[3] = view
                meaning.what = string.format("answer in slot %d: %s, %s", number, slot.text, status)
            end
        elseif access.is_write then
            meaning.what = string.format("slot %d goes back: %s", number, command_name(device.slots[number]))
        end
        meaning.what = meaning.what or string.format("command in slot %d is read", number)
        meaning.command = access.bytes and device.slots[number] and device.slots[number].text or nil
        return meaning
    end

    local function in_mailbox(device, area, position, access)
        local slot = area.slot
        local meaning = {structure = "command_mailbox", slot = slot.number, command = slot.text, views = {}}
        meaning.what = string.format("%s %d of %s", area.is_input and "input" or "output", area.block, slot.text)
        if not access.bytes then return meaning end
        meaning.views[1] = {layout = "command_mailbox", at = 0, length = #access.bytes, first = position}
        local next_at = layouts.offset("command_mailbox", "next") - position
        if not access.is_write then
            local page, offset = layouts.address_at(access.bytes, math.max(next_at, 0))
            if next_at >= 0 and page and (page ~= 0 or offset ~= 0) and not area.has_next then
                area.has_next = true
                device:is({kind = "mailbox", slot = slot, is_input = area.is_input, block = area.block + 1}, page,
                    offset, layouts.size("command_mailbox"))
            end
            if area.is_input and position == 0 and #slot.input < slot.input_length then
                slot.input = slot.input .. access.bytes:sub(1, constants.mailbox_data_bytes)
                meaning.views[2] = input_view(slot)
            end
        elseif position == 0 then
            slot.tail = slot.tail .. access.bytes:sub(1, constants.mailbox_data_bytes)
        end
        return meaning
    end

    -- --- accesses ---

    --- An access of the device to memory; without bytes it is a request to read.
    function Device:memory(access)
        local area, position = self:find(access.page, access.offset)
        if not area then return nil end
        if area.kind == "commands" then return in_command_queue(self, position, access) end
        if area.kind == "mailbox" then return in_mailbox(self, area, position, access) end
        if area.kind == "memory" then
            local what = access.bytes and string.format("%d bytes %s 0x%x of the memory of key 0x%x", #access.bytes,
                access.is_write and "to" or "from", position, area.key)
            return {structure = "memory", key = area.key, what = what, views = {}}
        end
        if not access.bytes then return {structure = queues.asked[area.kind], queue = area.number, views = {}} end
        local structure, what, views = queues.read[area.kind](area, position, access.bytes)
        return {structure = structure, what = what, views = views, queue = area.number}
    end

    -- --- BARs: what software reads and writes there ---

    function Device:bar_is(number, page, offset) self.bars[number] = {page = page, offset = offset} end

    --- The BAR that an address is in, and the offset; nil where no BAR begins below it.
    function Device:bar_of(page, offset)
        local best, place
        for number, bar in pairs(self.bars) do
            local distance = (page - bar.page) * page_bytes + offset - bar.offset
            if distance >= 0 and (not place or distance < place) then best, place = number, distance end
        end
        return best, place
    end

    --- The driver has said where the command queue is.
    local function segment_is_written(device, position, bytes)
        local function of(row) return value(bytes, position, "initial_seg", row) end
        device.queue_high = of("cmdq_phy_addr_63_32") or device.queue_high
        local low = of("cmdq_phy_addr_31_12")
        if not low or not device.queue_high then return end
        local old = device.commands
        if old then old.is_gone = true end
        device.commands = {kind = "commands"}
        device.stride = 2 ^ (device.log_stride or 6)
        device:is(device.commands, device.queue_high * 1048576 + low, 0,
            device.stride * 2 ^ (device.log_size or 5))
    end

    local function in_segment(device, position, access)
        local meaning = {structure = "initial_seg", views = {}}
        if not access.bytes then return meaning end
        meaning.views[1] = {layout = "initial_seg", at = 0, length = #access.bytes, first = position}
        local function of(row) return value(access.bytes, position, "initial_seg", row) end
        if access.is_write then
            segment_is_written(device, position, access.bytes)
            local vector = of("command_doorbell_vector")
            if vector then
                meaning.structure, meaning.what = "command_doorbell", string.format("command doorbell 0x%x", vector)
            end
        else
            device.log_size = of("log_cmdq_size") or device.log_size
            device.log_stride = of("log_cmdq_stride") or device.log_stride
        end
        return meaning
    end

    local function in_uar(position, access)
        local inside = position % constants.uar_page_bytes
        local uar = math.floor(position / constants.uar_page_bytes)
        local length = access.bytes and #access.bytes or 0
        local function at(layout, begin, structure, what)
            return {structure = structure, what = what and string.format("%s, UAR %d", what, uar),
                    views = {{layout = layout, at = 0, length = length, first = inside - begin}}}
        end
        local function of(layout, begin, row) return value(access.bytes or "", inside - begin, layout, row) end
        if inside >= constants.uar_bfreg then
            local begin = inside - (inside - constants.uar_bfreg) % constants.bf_buffer_bytes
            if inside == begin and length > layouts.size("send_doorbell") then
                local views, what = queues.sends({number = 0}, 0, access.bytes)
                what = string.format("BlueFlame: %s, UAR %d", what, uar)
                return {structure = "blue_flame", what = what, views = views}
            end
            if inside >= begin + layouts.size("send_doorbell") then return {structure = "blue_flame", views = {}} end
            local qpn = of("send_doorbell", begin, "qpn")
            return at("send_doorbell", begin, "send_doorbell", qpn and string.format("send doorbell of QP 0x%x", qpn))
        end
        local begin = constants.uar_cq_doorbell
        if inside >= begin and inside < begin + layouts.size("cq_doorbell") then
            local cqn = of("cq_doorbell", begin, "cqn")
            return at("cq_doorbell", begin, "cq_doorbell", cqn and string.format("CQ 0x%x is armed", cqn))
        end
        for _, row in ipairs({{constants.uar_eq_arm, "is armed"}, {constants.uar_eq_update, "goes on"}}) do
            if inside == row[1] then
                local eqn = of("eq_doorbell", row[1], "eqn")
                return at("eq_doorbell", row[1], "eq_doorbell", eqn and string.format("EQ %d %s", eqn, row[2]))
            end
        end
        return {structure = "uar", views = {}}
    end

    --- An access of software to a BAR; without bytes it is a request to read.
    function Device:register(access, bar, position)
        if bar ~= 0 then return nil end
        if position < layouts.size("initial_seg") then
            local revision = access.bytes and not access.is_write and
                value(access.bytes, position, "initial_seg", "cmd_interface_rev")
            if revision == constants.command_interface_revision then self.is_hca = true end
            return self.is_hca and in_segment(self, position, access) or nil
        end
        return self.is_hca and in_uar(position, access) or nil
    end

    return new
end
