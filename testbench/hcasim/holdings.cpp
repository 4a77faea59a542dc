#include "testbench/hcasim/holdings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace hcasim {

std::string print_holdings(const firmware::Device& device) {
    const auto& state = device.state();
    auto& hca = state.hca;
    struct Kind {
        std::size_t numbers, objects;
        const char* name;
    };
    const Kind kinds[]{
        {state.eq_ids.in_use(), 0, "event queues"},
        {state.cq_ids.in_use(), hca.completion_queues().count(), "completion queues"},
        {state.qp_ids.in_use(), hca.queue_pairs().count(), "queue pairs"},
        {state.srq_ids.in_use(), hca.shared_receive_queues().count(), "shared receive queues"},
        {state.mkey_ids.in_use(), hca.mkeys().count(), "memory keys"},
        {state.pd_ids.in_use(), hca.protection_domains().count(), "protection domains"},
        {state.transport_domain_ids.in_use(), state.transport_domains.count(), "transport domains"},
        {state.xrcd_ids.in_use(), state.xrcds.count(), "XRC domains"},
        {state.uar_ids.in_use(), state.uars.count(), "UAR pages"},
        {state.counter_set_ids.in_use(), 0, "counter sets"},
        {state.umem_ids.in_use(), state.umems.count(), "user memories"},
        {state.uctx_ids.in_use(), state.user_contexts.count(), "user contexts"},
        {0, state.pages.given(), "lent pages"},
    };
    std::string text;
    for (const auto& kind : kinds)
        if (const auto count = std::max(kind.numbers, kind.objects); count != 0)
            text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, kind.name);
    return text.empty() ? "nothing" : text;
}

} // namespace hcasim
