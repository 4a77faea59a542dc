#include "testbench/workload/schedule.h"

namespace workload {

namespace {

/// Of the tree whose root is 0 and whose other places are in the order of an in-order walk: a place whose lowest bit is
/// 2^h has height h. The one above it is the middle of the next larger run; beyond the end of a tree that is not full,
/// the next one towards its begin.
std::uint32_t parent_of(std::uint32_t count, std::uint32_t place) {
    const auto lowest = place & (~place + 1);
    const auto without = place ^ lowest;
    const auto above = without | lowest << 1;
    return above < count ? above : without;
}

/// Sums go up in one lane and totals come down in another one, so that neither waits for the other.
void add_tree(Program& program, std::uint32_t channel, Part part, std::uint32_t chunk, const TreePlace& place) {
    const auto up_lane = static_cast<std::uint32_t>(program.lanes.size()), down_lane = up_lane + 1;
    Lane up{.channel = channel}, down{.channel = channel};
    std::uint32_t number = 0;
    for (const auto& one : chunks(part, chunk)) {
        ++number;
        const auto bytes = static_cast<std::uint32_t>(one.bytes());
        const Until summed{up_lane, number * static_cast<std::uint32_t>(place.children.size())};
        for (const auto child : place.children)
            up.in.push_back({.peer = child, .deed = Deed::add, .near = one.begin, .bytes = bytes});
        if (!place.is_root) {
            up.out.push_back({place.parent, Deed::add, one.begin, one.begin, bytes, summed});
            down.in.push_back({.peer = place.parent, .deed = Deed::keep, .near = one.begin, .bytes = bytes});
        }
        for (const auto child : place.children)
            down.out.push_back(
                {child, Deed::keep, one.begin, one.begin, bytes, place.is_root ? summed : Until{down_lane, number}});
    }
    program.lanes.push_back(std::move(up));
    program.lanes.push_back(std::move(down));
}

} // namespace

TreePlace tree_place(std::uint32_t count, std::uint32_t tree, Rank rank) {
    // The mirror of an even count, and the shift of an odd one, make odd places of even ones.
    const bool is_mirrored = count % 2 == 0;
    const auto to_place = [&](Rank one) {
        if (tree == 0)
            return one;
        return is_mirrored ? count - 1 - one : (one + count - 1) % count;
    };
    const auto to_rank = [&](std::uint32_t place) {
        if (tree == 0)
            return place;
        return is_mirrored ? count - 1 - place : (place + 1) % count;
    };
    const auto place = to_place(rank);
    TreePlace found{.is_root = place == 0};
    if (!found.is_root)
        found.parent = to_rank(parent_of(count, place));
    for (std::uint32_t other = 1; other < count; ++other)
        if (parent_of(count, other) == place)
            found.children.push_back(to_rank(other));
    return found;
}

Program tree_allreduce(const Shape& shape, Rank rank) {
    const auto place = tree_place(shape.ranks, 0, rank);
    Program program;
    for (std::uint32_t channel = 0; channel < shape.channels; ++channel)
        add_tree(program, channel, piece({0, shape.bytes}, shape.channels, channel), shape.chunk, place);
    return program;
}

Program double_tree_allreduce(const Shape& shape, Rank rank) {
    Program program;
    for (std::uint32_t tree = 0; tree < 2; ++tree) {
        const auto place = tree_place(shape.ranks, tree, rank);
        const auto half = piece({0, shape.bytes}, 2, tree);
        for (std::uint32_t channel = 0; channel < shape.channels; ++channel)
            add_tree(program, tree * shape.channels + channel, piece(half, shape.channels, channel), shape.chunk,
                     place);
    }
    return program;
}

} // namespace workload
