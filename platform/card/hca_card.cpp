#include "platform/card/hca_card.h"

#include "abi/prm/doorbell.h"

#include <algorithm>
#include <bit>

namespace platform::card {

namespace {
/// Packets that turn round in the port: no cable, and nothing is lost.
model::net::LinkConfig inside(const model::net::LinkConfig& cable) {
    model::net::LinkConfig link;
    link.timed = cable.timed;
    link.encapsulation = cable.encapsulation;
    link.rate_gbps = cable.rate_gbps;
    link.latency = std::chrono::nanoseconds{100};
    return link;
}

/// The card as it finds its cable.
model::hca::HcaConfig at_end_of(const model::net::LinkConfig& cable, model::hca::HcaConfig config) {
    config.port_rate_gbps = cable.rate_gbps;
    return config;
}

constexpr std::uint16_t mellanox = 0x15b3;
constexpr std::uint32_t class_infiniband = 0x020700, class_ethernet = 0x020000;
constexpr std::uint64_t msix_entry_bytes = 16, msix_alignment = 4096;
} // namespace

model::pcie::FunctionConfig HcaCard::function_config(const model::hca::HcaConfig& config, const SlotConfig& slot) {
    model::pcie::FunctionConfig function;
    function.identity.vendor_id = mellanox;
    function.identity.device_id = config.device_id;
    function.identity.class_code = config.is_ethernet ? class_ethernet : class_infiniband;
    function.bars[0] = {.size = std::bit_ceil(std::uint64_t{config.uar_pages} * abi::prm::uar_page_bytes),
                        .is_64bit = true,
                        .is_prefetchable = true};
    function.msix_vectors = config.msix_vectors;
    // The pending bits lie behind the table, however long that is.
    const auto table = config.msix_vectors * msix_entry_bytes;
    function.msix_pending_offset =
        function.msix_table_offset + (table + msix_alignment - 1) / msix_alignment * msix_alignment;
    function.has_gateway = true;
    function.link = slot.link;
    function.ats = slot.ats;
    return function;
}

HcaCard::HcaCard(sc_core::sc_module_name name, const model::hca::HcaConfig& config, const SlotConfig& slot,
                 model::net::LinkModule& cable, unsigned end, traces::Events device, traces::Events bus)
    : sc_module(name), endpoint("pcie", function_config(config, slot), *this),
      uar_begin_(std::uint64_t{config.first_uar} * abi::prm::uar_page_bytes), turn_(slot.calls), cable_(cable),
      inside_("inside", inside(cable.link().config()), device, slot.calls),
      clock_([this](model::port::Time now) { wake(now); }, slot.calls),
      hca_(at_end_of(cable.link().config(), config),
           {endpoint.dma(), clock_, cable.link().end(end), endpoint.interrupts(), &inside_.link().end(0)}, device),
      firmware_(hca_, endpoint.dma(), clock_, device) {
    endpoint.set_events(bus);
    cable.link().attach(end, *this);
    for (const unsigned side : {0u, 1u})
        inside_.link().attach(side, slot.calls == model::tlm::Calls::at_once ? static_cast<model::port::Receiver&>(hca_)
                                                                             : inside_receiver_);
}

model::port::DmaResult HcaCard::bar_read(unsigned, std::uint64_t offset, std::span<std::byte> into,
                                         model::port::Time at) {
    // UAR pages are write-only (PRM "User access region"). A read does not wait for its turn: it changes nothing that a
    // chain of calls relies on, and whoever reads may be the one who has what the device waits for.
    std::ranges::fill(into, std::byte{});
    if (offset < uar_begin_)
        firmware_.read(offset, into.first(std::min<std::uint64_t>(into.size(), uar_begin_ - offset)), at);
    return {model::port::DmaStatus::ok, at};
}

void HcaCard::bar_write(unsigned, std::uint64_t offset, std::span<const std::byte> from, model::port::Time at) {
    const model::tlm::Turn::Hold hold(turn_);
    at = present(at);
    while (!from.empty()) { // a write may run over the end of a page, or of the segment
        const auto rest_of_page = abi::prm::uar_page_bytes - offset % abi::prm::uar_page_bytes;
        const auto part = from.first(std::min<std::uint64_t>(from.size(), rest_of_page));
        if (offset < uar_begin_)
            firmware_.write(offset, part, at);
        else
            hca_.write_uar(static_cast<std::uint32_t>(offset / abi::prm::uar_page_bytes),
                           offset % abi::prm::uar_page_bytes, part, at);
        offset += part.size();
        from = from.subspan(part.size());
    }
    flush();
}

void HcaCard::reset(model::port::Time) {
    const model::tlm::Turn::Hold hold(turn_);
    firmware_.reset();
}

void HcaCard::wake(model::port::Time now) {
    const model::tlm::Turn::Hold hold(turn_);
    now = present(now);
    hca_.wake(now);
    firmware_.wake(now);
    flush();
}

/// Delivers what was sent when time plays no part; each way may bring packets for the other.
void HcaCard::flush() {
    auto& link = inside_.link();
    cable_.flush();
    if (link.counters(0).packets == 0) [[likely]]
        return;
    for (auto done = ~std::uint64_t{0}; done != link.counters(0).delivered;) { // inside a delivery nothing moves on
        done = link.counters(0).delivered;
        inside_.flush();
        cable_.flush();
    }
}

void HcaCard::received_all(model::port::Time at) {
    const model::tlm::Turn::Hold hold(turn_);
    at = present(at);
    hca_.received_all(at);
    inside_.flush();
}

void HcaCard::ready(model::port::Time at) {
    const model::tlm::Turn::Hold hold(turn_);
    at = present(at);
    hca_.ready(at);
    inside_.flush();
}

} // namespace platform::card
