// The kinds of devices there are. One table has a row for each: how configurations name it, and how a device of it is
// made from its typed configuration and the ports it gets. Whoever builds a card looks here and knows no device itself.
#pragma once

#include "model/pcie/device.h"
#include "model/pcie/endpoint_space.h"
#include "model/pcie/setting.h"
#include "traces/events.h"

#include <any>
#include <concepts>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <typeindex>
#include <typeinfo>
#include <utility>
#include <vector>

namespace platform::card {

/// What a device is told of its place, beside its ports.
struct DevicePlace {
    std::string name;        ///< what its parts that others see are called
    traces::Events events{}; ///< where it says what it does
};

/// A row of the table. Each configuration here is of the kind's own type.
struct Kind {
    std::string_view name;  ///< in configurations: kind = "hca"
    std::type_index config; ///< type of its configuration
    unsigned network_ports; ///< cables that it takes
    std::any (*defaults)();
    /// What each function of the device tells the bus of itself, apart from what its slot decides.
    std::vector<model::pcie::FunctionConfig> (*functions)(const std::any& config);
    std::unique_ptr<model::pcie::Device> (*make)(const std::any& config, const model::pcie::DevicePorts& ports,
                                                 const DevicePlace& place);
    std::vector<model::pcie::Setting> (*settings)(std::any& config);
    void (*set_timed)(std::any& config, bool is_timed);
    bool (*is_same)(const std::any& one, const std::any& other); ///< both of the kind's own type
    /// All that it does follows from its configuration and what comes to its ports, so that a recording of these can be
    /// played. False: a testbench runs programs inside of it.
    bool is_playable = true;
};

std::span<const Kind> kinds();
/// nullptr: there is none of that name.
const Kind* find_kind(std::string_view name);
/// The kind whose configuration has this type; there is one.
const Kind& kind_of(std::type_index config);

/// A device that is to be made: its kind, and a configuration of the kind's type.
class DeviceConfig {
public:
    /// With everything at its default.
    explicit DeviceConfig(const Kind& kind) : kind_(&kind), config_(kind.defaults()) {}
    template <class Config>
        requires(!std::same_as<Config, DeviceConfig> && !std::same_as<Config, Kind>)
    DeviceConfig(Config config) : kind_(&kind_of(typeid(Config))), config_(std::move(config)) {}

    const Kind& kind() const { return *kind_; }
    /// The configuration itself, by a caller who knows the kind.
    template <class Config> Config& as() { return std::any_cast<Config&>(config_); }
    template <class Config> const Config& as() const { return std::any_cast<const Config&>(config_); }
    /// What a user may choose; each leads into this object.
    std::vector<model::pcie::Setting> settings() { return kind_->settings(config_); }
    /// Whether what the device does takes time; nothing, where the kind has no such switch.
    void set_timed(bool is_timed) { kind_->set_timed(config_, is_timed); }

    bool operator==(const DeviceConfig& other) const {
        return kind_ == other.kind_ && kind_->is_same(config_, other.config_);
    }

    std::vector<model::pcie::FunctionConfig> functions() const { return kind_->functions(config_); }
    std::unique_ptr<model::pcie::Device> make(const model::pcie::DevicePorts& ports, const DevicePlace& place) const {
        return kind_->make(config_, ports, place);
    }

private:
    const Kind* kind_;
    std::any config_;
};

} // namespace platform::card
