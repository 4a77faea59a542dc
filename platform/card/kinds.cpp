#include "platform/card/kinds.h"

#include "model/copy/copy_engine.h"
#include "model/gpu/gpu.h"
#include "model/gpu/vram.h"
#include "model/nvme/controller.h"
#include "model/simple/device.h"
#include "platform/card/mlx5_device.h"

#include <algorithm>
#include <array>
#include <cassert>

namespace platform::card {

namespace {

using model::pcie::DevicePorts;

/// A device that needs no more than its configuration and its ports.
template <class D, class Config>
std::unique_ptr<D> make_alone(const Config& config, const DevicePorts& ports, const DevicePlace&) {
    return std::make_unique<D>(config, ports);
}

/// `make(config, ports, place)` makes a device of type D.
template <class D, class Config, auto make = &make_alone<D, Config>>
Kind row(std::string_view name, unsigned network_ports, bool is_playable = true) {
    return {.name = name,
            .config = typeid(Config),
            .network_ports = network_ports,
            .defaults = [] { return std::any(Config{}); },
            .functions =
                [](const std::any& config) {
                    return std::vector{D::function_config(std::any_cast<const Config&>(config))};
                },
            .make = [](const std::any& config, const DevicePorts& ports,
                       const DevicePlace& place) -> std::unique_ptr<model::pcie::Device> {
                return make(std::any_cast<const Config&>(config), ports, place);
            },
            .settings =
                [](std::any& config) {
                    if constexpr (requires(Config c) { c.settings(); })
                        return std::any_cast<Config&>(config).settings();
                    else
                        return std::vector<model::pcie::Setting>{};
                },
            .set_timed =
                [](std::any& config, bool is_timed) {
                    if constexpr (requires(Config c) { c.timed = true; })
                        std::any_cast<Config&>(config).timed = is_timed;
                },
            .is_same =
                [](const std::any& one, const std::any& other) {
                    return std::any_cast<const Config&>(one) == std::any_cast<const Config&>(other);
                },
            .is_playable = is_playable};
}

constexpr auto make_hca = [](const model::hca::HcaConfig& config, const DevicePorts& ports, const DevicePlace& place) {
    return std::make_unique<Mlx5Device>(config, ports, place.events);
};
constexpr auto make_simple_hca = [](const model::simple::SimpleConfig& config, const DevicePorts& ports,
                                    const DevicePlace& place) {
    return std::make_unique<model::simple::Device>(config, ports, place.events);
};
constexpr auto make_caching_gpu = [](const model::gpu::GpuConfig& config, const DevicePorts& ports,
                                     const DevicePlace& place) {
    return std::make_unique<model::gpu::Gpu>(place.name, config, ports);
};
constexpr auto make_nvme = [](const model::nvme::NvmeConfig& config, const DevicePorts& ports,
                              const DevicePlace& place) {
    return std::make_unique<model::nvme::Controller>(config, ports, place.events);
};
constexpr auto make_gpu = [](const model::gpu::VramConfig& config, const DevicePorts&, const DevicePlace& place) {
    return std::make_unique<model::gpu::Vram>(place.name, config);
};

} // namespace

std::span<const Kind> kinds() {
    static const std::array table{
        row<Mlx5Device, model::hca::HcaConfig, make_hca>("hca", 1),
        row<model::simple::Device, model::simple::SimpleConfig, make_simple_hca>("simple_hca", 1),
        row<model::gpu::Gpu, model::gpu::GpuConfig, make_caching_gpu>("caching_gpu", 0, false),
        row<model::gpu::Vram, model::gpu::VramConfig, make_gpu>("gpu", 0),
        row<model::copy::CopyEngine, model::copy::CopyEngineConfig>("copy", 0),
        row<model::nvme::Controller, model::nvme::NvmeConfig, make_nvme>("nvme", 0),
    };
    return table;
}

const Kind* find_kind(std::string_view name) {
    const auto found = std::ranges::find(kinds(), name, &Kind::name);
    return found != kinds().end() ? &*found : nullptr;
}

const Kind& kind_of(std::type_index config) {
    const auto found = std::ranges::find(kinds(), config, &Kind::config);
    assert(found != kinds().end() && "each type of configuration has a row");
    return *found;
}

} // namespace platform::card
