#include "testbench/workload/drive_plan.h"

#include <algorithm>

namespace workload {

std::size_t DrivePlan::routes_of_target(std::size_t target) const {
    return static_cast<std::size_t>(std::ranges::count(routes, target, &DriveRoute::target));
}

std::size_t DrivePlan::routes_of_user(std::size_t user) const {
    return static_cast<std::size_t>(std::ranges::count(routes, user, &DriveRoute::user));
}

void add_route(DrivePlan& plan, std::size_t user, std::size_t target, std::uint64_t first, std::uint64_t blocks) {
    const auto flow = load::add_flow(plan.load, user, plan.users + target); // with a connection: the admin queue's
    const auto connection = plan.load.connections.back();
    plan.load.connections.insert(plan.load.connections.end(), plan.queues, connection);
    plan.routes.push_back({user, target, flow, first, blocks});
}

} // namespace workload
