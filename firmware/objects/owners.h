// Whom objects belong to, and which user memory they stand on (PRM "User context", "UMEM"): one record for each object
// that a user context can have, by kind and number. Numbers are dense, so look-up is an index. Knows nothing of the
// objects.
#pragma once

#include "abi/prm/user_context.h"

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace firmware::objects {

enum class Kind : std::uint8_t { uar, pd, transport_domain, xrcd, cq, mkey, qp, srq, counter_set, umem };
inline constexpr std::size_t kinds = 10;

/// What is known of an object beside its attributes.
struct Holding {
    std::uint16_t uid = 0; ///< 0: the kernel's
    bool exists = false;
    std::array<std::uint32_t, 2> umems{}; ///< of its ring and of its doorbell record; 0: none
};

class Owners {
public:
    /// Enters a new object.
    void add(Kind kind, std::uint32_t number, Holding holding) {
        auto& of_kind = of(kind);
        if (number >= of_kind.size())
            of_kind.resize(number + std::size_t{1});
        assert(!of_kind[number].exists && "an object is entered once");
        holding.exists = true;
        of_kind[number] = holding;
        ++count_of(holding.uid);
    }
    /// Takes it out; what was known of it.
    Holding remove(Kind kind, std::uint32_t number) {
        assert(number < of(kind).size() && of(kind)[number].exists && "only what was entered");
        --count_of(of(kind)[number].uid);
        return std::exchange(of(kind)[number], {});
    }
    /// Whether a command of this user context may name the object. The kernel, which also makes the shared ones, may
    /// name all.
    bool may_name(std::uint16_t uid, Kind kind, std::uint32_t number) const {
        if (uid == 0 || uid == abi::prm::shared_uid)
            return true;
        const auto& of_kind = holdings_[static_cast<std::size_t>(kind)];
        if (number >= of_kind.size() || !of_kind[number].exists)
            return false;
        return of_kind[number].uid == uid || of_kind[number].uid == abi::prm::shared_uid;
    }
    /// How many objects belong to a user context.
    std::size_t count(std::uint16_t uid) const { return uid < counts_.size() ? counts_[uid] : 0; }
    void clear() { *this = {}; }

private:
    std::vector<Holding>& of(Kind kind) { return holdings_[static_cast<std::size_t>(kind)]; }
    std::size_t& count_of(std::uint16_t uid) {
        if (uid >= counts_.size())
            counts_.resize(uid + std::size_t{1});
        return counts_[uid];
    }

    std::array<std::vector<Holding>, kinds> holdings_;
    std::vector<std::size_t> counts_;
};

} // namespace firmware::objects
