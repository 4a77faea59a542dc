#include "testbench/workload/storage_plan.h"

#include <utility>

namespace workload {

namespace {

/// As often other blocks are drawn where a command cannot begin.
constexpr unsigned draws = 16;

} // namespace

void plan_routes(StoragePlan& plan) {
    const auto blocks = plan.how.span / drive_block_bytes;
    for (std::size_t user = 0; user < plan.drives.users; ++user)
        for (std::size_t target = 0; target < plan.drives.targets; ++target)
            add_route(plan.drives, user, target, user * blocks, blocks);
}

StorageCommand StorageDraw::draw(std::uint64_t blocks) {
    StorageCommand one{.is_write = random_.fraction() >= plan_.how.reads};
    one.blocks.count = plan_.sizes.draw(random_, number_++, drive_block_bytes) / drive_block_bytes;
    if (plan_.how.pattern == platform::topology::StoragePattern::random) {
        one.blocks.first = random_.below(blocks - one.blocks.count + 1);
        return one;
    }
    if (position_ + one.blocks.count > blocks)
        position_ = 0;
    one.blocks.first = std::exchange(position_, position_ + one.blocks.count);
    return one;
}

std::optional<StorageCommand> StorageDraw::take(const DrivePart& part) {
    if (!next_)
        next_ = draw(part.blocks());
    const bool can_move = plan_.how.pattern == platform::topology::StoragePattern::random;
    for (unsigned i = 0; i < (can_move ? draws : 1); ++i) {
        if (part.is_free(next_->blocks, next_->is_write))
            return std::exchange(next_, std::nullopt);
        if (can_move)
            next_->blocks.first = random_.below(part.blocks() - next_->blocks.count + 1);
    }
    return std::nullopt;
}

} // namespace workload
