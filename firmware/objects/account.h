// What objects take up: room in the pages that the driver lent, and entries of page lists (PRM "Pages"). Says whether
// one more fits, and asks the driver for pages when they run low. Knows nothing of the objects.
#pragma once

#include "firmware/objects/page_pool.h"
#include "firmware/refusal.h"
#include "model/hca/event/event_queue.h"
#include "model/port/time.h"

#include <cstdint>

namespace firmware::objects {

class Account {
public:
    /// PRM objects hold page lists; together they may have so many entries (8 bytes each). A limit of ours: it bounds
    /// what a driver can make the simulator remember. 2^25 entries map 128 GiB with 4 KiB pages.
    static constexpr std::uint64_t max_entries = 1u << 25;

    /// Both outlive it.
    Account(PagePool& pages, model::hca::event::EventQueues& events) : pages_(pages), events_(events) {}

    /// Whether one more object with `entries` page addresses fits; if not, why. Asks the driver for pages when it does
    /// not.
    Reply admit(std::uint64_t entries, model::port::Time at);
    /// Takes an object into account; asks the driver for pages when they run low.
    void charge(std::uint64_t entries, model::port::Time at);
    void release(std::uint64_t entries);
    /// The driver answered a page request, with pages or with a refusal.
    void page_request_answered() { request_is_out_ = false; }
    /// Every object is gone.
    void clear();

private:
    void request_pages(model::port::Time at);

    PagePool& pages_;
    model::hca::event::EventQueues& events_;
    std::uint64_t entries_ = 0;
    bool request_is_out_ = false;
};

} // namespace firmware::objects
