#include "testbench/workload/schedule.h"

#include <algorithm>

namespace workload {

namespace {
constexpr std::uint64_t word = 4;
} // namespace

Part piece(Part whole, std::uint32_t count, std::uint32_t number) {
    const auto words = whole.bytes() / word, each = words / count, more = words % count;
    const auto begin = [&](std::uint64_t i) { return whole.begin + (i * each + std::min(i, more)) * word; };
    return {begin(number), number + 1 == count ? whole.end : begin(std::uint64_t{number} + 1)};
}

std::vector<Part> chunks(Part whole, std::uint32_t chunk) {
    std::vector<Part> parts;
    for (auto at = whole.begin; at < whole.end; at += chunk)
        parts.push_back({at, std::min(whole.end, at + chunk)});
    return parts;
}

Program ring_allreduce(const Shape& shape, Rank rank) {
    const auto n = shape.ranks;
    const Rank next = (rank + 1) % n, previous = (rank + n - 1) % n;
    Program program;
    for (std::uint32_t channel = 0; channel < shape.channels; ++channel) {
        Lane lane{.channel = channel};
        const auto part = piece({0, shape.bytes}, shape.channels, channel);
        const auto segment = [&](std::uint32_t number) { return chunks(piece(part, n, number % n), shape.chunk); };
        const auto steps = 2 * (n - 1);
        // What is sent in a step has come in the one before; of the first one it is this rank's own.
        std::uint32_t come_before = 0;
        for (std::uint32_t step = 0; step < steps; ++step) {
            const auto deed = step < n - 1 ? Deed::add : Deed::keep;
            const auto first = come_before;
            come_before = static_cast<std::uint32_t>(lane.in.size());
            std::uint32_t i = 0;
            for (const auto& chunk : segment(rank + 2 * n - step)) {
                ++i;
                lane.out.push_back(
                    {.peer = next,
                     .deed = deed,
                     .near = chunk.begin,
                     .far = chunk.begin,
                     .bytes = static_cast<std::uint32_t>(chunk.bytes()),
                     .after = {static_cast<std::uint32_t>(program.lanes.size()), step == 0 ? 0 : first + i}});
            }
            for (const auto& chunk : segment(rank + 2 * n - step - 1))
                lane.in.push_back({.peer = previous,
                                   .deed = deed,
                                   .near = chunk.begin,
                                   .bytes = static_cast<std::uint32_t>(chunk.bytes())});
        }
        program.lanes.push_back(std::move(lane));
    }
    return program;
}

Program pairwise_alltoall(const Shape& shape, Rank rank) {
    const auto n = shape.ranks;
    Program program;
    for (std::uint32_t channel = 0; channel < shape.channels; ++channel) {
        Lane lane{.channel = channel};
        // Of each block its part of the channel.
        const auto part = [&](Rank block) {
            return chunks(piece(piece({0, shape.bytes}, n, block), shape.channels, channel), shape.chunk);
        };
        for (std::uint32_t step = 1; step < n; ++step) {
            const Rank to = (rank + step) % n, from = (rank + n - step) % n;
            const auto come = static_cast<std::uint32_t>(lane.in.size());
            const auto there = part(rank); // blocks have the same size
            std::size_t i = 0;
            for (const auto& chunk : part(to))
                lane.out.push_back({.peer = to,
                                    .deed = Deed::keep,
                                    .near = chunk.begin,
                                    .far = there[i++].begin,
                                    .bytes = static_cast<std::uint32_t>(chunk.bytes()),
                                    .after = {channel, come}});
            for (const auto& chunk : part(from))
                lane.in.push_back({.peer = from,
                                   .deed = Deed::keep,
                                   .near = chunk.begin,
                                   .bytes = static_cast<std::uint32_t>(chunk.bytes())});
        }
        program.lanes.push_back(std::move(lane));
    }
    return program;
}

Program parameter_server(const Shape& shape, Rank rank) {
    const auto is_server = [&](Rank one) { return std::ranges::find(shape.servers, one) != shape.servers.end(); };
    const auto count = static_cast<std::uint32_t>(shape.servers.size());
    Program program{.contributes = !is_server(rank)};
    for (std::uint32_t channel = 0; channel < shape.channels; ++channel)
        for (std::uint32_t number = 0; number < count; ++number) {
            const auto server = shape.servers[number];
            if (is_server(rank) && server != rank)
                continue;
            Lane lane{.channel = channel};
            const auto index = static_cast<std::uint32_t>(program.lanes.size());
            const auto part = piece(piece({0, shape.bytes}, count, number), shape.channels, channel);
            const auto add_move = [&](std::vector<Move>& moves, Rank peer, Deed deed, Part chunk, std::uint32_t come) {
                moves.push_back({.peer = peer,
                                 .deed = deed,
                                 .near = chunk.begin,
                                 .far = chunk.begin,
                                 .bytes = deed == Deed::tell ? 0 : static_cast<std::uint32_t>(chunk.bytes()),
                                 .after = {index, come}});
            };
            const auto all = chunks(part, shape.chunk);
            if (rank == server) {
                std::uint32_t come = 0;
                for (const auto& chunk : all) {
                    for (Rank worker = 0; worker < shape.ranks; ++worker)
                        if (!is_server(worker))
                            add_move(lane.in, worker, Deed::add, chunk, 0), ++come;
                    for (Rank worker = 0; worker < shape.ranks; ++worker)
                        if (!is_server(worker))
                            add_move(lane.out, worker, Deed::tell, chunk, come);
                }
                for (Rank worker = 0; worker < shape.ranks && !all.empty(); ++worker)
                    if (!is_server(worker))
                        add_move(lane.in, worker, Deed::tell, part, 0);
            } else if (!all.empty()) {
                std::uint32_t come = 0;
                for (const auto& chunk : all)
                    add_move(lane.out, server, Deed::add, chunk, 0);
                for (const auto& chunk : all) {
                    add_move(lane.in, server, Deed::tell, chunk, 0);
                    add_move(lane.out, server, Deed::fetch, chunk, ++come);
                }
                add_move(lane.out, server, Deed::tell, part, come);
            }
            program.lanes.push_back(std::move(lane));
        }
    return program;
}

} // namespace workload
