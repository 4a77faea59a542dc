// A pair of cores whose queue pairs may change keys, and UMR work requests as a driver writes them.
#pragma once

#include "abi/prm/mkey.h"
#include "model/hca/tpt/mkey_context.h"
#include "model/hca/umr/umr.h"
#include "testbench/harness/hca_pair.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace umr_test {

using namespace harness;
using abi::prm::AccessMode;
using abi::prm::CqeOpcode;
using abi::prm::CqeSyndrome;
using abi::prm::Mkc;
using abi::prm::MkeyMask;
using abi::prm::WqeOpcode;
using abi::prm::WqeUmrCtrl;
using model::hca::umr::Fault;

constexpr std::uint64_t mask(std::initializer_list<MkeyMask> bits) {
    std::uint64_t all = 0;
    for (const auto bit : bits)
        all |= static_cast<std::uint64_t>(bit);
    return all;
}
/// What registering memory changes.
constexpr auto registration = mask({MkeyMask::len, MkeyMask::page_size, MkeyMask::start_addr, MkeyMask::key,
                                    MkeyMask::lr, MkeyMask::lw, MkeyMask::rr, MkeyMask::rw, MkeyMask::free});
/// What binding a window changes (IBA 10.6.7.2).
constexpr auto binding = mask({MkeyMask::len, MkeyMask::start_addr, MkeyMask::key, MkeyMask::lw, MkeyMask::rr,
                               MkeyMask::rw, MkeyMask::a, MkeyMask::free});

struct UmrPost {
    abi::Key key{};
    abi::Block<WqeUmrCtrl> control{};
    abi::Block<Mkc> context{};
    std::vector<std::byte> list{};
    Post::Sge list_at{}; ///< when `list` is empty
    abi::prm::FenceMode fence{};
    bool signalled = true;
};

struct Bench : HcaPair {
    /// What is not present is refused, and not waited for.
    static model::hca::HcaConfig without_paging() {
        auto config = untimed();
        config.on_demand_paging = false;
        return config;
    }
    explicit Bench(bool privileged = true) : HcaPair(clean(), without_paging()) {
        for (auto* node : {&a, &b})
            node->hca.protection_domains().create(Node::pd.value);
        remake([&](auto& x) { x.fast_registration = privileged; });
        connect();
    }
    /// A key of `node` that is free, with a table of so many octowords.
    static abi::Key free_key(Node& node, AccessMode mode = AccessMode::mtt, std::uint32_t octowords = 4) {
        abi::Block<Mkc> context;
        context.view()
            .set<"free">(1)
            .set<"umr_en">(1)
            .set<"lr">(1)
            .set<"qpn">(abi::prm::mkey_any_qpn)
            .set<"pd">(Node::pd.value)
            .set<"log_page_size">(12);
        abi::prm::set_access_mode(context.view(), mode);
        const auto key = node.make_key(model::hca::tpt::decode(context.view()), {});
        node.hca.mkeys().find(key.index())->room = model::hca::tpt::room_of(mode, octowords);
        return key;
    }
    static std::vector<std::byte> pages(const std::vector<std::uint64_t>& addresses, std::size_t entries = 0) {
        std::vector<std::byte> list(std::max(addresses.size(), entries) * 8);
        for (std::size_t i = 0; i < addresses.size(); ++i)
            abi::store<std::uint64_t, abi::Endian::big>(list.data() + 8 * i, addresses[i]);
        return list;
    }
    static std::vector<std::byte> range(abi::Key key, std::uint64_t address, std::uint32_t length) {
        std::vector<std::byte> entry(64); // a unit of four
        abi::View<abi::prm::Klm>(std::span(entry).first(16))
            .set<"bcount">(length)
            .set<"mkey">(key.value)
            .set<"address">(address);
        return entry;
    }
    /// Registers `pages` identity mapped as [start, start + length).
    static UmrPost enable(abi::Key key, std::uint64_t start, std::uint64_t length, std::vector<std::byte> list) {
        UmrPost post{.key = key, .list = std::move(list)};
        post.control.view()
            .set<"inline">(1)
            .set<"check_not_free">(1)
            .set<"xlt_octowords">(static_cast<std::uint16_t>(post.list.size() / 16))
            .set<"mkey_mask">(registration);
        post.context.view()
            .set<"start_addr">(start)
            .set<"len">(length)
            .set<"log_page_size">(12)
            .set<"mkey_7_0">(key.variant())
            .set<"lr">(1)
            .set<"lw">(1)
            .set<"rr">(1)
            .set<"rw">(1);
        return post;
    }
    static UmrPost bind(abi::Key window, abi::Key key, std::uint64_t address, std::uint32_t length) {
        UmrPost post{.key = window, .list = range(key, address, length)};
        post.control.view().set<"inline">(1).set<"xlt_octowords">(4).set<"mkey_mask">(binding);
        post.context.view()
            .set<"start_addr">(address)
            .set<"len">(length)
            .set<"mkey_7_0">(window.variant())
            .set<"rr">(1)
            .set<"rw">(1);
        return post;
    }
    static UmrPost free(abi::Key key) {
        UmrPost post{.key = key};
        post.control.view().set<"inline">(1).set<"mkey_mask">(mask({MkeyMask::free}));
        post.context.view().set<"free">(1);
        return post;
    }
    static std::vector<std::byte> encode(const UmrPost& post, abi::Qpn number, std::uint16_t index) {
        std::vector<std::byte> wqe(16);
        const auto add = [&](std::span<const std::byte> bytes) { wqe.insert(wqe.end(), bytes.begin(), bytes.end()); };
        add(post.control.bytes);
        add(post.context.bytes);
        add(post.list);
        if (post.list.empty() && post.list_at.length != 0) {
            abi::Block<abi::prm::WqeData> data;
            data.view()
                .set<"byte_count">(post.list_at.length)
                .set<"lkey">(post.list_at.key.value)
                .set<"addr">(post.list_at.address);
            add(data.bytes);
        }
        abi::View<abi::prm::WqeCtrl>(std::span(wqe))
            .set<"wqe_index">(index)
            .set<"opcode">(WqeOpcode::umr)
            .set<"qpn">(number.value)
            .set<"ds">(static_cast<std::uint32_t>((wqe.size() + 15) / 16))
            .set<"fm">(post.fence)
            .set<"ce">(post.signalled ? abi::prm::CompletionEvent::always : abi::prm::CompletionEvent::on_error)
            .set<"imm">(post.key.value);
        wqe.resize((wqe.size() + 63) / 64 * 64);
        return wqe;
    }
    void post(Node& node, TestQp& qp, const UmrPost& wr) { node.post_bytes(qp, encode(wr, qp.number, qp.sq_producer)); }
    /// Posts on b, rings and lets it happen; returns its completion.
    Done change(const UmrPost& wr) {
        post(b, b_qp, wr);
        b.ring(b_qp, clock.now());
        settle();
        const auto done = b.drain(b_cq);
        return done.empty() ? Done{.opcode = CqeOpcode::invalid} : done.back();
    }
    model::hca::tpt::Mkey& key(abi::Key k) { return *b.hca.mkeys().find(k.index()); }
    /// A WRITE of `length` bytes from a to b's `address` by `rkey`; returns a's completion.
    Done write(abi::Key rkey, std::uint64_t address, std::uint32_t length) {
        send({.sges = {from.sge(0, length)}, .remote = address, .rkey = rkey});
        const auto done = a.drain(a_cq);
        return done.empty() ? Done{.opcode = CqeOpcode::invalid} : done.back();
    }

    Region from = a.make_region(8192, 3);
    std::uint64_t memory = b.allocate(0x4000); ///< pages of b without a key
};

} // namespace umr_test
