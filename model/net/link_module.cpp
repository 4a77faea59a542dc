#include "model/net/link_module.h"

#include <algorithm>

namespace model::net {

LinkModule::LinkModule(const sc_core::sc_module_name& name, const LinkConfig& config, traces::Events events)
    : sc_module(name), link_(config, *this, events) {
    sc_core::sc_spawn_options options;
    options.spawn_method();
    options.set_sensitivity(&wake_);
    options.dont_initialize();
    sc_core::sc_spawn([this] { on_wake(); }, "wake", &options);
}

port::Time LinkModule::now() const {
    // The kernel's resolution is its default, a picosecond: port::Time counts the same units.
    return port::Time{static_cast<std::int64_t>(sc_core::sc_time_stamp().value())};
}

void LinkModule::wake_at(port::Time at) {
    if (at >= next_)
        return;
    next_ = at;
    const auto delay = std::max(at - now(), port::Time{0});
    wake_.notify(sc_core::sc_time::from_value(static_cast<sc_dt::uint64>(delay.count())));
}

void LinkModule::on_wake() {
    next_ = port::never;
    link_.wake(now());
}

} // namespace model::net
