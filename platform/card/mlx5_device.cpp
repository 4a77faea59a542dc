#include "platform/card/mlx5_device.h"

#include "abi/prm/adapter.h"
#include "abi/prm/doorbell.h"

#include <bit>
#include <chrono>

namespace platform::card {

using model::port::Time;

namespace {
constexpr std::uint32_t class_infiniband = 0x020700, class_ethernet = 0x020000;
constexpr std::uint64_t msix_entry_bytes = 16, msix_alignment = 4096;

/// Packets that turn round in the port: no cable, and nothing is lost.
model::net::LinkConfig inside(const model::hca::HcaConfig& config) {
    using model::port::Encapsulation;
    model::net::LinkConfig link;
    link.timed = config.timed;
    link.encapsulation = config.is_ethernet ? Encapsulation::roce_v2_ipv4 : Encapsulation::infiniband;
    link.rate_gbps = config.port_rate_gbps;
    link.latency = std::chrono::nanoseconds{100};
    link.credit_blocks = 0;
    return link;
}
} // namespace

model::pcie::FunctionConfig Mlx5Device::function_config(const model::hca::HcaConfig& config) {
    model::pcie::FunctionConfig function;
    function.identity.vendor_id = abi::prm::pci_vendor;
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
    return function;
}

Mlx5Device::Mlx5Device(const model::hca::HcaConfig& config, const model::pcie::DevicePorts& ports,
                       traces::Events events)
    : uar_begin_(std::uint64_t{config.first_uar} * abi::prm::uar_page_bytes), alarm_(ports.clock),
      inside_(inside(config), alarm_, events),
      hca_(config, {ports.dma, ports.clock, *ports.wires.front(), ports.interrupts, &inside_.end(0)}, events),
      firmware_(hca_, ports.dma, ports.clock, events) {
    for (const unsigned side : {0u, 1u})
        inside_.attach(side, turned_);
}

model::port::DmaResult Mlx5Device::bar_read(unsigned, std::uint64_t offset, std::span<std::byte> into, Time at) {
    // UAR pages are write-only (PRM "User access region").
    std::ranges::fill(into, std::byte{});
    if (offset < uar_begin_)
        firmware_.read(offset, into.first(std::min<std::uint64_t>(into.size(), uar_begin_ - offset)), at);
    return {model::port::DmaStatus::ok, at};
}

void Mlx5Device::bar_write(unsigned, std::uint64_t offset, std::span<const std::byte> from, Time at) {
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
}

void Mlx5Device::reset(Time) { firmware_.reset(); }

void Mlx5Device::wake(Time now) {
    hca_.wake(now);
    firmware_.wake(now);
    if (alarm_.rings(now))
        inside_.wake(now);
}

bool Mlx5Device::settle() {
    const auto& counters = inside_.counters(0);
    if (counters.packets == 0 || inside_.config().timed) [[likely]]
        return false;
    const auto delivered = counters.delivered;
    inside_.pump(alarm_.now());
    return counters.delivered != delivered; // inside of a delivery nothing moves on
}

void Mlx5Device::received_all(Time at) {
    hca_.received_all(at);
    settle();
}

void Mlx5Device::ready(Time at) {
    hca_.ready(at);
    settle();
}

} // namespace platform::card
