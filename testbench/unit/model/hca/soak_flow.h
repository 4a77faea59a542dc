// The reference beside the soak of the core: one direction of a connection as bytes in arrays, and what each operation
// does to them when all before it are done. Knows work requests; knows nothing of packets, keys, queues or time.
#pragma once

#include "testbench/harness/hca_node.h"

#include <algorithm>
#include <array>
#include <deque>
#include <random>
#include <utility>
#include <vector>

namespace soak_test {

using namespace harness;
using abi::prm::CqeOpcode;
using abi::prm::WqeOpcode;
using Bytes = std::vector<std::byte>;

class Random {
public:
    explicit Random(std::uint64_t seed) : engine_(seed) {}
    std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(engine_() % n); }
    std::uint32_t between(std::uint32_t low, std::uint32_t high) { return low + below(high - low + 1); }
    bool chance(std::uint32_t percent) { return below(100) < percent; }
    std::uint64_t number() { return engine_(); }

private:
    std::mt19937_64 engine_;
};

inline constexpr std::uint32_t zone = 24 * 1024, largest_send = 3000;

/// A region and the bytes it ought to have.
struct Memory {
    Memory(Node& owner, std::uint32_t length, unsigned seed)
        : node(owner), region(owner.make_region(length, seed)), expected(owner.bytes(region)) {}
    std::span<std::byte> at(const Post::Sge& sge) {
        return std::span(expected).subspan(sge.address - region.address, sge.length);
    }

    Node& node;
    Region region;
    Bytes expected;
};

/// A piece of memory gets these bytes.
struct Change {
    Memory* memory;
    std::uint32_t offset;
    Bytes bytes;
};

struct Work {
    Post wr;
    std::uint32_t length = 0;
    std::vector<Post::Sge> receive{}; ///< the receive that it takes, if it takes one
    std::uint16_t index = 0;
};

struct Receive {
    std::vector<Post::Sge> sges;
    CqeOpcode opcode;
    std::uint32_t length, immediate;
    std::uint16_t index = 0;
};

/// One direction of a connection: who sends, and the memory that only this direction touches.
struct Flow {
    Flow(Node& sender, Node& receiver, TestQp& sending, TestQp& receiving)
        : from(sender), to(receiver), from_qp(sending), to_qp(receiving), source(from, zone, 1), landing(from, zone, 2),
          target(to, zone, 3), inbox(to, zone, 4) {}

    Node &from, &to;
    TestQp &from_qp, &to_qp;
    Memory source, landing, target, inbox;
    std::deque<Work> posted;                                    ///< without a completion so far
    std::deque<Receive> unposted;                               ///< receives that software is late with
    std::deque<Receive> receives;                               ///< posted, without a completion so far
    std::vector<std::pair<std::uint32_t, std::uint32_t>> reads; ///< remote ranges of READs since the last fence
    std::size_t flushed = 0, flushed_receives = 0; ///< of `posted` and `receives`, in a connection that breaks

    std::array<Memory*, 4> memories() { return {&source, &landing, &target, &inbox}; }
    /// The connection is new.
    void forget() {
        posted.clear();
        unposted.clear();
        receives.clear();
        reads.clear();
        flushed = flushed_receives = 0;
    }

    /// What an operation does to memory, if all before it are done.
    std::vector<Change> effects(const Work& work) {
        Bytes data = work.wr.inline_data;
        const bool is_answered = work.wr.opcode == WqeOpcode::rdma_read || work.wr.opcode == WqeOpcode::atomic_cs ||
                                 work.wr.opcode == WqeOpcode::atomic_fa;
        const auto remote = static_cast<std::uint32_t>(work.wr.remote - target.region.address);
        if (!is_answered)
            for (const auto& sge : work.wr.sges) {
                const auto piece = source.at(sge);
                data.insert(data.end(), piece.begin(), piece.end());
            }
        std::vector<Change> all;
        switch (work.wr.opcode) {
        case WqeOpcode::rdma_write:
        case WqeOpcode::rdma_write_imm: all.push_back({&target, remote, data}); break;
        case WqeOpcode::send:
        case WqeOpcode::send_imm: scatter(all, inbox, work.receive, data); break;
        case WqeOpcode::rdma_read: {
            const auto piece = target.at({work.wr.remote, work.length});
            scatter(all, landing, work.wr.sges, {piece.begin(), piece.end()});
            break;
        }
        case WqeOpcode::atomic_cs:
        case WqeOpcode::atomic_fa: {
            const auto place = target.at({work.wr.remote, 8});
            const auto old = abi::load<std::uint64_t, abi::Endian::big>(place.data());
            scatter(all, landing, work.wr.sges, {place.begin(), place.end()});
            auto value = old + work.wr.swap_or_add;
            if (work.wr.opcode == WqeOpcode::atomic_cs)
                value = old == work.wr.compare ? work.wr.swap_or_add : old;
            Bytes bytes(8);
            abi::store<std::uint64_t, abi::Endian::big>(bytes.data(), value);
            all.push_back({&target, remote, bytes});
            break;
        }
        default: break;
        }
        return all;
    }

private:
    static void scatter(std::vector<Change>& all, Memory& memory, const std::vector<Post::Sge>& sges,
                        const Bytes& data) {
        std::size_t at = 0;
        for (const auto& sge : sges) {
            const auto length = std::min<std::size_t>(sge.length, data.size() - at);
            const auto begin = data.begin() + static_cast<std::ptrdiff_t>(at);
            all.push_back({&memory,
                           static_cast<std::uint32_t>(sge.address - memory.region.address),
                           {begin, begin + static_cast<std::ptrdiff_t>(length)}});
            at += length;
        }
    }
};

} // namespace soak_test
