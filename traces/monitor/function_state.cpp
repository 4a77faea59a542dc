#include "traces/monitor/function_state.h"

#include "abi/wire/infiniband.h"

#include <algorithm>
#include <ranges>

namespace traces::monitor {

using namespace abi::prm;
using abi::ConstView;
using Done = CommandWatch::Done;

namespace {

constexpr std::uint32_t least_receive_stride = 1 << log_least_rq_stride;

/// A command's bytes as this layout; nothing where it is shorter than that.
template <class L> std::optional<ConstView<L>> as(std::span<const std::byte> bytes) {
    if (bytes.size() < L::size)
        return std::nullopt;
    return ConstView<L>(bytes);
}

/// A ring whose page list stands behind a command (PRM "Work queue", "CQ", "EQ": log_page_size, page_offset, pas).
Ring ring_of(std::uint32_t log_page_size, std::uint32_t page_offset, std::uint64_t bytes,
             std::span<const std::byte> list) {
    Ring ring;
    ring.page_shift = 12 + log_page_size;
    ring.first_byte = std::uint64_t{page_offset} << (ring.page_shift - 6);
    ring.bytes = bytes;
    const auto page = std::uint64_t{1} << ring.page_shift;
    const auto count = (ring.first_byte + bytes + page - 1) / page;
    if (list.size() / 8 < count)
        return {}; // in user memory, whose pages another command gave
    for (std::size_t i = 0; i < count; ++i)
        ring.pages.push_back(abi::load<std::uint64_t, abi::Endian::big>(list.data() + 8 * i) & ~(page - 1));
    return ring;
}

} // namespace

std::optional<FunctionState::InBar> FunctionState::in_bar(std::uint64_t address) const {
    std::optional<InBar> best;
    for (const auto& [bar, begin] : bars_)
        if (address >= begin && (!best || address - begin < best->offset))
            best = InBar{bar, address - begin};
    return best;
}

std::optional<std::pair<std::uint64_t, Area>> FunctionState::area(std::uint64_t address) const {
    const auto behind = areas_.upper_bound(address);
    if (behind == areas_.begin())
        return std::nullopt;
    const auto& found = *std::prev(behind);
    if (address >= found.second.end)
        return std::nullopt;
    return found;
}

bool FunctionState::knows_queues_of(std::uint16_t vector) const {
    bool has_one = false;
    for (const auto& [number, eq] : eqs_)
        if (eq.vector == vector) {
            has_one = true;
            if (eq.ring.pages.empty())
                return false;
        }
    return has_one && is_followed_;
}

const QueuePair* FunctionState::qp_of_record(std::uint64_t address) {
    auto found = records_.find(address);
    if (found == records_.end())
        found = records_.find(address - 4);
    return found == records_.end() ? nullptr : qp(found->second);
}

const QueuePair* FunctionState::qp_towards(abi::Qpn remote, const NetworkAddress& destination,
                                           bool is_infiniband) const {
    const QueuePair* only = nullptr;
    const auto [begin, end] = peers_.equal_range(remote.value);
    for (const auto& [peer, number] : std::ranges::subrange(begin, end)) {
        const auto& qp = qps_.at(number);
        const auto lid = std::to_integer<unsigned>(destination[14]) << 8 | std::to_integer<unsigned>(destination[15]);
        if (is_infiniband ? qp.remote_lid != lid : qp.remote_gid != destination)
            continue;
        if (only != nullptr)
            return nullptr;
        only = &qp;
    }
    return only;
}

void FunctionState::place(const Ring& ring, Place place, std::uint32_t number, std::uint64_t skipped) {
    const auto page = std::uint64_t{1} << ring.page_shift;
    for (auto done = skipped; done < ring.bytes;) {
        const auto at = ring.first_byte + done, index = at >> ring.page_shift, begin = at & (page - 1);
        if (index >= ring.pages.size())
            return;
        const auto bytes = std::min(ring.bytes - done, page - begin);
        areas_[ring.pages[index] + begin] = {ring.pages[index] + begin + bytes, place, number, done - skipped};
        done += bytes;
    }
}

void FunctionState::disconnect(std::uint32_t qpn) {
    std::erase_if(peers_, [&](const auto& entry) { return entry.second == qpn; });
}

void FunctionState::displace(Place place, std::uint32_t number) {
    std::erase_if(areas_, [&](const auto& area) { return area.second.place == place && area.second.number == number; });
}

void FunctionState::forget_qp(std::uint32_t number) {
    std::erase_if(records_, [&](const auto& record) { return record.second == number; });
    displace(Place::send_queue, number);
    disconnect(number);
    qps_.erase(number);
}

void FunctionState::create_eq(const Done& done) {
    const auto in = as<CreateEqIn>(done.in);
    const auto out = as<CreateEqOut>(done.out);
    if (!in || !out)
        return;
    const auto context = in->sub<"eq_context_entry">();
    EventQueue eq{.number = abi::Eqn{out->get<"eq_number">()},
                  .ring = {},
                  .entries = 1u << context.get<"log_eq_size">(),
                  .uar_page = context.get<"uar_page">(),
                  .vector = static_cast<std::uint16_t>(context.get<"intr">())};
    eq.ring = ring_of(context.get<"log_page_size">(), context.get<"page_offset">(),
                      std::uint64_t{eq.entries} * Eqe::size, std::span(done.in).subspan(CreateEqIn::size));
    const auto number = eq.number.value;
    displace(Place::event_queue, number);
    place(eq.ring, Place::event_queue, number);
    eqs_.insert_or_assign(number, std::move(eq));
}

void FunctionState::create_cq(const Done& done) {
    const auto in = as<CreateCqIn>(done.in);
    const auto out = as<CreateCqOut>(done.out);
    if (!in || !out)
        return;
    const auto context = in->sub<"cq_context">();
    CompletionQueue cq{.number = abi::Cqn{out->get<"cqn">()},
                       .ring = {},
                       .entries = 1u << context.get<"log_cq_size">(),
                       .entry_bytes = context.get<"cqe_sz">() == 0 ? 64u : 128u,
                       .uar_page = context.get<"uar_page">()};
    cq.ring = ring_of(context.get<"log_page_size">(), context.get<"page_offset">(),
                      std::uint64_t{cq.entries} * cq.entry_bytes, std::span(done.in).subspan(CreateCqIn::size));
    const auto number = cq.number.value;
    displace(Place::completion_queue, number);
    place(cq.ring, Place::completion_queue, number);
    cqs_.insert_or_assign(number, std::move(cq));
}

void FunctionState::resize_cq(const Done& done) {
    const auto in = as<ModifyCqIn>(done.in);
    auto* cq = in ? this->cq(in->get<"cqn">()) : nullptr;
    if (cq == nullptr || in->get<"op_mod">() != modify_cq_resize)
        return;
    const auto context = in->sub<"cq_context">();
    displace(Place::completion_queue, cq->number.value);
    cq->entries = 1u << context.get<"log_cq_size">();
    cq->ring = ring_of(context.get<"log_page_size">(), context.get<"page_offset">(),
                       std::uint64_t{cq->entries} * cq->entry_bytes, std::span(done.in).subspan(ModifyCqIn::size));
    place(cq->ring, Place::completion_queue, cq->number.value);
}

void FunctionState::create_qp(const Done& done) {
    const auto in = as<CreateQpIn>(done.in);
    const auto out = as<CreateQpOut>(done.out);
    if (!in || !out)
        return;
    const auto context = in->sub<"qpc">();
    QueuePair qp{.number = abi::Qpn{out->get<"qpn">()},
                 .link = link_,
                 .type = context.get<"st">(),
                 .has_own_receives = context.get<"rq_type">() == ReceiveQueueType::regular,
                 .uar_page = context.get<"uar_page">()};
    const auto number = qp.number.value;
    forget_qp(number); // a recording may say that a number is given out twice
    if (context.get<"dbr_umem_valid">() == 0) {
        qp.doorbell_record = context.get<"dbr_addr">();
        records_[qp.doorbell_record] = number;
    }
    const auto receive_bytes = qp.has_own_receives
                                   ? std::uint64_t{least_receive_stride}
                                         << (context.get<"log_rq_size">() + context.get<"log_rq_stride">())
                                   : 0;
    const auto send_bytes =
        context.get<"no_sq">() != 0 ? 0 : std::uint64_t{wqe_bb_bytes} << context.get<"log_sq_size">();
    const auto ring = ring_of(context.get<"log_page_size">(), context.get<"page_offset">(), receive_bytes + send_bytes,
                              std::span(done.in).subspan(CreateQpIn::size));
    if (!ring.pages.empty() && send_bytes != 0) {
        qp.send_ring_bytes = send_bytes;
        place(ring, Place::send_queue, number, receive_bytes);
    }
    qps_.insert_or_assign(number, std::move(qp));
}

FunctionState::Effect FunctionState::change_qp(const Done& done) {
    // The three transitions that are looked at have their context at the same place.
    const auto in = as<Init2rtrQpIn>(done.in);
    auto* qp = in ? this->qp(in->get<"qpn">()) : nullptr;
    if (qp == nullptr)
        return {};
    const auto context = in->sub<"qpc">();
    if (done.opcode == Opcode::init2rtr_qp) {
        const auto path = context.sub<"primary_address_path">();
        qp->mtu = abi::wire::mtu_bytes(static_cast<std::uint8_t>(context.get<"mtu">()));
        qp->remote_qpn = abi::Qpn{context.get<"remote_qpn">()};
        qp->remote_gid = path.get<"rgid_rip">();
        qp->remote_lid = static_cast<std::uint16_t>(path.get<"rlid">());
        qp->is_connected = true;
        disconnect(qp->number.value);
        peers_.emplace(qp->remote_qpn.value, qp->number.value);
        return {};
    }
    qp->first_psn = abi::Psn{context.get<"next_send_psn">()};
    return {.gone = {}, .connected = qp};
}

FunctionState::Effect FunctionState::apply(const Done& done) {
    const auto number = [&]() -> std::uint32_t { // of the object that a DESTROY or 2RST names
        const auto in = as<DestroyQpIn>(done.in);
        return in ? in->get<"qpn">() : 0;
    }();
    using Gone = Effect::Gone;
    switch (done.opcode) {
    case Opcode::init_hca: is_followed_ = true; return {};
    case Opcode::create_eq: return create_eq(done), Effect{};
    case Opcode::create_cq: return create_cq(done), Effect{};
    case Opcode::modify_cq: return resize_cq(done), Effect{};
    case Opcode::create_qp: return create_qp(done), Effect{};
    case Opcode::init2rtr_qp:
    case Opcode::rtr2rts_qp: return change_qp(done);
    case Opcode::create_mkey:
        if (const auto out = as<CreateMkeyOut>(done.out))
            mkeys_[out->get<"mkey_index">()] = 0;
        return {};
    case Opcode::destroy_eq:
        displace(Place::event_queue, number & 0xff);
        eqs_.erase(number & 0xff);
        return {.gone = Gone{ObjectKind::eq, number & 0xff}};
    case Opcode::destroy_cq:
        displace(Place::completion_queue, number);
        cqs_.erase(number);
        return {.gone = Gone{ObjectKind::cq, number}};
    case Opcode::destroy_qp: forget_qp(number); return {.gone = Gone{ObjectKind::qp, number}};
    case Opcode::qp_2rst:
        if (auto* qp = this->qp(number))
            qp->is_connected = false, qp->begun.clear();
        disconnect(number);
        return {.gone = Gone{ObjectKind::qp, number}};
    case Opcode::destroy_mkey: mkeys_.erase(number); return {.gone = Gone{ObjectKind::mkey, number}};
    case Opcode::teardown_hca:
    case Opcode::disable_hca: return {.is_all_gone = true};
    default: return {};
    }
}

} // namespace traces::monitor
