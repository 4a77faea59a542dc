// What happens at a device's boundary that no TLP and no frame carries: the codes of SignalRecord. Together with the
// TLPs and frames they are all that a device learns from outside, and all that it does there.
#pragma once

#include <cstdint>

namespace traces::codec {

/// `port`, `number` and `value` are members of the record, zero where nothing is said of them. Times are picoseconds.
enum class Signal : std::uint16_t {
    // Calls of the device, inbound.
    wake = 1,         ///< time that it has asked for has come
    reset = 2,        ///< of the function, or of the link
    page_answer = 3,  ///< to a group of page requests; number: the group, value: the code
    settle = 4,       ///< it may deliver what it has sent to itself; answered by settled
    batch_end = 5,    ///< no more packets at `port` for now
    link = 6,         ///< the other end of the cable at `port` went off (value 0) or on (1)
    room = 7,         ///< `port` takes packets again
    cannot_take = 8,  ///< it was asked at `port`, and takes no packets now; that it does is not recorded
    space_read = 9,   ///< register `value` of space `number`; answered by space_value
    space_write = 10, ///< register `value` (low half) of space `number` becomes its high half; answered by space_value

    // What the device does, outbound, besides TLPs and frames.
    interrupt = 32,   ///< MSI-X vector `number`
    wake_at = 33,     ///< it asks to be woken at `value`
    settled = 34,     ///< value: whether there was anything
    turn = 35,        ///< its end of the cable at `port` off (value 0) or on (1); answered by turned
    space_value = 36, ///< number: whether there is such a register; value: what it holds

    // What it is told in answer, inbound.
    bar_address = 64, ///< from now on BAR `number` begins at the bus address `value`
    time = 65,        ///< its clock says `value` from now on; calls say it, too, by their record's time
    written = 66,     ///< the write before it; number: the status of the function itself, value: when it is done
    no_answer = 67,   ///< the read before it; value: when that was known
    cannot_send = 68, ///< it has asked at `port`; that it can is not recorded
    sent = 69,        ///< the frame before it; value: when its last bit is out
    turned = 70,      ///< value: whether the link at `port` is up now
    traffic = 71,     ///< it has asked at `port`; value: frames sent so far. The bytes follow
    traffic_bytes = 72,
    tangled = 73,     ///< a call has ended while a later one has not: whoever plays them one in another cannot go on
    cannot_read = 74, ///< it has asked; value: when its next read could leave. That it could at once is not recorded
    discarded = 75,   ///< it has asked at `port`; value: frames not sent so far, as the link was down. The time follows
    waited = 76,      ///< value: how long so far the line had no room at the other end for what was there
};

} // namespace traces::codec
