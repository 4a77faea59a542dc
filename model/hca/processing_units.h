// The units that work on send WQEs. Each queue pair belongs to one of them, which takes one WQE after the other, so
// that a queue pair alone is slower than the port, and batches of one are slower than the same messages on several
// (Kalia, Kaminsky, Andersen, "Design Guidelines for High Performance RDMA Systems", ATC 2016, section 4.2).
#pragma once

#include "abi/types.h"
#include "model/hca/config.h"
#include "model/time/server.h"

#include <algorithm>
#include <vector>

namespace model::hca {

class ProcessingUnits {
public:
    explicit ProcessingUnits(const HcaConfig& config)
        : is_timed_(config.timed), unit_wqe_(config.unit_wqe), unit_read_(config.unit_read),
          units_("processing units", config.units, config.unit_wqe), booked_until_(units_.units()) {}

    /// Whether the unit of this queue pair takes one more WQE. What is booked far ahead would be read from memory long
    /// before its time.
    bool has_room(abi::Qpn number, port::Time now) const {
        return !is_timed_ || booked_until_[unit_of(number)] <= now + horizon;
    }
    /// When one that has no room asks again.
    port::Time room_at(abi::Qpn number) const { return booked_until_[unit_of(number)] - horizon / 2; }
    /// When the unit of this queue pair begins with a WQE that is there at `at`. `awaits_data`: a READ or an atomic.
    port::Time begin(abi::Qpn number, bool awaits_data, port::Time now, port::Time at) {
        if (!is_timed_)
            return at;
        const auto unit = unit_of(number);
        const auto span = awaits_data ? unit_read_ : unit_wqe_;
        booked_until_[unit] = std::max(booked_until_[unit], now) + span;
        return units_.use_unit(unit, at, span).begin;
    }

    void reset() {
        units_.forget_bookings();
        std::ranges::fill(booked_until_, port::Time{});
    }
    time::Account account() const { return units_.account(); }

private:
    static constexpr port::Time horizon = std::chrono::microseconds{2};
    unsigned unit_of(abi::Qpn number) const { return number.value % units_.units(); }

    bool is_timed_;
    port::Time unit_wqe_, unit_read_;
    time::Server units_;
    std::vector<port::Time> booked_until_; ///< by unit: its end, had every WQE been there when it was booked
};

} // namespace model::hca
