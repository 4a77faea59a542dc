// The kinds of objects that a driver makes with commands, one row each: how it is called, where its objects are kept,
// which numbers they have, who may name them, whether they take up lent pages, and how commands are refused. All the
// rest follows from the row (firmware/objects/registry).
#pragma once

#include "abi/layout.h"
#include "abi/prm/capability.h"
#include "firmware/refusal.h"
#include "model/hca/config.h"
#include "model/hca/counted.h"
#include "model/hca/hca.h"
#include "model/hca/memory/paged_buffer.h"
#include "model/port/time.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace firmware::objects {

using model::hca::Counted;
using model::hca::Hca;
using model::hca::Ref;

// --- objects that the firmware alone knows; the others live in model/hca ---

struct TransportDomain {};
/// Its users are the queues whose doorbells are in it.
struct UarPage : Counted {};
/// A program that speaks to the device directly. Its users are the objects that belong to it.
struct UserContext : Counted {};
/// Memory that a user context handed over (PRM "UMEM"). The rights in its entries are not kept: queues and keys that
/// use the memory have rights of their own.
struct UserMemory : Counted {
    explicit UserMemory(model::hca::memory::PagedBuffer p) : pages(std::move(p)) {}
    model::hca::memory::PagedBuffer pages;
};

// --- what rows are made of ---

/// [first, end).
struct Numbers {
    std::uint32_t first = 0, end = 0;
    constexpr std::uint32_t count() const { return end - first; }
};
/// Numbers below 2^log_end, from `first` on; a device with few numbers starts lower.
constexpr Numbers numbers_below(unsigned log_end, std::uint32_t first) {
    const auto end = 1u << log_end;
    return {std::min(first, end / 2), end};
}
/// What decides how many objects there may be: the capabilities in force and the configuration.
struct Limits {
    abi::ConstView<abi::prm::CmdHcaCap> cap;
    const model::hca::HcaConfig& config;
};

/// What most rows have in common.
struct Common {
    static constexpr bool takes_pages = false;   ///< lent ones, and entries of page lists
    static constexpr bool is_everybodys = false; ///< every user context may name every one
    static constexpr std::size_t built_in = 0;   ///< objects of the core that no driver made
};

/// In the order in which an account of them reads best.
enum class Kind : std::uint8_t {
    eq,
    cq,
    qp,
    srq,
    mkey,
    pd,
    transport_domain,
    xrcd,
    uar,
    counter_set,
    umem,
    user_context
};
inline constexpr std::size_t kinds = static_cast<std::size_t>(Kind::user_context) + 1;

/// A row. Its members beside those of Common:
///     name                          of many
///     none_left, unknown, in_use    refusals; in_use only where objects count their users
///     numbers(limits)               that its objects have
///     users_numbers(limits)         others, which those of user contexts have while there are any
///     table(hca)                    where the core keeps them, or
///     Object                        what the firmware keeps
///     make, unmake                  how the core makes and destroys one, where its table alone does not
template <Kind> struct Row;

// --- the rows. Where there are many numbers, the small ones are not given out: a careless driver makes them up ---

template <> struct Row<Kind::eq> : Common {
    static constexpr std::string_view name = "event queues";
    static constexpr Reply none_left = refuse("create_eq.none_left"), unknown = refuse("destroy_eq.unknown"),
                           in_use = refuse("destroy_eq.in_use");
    static constexpr bool takes_pages = true, is_everybodys = true;
    static Numbers numbers(const Limits& limits) { return {0, limits.cap.get<"max_num_eqs">()}; }
    static const auto& table(Hca& hca) { return hca.event_queues().table(); }
    static void make(Hca& hca, std::uint32_t number, model::hca::event::Attributes attributes) {
        hca.event_queues().create(abi::Eqn{number}, std::move(attributes));
    }
    static void unmake(Hca& hca, std::uint32_t number, model::port::Time at) {
        hca.event_queues().destroy(abi::Eqn{number});
        hca.stop_paging(at);
    }
};

template <> struct Row<Kind::cq> : Common {
    static constexpr std::string_view name = "completion queues";
    static constexpr Reply none_left = refuse("create_cq.none_left"), unknown = refuse("destroy_cq.unknown"),
                           in_use = refuse("destroy_cq.in_use");
    static constexpr bool takes_pages = true;
    static Numbers numbers(const Limits& limits) { return numbers_below(limits.cap.get<"log_max_cq">(), 0x80); }
    static const auto& table(Hca& hca) { return hca.completion_queues(); }
    static void make(Hca& hca, std::uint32_t number, model::hca::queue::CompletionQueueAttributes attributes) {
        hca.create_cq(abi::Cqn{number}, std::move(attributes));
    }
    static void unmake(Hca& hca, std::uint32_t number, model::port::Time) { hca.destroy_cq(abi::Cqn{number}); }
};

template <> struct Row<Kind::qp> : Common {
    static constexpr std::string_view name = "queue pairs";
    static constexpr Reply none_left = refuse("create_qp.none_left"), unknown = refuse("destroy_qp.unknown");
    static constexpr bool takes_pages = true;
    /// Numbers 0 and 1 are the special queue pairs of verbs.
    static constexpr std::uint32_t first = 0x40;
    static Numbers numbers(const Limits& limits) { return numbers_below(limits.cap.get<"log_max_qp">(), first); }
    static const auto& table(Hca& hca) { return hca.queue_pairs(); }
    static void make(Hca& hca, std::uint32_t number, model::hca::queue::QueuePairAttributes attributes) {
        hca.create_qp(abi::Qpn{number}, std::move(attributes));
    }
    static void unmake(Hca& hca, std::uint32_t number, model::port::Time) { hca.destroy_qp(abi::Qpn{number}); }
};

/// RMPs and XRC SRQs share one space of numbers.
template <> struct Row<Kind::srq> : Common {
    static constexpr std::string_view name = "shared receive queues";
    static constexpr Reply none_left = refuse("create_srq.none_left"), unknown = refuse("destroy_rmp.unknown"),
                           in_use = refuse("destroy_srq.in_use");
    static constexpr bool takes_pages = true;
    static Numbers numbers(const Limits& limits) { return numbers_below(limits.cap.get<"log_max_srq">(), 0x80); }
    static const auto& table(Hca& hca) { return hca.shared_receive_queues(); }
    static void make(Hca& hca, std::uint32_t number, model::hca::queue::SharedReceiveQueueAttributes attributes) {
        hca.create_srq(number, std::move(attributes));
    }
    static void unmake(Hca& hca, std::uint32_t number, model::port::Time at) { hca.destroy_srq(number, at); }
};

template <> struct Row<Kind::mkey> : Common {
    static constexpr std::string_view name = "memory keys";
    static constexpr Reply none_left = refuse("create_mkey.none_left"), unknown = refuse("destroy_mkey.unknown");
    static constexpr bool takes_pages = true;
    static Numbers numbers(const Limits& limits) { return numbers_below(limits.cap.get<"log_max_mkey">(), 0x80); }
    static const auto& table(Hca& hca) { return hca.mkeys(); }
    static void make(Hca& hca, std::uint32_t number, model::hca::tpt::MkeyAttributes attributes,
                     std::vector<std::uint64_t> entries) {
        hca.create_mkey(number, std::move(attributes), std::move(entries));
    }
    static void unmake(Hca& hca, std::uint32_t number, model::port::Time) { hca.destroy_mkey(number); }
};

template <> struct Row<Kind::pd> : Common {
    static constexpr std::string_view name = "protection domains";
    static constexpr Reply none_left = refuse("alloc_pd.none_left"), unknown = refuse("dealloc_pd.unknown"),
                           in_use = refuse("dealloc_pd.in_use");
    static Numbers numbers(const Limits& limits) { return numbers_below(limits.cap.get<"log_max_pd">(), 1); }
    static auto& table(Hca& hca) { return hca.protection_domains(); }
};

template <> struct Row<Kind::transport_domain> : Common {
    using Object = TransportDomain;
    static constexpr std::string_view name = "transport domains";
    static constexpr Reply none_left = refuse("alloc_transport_domain.none_left"),
                           unknown = refuse("dealloc_transport_domain.unknown");
    static Numbers numbers(const Limits& limits) {
        return numbers_below(limits.cap.get<"log_max_transport_domain">(), 1);
    }
};

template <> struct Row<Kind::xrcd> : Common {
    static constexpr std::string_view name = "XRC domains";
    static constexpr Reply none_left = refuse("alloc_xrcd.none_left"), unknown = refuse("dealloc_xrcd.unknown"),
                           in_use = refuse("dealloc_xrcd.in_use");
    static Numbers numbers(const Limits& limits) { return numbers_below(limits.cap.get<"log_max_xrcd">(), 1); }
    static auto& table(Hca& hca) { return hca.xrc_domains(); }
};

template <> struct Row<Kind::uar> : Common {
    using Object = UarPage;
    static constexpr std::string_view name = "UAR pages";
    static constexpr Reply none_left = refuse("alloc_uar.none_left"), unknown = refuse("dealloc_uar.unknown"),
                           in_use = refuse("dealloc_uar.in_use");
    static Numbers numbers(const Limits& limits) { return {limits.config.first_uar, limits.config.first_polled_uar()}; }
    static Numbers users_numbers(const Limits& limits) {
        return {limits.config.first_polled_uar(), limits.config.uar_pages};
    }
};

/// Set 0 counts for queue pairs without a set of their own; it is never given out.
template <> struct Row<Kind::counter_set> : Common {
    static constexpr std::string_view name = "counter sets";
    static constexpr Reply none_left = refuse("alloc_q_counter.none_left"),
                           unknown = refuse("dealloc_q_counter.unknown"), in_use = refuse("dealloc_q_counter.in_use");
    static constexpr std::size_t built_in = 1;
    static Numbers numbers(const Limits& limits) { return {1, std::max(limits.cap.get<"max_qp_cnt">(), 1u)}; }
    static auto& table(Hca& hca) { return hca.q_counters(); }
};

template <> struct Row<Kind::umem> : Common {
    using Object = UserMemory;
    static constexpr std::string_view name = "user memories";
    static constexpr Reply none_left = refuse("create_umem.none_left"), unknown = refuse("destroy_umem.unknown"),
                           in_use = refuse("destroy_umem.in_use");
    static constexpr bool takes_pages = true;
    static Numbers numbers(const Limits& limits) { return numbers_below(limits.cap.get<"log_max_umem">(), 1); }
};

template <> struct Row<Kind::user_context> : Common {
    using Object = UserContext;
    static constexpr std::string_view name = "user contexts";
    static constexpr Reply none_left = refuse("create_uctx.none_left"), unknown = refuse("destroy_uctx.unknown"),
                           in_use = refuse("destroy_uctx.in_use");
    static Numbers numbers(const Limits& limits) { return numbers_below(limits.cap.get<"log_max_uctx">(), 1); }
};

// --- what follows from a row about its objects ---

template <class R>
concept KeptByCore = requires(Hca& hca) { R::table(hca); };

template <class R> struct ObjectOf {
    using type = typename R::Object;
};
template <KeptByCore R> struct ObjectOf<R> {
    using type = std::remove_pointer_t<decltype(R::table(std::declval<Hca&>()).find(0))>;
};
template <Kind K> using Object = typename ObjectOf<Row<K>>::type;

} // namespace firmware::objects
