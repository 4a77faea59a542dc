// Features that are one dword: what they are, were at first, and will be after a reset. NVMe base 2.0 "Get Features
// command", "Set Features command". Those of a namespace are kept there.
#pragma once

#include "abi/nvme/feature.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace model::nvme {

class Features {
public:
    using Feature = abi::nvme::Feature;
    struct Value {
        Feature feature;
        std::uint32_t mask;     ///< bits that the host may set
        std::uint32_t standard; ///< the default
        bool is_saveable;
        std::uint32_t selector = 0; ///< which one of several of a feature: bits 31:16 of dword 11
        std::uint32_t current = standard, saved = standard;
    };
    static bool is_of_namespace(Feature feature) {
        return feature == Feature::write_protection || feature == Feature::error_recovery;
    }
    /// Dword 11 of a command about the feature names one of several.
    static std::uint32_t selector_of(Feature feature, std::uint32_t cdw11) {
        return feature == Feature::temperature_threshold ? cdw11 >> 16 & 0x3f : 0;
    }

    Value* find(Feature feature, std::uint32_t selector = 0) {
        const auto found = std::ranges::find_if(
            values_, [&](const Value& value) { return value.feature == feature && value.selector == selector; });
        return found != values_.end() ? &*found : nullptr;
    }
    std::uint32_t current(Feature feature, std::uint32_t selector = 0) { return find(feature, selector)->current; }
    void reset() {
        for (auto& value : values_)
            value.current = value.saved;
    }
    auto begin() { return values_.begin(); }
    auto end() { return values_.end(); }

private:
    std::array<Value, 15> values_{{{Feature::arbitration, 0xffff'ff07, 0x3, true},
                                   {Feature::power_management, 0x1f, 0, true},
                                   {Feature::temperature_threshold, 0x3f'ffff, 0x157, true},
                                   {Feature::temperature_threshold, 0x3f'ffff, 0x1'0157, true, 0x01},
                                   {Feature::temperature_threshold, 0x3f'ffff, 0x10'0000, true, 0x10},
                                   {Feature::temperature_threshold, 0x3f'ffff, 0x11'0000, true, 0x11},
                                   {Feature::error_recovery, 0x1'ffff, 0, true},
                                   {Feature::volatile_write_cache, 0x1, 0x1, true},
                                   {Feature::number_of_queues, 0xffff'ffff, 0, false},
                                   {Feature::interrupt_coalescing, 0xffff, 0, true},
                                   {Feature::interrupt_vector, 0x1'ffff, 0, false},
                                   {Feature::write_atomicity, 0x1, 0, true},
                                   {Feature::async_event, 0x1ff, 0, true},
                                   {Feature::timestamp, 0, 0, false},
                                   {Feature::write_protection, 0x7, 0, false}}};
};

} // namespace model::nvme
