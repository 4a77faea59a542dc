#include "model/iommu/iommu_module.h"

#include "model/tlm/time.h"

#include <utility>

namespace model::iommu {

using port::DmaStatus;

IommuModule::IommuModule(const IommuModuleConfig& config, tlm::Fabric& memory, std::function<void()> paths_gone)
    : config_(config), memory_(memory), paths_gone_(std::move(paths_gone)), iommu_(config_.core, memory_, this) {
    memory_.set_requester(abi::pcie::Bdf{0, 0, 0});
}

DmaStatus IommuModule::translate(::tlm::tlm_generic_payload& payload, const tlm::Extension& request,
                                 sc_core::sc_time& delay) {
    const auto now = tlm::kernel_now();
    const auto at = now + tlm::from_sc(delay);
    const auto length = payload.get_data_length();
    const auto result = iommu_.translate({.requester = request.requester.value,
                                          .pasid = request.pasid,
                                          .address = payload.get_address(),
                                          .length = length,
                                          .access = payload.is_write() ? Access::write : Access::read,
                                          .type = static_cast<AddressType>(request.address_type)},
                                         at);
    if (!is_enabled())
        return result.status;
    delay = tlm::to_sc(result.ready + config_.hit_latency - now);
    if (result.reads != 0)
        delay += tlm::to_sc(config_.miss_latency + result.reads * config_.read_latency);
    if (!result.is_ok())
        return result.status;
    // No device of the platform has a TLB yet: a translation request has nobody to answer.
    if (request.address_type == tlm::AddressType::translation_request)
        return DmaStatus::unsupported_request;
    if (result.length < length)
        return DmaStatus::completer_abort;
    payload.set_address(result.address);
    return DmaStatus::ok;
}

DmaStatus IommuModule::access(std::uint64_t offset, ::tlm::tlm_generic_payload& payload,
                              const sc_core::sc_time& delay) {
    const auto data = tlm::bytes_of(payload);
    if (data.size() != 4 && data.size() != 8)
        return DmaStatus::unsupported_request;
    const auto bytes = static_cast<unsigned>(data.size());
    const auto at = static_cast<std::uint32_t>(offset);
    if (payload.is_read()) {
        const auto value = iommu_.read(at, bytes);
        if (bytes == 4)
            abi::store<std::uint32_t, abi::Endian::little>(data.data(), static_cast<std::uint32_t>(value));
        else
            abi::store<std::uint64_t, abi::Endian::little>(data.data(), value);
        return DmaStatus::ok;
    }
    const std::uint64_t value = bytes == 4 ? abi::load<std::uint32_t, abi::Endian::little>(data.data())
                                           : abi::load<std::uint64_t, abi::Endian::little>(data.data());
    iommu_.write(at, bytes, value, tlm::kernel_now() + tlm::from_sc(delay));
    return DmaStatus::ok;
}

/// Requests come one by one while translation is on, so only the switch itself ends direct paths.
void IommuModule::translations_gone(const Gone&) {
    if (std::exchange(was_enabled_, is_enabled()) != is_enabled())
        paths_gone_();
}

} // namespace model::iommu
