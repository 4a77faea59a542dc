// PRM "Firmware pages": how many pages the device wants, and the pages themselves.
#include "firmware/handlers/handlers.h"

#include <algorithm>

namespace firmware::handlers {

Reply query_pages(State& state, const Call& call, In<prm::QueryPagesIn> in, Out<prm::QueryPagesOut> out) {
    if (in.get<"function_id">() != 0 || in.get<"embedded_cpu_function">())
        return refuse("query_pages.function");
    switch (static_cast<prm::PageQuery>(call.op_mod)) {
    case prm::PageQuery::boot:
        out.set<"num_pages">(static_cast<std::uint32_t>(state.pages.boot_missing()));
        return accepted;
    case prm::PageQuery::init:
        out.set<"num_pages">(static_cast<std::uint32_t>(state.pages.init_missing()));
        return accepted;
    case prm::PageQuery::regular:
        // Signed: positive is a number of pages wanted, negative a number that the driver may take back.
        out.set<"num_pages">(state.pages.wanted() != 0 ? static_cast<std::uint32_t>(state.pages.wanted())
                                                       : 0 - static_cast<std::uint32_t>(state.pages.surplus()));
        return accepted;
    }
    return refuse("query_pages.op_mod");
}

namespace {
Reply give(State& state, const Call& call, std::uint32_t count) {
    if (call.tail.size() / 8 < count)
        return refuse("manage_pages.list_too_short");
    if (count > State::max_given_pages - state.pages.given())
        return refuse("manage_pages.too_many");
    // All or none: a page taken from a refused command would be lost to the driver.
    std::vector<std::uint64_t> pages(count);
    for (std::size_t i = 0; i < count; ++i)
        pages[i] = abi::load<std::uint64_t, std::endian::big>(call.tail.data() + 8 * i);
    auto sorted = pages;
    std::ranges::sort(sorted);
    if (std::ranges::adjacent_find(sorted) != sorted.end())
        return refuse("manage_pages.given_twice_at_once");
    for (const auto page : pages) {
        if (page % prm::page_bytes != 0)
            return refuse("manage_pages.not_aligned");
        if (state.pages.has(page))
            return refuse("manage_pages.given_before");
    }
    for (const auto page : pages)
        state.pages.give(page);
    state.account.page_request_answered();
    return accepted;
}

void take(State& state, const Call& call, std::uint32_t count, Out<prm::ManagePagesOut> out) {
    const auto pages = state.pages.take(std::min<std::size_t>(count, call.out_tail.size() / 8));
    for (std::size_t i = 0; i < pages.size(); ++i)
        abi::store<std::uint64_t, std::endian::big>(call.out_tail.data() + 8 * i, pages[i]);
    out.set<"output_num_entries">(static_cast<std::uint32_t>(pages.size()));
}
} // namespace

Reply manage_pages(State& state, const Call& call, In<prm::ManagePagesIn> in, Out<prm::ManagePagesOut> out) {
    if (in.get<"function_id">() != 0 || in.get<"embedded_cpu_function">())
        return refuse("manage_pages.function");
    switch (static_cast<prm::PageAction>(call.op_mod)) {
    case prm::PageAction::give: return give(state, call, in.get<"input_num_entries">());
    case prm::PageAction::take: take(state, call, in.get<"input_num_entries">(), out); return accepted;
    case prm::PageAction::cannot_give: return accepted; // asked again when an object has no room
    }
    return refuse("manage_pages.op_mod");
}

} // namespace firmware::handlers
