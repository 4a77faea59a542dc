// A pair of cores whose keys have pages that come and go, and software that brings them when it is told.
#pragma once

#include "testbench/harness/hca_pair.h"

#include <catch2/catch_test_macros.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace paging_test {

using namespace harness;
using abi::prm::CqeOpcode;
using abi::prm::CqeSyndrome;
using abi::prm::PageFaultSubtype;
using abi::prm::PageFaultType;
using abi::prm::WqeOpcode;

/// A page fault event as software reads it.
struct Fault {
    PageFaultSubtype subtype{};
    PageFaultType type{};
    std::uint32_t token = 0, committed = 0, packet = 0;
    std::uint32_t queue = 0; ///< of a WQE
    std::uint16_t wqe_index = 0;
    std::uint32_t r_key = 0; ///< of a remote access
    std::uint64_t address = 0;
    std::uint32_t length = 0;
};

inline Post transfer(WqeOpcode opcode, const Region& local, const Region& remote) {
    return {.opcode = opcode, .sges = {local.sge()}, .remote = remote.address, .rkey = remote.key};
}

struct Bench : HcaPair {
    explicit Bench(const model::hca::HcaConfig& config = untimed(), const model::net::LinkConfig& cable = clean())
        : HcaPair(cable, config) {
        connect();
    }

    /// A region whose pages are told by their entries: all absent.
    Region absent(Node& node, std::uint32_t length, unsigned seed = 0) {
        const auto region = node.make_region(length, seed);
        mkey(node, region.key).attributes.entries_carry_rights = true;
        return region;
    }
    static model::hca::tpt::Mkey& mkey(Node& node, abi::Key key) { return *node.hca.mkeys().find(key.index()); }
    /// Pages of the region get `rights` (0 absent, 1 read, 3 read and write), from page `first` on, `count` of them.
    static void set_pages(Node& node, const Region& region, std::uint64_t rights, std::size_t first = 0,
                          std::size_t count = ~std::size_t{0}) {
        auto& key = mkey(node, region.key);
        for (auto i = first; i < key.mtt.size() && i - first < count; ++i)
            key.mtt[i] = (key.mtt[i] & ~std::uint64_t{3}) | rights;
        node.hca.translator().forget(region.key.index());
    }
    std::vector<Fault> faults(Node& node) {
        std::vector<Fault> all;
        while (const auto eqe = node.poll_event()) {
            if (eqe->view().get<"event_type">() != abi::prm::EventType::page_fault)
                continue;
            const auto subtype = static_cast<PageFaultSubtype>(eqe->view().get<"event_sub_type">());
            if (subtype == PageFaultSubtype::wqe) {
                const auto d = abi::prm::event_data<abi::prm::WqePageFaultEventData>(eqe->view());
                all.push_back({.subtype = subtype,
                               .type = d.get<"type">(),
                               .token = d.get<"token">(),
                               .committed = d.get<"bytes_committed">(),
                               .packet = d.get<"packet_length">(),
                               .queue = d.get<"wq_num">(),
                               .wqe_index = static_cast<std::uint16_t>(d.get<"wqe_index">())});
            } else {
                const auto d = abi::prm::event_data<abi::prm::RdmaPageFaultEventData>(eqe->view());
                all.push_back({.subtype = subtype,
                               .type = d.get<"type">(),
                               .token = d.get<"token">(),
                               .committed = d.get<"bytes_committed">(),
                               .packet = d.get<"packet_length">(),
                               .r_key = d.get<"r_key">(),
                               .address = d.get<"rdma_va">(),
                               .length = d.get<"rdma_op_len">()});
            }
        }
        node.ring_eq(node.eq_consumer, false, clock.now());
        return all;
    }
    std::optional<Fault> only_fault(Node& node) {
        const auto all = faults(node);
        return all.size() == 1 ? std::optional(all.front()) : std::nullopt;
    }
    void resume(Node& node, const Fault& fault, bool is_error = false) {
        node.hca.resume(*node.hca.queue_pairs().find(fault.token), fault.type, is_error, clock.now());
        settle();
    }
    /// Software brings all pages of a region and says so: a's one message ends well, with the same bytes at both ends
    /// and nothing beside them.
    void bring_and_finish(Node& node, const Region& absent_one, const Fault& fault, const Region& local,
                          const Region& remote) {
        set_pages(node, absent_one, 3);
        resume(node, fault);
        run(clock.now() + 1s);
        const auto done = a.drain(a_cq);
        REQUIRE(done.size() == 1);
        CHECK(done[0].is_ok());
        CHECK(a.bytes(local) == b.bytes(remote));
        CHECK(a.has_guards(local));
        CHECK(b.has_guards(remote));
    }
};

} // namespace paging_test
