#include "testbench/bench/object_load.h"

#include "platform/bridge/in_process.h"
#include "platform/topology/platform_module.h"
#include "sw/mlx/verbs.h"
#include "testbench/harness/isolate.h"
#include "testbench/bench/sampling.h"
#include "testbench/scenario/programs.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <fstream>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <vector>

namespace bench {

namespace {

enum class Order : std::uint8_t { creation, reverse, random };
constexpr std::array orders{std::pair{Order::creation, "creation"}, std::pair{Order::reverse, "reverse"},
                            std::pair{Order::random, "random"}};

/// Where something is measured: so many hundredths of the number exist.
constexpr std::array<std::uint32_t, 3> hundredths{1, 10, 100};

/// Of one hundredth of the number, an object.
struct Cost {
    double made_ns = 0, destroyed_ns = 0, made_again_ns = 0;
    double bytes = 0; ///< of this process's memory, since the first object: driver, card and host together
};
using Costs = std::array<Cost, hundredths.size()>;

/// One HCA and its driver.
class Bench {
public:
    explicit Bench(const platform::topology::Seat& seat)
        : hca_(*seat.machine.host, seat.hca.bdf()),
          context_(must(sw::mlx::Context::open(hca_, {.page_faults = false}))), pd_(must(context_->alloc_pd())),
          cq_(must(context_->create_cq({.entries = batch}))), memory_(must(context_->allocate(memory_bytes))),
          path_(must(context_->open_port(sw::mlx::gid_of_ipv4(0x0a000001)))), own_(make_queue_pair(batch)) {
        connect(*own_);
    }

    /// A key of 16 pages.
    sw::mlx::MemoryRegion make_key() {
        return must(context_->reg_mr(pd_, memory_.memory(), 0, memory_bytes,
                                     {.access = sw::mlx::all_access, .log_page_size = 12}));
    }
    std::unique_ptr<sw::mlx::QueuePair> make_queue_pair(std::uint32_t max_send) {
        return must(context_->create_qp(
            {.pd = pd_, .send_cq = cq_.get(), .receive_cq = cq_.get(), .max_send = max_send, .max_receive = 1}));
    }
    /// With itself, to RTS.
    void connect(sw::mlx::QueuePair& qp) {
        must(context_->connect(qp, {.path = path_, .qpn = qp.number(), .psn = abi::Psn{1}}, abi::Psn{1}));
    }
    /// A WRITE from the memory of each key to that of the same key: the card caches contexts and translations.
    void use(std::span<sw::mlx::MemoryRegion* const> keys) {
        for (std::size_t done = 0; done != keys.size();) {
            const auto count = std::min<std::size_t>(batch / 2, keys.size() - done);
            for (const auto* key : keys.subspan(done, count)) {
                const sw::mlx::Sge from{.address = key->iova().value, .length = 8, .lkey = key->lkey()};
                must(own_->post_send({.sge = &from,
                                      .sge_count = 1,
                                      .operation = sw::mlx::SendOperation::write,
                                      .flags = sw::mlx::send_flag::signaled,
                                      .rkey = key->rkey(),
                                      .remote_address = key->iova().value + memory_bytes / 2}));
            }
            collect(count);
            done += count;
        }
    }

private:
    static constexpr std::uint32_t batch = 128;
    static constexpr std::size_t memory_bytes = 64 << 10;

    void collect(std::size_t count) {
        std::array<sw::mlx::Completion, batch> completions;
        for (std::size_t done = 0; done != count;) {
            const auto found = cq_->poll(completions);
            for (const auto& completion : std::span(completions).first(found))
                if (completion.status != sw::mlx::CompletionStatus::success)
                    give_up(fmt::format("a WRITE failed: {}", name(completion.status)));
            done += found;
            if (found == 0)
                hca_.relax();
        }
    }

    platform::bridge::InProcessTransport hca_;
    std::unique_ptr<sw::mlx::Context> context_;
    abi::Pd pd_;
    std::unique_ptr<sw::mlx::CompletionQueue> cq_;
    sw::memory::Buffer memory_;
    sw::mlx::AddressPath path_;
    std::unique_ptr<sw::mlx::QueuePair> own_;
};

// --- kinds: make(bench, i) and use(bench, objects) ---

struct Keys {
    using Object = sw::mlx::MemoryRegion;
    static Object make(Bench& bench, std::size_t) { return bench.make_key(); }
    static void use(Bench&, std::span<std::optional<Object>>) {}
};
struct UsedKeys : Keys {
    static void use(Bench& bench, std::span<std::optional<Object>> objects) {
        std::vector<Object*> keys;
        for (auto& object : objects)
            keys.push_back(&*object);
        bench.use(keys);
    }
};
/// Rings of one page and of several by turns: memory that small ones have given back is too small for large ones.
struct QueuePairs {
    using Object = std::unique_ptr<sw::mlx::QueuePair>;
    static Object make(Bench& bench, std::size_t i) { return bench.make_queue_pair(i % 2 == 0 ? 16 : 128); }
    static void use(Bench&, std::span<std::optional<Object>>) {}
};
struct ConnectedQueuePairs : QueuePairs {
    static Object make(Bench& bench, std::size_t i) {
        auto qp = QueuePairs::make(bench, i);
        bench.connect(*qp);
        return qp;
    }
};

/// Memory that this process has at the moment, without what is free in its heap.
double resident_bytes() {
    malloc_trim(0);
    std::uint64_t size = 0, resident = 0;
    std::ifstream("/proc/self/statm") >> size >> resident;
    return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

std::vector<std::uint32_t> places_in(Order order, std::uint32_t count) {
    std::vector<std::uint32_t> places(count);
    std::iota(places.begin(), places.end(), 0u);
    if (order == Order::reverse)
        std::ranges::reverse(places);
    if (order == Order::random)
        std::ranges::shuffle(places, std::mt19937_64(1));
    return places;
}

template <class Kind> Costs measure(Bench& bench, Order order, std::uint32_t number) {
    std::vector<std::optional<typename Kind::Object>> objects(number);
    const auto step = number / 100;
    const auto nanoseconds = [&](auto&& body) {
        const auto begin = ProcessorClock::now();
        body();
        return seconds_since(begin) * 1e9 / step;
    };
    const auto make = [&](std::uint32_t i) { objects[i].emplace(Kind::make(bench, i)); };

    Costs costs;
    const auto before = resident_bytes();
    std::uint32_t exist = 0;
    const auto make_until = [&](std::uint32_t end) {
        for (; exist != end; ++exist)
            make(exist);
    };
    for (std::size_t mark = 0; mark != hundredths.size(); ++mark) {
        const auto end = hundredths[mark] * step, begin = exist;
        make_until(end - step);
        costs[mark].made_ns = nanoseconds([&] { make_until(end); });
        costs[mark].bytes = (resident_bytes() - before) / end;
        Kind::use(bench, std::span(objects).subspan(begin, end - begin));
    }

    const auto places = places_in(order, exist);
    auto next = places.begin();
    const auto destroy_one = [&] { objects[*next++].reset(); };
    for (std::size_t mark = hundredths.size(); mark-- != 0;) {
        while (static_cast<std::uint32_t>(places.end() - next) != hundredths[mark] * step)
            destroy_one();
        const auto first = next;
        costs[mark].destroyed_ns = nanoseconds([&] {
            for (std::uint32_t i = 0; i != step; ++i)
                destroy_one();
        });
        costs[mark].made_again_ns = nanoseconds([&] { std::for_each(first, next, make); });
        next = first;
    }
    return costs;
}

template <class Kind> std::string rows(const char* title, std::uint32_t number, bool caches_all) {
    std::string text;
    for (const auto& [order, order_name] : orders) {
        const auto costs = harness::in_process_of_its_own([&, order = order] {
            platform::topology::Config config;
            config.timed = false;
            if (caches_all) {
                config.hca.mkey_cache_entries = 2 * std::bit_ceil(number);
                config.hca.mtt_cache_entries = 4 * std::bit_ceil(number);
            }
            platform::observe::Sources sources;
            platform::topology::Platform platform(config, nullptr, sources);
            Costs measured;
            scenario::Programs programs;
            programs.add("bench", [&] {
                Bench bench(platform.seat("A.hca", "A.gpu"));
                measured = measure<Kind>(bench, order, number);
            });
            if (const auto ran = programs.run(); !ran)
                give_up(ran.error());
            return measured;
        });
        if (!costs)
            give_up(fmt::format("'{}', {} order, failed", title, order_name));
        for (std::size_t mark = 0; mark != hundredths.size(); ++mark) {
            const auto& cost = (*costs)[mark];
            text += fmt::format("{:<36} {:<8} {:>9} {:>10.0f} {:>10.0f} {:>11.0f} {:>8.0f}\n", title, order_name,
                                hundredths[mark] * (number / 100), cost.made_ns, cost.destroyed_ns, cost.made_again_ns,
                                cost.bytes);
        }
    }
    return text;
}

} // namespace

std::string measure_objects(const ObjectNumbers& numbers) {
    auto text = fmt::format("{:<36} {:<8} {:>9} {:>10} {:>10} {:>11} {:>8}\n", "objects", "gone in", "exist", "made",
                            "destroyed", "made again", "memory");
    text += fmt::format("{:<36} {:<8} {:>9} {:>10} {:>10} {:>11} {:>8}\n", "", "", "", "ns each", "ns each", "ns each",
                        "B each");
    text += rows<Keys>("memory keys", numbers.keys, false);
    text += rows<UsedKeys>("memory keys, all of them cached", numbers.keys, true);
    text += rows<QueuePairs>("queue pairs in RST", numbers.queue_pairs, false);
    text += rows<ConnectedQueuePairs>("queue pairs in RTS", numbers.queue_pairs, false);
    return text;
}

} // namespace bench
