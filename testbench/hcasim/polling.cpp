#include "testbench/hcasim/polling.h"

#include "abi/prm/doorbell.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace hcasim {

using platform::bridge::vfio_user::FunctionPort;

namespace {

FunctionPort* find_function(platform::bridge::vfio_user::GuestModule& guest, std::string_view name) {
    for (std::size_t i = 0; i < guest.function_count(); ++i)
        if (guest.function(i).name() == name)
            return &guest.function(i);
    return nullptr;
}

} // namespace

std::expected<Polling, std::string> Polling::create(platform::topology::Platform& platform) {
    Polling polling;
    for (const auto& at : platform.description().hcas) {
        const auto& host = platform.description().hosts[at.host];
        auto& machine = platform.machines()[at.host];
        if (!platform.card(at).is_hca(platform::topology::HcaModel::connectx))
            continue;
        auto& hca = platform.card(at).hca();
        if (!machine.guest || !hca.config().polled_doorbells)
            continue;
        auto* function =
            find_function(*machine.guest, fmt::format("{}.{}", host.served_name, platform.description().part(at).name));
        constexpr auto page = std::uint64_t{abi::prm::uar_page_bytes};
        const auto watch = function->poll_doorbells({.bar = 0,
                                                     .doorbells = hca.config().first_uar * page,
                                                     .begin = hca.config().first_polled_uar() * page,
                                                     .end = hca.config().uar_pages * page});
        if (!watch)
            return std::unexpected(watch.error());
        hca.set_doorbell_watch(*watch);
        polling.polled_.push_back({function});
    }
    return polling;
}

bool Polling::poll() {
    bool is_found = false;
    for (const auto& polled : polled_)
        is_found |= polled.function->poll();
    return is_found;
}

bool Polling::is_polling() const {
    return std::ranges::any_of(polled_, [](const auto& polled) { return polled.function->is_polling(); });
}

Polling::Manner Polling::manner_of(const FunctionPort& function) {
    if (function.poller().is_on())
        return function.poller().unreadable() == 0 ? Manner::memory : Manner::unreadable;
    return function.memory().has_message_memory() ? Manner::messages : Manner::nobody;
}

void Polling::tell(const Say& say) {
    for (auto& polled : polled_) {
        const auto manner = manner_of(*polled.function);
        if (std::exchange(polled.told, manner) == manner)
            continue;
        const auto& name = polled.function->name();
        if (manner == Manner::memory)
            say(fmt::format("{}: doorbells of programs are found in memory", name));
        if (manner == Manner::messages)
            say(fmt::format("{}: memory of the client is not shared (share=on), so that doorbells are messages, as "
                            "without polling",
                            name));
        if (manner == Manner::unreadable)
            say(fmt::format("{}: {} of {} doorbell records are in memory that is not shared: doorbells of their queues "
                            "are lost, unless a device rings; share all memory of the guest (share=on)",
                            name, polled.function->poller().unreadable(), polled.function->poller().count()));
    }
}

void Polling::count(const Say& say) const {
    for (const auto& polled : polled_)
        say(fmt::format("{} doorbells: {} found in memory, {} stores", polled.function->name(),
                        polled.function->poller().found(), polled.function->doorbell_stores()));
}

} // namespace hcasim
