#include "testbench/workload/nccl_messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace workload {

using model::port::Time;
using Error = std::unexpected<std::string>;

namespace {

constexpr std::uint64_t piece_bytes = 512 * 1024, most_messages = 1 << 24;
constexpr Time latest = std::chrono::seconds{100}; // that traffic.replay takes

class Expansion {
public:
    Expansion(const std::vector<std::string>& names, const NcclPace& pace, const TakeMessage& take)
        : names_(names), pace_(pace), take_(take), free_(names.size()) {}

    void add(const NcclCall& call) {
        ranks_ = &call.ranks;
        const auto n = static_cast<std::uint32_t>(call.ranks.size());
        Time begin{};
        for (const auto rank : call.ranks)
            begin = std::max(begin, free_[rank]);
        auto end = begin;
        switch (call.operation) {
        case NcclOperation::all_reduce: end = ring(begin, 2 * (n - 1), call.bytes, n); break;
        case NcclOperation::all_gather:
        case NcclOperation::reduce_scatter: end = ring(begin, n - 1, call.bytes * n, n); break;
        case NcclOperation::broadcast: end = chain(begin, call.bytes, call.root, true); break;
        case NcclOperation::reduce: end = chain(begin, call.bytes, call.root, false); break;
        case NcclOperation::all_to_all:
            for (std::uint32_t step = 1; step < n; ++step, end += time_of(call.bytes))
                for (std::uint32_t rank = 0; rank < n; ++rank)
                    send(end, rank, (rank + step) % n, call.bytes);
            break;
        case NcclOperation::send:
            begin = free_[call.ranks[call.from]];
            send(begin, call.from, call.root, call.bytes);
            free_[call.ranks[call.from]] = begin + time_of(call.bytes) + pace_.gap;
            return;
        }
        for (const auto rank : call.ranks)
            free_[rank] = end + pace_.gap;
    }
    bool is_too_much() const { return messages_ > most_messages; }
    bool is_too_late() const { return last_ > latest; }

private:
    Time time_of(std::uint64_t bytes) const { return pace_.hop + bare_time(bytes); }
    Time bare_time(std::uint64_t bytes) const {
        const auto picoseconds = static_cast<double>(bytes) * 8000 / pace_.gbps;
        return Time{std::llround(std::min(picoseconds, 10.0 * static_cast<double>(Time{latest}.count())))};
    }

    /// In each step each sends a segment of its own to the next one.
    Time ring(Time at, std::uint32_t steps, std::uint64_t bytes, std::uint32_t n) {
        const auto edge = [&](std::uint64_t segment) { return bytes / n * segment + std::min(segment, bytes % n); };
        for (std::uint32_t step = 0; step < steps; ++step) {
            for (std::uint32_t rank = 0; rank < n; ++rank) {
                const std::uint64_t segment = (rank + 2 * std::uint64_t{n} - step) % n;
                send(at, rank, (rank + 1) % n, edge(segment + 1) - edge(segment));
            }
            at += time_of(edge(1));
        }
        return at;
    }

    /// From the root on from one to the next, or from behind the root to it; pieces follow each other.
    Time chain(Time begin, std::uint64_t bytes, std::uint32_t root, bool is_from_root) {
        const auto n = static_cast<std::uint32_t>(ranks_->size());
        const auto hop_time = time_of(std::min(bytes, piece_bytes));
        auto end = begin;
        for (std::uint32_t hop = 0; hop + 1 < n; ++hop) {
            const auto from = (root + hop + (is_from_root ? 0 : 1)) % n;
            send(begin + hop * hop_time, from, (from + 1) % n, bytes);
            end = begin + hop * hop_time + time_of(bytes);
        }
        return end;
    }

    void send(Time at, std::uint32_t from, std::uint32_t to, std::uint64_t bytes) {
        const auto a = (*ranks_)[from], b = (*ranks_)[to];
        if (names_[a] == names_[b])
            return;
        for (std::uint64_t done = 0; done < bytes; done += piece_bytes, ++messages_) {
            last_ = std::max(last_, at + bare_time(done));
            if (is_too_much() || is_too_late())
                return;
            take_(at + bare_time(done), a, b, std::min(piece_bytes, bytes - done));
        }
    }

    const std::vector<std::string>& names_;
    const NcclPace& pace_;
    const TakeMessage& take_;
    std::vector<Time> free_; ///< when each rank has ended what it did
    const std::vector<std::uint32_t>* ranks_ = nullptr;
    std::uint64_t messages_ = 0;
    Time last_{};
};

} // namespace

std::expected<void, std::string> expand_nccl(const NcclLog& log, const std::vector<std::string>& names,
                                             const NcclPace& pace, const TakeMessage& take) {
    if (names.size() < log.ranks)
        return Error(fmt::format("the log is of {} ranks, and {} are named", log.ranks, names.size()));
    Expansion expansion(names, pace, take);
    for (const auto& call : log.calls) {
        expansion.add(call);
        if (expansion.is_too_much())
            return Error(
                fmt::format("line {}: makes more than {} messages: take a part of the log", call.line, most_messages));
        if (expansion.is_too_late())
            return Error(
                fmt::format("line {}: is later than {} s, the most that a replay takes: take a part of the log, "
                            "or another pace",
                            call.line, std::chrono::duration_cast<std::chrono::seconds>(latest).count()));
    }
    return {};
}

} // namespace workload
