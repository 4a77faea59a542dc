// PRM "RMP" and "XRC SRQ": the shared receive queues of verbs (ISSI 1), ordinary ones and those of an XRC domain.
#include "abi/prm/qp.h"
#include "firmware/buffer.h"
#include "firmware/handlers/handlers.h"

#include <algorithm>

namespace firmware::handlers {

namespace {
using Queue = model::hca::queue::SharedReceiveQueue;
using Attributes = model::hca::queue::SharedReceiveQueueAttributes;

/// A WQE with a next segment has at least one piece of memory behind it.
constexpr unsigned log_least_stride_with_next = 5;

/// What both kinds have in common, in their own words.
struct Wanted {
    std::uint32_t log_size, log_stride, pd, lwm;
    Ring ring;
    InUmem ring_umem, record;            ///< `record.offset` is the bus address where it is in no user memory
    bool is_linked, is_basic, is_signed; ///< basic: the WQEs of the ring are pieces of memory and nothing else
};

/// Makes the queue, once what is special to its kind has been checked. Its number, or why not.
std::expected<std::uint32_t, Reply> create(State& state, const Call& call, const Wanted& wanted,
                                           Attributes attributes) {
    const auto cap = state.capabilities.general();
    if (wanted.is_signed)
        return std::unexpected(refuse("create_srq.wq_signature"));
    if (wanted.is_basic && wanted.is_linked)
        return std::unexpected(refuse("create_srq.basic_list"));
    if (wanted.log_size > cap.get<"log_max_srq_sz">())
        return std::unexpected(refuse("create_srq.size"));
    if (wanted.log_stride < (wanted.is_basic ? prm::log_least_rq_stride : log_least_stride_with_next) ||
        1u << wanted.log_stride > cap.get<"max_wqe_sz_rq">())
        return std::unexpected(refuse("create_srq.stride"));
    const auto record = doorbell_record(call.scope, wanted.record);
    if (!record)
        return std::unexpected(record.error());
    if (record->value % 4 != 0)
        return std::unexpected(refuse("create_srq.doorbell_record"));
    if (call.scope.find<Kind::pd>(wanted.pd) == nullptr)
        return std::unexpected(refuse("create_srq.pd"));
    auto buffer = ring_buffer(call.scope, wanted.ring, wanted.ring_umem, call.tail);
    if (!buffer)
        return std::unexpected(buffer.error());
    const auto entries = buffer->pages().size();
    attributes.is_linked = wanted.is_linked;
    attributes.has_next_segment = !wanted.is_basic;
    attributes.pd = abi::Pd{wanted.pd};
    attributes.log_size = static_cast<std::uint8_t>(wanted.log_size);
    attributes.log_stride = static_cast<std::uint8_t>(wanted.log_stride);
    attributes.limit = static_cast<std::uint16_t>(wanted.lwm);
    attributes.doorbell_record = *record;
    attributes.buffer = std::move(*buffer);
    return call.scope.create<Kind::srq>(
        {.at = call.at,
         .entries = entries,
         .umems = {wanted.ring_umem.memory(call.scope), wanted.record.memory(call.scope)}},
        std::move(attributes));
}

/// The queue with this number, if it is of this kind.
Queue* find(const Call& call, std::uint32_t number, bool is_xrc) {
    auto* queue = call.scope.find<Kind::srq>(number);
    return queue != nullptr && queue->attributes.is_xrc == is_xrc ? queue : nullptr;
}
} // namespace

Reply create_rmp(State& state, const Call& call, In<prm::CreateRmpIn> in, Out<prm::CreateRmpOut> out) {
    const auto rmpc = in.sub<"ctx">();
    const auto wq = rmpc.sub<"wq">();
    const auto type = wq.get<"wq_type">();
    if (type != prm::WqType::linked_list && type != prm::WqType::cyclic)
        return refuse("create_rmp.type");
    if (rmpc.get<"state">() != prm::RmpState::ready)
        return refuse("create_rmp.state");
    const auto log_bytes = wq.get<"log_wq_sz">() + wq.get<"log_wq_stride">();
    Attributes attributes;
    std::ranges::copy(rmpc.bytes(), attributes.context.begin());
    const auto number =
        create(state, call,
               {.log_size = wq.get<"log_wq_sz">(),
                .log_stride = wq.get<"log_wq_stride">(),
                .pd = wq.get<"pd">(),
                .lwm = wq.get<"lwm">(),
                .ring = {wq.get<"log_wq_pg_sz">(), wq.get<"page_offset">(), std::uint64_t{1} << log_bytes},
                .ring_umem = {wq.get<"wq_umem_valid">() != 0, wq.get<"wq_umem_id">(), wq.get<"wq_umem_offset">()},
                .record = {wq.get<"dbr_umem_valid">() != 0, wq.get<"dbr_umem_id">(), wq.get<"dbr_addr">()},
                .is_linked = type == prm::WqType::linked_list,
                .is_basic = rmpc.get<"basic_cyclic_rcv_wqe">() != 0,
                .is_signed = wq.get<"wq_signature">() != 0},
               std::move(attributes));
    if (!number)
        return number.error();
    out.set<"rmpn">(*number);
    return accepted;
}

Reply destroy_rmp(State&, const Call& call, In<prm::DestroyRmpIn> in, Out<prm::DestroyRmpOut>) {
    const auto number = in.get<"rmpn">();
    return find(call, number, false) != nullptr ? call.scope.destroy<Kind::srq>(number, call.at)
                                                : refuse("destroy_rmp.unknown");
}

Reply query_rmp(State&, const Call& call, In<prm::QueryRmpIn> in, Out<prm::QueryRmpOut> out) {
    const auto* queue = find(call, in.get<"rmpn">(), false);
    if (queue == nullptr)
        return refuse("query_rmp.unknown");
    const auto rmpc = out.sub<"rmp_context">();
    std::ranges::copy(queue->attributes.context, rmpc.bytes().begin());
    rmpc.set<"state">(queue->is_in_error ? prm::RmpState::error : prm::RmpState::ready);
    rmpc.sub<"wq">()
        .set<"lwm">(queue->attributes.limit)
        .set<"hw_counter">(queue->consumed)
        .set<"sw_counter">(queue->producer);
    encode_pages(queue->attributes.buffer, call.out_tail);
    return accepted;
}

Reply modify_rmp(State&, const Call& call, In<prm::ModifyRmpIn> in, Out<prm::ModifyRmpOut>) {
    auto* queue = find(call, in.get<"rmpn">(), false);
    if (queue == nullptr)
        return refuse("modify_rmp.unknown");
    if (in.get<"rmp_state">() != prm::RmpState::ready || queue->is_in_error)
        return refuse("modify_rmp.state");
    if (in.sub<"bitmask">().get<"lwm">())
        queue->attributes.limit = static_cast<std::uint16_t>(in.sub<"ctx">().sub<"wq">().get<"lwm">());
    return accepted;
}

Reply create_xrc_srq(State& state, const Call& call, In<prm::CreateXrcSrqIn> in, Out<prm::CreateXrcSrqOut> out) {
    const auto context = in.sub<"xrc_srq_context_entry">();
    if (in.get<"xrc_srq_umem_valid">() || context.get<"dbr_umem_valid">())
        return refuse("create_xrc_srq.umem");
    if (call.scope.find<Kind::xrcd>(context.get<"xrcd">()) == nullptr)
        return refuse("create_xrc_srq.xrcd");
    if (call.scope.find<Kind::cq>(context.get<"cqn">()) == nullptr)
        return refuse("create_xrc_srq.cq");
    const auto log_stride = context.get<"log_rq_stride">() + prm::log_least_rq_stride;
    Attributes attributes;
    attributes.is_xrc = true;
    attributes.xrcd = context.get<"xrcd">();
    attributes.cqn = abi::Cqn{context.get<"cqn">()};
    attributes.user_index = context.get<"user_index">();
    std::ranges::copy(context.bytes(), attributes.context.begin());
    const auto number = create(state, call,
                               {.log_size = context.get<"log_xrc_srq_size">(),
                                .log_stride = log_stride,
                                .pd = context.get<"pd">(),
                                .lwm = context.get<"lwm">(),
                                .ring = {context.get<"log_page_size">(), context.get<"page_offset">(),
                                         std::uint64_t{1} << (context.get<"log_xrc_srq_size">() + log_stride)},
                                .ring_umem = {},
                                .record = {.offset = std::uint64_t{context.get<"db_record_addr_h">()} << 32 |
                                                     context.get<"db_record_addr_l">() << 2},
                                .is_linked = context.get<"cont_srq">() == 0,
                                .is_basic = context.get<"basic_cyclic_rcv_wqe">() != 0,
                                .is_signed = context.get<"wq_signature">() != 0},
                               std::move(attributes));
    if (!number)
        return number.error();
    out.set<"xrc_srqn">(*number);
    return accepted;
}

Reply destroy_xrc_srq(State&, const Call& call, In<prm::DestroyXrcSrqIn> in, Out<prm::DestroyXrcSrqOut>) {
    const auto number = in.get<"xrc_srqn">();
    return find(call, number, true) != nullptr ? call.scope.destroy<Kind::srq>(number, call.at)
                                               : refuse("destroy_xrc_srq.unknown");
}

Reply query_xrc_srq(State&, const Call& call, In<prm::QueryXrcSrqIn> in, Out<prm::QueryXrcSrqOut> out) {
    const auto* queue = find(call, in.get<"xrc_srqn">(), true);
    if (queue == nullptr)
        return refuse("query_xrc_srq.unknown");
    const auto context = out.sub<"xrc_srq_context_entry">();
    std::ranges::copy_n(queue->attributes.context.begin(), prm::XrcSrqc::size, context.bytes().begin());
    context.set<"state">(queue->is_in_error ? prm::XrcSrqState::error : prm::XrcSrqState::good)
        .set<"lwm">(queue->attributes.limit)
        .set<"wqe_cnt">(static_cast<std::uint16_t>(queue->producer - queue->consumed));
    encode_pages(queue->attributes.buffer, call.out_tail);
    return accepted;
}

Reply arm_xrc_srq(State&, const Call& call, In<prm::ArmXrcSrqIn> in, Out<prm::ArmXrcSrqOut>) {
    auto* queue = find(call, in.get<"xrc_srqn">(), true);
    if (queue == nullptr)
        return refuse("arm_xrc_srq.unknown");
    queue->attributes.limit = static_cast<std::uint16_t>(in.get<"lwm">());
    return accepted;
}

} // namespace firmware::handlers
