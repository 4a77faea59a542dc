-- Entries of queues, as the device reads and writes them: WQEs, CQEs, EQEs and doorbell records. Returns a function and
-- has no effect of its own.

return function(layouts, wqe)
    local value = layouts.value

    -- What the data of an event is, by the enumerator of its type.
    local event_data = {
        completion = "eqe_comp", cq_error = "eqe_cq_err", port_change = "eqe_port_state", command = "eqe_cmd",
        page_request = "eqe_page_req", path_migrated = "eqe_qp_srq", communication_established = "eqe_qp_srq",
        sq_drained = "eqe_qp_srq", wq_catastrophic_error = "eqe_qp_srq", wq_invalid_request = "eqe_qp_srq",
        wq_access_error = "eqe_qp_srq", srq_catastrophic_error = "eqe_qp_srq", srq_last_wqe = "eqe_qp_srq",
        srq_limit = "eqe_qp_srq",
    }
    local faults = {wqe = "eqe_page_fault_wqe", rdma = "eqe_page_fault_rdma"}

    -- Each gets the area (hcasim_device.lua), the position in it and the bytes there, and returns the name of the
    -- structure, a sentence, and views.
    local read = {}
    function read.eq(area, position, bytes)
        local inside = position % layouts.size("eqe")
        local views = {{layout = "eqe", at = 0, length = #bytes, first = inside}}
        local type = value(bytes, inside, "eqe", "event_type")
        if not type then return "eqe", string.format("EQE of EQ %d, a part", area.number), views end
        local id = layouts.id("eqe", "event_type", type)
        local data = event_data[id]
        if id == "page_fault" then
            data = faults[layouts.id_of("page_fault.sub_type", value(bytes, inside, "eqe", "event_sub_type") or -1)]
        end
        local at = layouts.offset("eqe", "event_data") - inside
        local begin = math.max(at, 0)
        if data and begin < #bytes then
            views[2] = {layout = data, at = begin, length = #bytes - begin, first = begin - at}
        end
        return "eqe", string.format("EQE of EQ %d: %s", area.number, layouts.text("eqe", "event_type", type)), views
    end
    function read.cq(area, position, bytes)
        local size = layouts.size("cqe64")
        local inside = position % area.entry
        local at = 0
        if area.entry > size then -- in an entry of 128 bytes the CQE is the second half
            if inside < size then at, inside = size - inside, 0 else inside = inside - size end
        end
        local rest = bytes:sub(at + 1)
        local opcode = value(rest, inside, "cqe64", "opcode")
        local id = opcode and layouts.id("cqe64", "opcode", opcode)
        local layout = (id == "req_err" or id == "resp_err") and "err_cqe" or "cqe64"
        local what = string.format("CQE of CQ 0x%x", area.number)
        local qpn, counter = value(rest, inside, "cqe64", "qpn"), value(rest, inside, "cqe64", "wqe_counter")
        if id and qpn and counter then
            local text = layouts.text("cqe64", "opcode", opcode)
            what = string.format("%s: %s, QP 0x%x, WQE %d", what, text, qpn, counter)
        end
        return layout, what, {{layout = layout, at = at, length = #rest, first = inside}}
    end
    function read.sq(area, position, bytes)
        local views, what = wqe.sends(area, position, bytes)
        return "send_wqe", what, views
    end
    function read.rq(area, position, bytes)
        local views, at = {}, 0
        while at < #bytes do
            wqe.data_segments(views, bytes, at, math.min(at + area.stride, #bytes))
            at = at + area.stride
        end
        for _, view in ipairs(views) do
            view.length = math.min(layouts.size(view.layout), #bytes - view.at)
        end
        return "receive_wqe", string.format("receive WQE of QP 0x%x", area.number), views
    end
    function read.qp_record(area, position, bytes)
        return "qp_doorbell_record", string.format("doorbell record of QP 0x%x", area.number),
            {{layout = "qp_doorbell_record", at = 0, length = #bytes, first = position}}
    end
    function read.cq_record(area, position, bytes)
        return "cq_doorbell_record", string.format("doorbell record of CQ 0x%x", area.number),
            {{layout = "cq_doorbell_record", at = 0, length = #bytes, first = position}}
    end
    local asked = {eq = "eqe", cq = "cqe64", sq = "send_wqe", rq = "receive_wqe", qp_record = "qp_doorbell_record",
                   cq_record = "cq_doorbell_record"}

    -- `asked` is what a request to read means, before its bytes are known.
    return {read = read, asked = asked, sends = wqe.sends}
end
