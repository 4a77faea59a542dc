#include "model/hca/tpt/mkey_context.h"

#include "abi/layout.h"
#include "abi/prm/wqe.h"

#include <algorithm>
#include <array>

namespace model::hca::tpt {

using abi::prm::Klm;
using abi::prm::MkeyMask;
using abi::prm::RepeatBlock;
using abi::prm::RepeatEntry;
using Context = abi::ConstView<abi::prm::Mkc>;
using Target = abi::View<abi::prm::Mkc>;

namespace {

struct Group {
    std::uint64_t mask;
    void (*copy)(Context, Target);
};
template <abi::Name... F> constexpr Group group(MkeyMask bit) {
    return {static_cast<std::uint64_t>(bit), [](Context from, Target to) { (to.set<F>(from.get<F>()), ...); }};
}
constexpr std::array groups{
    group<"len", "length64">(MkeyMask::len),
    group<"log_page_size">(MkeyMask::page_size),
    group<"start_addr">(MkeyMask::start_addr),
    group<"pd">(MkeyMask::pd),
    group<"en_rinval">(MkeyMask::en_rinval),
    group<"mkey_7_0">(MkeyMask::key),
    group<"qpn">(MkeyMask::qpn),
    group<"lr">(MkeyMask::lr),
    group<"lw">(MkeyMask::lw),
    group<"rr">(MkeyMask::rr),
    group<"rw">(MkeyMask::rw),
    group<"a">(MkeyMask::a),
    group<"small_fence_on_rdma_read_response">(MkeyMask::small_fence),
    group<"free">(MkeyMask::free),
};
constexpr std::uint64_t known_groups = [] {
    std::uint64_t all = 0;
    for (const auto& g : groups)
        all |= g.mask;
    return all;
}();

} // namespace

MkeyAttributes decode(Context context) {
    MkeyAttributes out{
        .start = context.get<"start_addr">(),
        .length = context.get<"len">(),
        .pd = abi::Pd{context.get<"pd">()},
        .qpn = context.get<"qpn">(),
        .variant = static_cast<std::uint8_t>(context.get<"mkey_7_0">()),
        .is_free = context.get<"free">() != 0,
        .takes_umr = context.get<"umr_en">() != 0,
        .remote_invalidate = context.get<"en_rinval">() != 0,
        .mode = abi::prm::access_mode(context),
        .rights = {.local_read = context.get<"lr">() != 0,
                   .local_write = context.get<"lw">() != 0,
                   .remote_read = context.get<"rr">() != 0,
                   .remote_write = context.get<"rw">() != 0,
                   .atomic = context.get<"a">() != 0},
        .length64 = context.get<"length64">() != 0,
        .page_shift = static_cast<std::uint8_t>(context.get<"log_page_size">()),
    };
    std::ranges::copy(context.bytes(), out.context.begin());
    return out;
}

bool copy_fields(std::uint64_t mkey_mask, Context from, Target to) {
    if (mkey_mask & ~known_groups)
        return false;
    for (const auto& g : groups)
        if (mkey_mask & g.mask)
            g.copy(from, to);
    return true;
}

namespace {
/// How the entries of a list repeat, which a repeat block at its start says. Without one they stand once.
Interleaving interleaving_of(const Mkey& mkey, std::span<const std::byte> list) {
    if (mkey.attributes.mode != abi::prm::AccessMode::klms || list.size() < RepeatBlock::size)
        return {};
    const abi::ConstView<RepeatBlock> block{list.first(RepeatBlock::size)};
    if (block.get<"op">() != abi::prm::repeat_block_op)
        return {};
    return {.repetition = block.get<"bcount_per_cycle">(), .count = block.get<"repeat_count">()};
}
KeyRange decode_range(const Mkey& mkey, std::span<const std::byte> bytes) {
    if (mkey.interleaving.repetition != 0) {
        const abi::ConstView<RepeatEntry> entry{bytes};
        return {.key = abi::Key{entry.get<"mkey">()},
                .stride = entry.get<"stride">(),
                .address = entry.get<"address">(),
                .length = entry.get<"bcount">()};
    }
    const abi::ConstView<Klm> entry{bytes};
    return {.key = abi::Key{entry.get<"mkey">()}, .address = entry.get<"address">(), .length = entry.get<"bcount">()};
}
} // namespace

void write_ranges(Mkey& mkey, std::uint64_t first, std::span<const std::byte> list) {
    const auto count = list.size() / Klm::size;
    auto& ranges = mkey.ranges;
    if (ranges.size() < first + count)
        ranges.resize(first + count);
    const bool is_new = first == 0 && count != 0;
    if (is_new)
        mkey.interleaving = interleaving_of(mkey, list);
    for (std::size_t i = 0; i < count; ++i)
        ranges[first + i] = decode_range(mkey, list.subspan(i * Klm::size, Klm::size));
    if (is_new &&
        mkey.interleaving.repetition != 0) { // the block itself covers nothing, nor do entries beyond its count
        const auto entries = abi::ConstView<RepeatBlock>{list.first(RepeatBlock::size)}.get<"num_entries">();
        ranges[0] = {};
        for (std::size_t i = 1 + entries; i < ranges.size(); ++i)
            ranges[i] = {};
    }
    // Entries of a KSM list have one size, and their first dword is reserved.
    const bool is_fixed = mkey.attributes.mode == abi::prm::AccessMode::ksm;
    const auto page = std::uint64_t{1} << mkey.attributes.page_shift;
    auto end = first == 0 ? 0 : ranges[first - 1].end;
    for (auto i = first; i < ranges.size(); ++i) {
        auto& range = ranges[i];
        if (is_fixed)
            range.length = range.key.value != 0 ? page : 0;
        end += is_fixed ? page : range.length;
        range.end = end;
    }
}

} // namespace model::hca::tpt
