// The memory key context (PRM "Memory key context"): from its bytes to what translation needs, and the changes that a
// UMR work request makes to it, field by field. Knows no table and no queue pair; who may change what is decided in
// hca/umr.
#pragma once

#include "abi/prm/mkey.h"
#include "model/hca/tpt/mkey_table.h"

#include <cstdint>
#include <span>

namespace model::hca::tpt {

/// log_page_size that the translation walks: 4 KiB to 2 GiB.
inline constexpr unsigned min_page_shift = 12, max_page_shift = 31;
/// A UMR writes translations in units of 64 bytes, also where a table is smaller (PRM "UMR", alignment).
inline constexpr std::uint32_t octowords_per_unit = 4;

/// Everything but entries_carry_rights, which is no field of the context.
MkeyAttributes decode(abi::ConstView<abi::prm::Mkc> context);

/// Whether a range leaves the upper end of the address space.
constexpr bool wraps(std::uint64_t start, std::uint64_t length) { return length != 0 && start > ~(length - 1); }

/// Entries that a table of so many octowords holds: two page addresses each, or one range of another key.
constexpr std::uint64_t entries_of(abi::prm::AccessMode mode, std::uint64_t octowords) {
    return is_indirect(mode) ? octowords : octowords * 2;
}
/// What a table of `translations_octword_size` octowords can take.
constexpr std::uint64_t room_of(abi::prm::AccessMode mode, std::uint64_t octowords) {
    return entries_of(mode, (octowords + octowords_per_unit - 1) / octowords_per_unit * octowords_per_unit);
}

/// Copies the fields that `mkey_mask` names. False when it names one that no UMR may change; nothing is copied then.
bool copy_fields(std::uint64_t mkey_mask, abi::ConstView<abi::prm::Mkc> from, abi::View<abi::prm::Mkc> to);

/// Puts entries of a KLM or KSM list (16 bytes each) into `mkey.ranges` from entry `first` on.
void write_ranges(Mkey& mkey, std::uint64_t first, std::span<const std::byte> list);

} // namespace model::hca::tpt
