#include "model/simple/regions.h"

#include <cassert>
#include <memory>

namespace model::simple {

abi::Key Regions::add(Region region) {
    region.variant = next_variant_++;
    const auto variant = region.variant;
    const auto number = regions_.add(std::make_unique<Region>(std::move(region)));
    assert(number && "whoever adds a region has asked for room");
    return abi::Key{*number, variant};
}

std::optional<Violation> Regions::check(abi::Key key, std::uint64_t address, std::uint64_t length, std::uint32_t pd,
                                        Right right) const {
    if (length == 0)
        return std::nullopt;
    const auto* region = find(key);
    if (region == nullptr)
        return Violation::no_such_key;
    if (region->pd != pd)
        return Violation::wrong_domain;
    if (!region->allows(right))
        return Violation::no_right;
    const auto offset = address - region->iova;
    if (address < region->iova || offset > region->length || length > region->length - offset)
        return Violation::out_of_bounds;
    return std::nullopt;
}

} // namespace model::simple
