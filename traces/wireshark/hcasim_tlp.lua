-- Headers of TLPs: what a packet is, which address it means and how many bytes. Returns a function and has no effect of
-- its own.

return function(tables, layouts)
    local constants, value = tables.constants, layouts.read

    local kinds = {memory = {"MRd", "MWr"}, config0 = {"CfgRd0", "CfgWr0"}, config1 = {"CfgRd1", "CfgWr1"},
                   completion = {"Cpl", "CplD"}}
    local header_layouts = {config0 = "config_request", config1 = "config_request", completion = "completion"}

    --- Which of the bytes of its dwords a request means, by its byte enables: how many are not meant in front, and how
    --- many are meant; PCIe 6.0 §2.2.5.
    local function meant(dwords, first, last)
        local function lowest(enables)
            for bit = 0, 3 do if math.floor(enables / 2 ^ bit) % 2 == 1 then return bit end end
            return 4
        end
        local function behind(enables)
            for bit = 3, 0, -1 do if math.floor(enables / 2 ^ bit) % 2 == 1 then return 3 - bit end end
            return 4
        end
        if first == 0 and dwords == 1 then return 0, 0 end
        local lead = lowest(first) % 4
        local tail = behind(dwords == 1 and first or last) % 4
        return lead, math.max(dwords * 4 - lead - tail, 0)
    end

    --- The header at `at`; nil and a reason where there is none.
    return function(buffer, at)
        local prefixes = {}
        while true do
            if buffer:captured_len() - at < layouts.size("tlp_header") then return nil, "no header" end
            local format = value(buffer, at, "tlp_header", "fmt")
            local name = layouts.id("tlp_header", "fmt", format)
            if name == "?" then return nil, "reserved format" end
            if name ~= "prefix" then break end
            prefixes[#prefixes + 1] = at
            at = at + constants.pasid_prefix_bytes
        end
        local header = {at = at, prefixes = prefixes}
        local format = layouts.id("tlp_header", "fmt", value(buffer, at, "tlp_header", "fmt"))
        header.type = layouts.id("tlp_header", "type", value(buffer, at, "tlp_header", "type"))
        header.has_data = not format:find("^no_data")
        local is_long = format:find("4dw") ~= nil
        header.layout = header_layouts[header.type] or (is_long and "memory_request_64" or "memory_request_32")
        header.size = layouts.size(header.layout)
        if header.type == "?" then header.layout = "tlp_header" end
        if buffer:captured_len() - at < header.size then return nil, "the header is cut off" end
        header.dwords = value(buffer, at, "tlp_header", "length")
        if header.dwords == 0 then header.dwords = 1024 end
        local pair = kinds[header.type]
        header.name = pair and pair[header.has_data and 2 or 1] or
            string.format("type 0x%02x", value(buffer, at, "tlp_header", "type"))
        if header.type == "memory" then
            local function of(row) return value(buffer, at, header.layout, row) end
            local low = of("address") * 4
            header.page, header.offset = layouts.address_of(is_long and of("address_upper") or 0, low)
            header.lead, header.length = meant(header.dwords, of("first_enables"), of("last_enables"))
            header.offset = header.offset + header.lead
            header.key = of("requester") .. ":" .. of("tag")
            if header.offset >= 4096 then header.page, header.offset = header.page + 1, header.offset - 4096 end
        elseif header.type == "completion" then
            local function of(row) return value(buffer, at, header.layout, row) end
            header.key = of("requester") .. ":" .. of("tag")
            header.lead = of("lower_address") % 4
            header.length = of("byte_count")
            if header.length == 0 then header.length = 4096 end
            header.status = of("status")
        end
        return header
    end
end
