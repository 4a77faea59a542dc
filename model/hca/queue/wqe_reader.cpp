#include "model/hca/queue/wqe_reader.h"

#include "abi/layout.h"
#include "abi/prm/mkey.h"
#include "abi/prm/wqe.h"

#include <algorithm>

namespace model::hca::queue {

using abi::ConstView;
using abi::prm::WqeOpcode;

namespace {

constexpr std::uint32_t wqebb = abi::prm::wqe_bb_bytes, unit = abi::prm::wqe_ds_bytes;

/// What an operation's WQE looks like behind the control segment.
struct Shape {
    bool is_supported = false, has_remote = false, has_atomic = false, has_data = false;
    bool is_answered = false; ///< data comes back: its place cannot be the WQE
    bool changes_key = false; ///< UMR: nothing is sent
};

constexpr Shape shape(WqeOpcode opcode) {
    switch (opcode) {
    case WqeOpcode::nop: return {.is_supported = true};
    case WqeOpcode::umr: return {.is_supported = true, .changes_key = true};
    case WqeOpcode::send:
    case WqeOpcode::send_inval:
    case WqeOpcode::send_imm: return {.is_supported = true, .has_data = true};
    case WqeOpcode::rdma_write:
    case WqeOpcode::rdma_write_imm: return {.is_supported = true, .has_remote = true, .has_data = true};
    case WqeOpcode::rdma_read: return {.is_supported = true, .has_remote = true, .has_data = true, .is_answered = true};
    case WqeOpcode::atomic_cs:
    case WqeOpcode::atomic_fa:
        return {.is_supported = true, .has_remote = true, .has_atomic = true, .has_data = true, .is_answered = true};
    default: return {};
    }
}

/// Which operations a service has (IBA 9.2, table "BTH OpCode"). Without acknowledges there are no READs, no atomics
/// and no SEND with invalidate; a datagram can only be a SEND. A local queue pair sends nothing.
constexpr bool carries(const Service& service, WqeOpcode opcode, const Shape& what) {
    if (service.is_local)
        return what.changes_key || opcode == WqeOpcode::nop;
    if (opcode == WqeOpcode::send_inval)
        return service.is_reliable;
    if (what.changes_key)
        return !service.is_datagram;
    return service.is_datagram ? !what.has_remote : service.is_reliable || !what.is_answered;
}

/// The address vector of a datagram (PRM "WQE, datagram segment").
Datagram datagram(ConstView<abi::prm::WqeAv> av) {
    const bool has_grh = av.get<"grh">() != 0;
    const auto rlid = static_cast<std::uint16_t>(av.get<"rlid">());
    const auto tclass = static_cast<std::uint8_t>(av.get<"tclass">());
    return {.destination = abi::Qpn{av.get<"dqp_dct">()},
            .q_key = av.get<"q_key">(),
            .path = {.grh = has_grh,
                     .rlid = rlid,
                     .path_bits = static_cast<std::uint8_t>(av.get<"mlid">()),
                     .source_index = static_cast<std::uint8_t>(av.get<"src_addr_index">()),
                     .hop_limit = static_cast<std::uint8_t>(av.get<"hop_limit">()),
                     .traffic_class = tclass,
                     .flow_label = av.get<"flow_label">(),
                     .remote_gid = av.get<"rgid_rip">(),
                     .dscp = static_cast<std::uint8_t>(tclass >> 2),
                     .ecn = static_cast<std::uint8_t>(tclass & 3),
                     .udp_source_port = rlid,
                     .service_level = static_cast<std::uint8_t>(av.get<"sl">()),
                     .remote_mac = av.get<"rmac">()}};
}

/// The sum stops at 2^32 - 1 instead of wrapping: the requester refuses every message of more than 2^31 bytes.
void add_length(WorkRequest& out, std::uint32_t length) {
    out.length = static_cast<std::uint32_t>(std::min<std::uint64_t>(std::uint64_t{out.length} + length, 0xffffffff));
}

/// Adds one data or inline segment at `at`; returns the bytes it takes, 0 when it does not fit.
std::uint32_t add_data(WorkRequest& out, std::uint32_t at, std::uint32_t end, bool may_be_inline) {
    constexpr std::uint32_t inline_head = abi::prm::WqeInline::size;
    const auto bytes = std::span<const std::byte>(out.raw).subspan(at, unit);
    const ConstView<abi::prm::WqeData> data{bytes};
    if (data.get<"inline">()) {
        const auto length = ConstView<abi::prm::WqeInline>{bytes}.get<"byte_count">();
        if (!may_be_inline || at + inline_head + length > end)
            return 0;
        if (length != 0)
            out.segments[out.segment_count++] = {
                .key = {}, .length = length, .address = 0, .inline_at = at + inline_head};
        add_length(out, length);
        return (inline_head + length + unit - 1) / unit * unit;
    }
    const auto length = length_of(data.get<"byte_count">());
    out.segments[out.segment_count++] = {
        .key = abi::Key{data.get<"lkey">()}, .length = length, .address = data.get<"addr">()};
    add_length(out, length);
    return unit;
}

/// The segments behind the control segment of a UMR; translations that lie in memory become the one data segment.
void decode_umr(WorkRequest& out, std::uint32_t end) {
    constexpr auto head = unit + abi::prm::WqeUmrCtrl::size + abi::prm::Mkc::size;
    if (head > end) {
        out.fault = WqeFault::bad_size;
        return;
    }
    const ConstView<abi::prm::WqeUmrCtrl> control{std::span<const std::byte>(out.raw).subspan(unit)};
    if (!control.get<"inline">() && head + unit <= end && add_data(out, head, end, false) == 0)
        out.fault = WqeFault::bad_segment;
    out.length = 0;
}

} // namespace

void decode(WorkRequest& out, QpType type, abi::Qpn qpn, std::uint16_t index, std::uint32_t wqe_bytes) {
    const ConstView<abi::prm::WqeCtrl> ctrl{out.raw};
    out.fault = WqeFault::none;
    out.index = index;
    out.length = 0;
    out.segment_count = 0;
    out.segments_16 = static_cast<std::uint8_t>(ctrl.get<"ds">());
    out.wqebbs = static_cast<std::uint8_t>(std::max<std::uint32_t>(1, (out.segments_16 * unit + wqebb - 1) / wqebb));
    out.opcode = ctrl.get<"opcode">();
    out.fence = ctrl.get<"fm">();
    out.completion = ctrl.get<"ce">();
    out.solicited = ctrl.get<"se">() != 0;
    out.immediate = ctrl.get<"imm">();

    const auto refuse = [&out](WqeFault fault) { out.fault = fault; };
    if (ctrl.get<"qpn">() != qpn.value)
        return refuse(WqeFault::wrong_queue_pair);
    if (ctrl.get<"wqe_index">() != index)
        return refuse(WqeFault::wrong_index);
    const std::uint32_t end = out.segments_16 * unit;
    if (end == 0 || end > wqe_bytes)
        return refuse(WqeFault::bad_size);
    const auto what = shape(out.opcode);
    const auto service = service_of(type);
    if (!what.is_supported || !carries(service, out.opcode, what))
        return refuse(WqeFault::bad_opcode);
    std::uint32_t at = unit;
    const auto rest = [&out, &at] { return std::span<const std::byte>(out.raw).subspan(at); };
    if (service.is_datagram && what.has_data) {
        if (at + abi::prm::WqeAv::size > end)
            return refuse(WqeFault::bad_size);
        out.datagram = datagram(ConstView<abi::prm::WqeAv>{rest()});
        at += abi::prm::WqeAv::size;
    }
    if (service.on_wire == abi::wire::Service::xrc && what.has_data) {
        if (at + unit > end)
            return refuse(WqeFault::bad_size);
        out.xrc_srq = ConstView<abi::prm::WqeXrc>{rest()}.get<"xrc_srqn">();
        at += unit;
    }
    if (what.has_remote) {
        if (at + unit > end)
            return refuse(WqeFault::bad_size);
        const ConstView<abi::prm::WqeRaddr> remote{rest()};
        out.remote_address = remote.get<"raddr">();
        out.rkey = abi::Key{remote.get<"rkey">()};
        at += unit;
    }
    if (what.has_atomic) {
        if (at + unit > end)
            return refuse(WqeFault::bad_size);
        const ConstView<abi::prm::WqeAtomic> atomic{rest()};
        out.swap_or_add = atomic.get<"swap_add">();
        out.compare = atomic.get<"compare">();
        at += unit;
    }
    if (what.changes_key)
        return decode_umr(out, end);
    while (what.has_data && at < end) {
        const auto taken = add_data(out, at, end, !what.is_answered);
        if (taken == 0)
            return refuse(WqeFault::bad_segment);
        at += taken;
    }
}

namespace {

ReadAhead::Posted posted_sends(const QueuePair& qp, const HcaConfig& config) {
    return {.buffer = qp.attributes.buffer,
            .ring_offset = qp.sq_offset,
            .entries = qp.sq_size(),
            .log_entry = log_wqebb,
            .producer = qp.requester.sends.producer,
            .limits = config.wqe_prefetch};
}

/// Brings `bytes` of the ring from WQEBB `index` on into `out`: from what was read ahead, else by DMA.
port::DmaResult fetch(port::Dma& dma, QueuePair& qp, std::uint16_t index, const HcaConfig& config,
                      std::span<std::byte> out, port::Time at) {
    auto& sends = qp.requester.sends;
    auto have = sends.ahead.find(index, log_wqebb);
    if (have.bytes.empty() && index == sends.fetched)
        have = sends.ahead.fetch(dma, posted_sends(qp, config), index, at);
    port::DmaResult result{.done = have.bytes.empty() ? at : std::max(at, have.ready)};
    const auto known = std::min(have.bytes.size(), out.size());
    std::copy_n(have.bytes.begin(), known, out.begin());
    const auto mask = qp.sq_size() - 1;
    for (auto block = known; block < out.size(); block += wqebb) {
        const auto from = std::uint64_t{(index + static_cast<std::uint32_t>(block / wqebb)) & mask} * wqebb;
        const auto next = qp.attributes.buffer.read(dma, qp.sq_offset + from, out.subspan(block, wqebb), at);
        result = {next.status, std::max(result.done, next.done)};
        if (!result.is_ok())
            break;
    }
    return result;
}

} // namespace

port::Time read_wqe(port::Dma& dma, QueuePair& qp, std::uint16_t index, const HcaConfig& config, WorkRequest& out,
                    port::Time at) {
    // The control segment says how long the WQE is, and it stands in the first basic block.
    auto got = fetch(dma, qp, index, config, std::span(out.raw).first<wqebb>(), at);
    if (got.is_ok()) {
        const std::uint32_t blocks = (ConstView<abi::prm::WqeCtrl>{out.raw}.get<"ds">() * unit + wqebb - 1) / wqebb;
        if (blocks > 1) {
            const auto rest = fetch(dma, qp, static_cast<std::uint16_t>(index + 1), config,
                                    std::span(out.raw).subspan(wqebb, std::size_t{blocks - 1} * wqebb), at);
            got = {rest.status, std::max(got.done, rest.done)};
        }
        auto& sends = qp.requester.sends;
        const auto left = static_cast<std::uint16_t>(sends.producer - index);
        if (index == sends.fetched && blocks < left) // only its record has told of those behind it
            sends.ahead.read_on(dma, posted_sends(qp, config), static_cast<std::uint16_t>(index + std::max(blocks, 1u)),
                                std::max(at, sends.record_at));
    }
    if (!got.is_ok()) {
        out.fault = WqeFault::bus_error;
        out.index = index;
        out.opcode = WqeOpcode::nop;
        out.wqebbs = 1;
        out.segments_16 = 0;
        out.segment_count = 0;
        out.length = 0;
        out.completion = abi::prm::CompletionEvent::always;
        return got.done;
    }
    decode(out, qp.attributes.type, qp.number, index, config.max_wqe_size_sq);
    return got.done;
}

} // namespace model::hca::queue
