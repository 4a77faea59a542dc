#include "firmware/objects/account.h"

#include "abi/prm/eqe.h"

namespace firmware::objects {

Reply Account::admit(std::uint64_t entries, model::port::Time at) {
    if (entries > max_entries - entries_)
        return refuse("resources.page_entries");
    if (!pages_.has_room()) {
        request_is_out_ = false; // whatever the driver said before: it is needed now
        request_pages(at);
        return refuse("resources.no_pages");
    }
    return accepted;
}

void Account::charge(std::uint64_t entries, model::port::Time at) {
    entries_ += entries;
    pages_.add_object();
    request_pages(at);
}

void Account::release(std::uint64_t entries) {
    entries_ -= entries;
    pages_.remove_object();
}

void Account::clear() {
    pages_.remove_objects();
    entries_ = 0;
    request_is_out_ = false;
}

void Account::request_pages(model::port::Time at) {
    const auto wanted = pages_.wanted();
    if (wanted == 0 || request_is_out_)
        return;
    const auto count = static_cast<std::uint32_t>(wanted);
    events_.broadcast(abi::prm::EventType::page_request, 0, count, at, [count](abi::View<abi::prm::Eqe> eqe) {
        abi::prm::event_data<abi::prm::PageRequestEventData>(eqe).set<"num_pages">(count);
    });
    request_is_out_ = true;
}

} // namespace firmware::objects
