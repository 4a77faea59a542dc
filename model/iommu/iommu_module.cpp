#include "model/iommu/iommu_module.h"

#include "model/pcie/tlp_cost.h"
#include "model/tlm/time.h"

#include <algorithm>
#include <utility>

namespace model::iommu {

using port::DmaStatus;

IommuModule::IommuModule(const IommuModuleConfig& config, tlm::Fabric& memory, std::function<void()> paths_gone,
                         std::function<port::Time()> writes_landed, SendDown send_down)
    : config_(config), memory_(memory), paths_gone_(std::move(paths_gone)), writes_landed_(std::move(writes_landed)),
      send_down_(std::move(send_down)), iommu_(config_.core, memory_, this),
      walkers_("page walkers", config.walkers, {}) {
    memory_.set_requester(abi::pcie::Bdf{0, 0, 0});
}

/// Sets `ready` to when the translation is known, including table walks and waiting for a walker.
Translation IommuModule::look_up(const Remapper::Request& request, port::Time at) {
    auto result = iommu_.translate({.requester = request.requester.value,
                                    .pasid = request.pasid,
                                    .address = request.address,
                                    .length = request.length,
                                    .access = request.is_write ? Access::write : Access::read,
                                    .type = request.type,
                                    .packets = static_cast<std::uint32_t>(request.packets)},
                                   at);
    if (!is_enabled())
        return result;
    result.ready += config_.hit_latency;
    if (result.reads == 0)
        return result;
    const auto walk = config_.miss_latency + result.reads * config_.read_latency;
    result.ready = config_.walkers != 0 ? walkers_.use(result.ready, walk).done : result.ready + walk;
    return result;
}

pcie::Remapper::Remapped IommuModule::remap(const Remapper::Request& request, port::Time at) {
    const auto result = look_up(request, at);
    if (result.is_ok() && result.length < request.length)
        return {DmaStatus::completer_abort, 0, result.ready};
    return {result.status, result.address, result.ready};
}

DmaStatus IommuModule::translate(::tlm::tlm_generic_payload& payload, tlm::Extension& request,
                                 sc_core::sc_time& delay) {
    const auto now = tlm::kernel_now();
    const std::uint64_t address = payload.get_address(), length = payload.get_data_length();
    const bool is_write = payload.is_write();
    const auto remapped = remap({.requester = request.requester,
                                 .type = request.address_type,
                                 .pasid = request.pasid,
                                 .address = address,
                                 .length = length,
                                 .is_write = is_write,
                                 .packets = is_write ? pcie::write_packets(address, length, request.sizes)
                                                     : pcie::read_requests(address, length, request.sizes)},
                                now + tlm::from_sc(delay));
    delay = tlm::to_sc(remapped.ready - now);
    if (remapped.is_ok())
        payload.set_address(remapped.address);
    return remapped.status;
}

DmaStatus IommuModule::complete_translation(::tlm::tlm_generic_payload& payload, tlm::Extension& request,
                                            sc_core::sc_time& delay) {
    const auto now = tlm::kernel_now();
    const auto address = payload.get_address();
    const auto result = look_up({.requester = request.requester,
                                 .type = request.address_type,
                                 .pasid = request.pasid,
                                 .address = address,
                                 .length = 1,
                                 .is_write = request.message.is_write},
                                now + tlm::from_sc(delay));
    delay = tlm::to_sc(result.ready - now);
    const auto page = std::uint64_t{1} << result.shift;
    request.translation = {.address = result.address & ~(page - 1),
                           .shift = result.shift,
                           .is_readable = result.is_readable,
                           .is_writable = result.is_writable,
                           .is_untranslated_only = result.is_untranslated_only};
    return result.status;
}

void IommuModule::request_page(const ::tlm::tlm_generic_payload& payload, const tlm::Extension& request,
                               const sc_core::sc_time& delay) {
    iommu_.request_page({.requester = request.requester.value,
                         .pasid = request.pasid,
                         .address = payload.get_address(),
                         .group = request.message.group,
                         .is_last = request.message.is_last,
                         .is_read = request.message.is_read,
                         .is_write = request.message.is_write},
                        tlm::kernel_now() + tlm::from_sc(delay));
}

std::optional<port::Time> IommuModule::invalidate_device(const DeviceInvalidation& invalidation, port::Time at) {
    tlm::Request message;
    message.prepare(::tlm::TLM_IGNORE_COMMAND, invalidation.begin, {});
    message.extension.kind = tlm::RequestKind::invalidation;
    message.extension.target = abi::pcie::Bdf{invalidation.device};
    message.extension.pasid = invalidation.pasid;
    message.extension.message = {.bytes = invalidation.bytes, .is_global = invalidation.is_global};
    const auto now = tlm::kernel_now();
    auto delay = tlm::to_sc(at - now);
    send_down_(message, delay);
    if (tlm::status_of(message.payload) != DmaStatus::ok)
        return {};
    return std::max(at, now + tlm::from_sc(delay));
}

void IommuModule::page_response(const PageResponse& response, port::Time at) {
    tlm::Request message;
    message.prepare(::tlm::TLM_IGNORE_COMMAND, 0, {});
    message.extension.kind = tlm::RequestKind::page_response;
    message.extension.target = abi::pcie::Bdf{response.device};
    message.extension.pasid = response.pasid;
    message.extension.message = {.group = response.group, .code = static_cast<std::uint8_t>(response.code)};
    auto delay = tlm::to_sc(at - tlm::kernel_now());
    send_down_(message, delay);
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

/// While translation is on each request is looked up, on direct paths too; so only turning it on or off ends direct
/// paths.
void IommuModule::translations_gone(const Gone& gone) {
    if (invalidated_)
        invalidated_(gone);
    if (std::exchange(was_enabled_, is_enabled()) != is_enabled())
        paths_gone_();
}

} // namespace model::iommu
