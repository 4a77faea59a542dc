#include "model/pcie/msix.h"

#include "abi/write_masks.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

namespace model::pcie {

using abi::pcie::MsixEntry;

Msix::Msix(std::uint16_t vectors)
    : vectors_(vectors), table_(vectors * MsixEntry::size), pending_((vectors + 63u) / 64) {
    reset();
}

void Msix::reset() {
    enable_ = function_mask_ = false;
    std::ranges::fill(table_, std::byte{});
    std::ranges::fill(pending_, 0);
    for (std::size_t i = 0; i < vectors_; ++i)
        abi::View<MsixEntry>(std::span(table_).subspan(i * MsixEntry::size, MsixEntry::size)).set<"mask">(true);
}

void Msix::control(bool enable, bool function_mask) { enable_ = enable, function_mask_ = function_mask; }

std::optional<Msix::Message> Msix::raise(std::uint16_t vector) {
    if (vector >= vectors_ || !enable_)
        return {};
    if (function_mask_ || entry(vector).get<"mask">()) {
        pending_[vector / 64] |= std::uint64_t{1} << vector % 64;
        return {};
    }
    return message(vector);
}

std::optional<Msix::Message> Msix::next() {
    if (!enable_ || function_mask_)
        return {};
    for (std::size_t word = 0; word < pending_.size(); ++word) {
        for (auto bits = pending_[word]; bits != 0; bits &= bits - 1) {
            const auto vector = word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
            if (entry(vector).get<"mask">())
                continue;
            pending_[word] &= ~(std::uint64_t{1} << vector % 64);
            return message(vector);
        }
    }
    return {};
}

Msix::Message Msix::message(std::size_t vector) const {
    const auto row = entry(vector);
    return {std::uint64_t{row.get<"address_upper">()} << 32 | row.get<"address">() << 2, row.get<"data">(),
            static_cast<std::uint16_t>(vector)};
}

void Msix::read_table(std::uint64_t offset, std::span<std::byte> into) const {
    assert(offset + into.size() <= table_.size());
    std::memcpy(into.data(), table_.data() + offset, into.size());
}

void Msix::write_table(std::uint64_t offset, std::span<const std::byte> from) {
    assert(offset + from.size() <= table_.size());
    if (offset % 4 != 0 || from.size() % 4 != 0)
        return; // other than aligned dwords: undefined by the specification (§7.7.2.2), here without effect
    for (std::size_t i = 0; i < from.size(); ++i) {
        const auto mask = abi::write_masks<MsixEntry>.writable[(offset + i) % MsixEntry::size];
        table_[offset + i] = from[i] & mask;
    }
}

void Msix::read_pending(std::uint64_t offset, std::span<std::byte> into) const {
    assert(offset + into.size() <= pending_bytes());
    for (std::size_t i = 0; i < into.size(); ++i)
        into[i] = static_cast<std::byte>(pending_[(offset + i) / 8] >> 8 * ((offset + i) % 8));
}

} // namespace model::pcie
