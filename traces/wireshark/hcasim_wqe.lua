-- Work queue entries: which segments a send WQE is made of. Returns a function and has no effect of its own.

return function(tables, layouts)
    local constants = tables.constants
    local unit, block = constants.wqe_ds_bytes, constants.wqe_bb_bytes

    -- What follows the control segment, by the enumerator of its opcode.
    local parts = {
        rdma_write = {remote = true, data = true}, rdma_write_imm = {remote = true, data = true},
        rdma_read = {remote = true, data = true},
        send = {data = true}, send_imm = {data = true}, send_inval = {data = true},
        atomic_cs = {remote = true, atomic = true, data = true},
        atomic_fa = {remote = true, atomic = true, data = true},
        umr = {umr = true},
    }

    local wqe = {}

    --- Data segments in bytes[at, stop) as views; returns the bytes of the message that they name.
    local function data_segments(views, bytes, at, stop)
        local total = 0
        while at + unit <= stop do
            local head = bytes:sub(at + 1, at + unit)
            if layouts.value(head, 0, "wqe_data_seg", "inline") == 1 then
                local length = layouts.value(head, 0, "wqe_inline_seg", "byte_count")
                local whole = math.ceil((layouts.size("wqe_inline_seg") + length) / unit) * unit
                views[#views + 1] = {layout = "wqe_inline_seg", at = at}
                total, at = total + length, at + whole
            else
                views[#views + 1] = {layout = "wqe_data_seg", at = at}
                total, at = total + layouts.value(head, 0, "wqe_data_seg", "byte_count"), at + unit
            end
        end
        return total
    end
    wqe.data_segments = data_segments

    --- One send WQE at `at`. Returns its views, what it is, and how many bytes it has; nil where none can stand.
    local function one(bytes, at, queue)
        local control = bytes:sub(at + 1, at + unit)
        if #control < unit then return nil end
        local value = layouts.value(control, 0, "wqe_ctrl_seg", "opcode")
        local opcode = layouts.id("wqe_ctrl_seg", "opcode", value)
        local length = layouts.value(control, 0, "wqe_ctrl_seg", "ds") * unit
        if length < unit then return nil end
        local views = {{layout = "wqe_ctrl_seg", at = at, length = unit}}
        local stop, place, total = math.min(at + length, #bytes), at + unit, 0
        local part = parts[opcode] or {}
        local function segment(layout)
            views[#views + 1] = {layout = layout, at = place}
            place = place + math.ceil(layouts.size(layout) / unit) * unit
        end
        if queue.transport == "ud" and part.data then segment("wqe_av") end
        if queue.transport == "xrc" and part.data then segment("wqe_xrc_seg") end
        if part.remote then segment("wqe_raddr_seg") end
        if part.atomic then segment("wqe_atomic_seg") end
        if part.umr then segment("wqe_umr_ctrl_seg") end
        if part.data and queue.transport ~= "raw" then total = data_segments(views, bytes, place, stop) end
        local what = string.format("WQE %d of QP 0x%x: %s", layouts.value(control, 0, "wqe_ctrl_seg", "wqe_index"),
            layouts.value(control, 0, "wqe_ctrl_seg", "qpn"), layouts.text("wqe_ctrl_seg", "opcode", value))
        if total > 0 then what = what .. string.format(", %d bytes", total) end
        for n = #views, 1, -1 do -- a segment that the WQE or the read cuts off is not shown
            views[n].length = math.min(layouts.size(views[n].layout), stop - views[n].at)
            if views[n].length <= 0 then table.remove(views, n) end
        end
        return views, what, math.ceil(length / block) * block
    end

    --- Send WQEs that were read together, from `position` in their queue on. A WQE that a read cuts off goes on with
    --- the next one.
    function wqe.sends(queue, position, bytes)
        local all, says, at = {}, {}, 0
        if queue.cut and queue.cut.position == position then at = queue.cut.left end
        queue.cut = nil
        while at < #bytes do
            local views, what, length = one(bytes, at, queue)
            if not views then break end
            for _, view in ipairs(views) do all[#all + 1] = view end
            says[#says + 1] = what
            at = at + length
        end
        if at > #bytes then queue.cut = {position = position + #bytes, left = at - #bytes} end
        return all, #says > 0 and table.concat(says, "; ") or string.format("WQE of QP 0x%x goes on", queue.number)
    end

    return wqe
end
