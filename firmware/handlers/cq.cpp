// PRM "Completion queues": CREATE_CQ, DESTROY_CQ, QUERY_CQ, MODIFY_CQ.
#include "firmware/buffer.h"
#include "firmware/handlers/handlers.h"

#include <algorithm>

namespace firmware::handlers {

namespace {
/// What CREATE_CQ may not ask for, since no capability advertises it.
Reply check_features(In<prm::CreateCqIn> in) {
    const auto cqc = in.sub<"cq_context">();
    if (cqc.get<"apu_cq">())
        return refuse("create_cq.apu");
    if (cqc.get<"cc">())
        return refuse("create_cq.collapsed");
    if (cqc.get<"cqe_comp_en">())
        return refuse("create_cq.compression");
    if (cqc.get<"cqe_sz">() > static_cast<std::uint32_t>(prm::CqeSize::bytes_128))
        return refuse("create_cq.entry_size");
    return accepted;
}
/// The limits of the context, in force (PRM "CQ moderation": period in us).
model::hca::queue::ModerationLimits moderation(abi::ConstView<prm::Cqc> cqc) {
    return {.period = std::chrono::microseconds{cqc.get<"cq_period">()}, .max_count = cqc.get<"cq_max_count">()};
}
} // namespace

Reply create_cq(State& state, const Call& call, In<prm::CreateCqIn> in, Out<prm::CreateCqOut> out) {
    const auto cqc = in.sub<"cq_context">();
    if (auto refused = check_features(in))
        return refused;
    if (cqc.get<"log_cq_size">() > state.capabilities.general().get<"log_max_cq_sz">())
        return refuse("create_cq.size");
    auto* const uar = call.scope.find<Kind::uar>(cqc.get<"uar_page">());
    if (uar == nullptr)
        return refuse("create_cq.uar");
    const auto eqn = cqc.get<"c_eqn_or_apu_element">();
    if (call.scope.find<Kind::eq>(eqn) == nullptr)
        return refuse("create_cq.eq");
    const auto log_entry = 6 + cqc.get<"cqe_sz">();
    const InUmem ring_umem{in.get<"cq_umem_valid">() != 0, in.get<"cq_umem_id">(), in.get<"cq_umem_offset">()};
    const InUmem record_umem{cqc.get<"dbr_umem_valid">() != 0, cqc.get<"dbr_umem_id">(), cqc.get<"dbr_addr">()};
    auto buffer = ring_buffer(call.scope,
                              {.log_page_size = cqc.get<"log_page_size">(),
                               .page_offset = cqc.get<"page_offset">(),
                               .bytes = std::uint64_t{1} << (log_entry + cqc.get<"log_cq_size">())},
                              ring_umem, call.tail);
    if (!buffer)
        return buffer.error();
    const auto record = doorbell_record(call.scope, record_umem);
    if (!record)
        return record.error();
    if (record->value % doorbell_record_bytes != 0)
        return refuse("create_cq.doorbell_record");

    const auto entries = buffer->pages().size();
    model::hca::queue::CompletionQueueAttributes attributes{
        .buffer = std::move(*buffer),
        .log_size = static_cast<std::uint8_t>(cqc.get<"log_cq_size">()),
        .log_entry_bytes = static_cast<std::uint8_t>(log_entry),
        .overrun_ignore = cqc.get<"oi">() != 0,
        .doorbell_record = *record,
        .eqn = abi::Eqn{eqn},
        .uar_page = cqc.get<"uar_page">(),
        .moderation = moderation(cqc),
    };
    std::ranges::copy(cqc.bytes(), attributes.context.begin());
    const auto number =
        call.scope.create<Kind::cq>({.at = call.at,
                                     .entries = entries,
                                     .umems = {ring_umem.memory(call.scope), record_umem.memory(call.scope)},
                                     .uar = objects::Ref(uar)},
                                    std::move(attributes));
    if (!number)
        return number.error();
    out.set<"cqn">(*number);
    return accepted;
}

Reply destroy_cq(State&, const Call& call, In<prm::DestroyCqIn> in, Out<prm::DestroyCqOut>) {
    return call.scope.destroy<Kind::cq>(in.get<"cqn">(), call.at);
}

Reply query_cq(State&, const Call& call, In<prm::QueryCqIn> in, Out<prm::QueryCqOut> out) {
    using enum model::hca::queue::CompletionState;
    const auto* cq = call.scope.find<Kind::cq>(in.get<"cqn">());
    if (cq == nullptr)
        return refuse("query_cq.unknown");
    const auto status = cq->state == ready     ? prm::CqStatus::ok
                        : cq->state == overrun ? prm::CqStatus::overflow
                                               : prm::CqStatus::write_fail;
    const auto armed = cq->arm.solicited_only ? prm::CqState::solicited_armed : prm::CqState::armed;
    const auto cqc = out.sub<"cq_context">();
    std::ranges::copy(cq->attributes.context, cqc.bytes().begin());
    cqc.set<"status">(static_cast<std::uint32_t>(status))
        .set<"st">(static_cast<std::uint32_t>(cq->arm.is_set ? armed : prm::CqState::fired))
        .set<"last_notified_index">(static_cast<std::uint32_t>(cq->last_notified))
        .set<"last_solicit_index">(static_cast<std::uint32_t>(cq->last_solicited))
        .set<"consumer_counter">(cq->consumer_seen)
        .set<"producer_counter">(static_cast<std::uint32_t>(cq->producer));
    encode_pages(cq->attributes.buffer, call.out_tail);
    return accepted;
}

namespace {
/// MODIFY_CQ with op_mod 1: the queue goes on in another ring, and the old one ends.
Reply resize_cq(State& state, const Call& call, In<prm::ModifyCqIn> in, model::hca::queue::CompletionQueue& cq) {
    constexpr auto all = static_cast<std::uint32_t>(prm::CqResize::log_size) |
                         static_cast<std::uint32_t>(prm::CqResize::page_offset) |
                         static_cast<std::uint32_t>(prm::CqResize::page_size);
    const auto wanted = in.sub<"cq_context">();
    if (in.get<"cq_umem_valid">())
        return refuse("modify_cq.umem");
    if (in.get<"modify_field_select_resize_field_select">() != all)
        return refuse("modify_cq.resize_fields");
    if (6 + wanted.get<"cqe_sz">() != cq.attributes.log_entry_bytes)
        return refuse("modify_cq.entry_size");
    const auto log_size = wanted.get<"log_cq_size">();
    if (log_size > state.capabilities.general().get<"log_max_cq_sz">())
        return refuse("modify_cq.size");
    auto buffer = decode_buffer({.log_page_size = wanted.get<"log_page_size">(),
                                 .page_offset = wanted.get<"page_offset">(),
                                 .bytes = std::uint64_t{1} << (cq.attributes.log_entry_bytes + log_size)},
                                call.tail);
    if (!buffer)
        return buffer.error();
    const auto entries = buffer->pages().size();
    if (auto refused = state.account.admit(entries, call.at))
        return refused;
    auto& writer = state.hca.cqe_writer();
    const auto outstanding = writer.outstanding(cq, call.at);
    if (outstanding && outstanding->value + 1 > 1u << log_size) // one entry more, for the CQE that ends the old ring
        return refuse("modify_cq.outstanding");
    if (!outstanding || cq.state != model::hca::queue::CompletionState::ready ||
        !writer.resize(cq, std::move(*buffer), static_cast<std::uint8_t>(log_size), outstanding->at))
        return refuse("modify_cq.state");
    state.registry.resize<Kind::cq>(cq.number.value, entries, call.at);
    abi::View<prm::Cqc>(cq.attributes.context)
        .set<"log_cq_size">(log_size)
        .set<"log_page_size">(wanted.get<"log_page_size">())
        .set<"page_offset">(wanted.get<"page_offset">());
    return accepted;
}
} // namespace

Reply modify_cq(State& state, const Call& call, In<prm::ModifyCqIn> in, Out<prm::ModifyCqOut>) {
    constexpr auto bit = [](prm::CqModify field) { return static_cast<std::uint32_t>(field); };
    constexpr auto known = bit(prm::CqModify::period) | bit(prm::CqModify::max_count) | bit(prm::CqModify::overrun);
    auto* cq = call.scope.find<Kind::cq>(in.get<"cqn">());
    if (cq == nullptr)
        return refuse("modify_cq.unknown");
    if (call.op_mod == prm::modify_cq_resize)
        return resize_cq(state, call, in, *cq);
    if (call.op_mod != 0)
        return refuse("modify_cq.op_mod");
    const auto select = in.get<"modify_field_select_resize_field_select">();
    if (select & ~known)
        return refuse("modify_cq.field_select");
    const auto wanted = in.sub<"cq_context">();
    const abi::View<prm::Cqc> cqc(cq->attributes.context);
    if (select & bit(prm::CqModify::period))
        cqc.set<"cq_period">(wanted.get<"cq_period">());
    if (select & bit(prm::CqModify::max_count))
        cqc.set<"cq_max_count">(wanted.get<"cq_max_count">());
    cq->attributes.moderation = moderation(cqc);
    state.hca.cqe_writer().moderate_anew(*cq, call.at);
    if (select & bit(prm::CqModify::overrun)) {
        cqc.set<"oi">(wanted.get<"oi">());
        cq->attributes.overrun_ignore = wanted.get<"oi">() != 0;
    }
    return accepted;
}

} // namespace firmware::handlers
