#include "model/tlm/pcie_port.h"

#include "model/pcie/tlp_cost.h"
#include "model/tlm/time.h"

#include <algorithm>
#include <string>

namespace model::tlm {

using pcie::Traffic;

namespace {
constexpr std::uint64_t config_data = 4;
constexpr std::uint64_t invalidation_data = 8; ///< address and range (PCIe 6.0 §10.3.1)

struct Cost {
    Traffic request, answer;
};

Cost cost_of(const ::tlm::tlm_generic_payload& payload, const Extension& request) {
    using namespace pcie;
    const bool is_ok = payload.is_response_ok();
    const std::uint64_t length = payload.get_data_length();
    constexpr Traffic bare_completion{1, completion_header + framing_bytes, 0};
    const std::uint64_t prefix = request.pasid != pcie::no_pasid ? abi::pcie::pasid_prefix_bytes : 0;
    const auto message = abi::pcie::MemoryRequest64::size + framing_bytes; // message headers have 4 dwords
    switch (request.kind) {
    case RequestKind::hot_reset: return {};
    case RequestKind::invalidation:
        return {{1, message + prefix + invalidation_data, 0}, is_ok ? Traffic{1, message, 0} : Traffic{}};
    case RequestKind::page_request:
    case RequestKind::page_response: return {{1, message + prefix, 0}, {}};
    case RequestKind::memory: break;
    case RequestKind::config_type0:
    case RequestKind::config_type1: {
        const auto bare = abi::pcie::ConfigRequest::size + framing_bytes;
        if (payload.is_write())
            return {{1, bare + config_data, 0}, bare_completion};
        return {{1, bare, 0}, {1, bare_completion.wire_bytes + (is_ok ? config_data : 0), 0}};
    }
    }
    const auto address = payload.get_address();
    const auto header = request_header(address) + framing_bytes + prefix;
    if (payload.is_write()) {
        const auto packets = write_packets(address, length, request.sizes);
        return {{packets, packets * header + dword_bytes(address, length), length}, {}};
    }
    const auto requests = read_requests(address, length, request.sizes);
    if (!is_ok)
        return {{requests, requests * header, 0}, bare_completion};
    const auto answers = completions(address, length, request.sizes);
    return {{requests, requests * header, 0},
            {answers, answers * (completion_header + framing_bytes) + dword_bytes(address, length), length}};
}

pcie::LinkConfig negotiate(const pcie::LinkConfig& port, const pcie::LinkConfig& device) {
    auto link = port;
    link.generation = std::min(port.generation, device.generation);
    link.width = std::min(port.width, device.width);
    link.max_payload = std::min(port.max_payload, device.max_payload);
    link.tags = device.tags; // those of whoever asks through this link
    return link;
}
} // namespace

PciePort::PciePort(const char* name, PcieComponent& component, unsigned number, const pcie::LinkConfig& capability)
    : out_((std::string(name) + "_out").c_str()), in_((std::string(name) + "_in").c_str()), component_(component),
      number_(number), capability_(capability) {
    out_.bind(static_cast<PcieBackward&>(*this));
    in_.bind(static_cast<PcieForward&>(*this));
}

void PciePort::connect(PciePort& device) {
    const auto config = negotiate(capability_, device.capability_);
    owned_ = std::make_unique<pcie::Link>(
        out_.get_parent_object()->name() + std::string(" - ") + device.out_.get_parent_object()->name(), config);
    link_ = device.link_ = owned_.get();
    device.outwards_ = pcie::Direction::upstream;
    out_.bind(device.in_);
    device.out_.bind(in_);
    component_.linked(number_, config);
    device.component_.linked(device.number_, config);
}

void PciePort::charge(pcie::Direction direction, const Traffic& traffic, sc_core::sc_time& delay) {
    link_->count(direction, traffic);
    if (!link_->config().timed || traffic.tlps == 0)
        return;
    const auto now = kernel_now(), at = now + from_sc(delay);
    delay = to_sc(link_->transfer(direction, traffic.wire_bytes, {at, at}).tail - now);
}

void PciePort::send(::tlm::tlm_generic_payload& payload, Extension& request, sc_core::sc_time& delay) {
    if (link_ == nullptr)
        return set_status(payload, port::DmaStatus::unsupported_request);
    charge(outwards_, cost_of(payload, request).request, delay);
    out_->b_transport(payload, delay);
    if (!request.is_answer_straight)
        charge(reverse(outwards_), cost_of(payload, request).answer, delay);
}

void PciePort::detour(const ::tlm::tlm_generic_payload& payload, const Extension& request, sc_core::sc_time& delay) {
    if (link_ == nullptr)
        return;
    charge(outwards_, cost_of(payload, request).answer, delay);
    charge(reverse(outwards_), cost_of(payload, request).answer, delay);
}

/// Hops are walked backwards by completions.
void PciePort::detour(pcie::HopList& hops) const {
    if (link_ == nullptr)
        return;
    hops.add({link_, outwards_, false, true});
    hops.add({link_, reverse(outwards_), false, true});
}

bool PciePort::send_direct(::tlm::tlm_generic_payload& payload, Extension& request, ::tlm::tlm_dmi& dmi) {
    if (link_ == nullptr)
        return false;
    request.hops.add({link_, outwards_});
    return out_->get_direct_mem_ptr(payload, dmi);
}

void PciePort::invalidate(pcie::Range range) {
    if (link_ != nullptr && range.begin < range.end)
        in_->invalidate_direct_mem_ptr(range.begin, range.end - 1);
}

void PciePort::b_transport(::tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
    auto* request = payload.get_extension<Extension>();
    if (request == nullptr)
        return set_status(payload, port::DmaStatus::unsupported_request);
    component_.receive(number_, payload, *request, delay);
}

bool PciePort::get_direct_mem_ptr(::tlm::tlm_generic_payload& payload, ::tlm::tlm_dmi& dmi) {
    auto* request = payload.get_extension<Extension>();
    return request != nullptr && component_.receive_direct(number_, payload, *request, dmi);
}

::tlm::tlm_sync_enum PciePort::nb_transport_fw(::tlm::tlm_generic_payload& payload, ::tlm::tlm_phase&,
                                               sc_core::sc_time& delay) {
    b_transport(payload, delay);
    return ::tlm::TLM_COMPLETED;
}

void PciePort::invalidate_direct_mem_ptr(sc_dt::uint64 begin, sc_dt::uint64 end) {
    component_.receive_invalidate(number_, {begin, end + 1 != 0 ? end + 1 : end});
}

} // namespace model::tlm
