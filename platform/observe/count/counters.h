// Counts events: how many of each type from each source, and, for events that say why (a drop, a retry, a fault of the
// link), how many for each reason. Costs an addition an event; keeps no event.
#pragma once

#include "platform/observe/event.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace platform::observe::count {

class Counters final : public traces::Sink {
public:
    void on(const traces::Stamp& stamp, const traces::Event& event) override;

    std::uint64_t total() const;
    std::uint64_t count(std::size_t type) const;
    std::uint64_t count(std::size_t type, std::uint16_t source) const;
    template <class E> std::uint64_t count() const { return count(event_type<E>); }
    template <class E> std::uint64_t count(std::uint16_t source) const { return count(event_type<E>, source); }

    /// Reasons of an event type and how often each was given, sorted by text.
    const std::map<std::string, std::uint64_t, std::less<>>& reasons(std::size_t type) const { return reasons_[type]; }
    template <class E> std::uint64_t count_because(std::string_view reason) const {
        const auto& all = reasons(event_type<E>);
        const auto found = all.find(reason);
        return found == all.end() ? 0 : found->second;
    }

    /// How many sources have rows here.
    std::size_t sources() const { return rows_.size(); }
    /// What was counted elsewhere, in another process of the same run.
    void add(std::size_t type, std::uint16_t source, std::uint64_t events);
    void add_reason(std::size_t type, const std::string& reason, std::uint64_t events);

private:
    using Row = std::array<std::uint64_t, event_type_count>;
    std::vector<Row> rows_; ///< by source
    std::array<std::map<std::string, std::uint64_t, std::less<>>, event_type_count> reasons_;
};

} // namespace platform::observe::count
