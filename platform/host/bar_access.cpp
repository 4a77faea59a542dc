#include "platform/host/bar_access.h"

namespace platform::host {

using model::port::Purpose;
using model::port::Time;

BarAccess::Access BarAccess::load(model::port::Dma& processor, std::uint64_t address, std::span<std::byte> into,
                                  Time at) {
    const auto begin = loads_.enter(at);
    const auto result = processor.read(abi::BusAddress{address}, into, begin, Purpose::control);
    loads_.leave(begin, result.done);
    return {result, begin};
}

BarAccess::Access BarAccess::store(model::port::Dma& processor, std::uint64_t address, std::span<const std::byte> from,
                                   Time at) {
    // A buffer that is not full takes as long: it leaves as a whole.
    const auto made = stores_.use(at, config_.store_bytes);
    const auto begin = posted_.enter(made.done);
    const auto result = processor.write(abi::BusAddress{address}, from, begin, Purpose::control);
    posted_.leave(begin, result.done);
    return {result, begin};
}

void BarAccess::accounts(std::vector<model::time::Account>& rows) const {
    for (const auto& account : {loads_.account(), stores_.account(), posted_.account()})
        if (account.usage.uses != 0)
            rows.push_back(account);
}

} // namespace platform::host
