#include "firmware/command_table.h"

#include "firmware/handlers/handlers.h"

#include <algorithm>
#include <array>
#include <cassert>

namespace firmware {

namespace prm = abi::prm;
using prm::Opcode;

namespace {

constexpr auto disabled = static_cast<std::uint8_t>(Phase::disabled);
constexpr auto enabled = static_cast<std::uint8_t>(Phase::enabled);
constexpr auto booted = static_cast<std::uint8_t>(Phase::booted);
constexpr auto initialized = static_cast<std::uint8_t>(Phase::initialized);
constexpr std::uint8_t before_init = enabled | booted, after_boot = booted | initialized,
                       while_enabled = enabled | booted | initialized;

/// Longest lists. A ring has at most 1 GiB, a memory key 2^21 translation entries, a page command 2^16 pages.
constexpr std::size_t no_list = 0, short_list = 4096, klm_list = std::size_t{16} << 16,
                      ring_list = std::size_t{8} << 18, mkey_list = std::size_t{8} << 21,
                      page_list = std::size_t{8} << 16;
/// A driver may pad structures.
constexpr std::size_t padding = 1024;

struct Extent {
    std::size_t in_list = no_list, out_list = no_list;
    std::size_t out_least = 0; ///< 0: the whole structure
};

template <class In, class Out> using Handler = Reply (*)(State&, const Call&, abi::ConstView<In>, abi::View<Out>);
template <class In, class Out> constexpr std::size_t in_size(Handler<In, Out>) { return In::size; }
template <class In, class Out> constexpr std::size_t out_size(Handler<In, Out>) { return Out::size; }
template <class In, class Out> constexpr const abi::LayoutInfo* input_of(Handler<In, Out>) {
    return &abi::layout_info<In>;
}
template <class In, class Out>
Reply call(Handler<In, Out> handler, State& state, const Call& how, std::span<const std::byte> in,
           std::span<std::byte> out) {
    return handler(state, how, abi::ConstView<In>(in), abi::View<Out>(out));
}

template <auto H>
constexpr Command command(Opcode opcode, std::uint8_t phases, Advertised advertised = {}, Extent extent = {}) {
    constexpr auto in = in_size(H), out = out_size(H);
    return {.opcode = opcode,
            .phases = phases,
            .in_size = in,
            .in_max = in + padding + extent.in_list,
            .out_size = out,
            .out_least = extent.out_least != 0 ? extent.out_least : out,
            .out_max = out + padding + extent.out_list,
            .advertised = advertised,
            .input = input_of(H),
            .is_privileged = false,
            .run = [](State& state, const Call& how, std::span<const std::byte> input, std::span<std::byte> output) {
                return call(H, state, how, input, output);
            }};
}
/// A command that no user context may send.
constexpr Command privileged(Command row) {
    row.is_privileged = true;
    return row;
}
template <abi::Name F> constexpr Advertised cap() {
    return {F.view(), [](abi::ConstView<prm::CmdHcaCap> general) { return general.get<F>() != 0; }};
}

using namespace handlers;
// clang-format off
constexpr std::array table{
    command<query_hca_cap>            (Opcode::query_hca_cap, after_boot, {},
                                       {.out_least = prm::QueryHcaCapOut::field<"capability">::offset}),
    command<query_adapter>            (Opcode::query_adapter, after_boot),
    privileged(command<init_hca>         (Opcode::init_hca, booted)),
    privileged(command<teardown_hca>     (Opcode::teardown_hca, initialized)),
    privileged(command<enable_hca>       (Opcode::enable_hca, disabled)),
    privileged(command<disable_hca>      (Opcode::disable_hca, before_init)),
    privileged(command<query_pages>      (Opcode::query_pages, while_enabled)),
    privileged(command<manage_pages>     (Opcode::manage_pages, while_enabled, {},
                                       {.in_list = page_list, .out_list = page_list})),
    privileged(command<set_hca_cap>      (Opcode::set_hca_cap, booted)),
    command<query_issi>               (Opcode::query_issi, while_enabled),
    privileged(command<set_issi>         (Opcode::set_issi, before_init)),
    command<create_mkey>              (Opcode::create_mkey, initialized, {}, {.in_list = mkey_list}),
    command<query_mkey>               (Opcode::query_mkey, initialized, {}, {.out_list = klm_list}),
    command<destroy_mkey>             (Opcode::destroy_mkey, initialized),
    command<query_special_contexts>   (Opcode::query_special_contexts, initialized),
    privileged(command<handlers::page_fault_resume>(Opcode::page_fault_resume, initialized, cap<"pg">())),
    privileged(command<create_eq>        (Opcode::create_eq, initialized, {}, {.in_list = ring_list})),
    privileged(command<destroy_eq>       (Opcode::destroy_eq, initialized)),
    privileged(command<query_eq>         (Opcode::query_eq, initialized, {}, {.out_list = short_list})),
    command<create_cq>                (Opcode::create_cq, initialized, {}, {.in_list = ring_list}),
    command<destroy_cq>               (Opcode::destroy_cq, initialized),
    command<query_cq>                 (Opcode::query_cq, initialized, {}, {.out_list = short_list}),
    command<handlers::modify_cq>      (Opcode::modify_cq, initialized, {}, {.in_list = ring_list}),
    command<create_qp>                (Opcode::create_qp, initialized, cap<"rc">(), {.in_list = ring_list}),
    command<destroy_qp>               (Opcode::destroy_qp, initialized, cap<"rc">()),
    command<modify_qp>                (Opcode::rst2init_qp, initialized, cap<"rc">()),
    command<modify_qp>                (Opcode::init2rtr_qp, initialized, cap<"rc">()),
    command<modify_qp>                (Opcode::rtr2rts_qp, initialized, cap<"rc">()),
    command<modify_qp>                (Opcode::rts2rts_qp, initialized, cap<"rc">()),
    command<modify_qp>                (Opcode::sqerr2rts_qp, initialized, cap<"rc">()),
    command<leave_qp>                 (Opcode::qp_2err, initialized, cap<"rc">()),
    command<leave_qp>                 (Opcode::qp_2rst, initialized, cap<"rc">()),
    command<query_qp>                 (Opcode::query_qp, initialized, cap<"rc">(),
                                       {.out_least = prm::QueryQpOut::field<"qp_pas_or_qpc_ext_and_pas">::offset}),
    command<modify_qp>                (Opcode::sqd2rts_qp, initialized, cap<"rc">()),
    privileged(command<handlers::mad_ifc>(Opcode::mad_ifc, initialized, cap<"ib_virt">())),
    command<modify_qp>                (Opcode::init2init_qp, initialized, cap<"rc">()),
    command<create_xrc_srq>           (Opcode::create_xrc_srq, initialized, cap<"xrc">(), {.in_list = ring_list}),
    command<destroy_xrc_srq>          (Opcode::destroy_xrc_srq, initialized, cap<"xrc">()),
    command<query_xrc_srq>            (Opcode::query_xrc_srq, initialized, cap<"xrc">(), {.out_list = short_list}),
    command<arm_xrc_srq>              (Opcode::arm_xrc_srq, initialized, cap<"xrc">()),
    command<query_vport_state>        (Opcode::query_vport_state, initialized),
    command<query_nic_vport_context>  (Opcode::query_nic_vport_context, initialized, cap<"port_type">()),
    privileged(command<modify_nic_vport_context>(Opcode::modify_nic_vport_context, initialized, cap<"port_type">())),
    command<query_roce_address>       (Opcode::query_roce_address, initialized, cap<"roce">()),
    privileged(command<set_roce_address> (Opcode::set_roce_address, initialized, cap<"roce">())),
    command<query_hca_vport_context>  (Opcode::query_hca_vport_context, initialized, cap<"ib_virt">()),
    privileged(command<handlers::modify_hca_vport_context>(Opcode::modify_hca_vport_context, initialized,
                                                        cap<"ib_virt">())),
    command<query_hca_vport_gid>      (Opcode::query_hca_vport_gid, initialized, cap<"ib_virt">(),
                                       {.out_list = short_list}),
    command<query_hca_vport_pkey>     (Opcode::query_hca_vport_pkey, initialized, cap<"ib_virt">(),
                                       {.out_list = short_list}),
    command<query_vport_counter>      (Opcode::query_vport_counter, initialized, cap<"vport_counters">()),
    command<alloc_q_counter>          (Opcode::alloc_q_counter, initialized, cap<"max_qp_cnt">()),
    command<dealloc_q_counter>        (Opcode::dealloc_q_counter, initialized, cap<"max_qp_cnt">()),
    command<query_q_counter>          (Opcode::query_q_counter, initialized, cap<"max_qp_cnt">()),
    command<alloc_pd>                 (Opcode::alloc_pd, initialized),
    command<dealloc_pd>               (Opcode::dealloc_pd, initialized),
    command<alloc_uar>                (Opcode::alloc_uar, initialized),
    command<dealloc_uar>              (Opcode::dealloc_uar, initialized),
    privileged(command<access_register>  (Opcode::access_reg, after_boot, {},
                                       {.in_list = short_list, .out_list = short_list})),
    command<handlers::attach_to_mcg>  (Opcode::attach_to_mcg, initialized, cap<"max_qp_mcg">()),
    command<handlers::detach_from_mcg>(Opcode::detach_from_mcg, initialized, cap<"max_qp_mcg">()),
    command<alloc_xrcd>               (Opcode::alloc_xrcd, initialized, cap<"xrc">()),
    command<dealloc_xrcd>             (Opcode::dealloc_xrcd, initialized, cap<"xrc">()),
    command<alloc_transport_domain>   (Opcode::alloc_transport_domain, initialized, cap<"log_max_transport_domain">()),
    command<dealloc_transport_domain> (Opcode::dealloc_transport_domain, initialized,
                                       cap<"log_max_transport_domain">()),
    command<handlers::query_lag>      (Opcode::query_lag, initialized),
    command<create_rmp>               (Opcode::create_rmp, initialized, cap<"log_max_rmp">(), {.in_list = ring_list}),
    command<handlers::modify_rmp>     (Opcode::modify_rmp, initialized, cap<"log_max_rmp">()),
    command<destroy_rmp>              (Opcode::destroy_rmp, initialized, cap<"log_max_rmp">()),
    command<query_rmp>                (Opcode::query_rmp, initialized, cap<"log_max_rmp">(), {.out_list = short_list}),
    privileged(command<create_uctx>      (Opcode::create_uctx, initialized, cap<"log_max_uctx">())),
    privileged(command<destroy_uctx>     (Opcode::destroy_uctx, initialized, cap<"log_max_uctx">())),
    command<create_umem>              (Opcode::create_umem, initialized, cap<"log_max_umem">(), {.in_list = ring_list}),
    command<destroy_umem>             (Opcode::destroy_umem, initialized, cap<"log_max_umem">()),
};
// clang-format on
static_assert(std::ranges::is_sorted(table, {}, &Command::opcode));

/// What a refused command asked for, for diagnostics.
void say_input(const State& state, Opcode opcode, std::span<const std::byte> in, model::port::Time at) {
    constexpr std::size_t piece = 16;
    for (std::size_t offset = 0; offset < in.size(); offset += piece) {
        std::array<std::byte, piece> bytes{};
        std::ranges::copy(in.subspan(offset, std::min(piece, in.size() - offset)), bytes.begin());
        const auto first = abi::load<std::uint64_t, abi::Endian::big>(bytes.data());
        const auto second = abi::load<std::uint64_t, abi::Endian::big>(bytes.data() + sizeof first);
        if (first != 0 || second != 0)
            state.events().emit(at, traces::CommandInput{static_cast<std::uint16_t>(opcode),
                                                         static_cast<std::uint16_t>(offset), first, second});
    }
}

void say(State& state, Opcode opcode, std::uint16_t op_mod, Reply refusal, std::span<const std::byte> in,
         model::port::Time at) {
    if (refusal && state.events().is_on())
        say_input(state, opcode, in, at);
    state.events().emit(at, traces::CommandExecuted{
                                .opcode = static_cast<std::uint16_t>(opcode),
                                .op_mod = op_mod,
                                .status = static_cast<std::uint8_t>(refusal ? refusal->status : prm::Status::ok),
                                .syndrome = refusal ? refusal->syndrome : 0,
                                .command = prm::name(opcode),
                                .why = refusal ? refusal->why : std::string_view{},
                            });
}

void answer(Reply refusal, std::span<std::byte> out) {
    abi::View<prm::EnableHcaOut>(out) // the shortest output there is
        .set<"status">(refusal ? refusal->status : prm::Status::ok)
        .set<"syndrome">(refusal ? refusal->syndrome : 0);
}

} // namespace

std::size_t Command::out_bytes(std::size_t room) const { return std::max(out_size, std::min(room, out_max)); }

std::span<const Command> commands() { return table; }

const Command* find_command(Opcode opcode) {
    const auto row = std::ranges::lower_bound(table, opcode, {}, &Command::opcode);
    return row != table.end() && row->opcode == opcode ? &*row : nullptr;
}

Reply check_command(const State& state, abi::ConstView<prm::CommandIn> header, std::size_t in_length,
                    std::size_t out_length) {
    const auto* command = find_command(header.get<"opcode">());
    if (command == nullptr)
        return refuse("command.unknown");
    if (command->advertised.is_on && !command->advertised.is_on(state.capabilities.general_maximum()))
        return refuse("command.capability_off");
    if (!command->is_legal_in(state.phase()))
        return refuse("command.phase");
    if (in_length < command->in_size)
        return refuse("command.input_too_short");
    if (in_length > command->in_max)
        return refuse("command.input_too_long");
    if (out_length < command->out_least)
        return refuse("command.output_too_short");
    if (const auto uid = header.get<"uid">();
        uid != 0 && uid != prm::shared_uid) { // with either of these the kernel speaks for itself
        if (state.registry.find<Kind::user_context>(uid) == nullptr)
            return refuse("command.uid");
        if (command->is_privileged)
            return refuse("command.privileged");
    }
    return accepted;
}

void run_command(State& state, const Command& command, std::span<const std::byte> in, std::span<std::byte> out,
                 std::size_t room, model::port::Time at) {
    assert(in.size() >= command.in_size && out.size() >= command.out_size);
    const abi::ConstView<prm::CommandIn> header(in);
    const auto visible = std::max(std::min(room, out.size()), command.out_size);
    const Call how{
        .opcode = command.opcode,
        .op_mod = static_cast<std::uint16_t>(header.get<"op_mod">()),
        .at = at,
        .scope = Scope(state.registry, static_cast<std::uint16_t>(header.get<"uid">())),
        .tail = in.subspan(command.in_size),
        .out_tail = out.first(visible).subspan(command.out_size),
    };
    const auto refusal = command.run(state, how, in.first(command.in_size), out.first(command.out_size));
    if (refusal)
        std::ranges::fill(out, std::byte{});
    answer(refusal, out);
    say(state, command.opcode, how.op_mod, refusal, in.first(command.in_size), at);
}

void refuse_command(State& state, abi::ConstView<prm::CommandIn> header, Reply refusal, std::span<std::byte> out,
                    model::port::Time at) {
    answer(refusal, out);
    say(state, header.get<"opcode">(), static_cast<std::uint16_t>(header.get<"op_mod">()), refusal, header.bytes(), at);
}

} // namespace firmware
