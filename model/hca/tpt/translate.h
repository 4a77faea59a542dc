// Translation and protection: from a memory key and a virtual range to bus addresses, or to the first rule that is
// broken. Receives key, range, access and protection domain; gives segments. Reads the table; moves no data.
#pragma once

#include "abi/prm/mkey.h"
#include "abi/types.h"
#include "model/hca/config.h"
#include "model/hca/counters.h"
#include "model/hca/icm/cache.h"
#include "model/hca/icm/context_memory.h"
#include "model/hca/tpt/mkey_table.h"
#include "model/port/time.h"
#include "traces/events.h"

#include <array>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string_view>

namespace model::hca::tpt {

/// What the caller is about to do; remote rights differ from local ones.
enum class Access : std::uint8_t { local_read, local_write, remote_read, remote_write, remote_atomic };

/// The rule that is broken, in the order in which the rules are checked (IBA 10.6.3; PRM "Memory key").
enum class Violation : std::uint8_t {
    no_such_key,      ///< no context with this index
    key_is_free,      ///< the context exists but is not enabled
    wrong_variant,    ///< low 8 bits of the key
    wrong_pd,         ///< the key belongs to another protection domain
    wrong_queue_pair, ///< the key is bound to another queue pair
    no_right,         ///< the key does not grant this access
    out_of_bounds,    ///< the range leaves the region
    page_not_present, ///< no translation entry, or one without the present bit for this access
    divided_atomic,   ///< the 8 bytes of an atomic lie in pieces that do not touch
    page_fault, ///< the same, where the access may wait until software has brought the page: nothing is refused yet
};
traces::RefusalReason reason_of(Violation violation);
inline std::string_view to_string(Violation violation) { return reason_of(violation).text(); }

/// One piece of bus address space.
struct Segment {
    abi::BusAddress address;
    std::uint64_t length;
};

/// The pieces of a range in ascending order, touching ones merged. A packet's payload needs two with 4 KiB pages.
struct Segments {
    static constexpr std::size_t capacity = 4;
    Segments() : count(0), covered(0), ready(0) {} // `items` beyond `count` are not set, and cost nothing
    union {
        std::array<Segment, capacity> items;
    };
    std::uint8_t count;
    std::uint64_t covered; ///< bytes of the range that `items` cover; the rest needs another call
    port::Time ready;      ///< when the translation is known
    std::span<const Segment> all() const { return {items.data(), count}; }
};

struct Request {
    abi::Key key;
    std::uint64_t address = 0; ///< virtual
    std::uint64_t length = 0;  ///< bytes; 0 checks the key and the rights only (IBA 10.6.3.2)
    Access access{};
    abi::Pd pd;
    std::uint32_t qpn = abi::prm::mkey_any_qpn;
    bool may_wait = false; ///< for a page that is not there (hca/paging)
};

class Translator {
public:
    Translator(const MkeyTable& table, const HcaConfig& config, icm::ContextMemory& contexts, Counters& counters,
               const traces::Events& events);

    /// Resolves a range, or names the first violation in the order of the enumeration. Every page of the range is
    /// checked, also beyond what fits into the result; of an indirect key only what fits.
    std::expected<Segments, Violation> translate(const Request& request, port::Time at);
    /// Checks key and range without translating, as for the whole range of an RDMA request before its first byte moves.
    std::expected<void, Violation> check(const Request& request, port::Time at);
    /// The one place where the whole range lies, where a key of pages allows it; nothing otherwise. Counts nothing and
    /// touches no cache.
    std::optional<abi::BusAddress> place_of(const Request& request) const;
    /// Looks up and counts what translate() would for each `unit` bytes of a range that place_of() has found.
    void look_up_units(const Request& request, std::uint32_t unit);
    /// Whether the key allows the range, without a look at its pages. Counts nothing.
    bool is_allowed(const Request& request) const { return admit(request).has_value(); }
    /// Whether a page of the range is not there and may be waited for. Touches no cache, counts nothing; of an indirect
    /// key it knows nothing and says false.
    bool lacks_page(const Request& request);
    /// Counts and reports a refusal. A page fault becomes one only when the access does not wait for the page.
    std::unexpected<Violation> refuse(const Request& request, Violation violation, port::Time at);
    /// Firmware has written a new key with so many entries, by way of the caches.
    void created(std::uint32_t index, std::uint64_t entries);
    /// A key was destroyed: drops it and its entries from the caches. Returns how many cached lines it has looked at.
    std::size_t forget(std::uint32_t index);
    /// The same when a key's context and `count` of its entries from `first` on were changed.
    std::size_t forget(std::uint32_t index, std::uint64_t first, std::uint64_t count);
    /// The same when every key was destroyed.
    void forget_all();

private:
    std::expected<const Mkey*, Violation> admit(const Request& request) const;
    std::optional<Violation> walk(const Mkey& mkey, const Request& request, Segments& out, unsigned depth = 0);
    std::optional<Violation> walk_ranges(const Mkey& mkey, const Request& request, Segments& out, unsigned depth);
    std::optional<Violation> walk_pages(const Mkey& mkey, const Request& request, std::uint64_t offset, Segments& out);
    Violation absent(const Mkey& mkey, const Request& request, std::uint64_t entry) const;
    port::Time look_up(const Request& request, std::uint64_t entry, port::Time at);

    const MkeyTable& table_;
    icm::ContextMemory& contexts_;
    Counters& counters_;
    const traces::Events& events_;
    port::Time mkey_miss_, mtt_miss_;
    bool has_paging_;
    icm::Cache mkey_cache_, mtt_cache_;
};

} // namespace model::hca::tpt
