// What a write of software does to a structure of registers, as the access policies of its rows say: which bits take
// what is written, which are cleared and which are set by a 1. Bits without a row are reserved and stay as they are.
#pragma once

#include "abi/layout.h"

namespace abi {

/// Masks over the bytes of a structure. `kept` are the writable bits that a function-level reset leaves, `sticky` those
/// of them that a reset of the link leaves, too.
template <std::size_t Bytes> struct WriteMasks {
    std::array<std::byte, Bytes> writable{}, clearable{}, settable{}, kept{}, sticky{};
};

namespace detail {

template <class F, Endian E, std::size_t Bytes> constexpr void fill_row(std::array<std::byte, Bytes>& mask) {
    if constexpr (kind_of<F> == FieldKind::raw)
        std::fill_n(mask.begin() + F::offset, F::bytes, std::byte{0xff});
    else if constexpr (std::is_same_v<typename F::type, bool>)
        F::template set<E>(mask.data(), true);
    else
        F::template set<E>(mask.data(), static_cast<typename F::type>(~std::uint64_t{0}));
}

template <class L> consteval WriteMasks<L::size> make_write_masks() {
    WriteMasks<L::size> masks;
    L::for_each([&]<class F>(std::type_identity<F>) {
        if constexpr (kind_of<F> == FieldKind::sub) {
            const auto inner = make_write_masks<typename F::layout>();
            std::ranges::copy(inner.writable, masks.writable.begin() + F::offset);
            std::ranges::copy(inner.clearable, masks.clearable.begin() + F::offset);
            std::ranges::copy(inner.settable, masks.settable.begin() + F::offset);
            std::ranges::copy(inner.kept, masks.kept.begin() + F::offset);
            std::ranges::copy(inner.sticky, masks.sticky.begin() + F::offset);
        } else {
            static_assert(F::access != AccessPolicy::unstated, "a row of this register says not what software may do");
            if constexpr (is_writable(F::access))
                fill_row<F, L::endian>(masks.writable);
            if constexpr (F::access == AccessPolicy::rw1c)
                fill_row<F, L::endian>(masks.clearable);
            if constexpr (F::access == AccessPolicy::rw1s)
                fill_row<F, L::endian>(masks.settable);
            if constexpr (F::access == AccessPolicy::rws || F::access == AccessPolicy::rwl)
                fill_row<F, L::endian>(masks.kept);
            if constexpr (F::access == AccessPolicy::rws)
                fill_row<F, L::endian>(masks.sticky);
        }
    });
    return masks;
}

} // namespace detail

/// The masks of layout `L`. Every row has to state its policy.
template <class L> inline constexpr auto write_masks = detail::make_write_masks<L>();

/// A byte of a register after `written` was written to it.
constexpr std::byte after_write(std::byte old, std::byte written, std::byte writable, std::byte clearable,
                                std::byte settable) {
    return ((old & ~writable) | (written & writable) | (written & settable)) & ~(written & clearable);
}

/// Writes the dword at byte `offset` of the registers of `L`, as software does. The value is in the order of the
/// processor.
template <class L> constexpr void write_dword(const View<L>& registers, std::size_t offset, std::uint32_t value) {
    assert(offset % 4 == 0 && offset + 4 <= L::size);
    std::array<std::byte, 4> written{};
    store<std::uint32_t, L::endian>(written.data(), value);
    const auto& masks = write_masks<L>;
    const auto bytes = registers.bytes();
    for (std::size_t i = 0; i < written.size(); ++i)
        bytes[offset + i] = after_write(bytes[offset + i], written[i], masks.writable[offset + i],
                                        masks.clearable[offset + i], masks.settable[offset + i]);
}

} // namespace abi
