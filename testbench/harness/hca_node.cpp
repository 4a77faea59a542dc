#include "testbench/harness/hca_node.h"

namespace harness {

Node::Node(const model::hca::HcaConfig& config, TestClock& clock, model::port::Wire& wire, std::uint16_t source,
           model::port::Wire* inside, traces::Sink* sink)
    : Node(config, clock, wire, inside, source, sink != nullptr ? sink : &events) {}

Node::Node(const model::hca::HcaConfig& config, TestClock& clock, model::port::Wire& wire, std::uint16_t source, Quiet)
    : Node(config, clock, wire, nullptr, source, nullptr) {}

Node::Node(const model::hca::HcaConfig& config, TestClock& clock, model::port::Wire& wire, model::port::Wire* inside,
           std::uint16_t source, traces::Sink* sink)
    : hca(config, {dma, clock, wire, interrupts, inside}, traces::Events{sink, source}), peer(source == 1 ? 2 : 1) {
    set_addresses(hca.identity(), source);
}

Node::~Node() = default;

std::uint64_t Node::allocate(std::uint64_t bytes) {
    const auto at = next_;
    next_ += (bytes + 0xfff) & ~0xfffull;
    return at;
}

void Node::write_be32(std::uint64_t address, std::uint32_t value) {
    std::array<std::byte, 4> bytes;
    abi::store<std::uint32_t, abi::Endian::big>(bytes.data(), value);
    dma.poke(address, bytes);
}

void Node::write_be64(std::uint64_t address, std::uint64_t value) {
    std::array<std::byte, 8> bytes;
    abi::store<std::uint64_t, abi::Endian::big>(bytes.data(), value);
    dma.poke(address, bytes);
}

void Node::fill(std::uint64_t address, std::size_t length, unsigned seed) {
    std::vector<std::byte> bytes(length);
    for (std::size_t i = 0; i < length; ++i)
        bytes[i] = static_cast<std::byte>((i * 31 + seed * 7 + i / 251) & 0xff);
    dma.poke(address, bytes);
}

Region Node::make_region(std::uint32_t length, unsigned seed, model::hca::tpt::Rights rights) {
    const auto base = allocate(std::uint64_t{length} + 0x2000);
    const Region region{base + 0xdc8, length, make_mr(base + 0xdc8, std::max(length, 1u), rights)};
    dma.poke(region.address - guard, std::vector(guard, std::byte{0xa5}));
    dma.poke(region.address + length, std::vector(guard, std::byte{0xa5}));
    if (seed != 0)
        fill(region.address, length, seed);
    return region;
}

bool Node::has_guards(const Region& region) {
    const std::vector<std::byte> untouched(guard, std::byte{0xa5});
    return dma.peek(region.address - guard, guard) == untouched &&
           dma.peek(region.address + region.length, guard) == untouched;
}

TestCq Node::make_cq(TestCq cq, bool overrun_ignore) {
    cq.number = abi::Cqn{next_number_++};
    cq.buffer = allocate(std::uint64_t{1} << (cq.log_size + cq.log_entry));
    cq.record = allocate(8);
    for (std::uint64_t i = 1; i <= 1ull << cq.log_size; ++i)
        dma.poke(cq.buffer + (i << cq.log_entry) - 1, std::array{std::byte{0xf1}});
    model::hca::queue::CompletionQueueAttributes a;
    a.buffer = {{bus(cq.buffer)}, std::max(16u, cq.log_size + cq.log_entry), 0};
    a.log_size = static_cast<std::uint8_t>(cq.log_size);
    a.log_entry_bytes = static_cast<std::uint8_t>(cq.log_entry);
    a.overrun_ignore = overrun_ignore;
    a.doorbell_record = bus(cq.record);
    a.uar_page = uar;
    a.eqn = eqn;
    hca.create_cq(cq.number, a);
    return cq;
}

void Node::make_eq() {
    eq_buffer = allocate(64ull << log_eq);
    for (std::uint64_t i = 0; i < 1ull << log_eq; ++i)
        dma.poke(eq_buffer + i * 64 + 63, std::array{std::byte{1}});
    model::hca::event::Attributes a;
    a.buffer = {{bus(eq_buffer)}, 16, 0};
    a.log_size = log_eq;
    a.vector = 3;
    a.uar_page = uar;
    a.events = ~0ull;
    hca.event_queues().create(eqn, a);
}

model::hca::queue::QueuePairAttributes Node::attributes(const TestCq& cq) {
    model::hca::queue::QueuePairAttributes a;
    a.pd = pd;
    a.mtu = 3; // 1024
    a.log_rq_size = a.log_rq_stride = a.log_sq_size = 6;
    a.uar_page = uar;
    a.send_cq = a.receive_cq = cq.number;
    a.log_reads_requester = a.log_reads_responder = 4;
    a.retry_count = 7;
    a.rnr_retry = 7;
    a.min_rnr_nak = 12;
    a.path.ack_timeout = 14;
    a.remote_read = a.remote_write = a.remote_atomic = true;
    return a;
}

TestQp Node::make_qp(model::hca::queue::QueuePairAttributes a) {
    TestQp qp{.number = abi::Qpn{next_number_++},
              .log_sq = a.log_sq_size,
              .log_rq = a.log_rq_size,
              .log_stride = a.log_rq_stride};
    const auto size =
        (64ull << qp.log_sq) + std::max<std::uint64_t>(64, std::uint64_t{1} << (qp.log_rq + qp.log_stride));
    qp.buffer = allocate(size);
    qp.record = allocate(8);
    a.buffer = {{bus(qp.buffer)}, 24, 0};
    a.doorbell_record = bus(qp.record);
    hca.create_qp(qp.number, a);
    return qp;
}

abi::Key Node::make_key(model::hca::tpt::MkeyAttributes a, std::vector<std::uint64_t> mtt) {
    const auto index = next_number_++;
    hca.create_mkey(index, a, std::move(mtt));
    return abi::Key{index, a.variant};
}

abi::Key Node::make_mr(std::uint64_t address, std::uint64_t length, model::hca::tpt::Rights rights) {
    model::hca::tpt::MkeyAttributes a;
    a.variant = 0x5a;
    a.rights = rights;
    a.pd = pd;
    a.start = address;
    a.length = length;
    std::vector<std::uint64_t> mtt;
    for (auto page = address & ~0xfffull; page < address + length; page += 0x1000)
        mtt.push_back(page);
    return make_key(a, std::move(mtt));
}

void Node::connect(const TestQp& qp, abi::Qpn remote, std::uint32_t send_psn, std::uint32_t receive_psn, Time at) {
    using model::hca::queue::QpState;
    auto& object = core(qp);
    auto a = object.attributes;
    a.remote_qpn = remote;
    a.next_send_psn = abi::Psn{send_psn};
    a.next_receive_psn = abi::Psn{receive_psn};
    lead_to(a.path, peer);
    for (const auto state : {QpState::init, QpState::rtr, QpState::rts})
        hca.modify_qp(object, a, state, at, state == QpState::rtr);
}

std::vector<std::byte> Node::encode(const Post& wr, abi::Qpn number, std::uint16_t index) {
    using namespace abi::prm;
    std::vector<std::byte> wqe(1024);
    std::size_t at = 16;
    const auto tail = [&] { return std::span(wqe).subspan(at); };
    if (wr.datagram) {
        abi::View<WqeAv>(tail())
            .set<"q_key">(wr.datagram->q_key)
            .set<"extended">(1)
            .set<"dqp_dct">(wr.datagram->destination.value)
            .set<"src_addr_index">(wr.datagram->source_index)
            .set<"rmac">(mac_of_node(wr.datagram->node))
            .set<"rgid_rip">(gid_of_node(wr.datagram->node));
        at += WqeAv::size;
    }
    if (wr.xrc_srq) {
        abi::View<WqeXrc>(tail()).set<"xrc_srqn">(*wr.xrc_srq);
        at += WqeXrc::size;
    }
    if (wr.opcode != WqeOpcode::send && wr.opcode != WqeOpcode::send_imm && wr.opcode != WqeOpcode::send_inval &&
        wr.opcode != WqeOpcode::nop) {
        abi::View<WqeRaddr>(tail()).set<"raddr">(wr.remote).set<"rkey">(wr.rkey.value);
        at += 16;
    }
    if (wr.opcode == WqeOpcode::atomic_cs || wr.opcode == WqeOpcode::atomic_fa) {
        abi::View<WqeAtomic>(tail()).set<"swap_add">(wr.swap_or_add).set<"compare">(wr.compare);
        at += 16;
    }
    if (!wr.inline_data.empty()) {
        abi::View<WqeInline>(tail()).set<"inline">(1).set<"byte_count">(
            static_cast<std::uint32_t>(wr.inline_data.size()));
        std::ranges::copy(wr.inline_data, wqe.begin() + static_cast<std::ptrdiff_t>(at) + 4);
        at += (4 + wr.inline_data.size() + 15) / 16 * 16;
    }
    for (const auto& sge : wr.sges) {
        abi::View<WqeData>(tail()).set<"byte_count">(sge.length).set<"lkey">(sge.key.value).set<"addr">(sge.address);
        at += 16;
    }
    abi::View<WqeCtrl>(std::span(wqe))
        .set<"wqe_index">(index)
        .set<"opcode">(wr.opcode)
        .set<"qpn">(number.value)
        .set<"ds">(static_cast<std::uint32_t>(at / 16))
        .set<"fm">(wr.fence)
        .set<"ce">(wr.signalled ? CompletionEvent::always : CompletionEvent::on_error)
        .set<"se">(wr.solicited)
        .set<"imm">(wr.immediate);
    wqe.resize((at + 63) / 64 * 64);
    return wqe;
}

std::uint16_t Node::post_bytes(TestQp& qp, std::span<const std::byte> wqe) {
    const auto index = qp.sq_producer;
    for (std::size_t at = 0; at < wqe.size(); at += 64)
        dma.poke(sq_address(qp, qp.sq_producer++), wqe.subspan(at, std::min<std::size_t>(64, wqe.size() - at)));
    write_be32(qp.record + 4, qp.sq_producer);
    return index;
}

std::uint64_t Node::sq_address(const TestQp& qp, std::uint16_t index) const {
    return qp.buffer + core_sq_offset(qp) + (index & ((1u << qp.log_sq) - 1)) * 64ull;
}

void Node::ring(const TestQp& qp, Time at) {
    std::array<std::byte, 8> bytes{};
    abi::store<std::uint32_t, abi::Endian::big>(bytes.data() + 4, qp.number.value << 8);
    hca.write_uar(uar, 0x800, bytes, at);
}

void Node::post_receive(TestQp& qp, const std::vector<Post::Sge>& sges) {
    std::vector<std::byte> wqe(std::size_t{1} << qp.log_stride);
    for (std::size_t i = 0; i < sges.size(); ++i)
        abi::View<abi::prm::WqeData>(std::span(wqe).subspan(i * 16))
            .set<"byte_count">(sges[i].length)
            .set<"lkey">(sges[i].key.value)
            .set<"addr">(sges[i].address);
    if (sges.size() < wqe.size() / 16)
        abi::View<abi::prm::WqeData>(std::span(wqe).subspan(sges.size() * 16)).set<"lkey">(0x100);
    dma.poke(qp.buffer + (qp.rq_producer & ((1u << qp.log_rq) - 1)) * wqe.size(), wqe);
    write_be32(qp.record, ++qp.rq_producer);
}

TestSrq Node::make_srq(model::hca::queue::SharedReceiveQueueAttributes a, std::uint16_t step) {
    TestSrq srq{.number = next_number_++};
    srq.buffer = allocate(1ull << (srq.log_size + srq.log_stride));
    srq.record = allocate(8);
    for (std::uint16_t i = 0; i < 1u << srq.log_size; ++i) {
        std::array<std::byte, 16> head{};
        abi::View<abi::prm::WqeSrqNext>(std::span(head))
            .set<"next_wqe_index">(static_cast<std::uint16_t>((i + step) & ((1u << srq.log_size) - 1)));
        dma.poke(srq.buffer + (std::uint64_t{i} << srq.log_stride), head);
    }
    a.pd = pd;
    a.log_size = static_cast<std::uint8_t>(srq.log_size);
    a.log_stride = static_cast<std::uint8_t>(srq.log_stride);
    a.doorbell_record = bus(srq.record);
    a.buffer = {{bus(srq.buffer)}, 24, 0};
    hca.create_srq(srq.number, std::move(a));
    return srq;
}

void Node::post_receive(TestSrq& srq, std::uint16_t index, const std::vector<Post::Sge>& sges) {
    std::vector<std::byte> wqe((std::size_t{1} << srq.log_stride) - 16);
    for (std::size_t i = 0; i < sges.size(); ++i)
        abi::View<abi::prm::WqeData>(std::span(wqe).subspan(i * 16))
            .set<"byte_count">(sges[i].length)
            .set<"lkey">(sges[i].key.value)
            .set<"addr">(sges[i].address);
    if (sges.size() < wqe.size() / 16)
        abi::View<abi::prm::WqeData>(std::span(wqe).subspan(sges.size() * 16)).set<"lkey">(0x100);
    dma.poke(srq.buffer + (std::uint64_t{index} << srq.log_stride) + 16, wqe);
    write_be32(srq.record, ++srq.producer);
}

std::optional<abi::Block<abi::prm::Cqe64>> Node::poll(TestCq& cq) {
    abi::Block<abi::prm::Cqe64> cqe;
    const auto entry = std::uint64_t{cq.consumer & ((1u << cq.log_size) - 1)} << cq.log_entry;
    dma.peek(cq.buffer + entry + (1ull << cq.log_entry) - 64, cqe.bytes);
    const auto owner = cq.consumer >> cq.log_size & 1;
    if (cqe.view().get<"opcode">() == abi::prm::CqeOpcode::invalid || cqe.view().get<"owner">() != owner)
        return std::nullopt;
    write_be32(cq.record, ++cq.consumer & 0xffffff);
    return cqe;
}

std::vector<Done> Node::drain(TestCq& cq) {
    std::vector<Done> all;
    while (auto cqe = poll(cq)) {
        const auto v = cqe->view();
        Done done{.opcode = v.get<"opcode">(),
                  .qpn = v.get<"qpn">(),
                  .index = v.get<"wqe_counter">(),
                  .send_opcode = static_cast<std::uint8_t>(v.get<"sop">()),
                  .solicited = v.get<"se">() != 0};
        if (done.is_ok()) {
            done.bytes = v.get<"byte_cnt">();
            done.immediate = v.get<"imm_inval_pkey">();
            done.path_bits = static_cast<std::uint8_t>(v.get<"ml_path">());
        } else {
            const abi::ConstView<abi::prm::ErrCqe> error{cqe->bytes};
            done.syndrome = error.get<"syndrome">();
            done.vendor = error.get<"vendor_err_synd">();
        }
        all.push_back(done);
    }
    return all;
}

void Node::arm(const TestCq& cq, bool solicited_only, Time at, std::uint32_t sequence) {
    using namespace abi::prm;
    abi::Block<CqDoorbell> doorbell;
    doorbell.view()
        .set<"cmd_sn">(sequence)
        .set<"cmd">(solicited_only ? ArmCommand::solicited : ArmCommand::next)
        .set<"ci">(cq.consumer)
        .set<"cqn">(cq.number.value);
    hca.write_uar(uar, uar_cq_doorbell, doorbell.bytes, at);
}

std::optional<abi::Block<abi::prm::Eqe>> Node::poll_event() {
    abi::Block<abi::prm::Eqe> eqe;
    dma.peek(eq_buffer + (eq_consumer & ((1u << log_eq) - 1)) * 64ull, eqe.bytes);
    if (eqe.view().get<"owner">() != (eq_consumer >> log_eq & 1))
        return std::nullopt;
    ++eq_consumer;
    return eqe;
}

std::vector<std::pair<abi::prm::EventType, std::uint32_t>> Node::drain_events() {
    std::vector<std::pair<abi::prm::EventType, std::uint32_t>> all;
    while (const auto eqe = poll_event()) {
        const auto type = eqe->view().get<"event_type">();
        const auto at = type == abi::prm::EventType::cq_error ? 0x20 : 0x38;
        all.emplace_back(type, abi::load<std::uint32_t, abi::Endian::big>(eqe->bytes.data() + at) & 0xffffff);
    }
    return all;
}

void Node::ring_eq(std::uint32_t consumer, bool arm, Time at) {
    std::array<std::byte, 4> bytes;
    abi::store<std::uint32_t, abi::Endian::big>(bytes.data(), eqn.value << 24 | (consumer & 0xffffff));
    hca.write_uar(uar, arm ? 0x40 : 0x48, bytes, at);
}

} // namespace harness
