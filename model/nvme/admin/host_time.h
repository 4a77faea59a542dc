// The time of day, as the host has set it: milliseconds that go on by themselves. After a Controller Level Reset they
// count from zero. NVMe base 2.0 "Timestamp".
#pragma once

#include "abi/nvme/feature.h"
#include "model/port/time.h"

#include <chrono>

namespace model::nvme {

class HostTime {
public:
    void set(abi::ConstView<abi::nvme::Timestamp> value, port::Time at) {
        milliseconds_ = std::uint64_t{value.get<"ms_high">()} << 32 | value.get<"ms_low">();
        set_at_ = at, is_set_ = true;
    }
    void reset(port::Time at) { milliseconds_ = 0, set_at_ = at, is_set_ = false; }
    void fill(abi::View<abi::nvme::Timestamp> value, port::Time now) const {
        const auto passed = std::chrono::duration_cast<std::chrono::milliseconds>(now - set_at_).count();
        const auto sum = milliseconds_ + static_cast<std::uint64_t>(passed);
        value.set<"ms_low">(static_cast<std::uint32_t>(sum))
            .set<"ms_high">(static_cast<std::uint32_t>(sum >> 32 & 0xffff))
            .set<"origin">(is_set_ ? 1 : 0);
    }

private:
    std::uint64_t milliseconds_ = 0;
    port::Time set_at_{};
    bool is_set_ = false;
};

} // namespace model::nvme
