// The contexts that do not fit on the chip (ICM): they lie in the pages that software has lent (PRM "Firmware pages").
// A miss in a cache of contexts reads a line there, by one of few engines; so it competes with all other requests of
// the function, and is seen on the bus. What a context says is with the objects of the core; here is where it would be,
// and when it is on the chip. Knows which contexts of queues are; keys and their entries are the translator's.
#pragma once

#include "abi/types.h"
#include "model/hca/config.h"
#include "model/hca/counters.h"
#include "model/hca/icm/cache.h"
#include "model/port/dma.h"
#include "model/time/server.h"

#include <cstdint>
#include <vector>

namespace model::hca::icm {

enum class Table : std::uint8_t { queue_pairs, completion_queues, receive_queues, memory_keys, translations };

class ContextMemory {
public:
    ContextMemory(const HcaConfig& config, port::Dma& dma, Counters& counters)
        : dma_(dma), counters_(counters), engines_("ICM misses", config.miss_engines, {}), is_timed_(config.timed),
          queue_pairs_(config.qp_cache_entries, config.cache_ways),
          completion_queues_(config.cq_cache_entries, config.cache_ways),
          receive_queues_(config.srq_cache_entries, config.cache_ways) {}

    /// The pages lent at the moment, which may change; nullptr: none ever are. A miss then costs no request.
    void set_pages(const std::vector<std::uint64_t>* pages) { pages_ = pages; }

    /// When the context of this queue pair is on the chip for who asks at `at`.
    port::Time queue_pair(abi::Qpn number, port::Time at) {
        return look_up(queue_pairs_, number.value, counters_.qpc_hits, counters_.qpc_misses, at,
                       [&] { return fetch(Table::queue_pairs, number.value * std::uint64_t{lines_of_a_qp}, at, {}); });
    }
    /// For so many packets in a row, without timing.
    void queue_pair_again(abi::Qpn number, std::uint64_t times) {
        look_up_again(queue_pairs_, number.value, counters_.qpc_hits, counters_.qpc_misses, times,
                      [&] { return fetch(Table::queue_pairs, number.value * std::uint64_t{lines_of_a_qp}, {}, {}); });
    }
    /// The same of a completion queue, and of a shared receive queue; a context of either is a line.
    port::Time completion_queue(abi::Cqn number, port::Time at) {
        return look_up(completion_queues_, number.value, counters_.cqc_hits, counters_.cqc_misses, at,
                       [&] { return fetch(Table::completion_queues, number.value, at, {}); });
    }
    port::Time receive_queue(std::uint32_t number, port::Time at) {
        return look_up(receive_queues_, number, counters_.srqc_hits, counters_.srqc_misses, at,
                       [&] { return fetch(Table::receive_queues, number, at, {}); });
    }
    /// Looks `tag` up in a cache of contexts; `bring()` says when it is there, if it was not.
    template <class Bring>
    static port::Time look_up(Cache& cache, std::uint64_t tag, std::uint64_t& hits, std::uint64_t& misses,
                              port::Time at, Bring&& bring) {
        if (cache.touch(tag)) [[likely]] {
            ++hits;
            return cache.there(at);
        }
        ++misses;
        const auto place = cache.place();
        const port::Time done = bring();
        cache.filled(place, done);
        return done;
    }
    /// The same `times` times in a row, without timing.
    template <class Bring>
    static void look_up_again(Cache& cache, std::uint64_t tag, std::uint64_t& hits, std::uint64_t& misses,
                              std::uint64_t times, Bring&& bring) {
        for (; times != 0; --times) {
            if (cache.touch(tag)) [[likely]] { // and so will the rest
                hits += times;
                return;
            }
            ++misses;
            const auto place = cache.place();
            cache.filled(place, bring());
        }
    }
    /// When a line of 64 bytes of a table is on the chip that is missed at `at`. `beyond`: what it takes beside the
    /// request.
    port::Time fetch(Table table, std::uint64_t line, port::Time at, port::Time beyond);
    /// When an engine could begin with what is missed at `at`.
    port::Time next_miss(port::Time at) const { return is_timed_ ? engines_.earliest(at, last_read_) : at; }
    /// Firmware has written the context of a new queue, by way of the cache.
    void created(abi::Qpn number) { bring_in(queue_pairs_, number.value); }
    void created(abi::Cqn number) { bring_in(completion_queues_, number.value); }
    void created_receive_queue(std::uint32_t number) { bring_in(receive_queues_, number); }
    static void bring_in(Cache& cache, std::uint64_t tag) {
        if (!cache.touch(tag))
            cache.filled(cache.place(), {});
    }
    /// This queue is gone.
    void forget(abi::Qpn number) { queue_pairs_.drop(number.value); }
    void forget(abi::Cqn number) { completion_queues_.drop(number.value); }
    void forget_receive_queue(std::uint32_t number) { receive_queues_.drop(number); }
    /// Every object is.
    void forget_all() {
        for (auto* cache : {&queue_pairs_, &completion_queues_, &receive_queues_})
            cache->clear();
    }

    /// A window: its engines wait for memory, and only where nothing behind them is as busy do they hold others back.
    time::Account account() const {
        auto engines = engines_.account();
        engines.kind = time::Kind::window;
        return engines;
    }

private:
    static constexpr std::uint32_t lines_of_a_qp = 4; ///< its context has 256 bytes

    port::Time read(Table table, std::uint64_t line, port::Time at);

    port::Dma& dma_;
    Counters& counters_;
    time::Server engines_;
    bool is_timed_;
    port::Time last_read_{}; ///< how long the last one has taken
    Cache queue_pairs_, completion_queues_, receive_queues_;
    const std::vector<std::uint64_t>* pages_ = nullptr;
};

} // namespace model::hca::icm
