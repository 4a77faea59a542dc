// Memory keys: the contexts and translation entries behind the 32-bit keys of work requests and packets
// (PRM "Memory key"; IBA 10.6). Holds them; hca/tpt/translate reads them.
#pragma once

#include "abi/prm/mkey.h"
#include "abi/types.h"
#include "model/hca/domains.h"
#include "model/hca/object_table.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace model::hca::tpt {

/// Rights of a memory key, one bit each.
struct Rights {
    bool local_read : 1 = false, local_write : 1 = false, remote_read : 1 = false, remote_write : 1 = false,
                      atomic : 1 = false;
};

/// A memory key context, decoded (hca/tpt/mkey_context).
struct MkeyAttributes {
    std::uint64_t start = 0, length = 0;
    abi::Pd pd;
    std::uint32_t qpn = abi::prm::mkey_any_qpn; ///< the only queue pair that may use it, or any
    std::uint8_t variant = 0;
    bool is_free = false;           ///< not usable until a UMR enables it
    bool takes_umr = false;         ///< a UMR work request may change the key (umr_en)
    bool remote_invalidate = false; ///< a peer's SEND with invalidate may free it (en_rinval)
    abi::prm::AccessMode mode = abi::prm::AccessMode::mtt;
    Rights rights;
    bool length64 = false;             ///< it has no end: `length` does not count
    std::uint8_t page_shift = 12;      ///< log2 of the bytes an MTT entry covers
    bool entries_carry_rights = false; ///< bits 0 and 1 of an entry say present for read and write (pg_access, UMR)
    std::array<std::byte, abi::prm::Mkc::size> context{}; ///< as software wrote it, for QUERY_MKEY and changes by UMR
};

/// One entry of an indirect key: a range of another key.
struct KeyRange {
    std::uint64_t end = 0; ///< offset in the indirect key's region where the next entry begins
    abi::Key key{};
    std::uint32_t stride = 0;  ///< of an interleaved key: how far the range moves from one repetition to the next
    std::uint64_t address = 0; ///< virtual, in terms of `key`
    std::uint64_t length = 0;
};

/// Whether a key's translations name other keys instead of pages.
constexpr bool is_indirect(abi::prm::AccessMode mode) {
    return mode == abi::prm::AccessMode::klms || mode == abi::prm::AccessMode::ksm;
}

/// What an entry of an indirect key names where there is nothing yet: using it is a page fault (PRM "Memory key",
/// null_mkey). No key of software's has its index.
inline constexpr abi::Key null_key{0x200};

/// An interleaved key: its ranges follow each other again and again, each a stride further (PRM "KLM", repeat block).
struct Interleaving {
    std::uint32_t repetition = 0; ///< bytes of one repetition; 0: the ranges stand once
    std::uint32_t count = 0;
};

/// What a translation reads lies together in one line of the processor's cache.
struct alignas(64) Mkey {
    Mkey(std::uint32_t key_index, MkeyAttributes a, std::vector<std::uint64_t> entries)
        : mtt(std::move(entries)), attributes(std::move(a)), index(key_index) {}

    std::vector<std::uint64_t> mtt; ///< bus address of each page, rights in bits 1..0 where they count
    MkeyAttributes attributes;
    std::uint32_t index;
    std::uint64_t room = 0;         ///< entries that the translation table may hold
    std::vector<KeyRange> ranges{}; ///< of an indirect key, in ascending order
    Interleaving interleaving{};
    Ref<ProtectionDomain> domain{}; ///< that of its attributes
};

/// Somebody who wants to know when pages are entered into keys.
class MkeyWatch {
public:
    virtual ~MkeyWatch() = default;
    /// Entries [first, first + count) of its MTT are new.
    virtual void key_mapped(const Mkey& mkey, std::uint64_t first, std::uint64_t count) = 0;
};

class MkeyTable {
public:
    Mkey* find(std::uint32_t index) const { return table_.find(index); }
    Mkey& create(std::uint32_t index, MkeyAttributes attributes, std::vector<std::uint64_t> mtt) {
        auto& made = table_.create(index, index, std::move(attributes), std::move(mtt));
        note_mapped(made, 0, made.mtt.size());
        return made;
    }
    /// To be called by whoever changes translations of a key.
    void note_mapped(const Mkey& mkey, std::uint64_t first, std::uint64_t count) {
        if (watch_ != nullptr) [[unlikely]]
            watch_->key_mapped(mkey, first, count);
    }
    /// The watch must outlive the table. With nullptr nobody is told.
    void set_watch(MkeyWatch* watch) { watch_ = watch; }
    void destroy(std::uint32_t index) { table_.destroy(index); }
    void clear() { table_.clear(); }
    std::size_t count() const { return table_.count(); }

private:
    ObjectTable<Mkey> table_;
    MkeyWatch* watch_ = nullptr;
};

} // namespace model::hca::tpt
