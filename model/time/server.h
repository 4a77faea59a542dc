// A server: k equal units, each of which does one piece of work at a time. Flash dies, page walkers, processing units.
#pragma once

#include "model/time/schedule.h"
#include "model/time/usage.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace model::time {

/// Whether work begins and ends in the order of the calls. In order, a result that is ready early waits for those
/// before it, behind the unit, which is free again.
enum class Order : std::uint8_t { in_order, any };

class Server {
public:
    Server(std::string name, unsigned units, port::Time service, Order order = Order::any)
        : meter_(std::move(name)), service_(service), order_(order),
          units_(std::max(1u, units), Schedule{order == Order::any ? Gaps::usable : Gaps::lost}) {}

    /// Work that arrives at `at` and takes the usual time.
    Booking use(port::Time at) { return use(at, service_); }
    /// Work that takes a time of its own. The unit that can begin first takes it, the lowest number of several.
    Booking use(port::Time at, port::Time service) {
        const auto from = order_ == Order::in_order ? std::max(at, last_.begin) : at;
        auto* best = &units_.front();
        for (auto& unit : units_) {
            if (unit.earliest(from, service) < best->earliest(from, service))
                best = &unit;
        }
        return book(*best, at, from, service);
    }
    /// Work whose end nobody knows before it has begun, as that of a read of memory: `expected` is how long it should
    /// take, for which a unit must be free, and `end_of(begin)` does it. If it takes longer than that unit is idle, it
    /// pauses while what was booked before is done.
    template <class Work> Booking use_until(port::Time at, port::Time expected, Work&& end_of) {
        const auto earliest = [&](const Schedule& unit) { return unit.earliest(at, expected); };
        const auto best = std::ranges::min_element(units_, {}, earliest) - units_.begin();
        const auto begin = earliest(units_[static_cast<std::size_t>(best)]);
        const port::Time done = end_of(begin); // others may come here meanwhile
        const auto taken = units_[static_cast<std::size_t>(best)].book_in_pieces(begin, done - begin);
        meter_.count(at, begin);
        meter_.add_busy(done - begin);
        return {begin, taken.end};
    }
    /// Work that only the given unit can do: the die that has the page. `unit` is below units().
    Booking use_unit(unsigned unit, port::Time at, port::Time service) {
        return book(units_.at(unit), at, order_ == Order::in_order ? std::max(at, last_.begin) : at, service);
    }

    /// When a unit could begin work that arrives at `at` and takes a time of its own.
    port::Time earliest(port::Time at, port::Time service) const {
        auto first = port::never;
        for (const auto& unit : units_)
            first = std::min(first, unit.earliest(at, service));
        return first;
    }

    /// Takes nothing to be booked any more; what was counted stays.
    void forget_bookings() {
        std::ranges::fill(units_, Schedule{order_ == Order::any ? Gaps::usable : Gaps::lost});
        last_ = {};
    }

    unsigned units() const { return static_cast<unsigned>(units_.size()); }
    /// From here on nothing is booked of a unit.
    port::Time free_from(unsigned unit) const { return units_.at(unit).free_from(); }
    port::Time service() const { return service_; }
    const Usage& usage() const { return meter_.usage(); }
    Account account() const { return {meter_.name(), Kind::server, units(), meter_.usage()}; }

private:
    Booking book(Schedule& unit, port::Time at, port::Time from, port::Time service) {
        const auto begin = unit.book(from, service);
        meter_.count(at, begin);
        meter_.add_busy(service);
        auto done = begin + service;
        if (order_ == Order::in_order)
            last_ = {begin, done = std::max(done, last_.done)};
        return {begin, done};
    }

    Meter meter_;
    port::Time service_;
    Order order_;
    std::vector<Schedule> units_;
    Booking last_;
};

} // namespace model::time
