// What one function does, whatever it is: is told of what allows the device its accesses and of where its requests
// land, asks Ownership about each page, and emits StaleAccess.
#pragma once

#include "platform/observe/ownership/ownership.h"

#include <array>

namespace platform::observe::ownership {

class FunctionWatch final : public model::pcie::LandingWatch, public model::port::GrantWatch {
public:
    /// requester  how it is known on the bus at the moment
    FunctionWatch(Ownership& ownership, std::string name, traces::Events events,
                  std::function<std::uint16_t()> requester)
        : ownership_(ownership), name_(std::move(name)), events_(events), requester_(std::move(requester)) {}

    void landed(const model::pcie::Landing& landing, model::port::Time at) override;
    // GrantWatch
    void use(model::port::Purpose purpose, std::span<const model::port::Allowance> allowances) override;
    void give(std::uint64_t table, std::uint64_t address, std::uint64_t length) override;
    void take(std::uint64_t table) override { tables_[table] = {}; }

private:
    void find_grant(model::port::Purpose purpose, std::uint64_t address, std::uint64_t physical,
                    const Ownership::Page& there, Ownership::Used& used) const;

    Ownership& ownership_;
    std::string name_;
    traces::Events events_;
    std::function<std::uint16_t()> requester_;
    std::map<std::uint64_t, RangeMap<Ownership::Made>> tables_;     ///< by number, then by bus address
    std::array<std::vector<model::port::Allowance>, 2> allowances_; ///< by purpose
};

} // namespace platform::observe::ownership
