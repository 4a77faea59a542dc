// PRM "Event queues": CREATE_EQ, DESTROY_EQ, QUERY_EQ.
#include "firmware/buffer.h"
#include "firmware/handlers/handlers.h"

#include <algorithm>

namespace firmware::handlers {

namespace {
constexpr std::uint64_t bit(prm::EventType type) { return std::uint64_t{1} << static_cast<unsigned>(type); }
enum EqState : std::uint32_t { eq_armed = 9, eq_fired = 0xa };                        ///< `st`
enum EqStatus : std::uint32_t { eq_ok = 0, eq_overflow = 9, eq_write_failure = 0xa }; ///< `status`; overflow as of a CQ
} // namespace

Reply create_eq(State& state, const Call& call, In<prm::CreateEqIn> in, Out<prm::CreateEqOut> out) {
    const auto eqc = in.sub<"eq_context_entry">();
    if (eqc.get<"log_eq_size">() > state.capabilities.general().get<"log_max_eq_sz">())
        return refuse("create_eq.size");
    auto* const uar = call.scope.find<Kind::uar>(eqc.get<"uar_page">());
    if (uar == nullptr)
        return refuse("create_eq.uar");
    if (eqc.get<"uar_page">() >= state.config().first_polled_uar())
        return refuse("create_eq.polled_uar");
    if (eqc.get<"intr">() >= state.config().msix_vectors)
        return refuse("create_eq.vector");
    const auto events = in.get<"event_bitmask">();
    if ((events & bit(prm::EventType::command)) && state.command_eq)
        return refuse("create_eq.second_command_queue");
    auto buffer = decode_buffer({.log_page_size = eqc.get<"log_page_size">(),
                                 .page_offset = eqc.get<"page_offset">(),
                                 .bytes = std::uint64_t{prm::Eqe::size} << eqc.get<"log_eq_size">()},
                                call.tail);
    if (!buffer)
        return buffer.error();

    const auto entries = buffer->pages().size();
    model::hca::event::Attributes attributes{
        .buffer = std::move(*buffer),
        .log_size = static_cast<std::uint8_t>(eqc.get<"log_eq_size">()),
        .vector = static_cast<std::uint16_t>(eqc.get<"intr">()),
        .overrun_ignore = eqc.get<"oi">() != 0,
        .uar_page = eqc.get<"uar_page">(),
        .events = events,
    };
    std::ranges::copy(eqc.bytes(), attributes.context.begin());
    const auto number = call.scope.create<Kind::eq>({.at = call.at, .entries = entries, .uar = objects::Ref(uar)},
                                                    std::move(attributes));
    if (!number)
        return number.error();
    if (events & bit(prm::EventType::command))
        state.command_eq = abi::Eqn{*number};
    out.set<"eq_number">(*number);
    return accepted;
}

Reply destroy_eq(State& state, const Call& call, In<prm::DestroyEqIn> in, Out<prm::DestroyEqOut>) {
    const auto number = in.get<"eq_number">();
    const auto refused = call.scope.destroy<Kind::eq>(number, call.at);
    if (!refused && state.command_eq == abi::Eqn{number})
        state.command_eq.reset();
    return refused;
}

Reply query_eq(State&, const Call& call, In<prm::QueryEqIn> in, Out<prm::QueryEqOut> out) {
    const auto* eq = call.scope.find<Kind::eq>(in.get<"eq_number">());
    if (eq == nullptr)
        return refuse("query_eq.unknown");
    const auto eqc = out.sub<"eq_context_entry">();
    std::ranges::copy(eq->attributes.context, eqc.bytes().begin());
    using enum model::hca::event::State;
    eqc.set<"status">(eq->state == ready      ? eq_ok
                      : eq->state == overflow ? eq_overflow
                                              : eq_write_failure)
        .set<"st">(eq->is_armed ? eq_armed : eq_fired)
        .set<"consumer_counter">(eq->consumer)
        .set<"producer_counter">(eq->producer);
    out.set<"event_bitmask">(eq->attributes.events);
    encode_pages(eq->attributes.buffer, call.out_tail);
    return accepted;
}

} // namespace firmware::handlers
