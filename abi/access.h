// What software may do to a field of a register. Stated beside the field, as the last argument of its row, in the words
// of PCIe 6.0 §7.4 "Configuration Register Types". The write masks of the register, and what a write does to it, follow
// from the rows (abi/write_masks.h, abi/iommu/entry.h); nobody states them a second time.
#pragma once

#include <cstdint>

namespace abi {

enum class AccessPolicy : std::uint8_t {
    unstated, ///< the row is of a structure in memory or on a wire, not of a register
    ro,       ///< hardware sets it; software cannot
    hwinit,   ///< the same, and it has its value from the beginning on
    rw,       ///< software sets it
    rws,      ///< the same, and sticky: no reset but a fundamental one changes it
    rwl,      ///< the same, of the link: a function-level reset leaves it, a reset of the link does not (§6.6.2)
    rw1c,     ///< hardware sets it; software clears it by writing 1
    rw1s,     ///< writing 1 starts something; writing 0 does nothing; reads 0 once that is done
    wo,       ///< a command: what is written has an effect and is not kept
};

template <AccessPolicy P> struct Policy {
    static constexpr AccessPolicy value = P;
};
using ro = Policy<AccessPolicy::ro>;
using hwinit = Policy<AccessPolicy::hwinit>;
using rw = Policy<AccessPolicy::rw>;
using rws = Policy<AccessPolicy::rws>;
using rwl = Policy<AccessPolicy::rwl>;
using rw1c = Policy<AccessPolicy::rw1c>;
using rw1s = Policy<AccessPolicy::rw1s>;
using wo = Policy<AccessPolicy::wo>;

namespace detail {
template <class T> constexpr AccessPolicy policy_of = AccessPolicy::unstated;
template <AccessPolicy P> constexpr AccessPolicy policy_of<Policy<P>> = P;

/// The optional arguments of a row are its type and its policy, in this order; either may be left out.
template <class T, class Default> struct ValueType {
    using type = T;
};
template <AccessPolicy P, class Default> struct ValueType<Policy<P>, Default> {
    using type = Default;
};
} // namespace detail

/// Whether software can set the field, as opposed to clearing or commanding it.
constexpr bool is_writable(AccessPolicy policy) {
    return policy == AccessPolicy::rw || policy == AccessPolicy::rws || policy == AccessPolicy::rwl;
}

} // namespace abi
