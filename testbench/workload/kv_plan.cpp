#include "testbench/workload/kv_plan.h"

namespace workload {

void plan_flows(KvPlan& plan) {
    for (std::size_t client = 0; client < plan.clients; ++client)
        for (std::size_t server = plan.clients; server < plan.clients + plan.servers; ++server) {
            const auto forth = load::add_flow(plan.load, client, server),
                       back = load::add_flow(plan.load, server, client);
            plan.load.connections.resize(plan.load.connections.size() - 2); // one for both, as often as there are pairs
            for (std::uint32_t i = 0; i < plan.queue_pairs; ++i)
                plan.load.connections.push_back({.first = client, .second = server, .forth = forth, .back = back});
        }
}

KvDraw::KvDraw(const KvPlan& plan, std::uint64_t part) : plan_(plan), random_(plan.load.work.seed, part) {
    if (plan.how.zipf > 0)
        zipf_.emplace(plan.keys(), plan.how.zipf);
}

KvDraw::Operation KvDraw::next() {
    Operation one{.kind = random_.fraction() < plan_.how.puts ? KvKind::put : KvKind::get};
    one.key = zipf_ ? zipf_->draw(random_) : random_.below(plan_.keys());
    if (one.kind == KvKind::put)
        one.bytes = plan_.sizes.draw(random_, number_++);
    return one;
}

std::uint32_t first_bytes(const KvPlan& plan, std::uint64_t key) {
    load::Random random(plan.load.work.seed, ~key);
    return plan.sizes.draw(random, key);
}

} // namespace workload
