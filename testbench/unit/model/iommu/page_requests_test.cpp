#include "model/iommu/page_requests.h"
#include "testbench/harness/iommu_bench.h"

#include <catch2/catch_test_macros.hpp>

using namespace abi::iommu;
using model::iommu::no_pasid;
using model::iommu::PageRequest;
using testbench::IommuBench;
using Reason = FaultReason;

namespace {

constexpr auto device = IommuBench::device;

struct Prq {
    IommuBench bench{{.device_tlb = true, .scalable_mode = true, .page_requests = true}};
    std::uint64_t queue = bench.new_page();

    Prq() {
        const auto entry = bench.sm_attach(device);
        bench.put(bench.sm_context_entry(device), ScalableContextEntry(entry).set<"dte">(true).set<"pre">(true));
        bench.write64(Register::pqa, queue);
        bench.enable(TableMode::scalable);
    }
    void request(std::uint64_t address, bool is_last = true) {
        bench.iommu.request_page(
            {.requester = device, .pasid = 9, .address = address, .group = 3, .is_last = is_last, .is_read = true}, {});
    }
    bool is_message_sent() {
        const bool is_sent = bench.dword(IommuBench::page_message) == 0x43;
        bench.memory.poke(IommuBench::page_message, std::array<std::byte, 4>{});
        return is_sent;
    }
};

} // namespace

TEST_CASE("a page request is written to the queue and announced", "[unit][iommu][prq]") {
    Prq p;

    p.bench.iommu.request_page({.requester = device,
                                .pasid = 0x54321,
                                .address = 0x1234'5678'9abc,
                                .group = 0x155,
                                .is_last = true,
                                .is_read = true,
                                .is_write = true,
                                .is_execute = true,
                                .is_privileged = true},
                               {});
    p.bench.iommu.request_page({.requester = device, .address = 0x4000, .group = 1, .is_write = true}, {});

    const auto first = p.bench.get<PageRequestDescriptor>(p.queue),
               second = p.bench.get<PageRequestDescriptor>(p.queue + 32);
    CHECK(first == PageRequestDescriptor{}
                       .set<"type">(1)
                       .set<"pp">(true)
                       .set<"rid">(device)
                       .set<"pasid">(0x54321)
                       .set<"exe">(true)
                       .set<"priv">(true)
                       .set<"rd">(true)
                       .set<"wr">(true)
                       .set<"lpig">(true)
                       .set<"prgi">(0x155)
                       .set<"addr">(0x1234'5678'9000));
    CHECK_FALSE(second.get<"pp">());
    CHECK_FALSE(second.get<"lpig">());
    CHECK(p.bench.read64(Register::pqt) == 64);
    CHECK(p.bench.read(Register::prs) == PageRequestStatus::mask<"ppr">);
    CHECK(p.is_message_sent());
    CHECK(p.bench.responses.empty()); // that is software's answer
}

TEST_CASE("one message is sent until software has cleared the status", "[unit][iommu][prq]") {
    Prq p;
    p.request(0x1000);
    CHECK(p.is_message_sent());
    p.request(0x2000);
    CHECK_FALSE(p.is_message_sent());
    p.bench.write(Register::prs, PageRequestStatus::mask<"ppr">);
    p.request(0x3000);
    CHECK(p.is_message_sent());
}

TEST_CASE("a response descriptor goes to the device", "[unit][iommu][prq]") {
    Prq p;

    p.bench.submit(PageResponseDescriptor{}
                       .set<"type">(9)
                       .set<"pp">(true)
                       .set<"rid">(device)
                       .set<"pasid">(9)
                       .set<"code">(ResponseCode::invalid_request)
                       .set<"lpig">(true)
                       .set<"prgi">(3));

    REQUIRE(p.bench.responses.size() == 1);
    CHECK(p.bench.responses[0].device == device);
    CHECK(p.bench.responses[0].pasid == 9);
    CHECK(p.bench.responses[0].group == 3);
    CHECK(p.bench.responses[0].code == ResponseCode::invalid_request);
    CHECK(p.bench.is_done());
}

TEST_CASE("a full queue overflows: requests are dropped, and groups told to try again", "[unit][iommu][prq]") {
    Prq p;
    for (unsigned i = 0; i < 127; ++i)
        p.request(i << 12, false);
    CHECK(p.bench.read(Register::prs) == PageRequestStatus::mask<"ppr">);

    p.request(0x9000, false);
    CHECK((p.bench.read(Register::prs) & PageRequestStatus::mask<"pro">) != 0);
    CHECK(p.bench.responses.empty());
    p.request(0xa000, true);
    REQUIRE(p.bench.responses.size() == 1);
    CHECK(p.bench.responses[0].code == ResponseCode::success);
    CHECK(p.bench.read64(Register::pqt) == 127 * 32);

    p.bench.write(Register::pqh, 127 * 32);
    p.request(0xb000, true); // still: the overflow has not been cleared
    CHECK(p.bench.responses.size() == 2);
    p.bench.write(Register::prs, 3);
    p.request(0xc000, true);
    CHECK(p.bench.responses.size() == 2);
    CHECK(p.bench.read64(Register::pqt) == 0);
    CHECK(p.bench.get<PageRequestDescriptor>(p.queue + 127 * 32).get<"addr">() == 0xc000);
}

TEST_CASE("what the tables forbid is answered as invalid, and recorded as a page request", "[unit][iommu][prq]") {
    Prq p;
    const auto at = p.bench.sm_context_entry(device);
    const auto good = p.bench.get<ScalableContextEntry>(at);
    const auto with = [&](ScalableContextEntry entry) {
        p.bench.put(at, entry);
        p.bench.invalidate_contexts();
        const auto before = p.bench.responses.size();
        p.request(0x1000);
        REQUIRE(p.bench.responses.size() == before + 1);
        CHECK(p.bench.responses.back().code == ResponseCode::invalid_request);
        const auto record = p.bench.record(static_cast<unsigned>(before));
        CHECK(record.get<"t2">());
        CHECK_FALSE(record.get<"t1">());
        return static_cast<Reason>(record.get<"fr">());
    };

    CHECK(with(ScalableContextEntry(good).set<"pre">(false)) == Reason::page_request_disabled);
    CHECK(with(ScalableContextEntry(good).set<"paside">(false)) == Reason::pasid_disabled);
    CHECK(with(ScalableContextEntry(good).set<"p">(false)) == Reason::sm_context_not_present);
    CHECK(p.bench.read64(Register::pqt) == 0);
}

TEST_CASE("a page request in legacy mode is a fault, and without the feature a failure", "[unit][iommu][prq]") {
    Prq p;
    p.bench.enable(TableMode::legacy);
    p.request(0x1000);
    CHECK(p.bench.record(0).get<"fr">() == static_cast<unsigned>(Reason::page_request_in_legacy_mode));
    CHECK(p.bench.responses.back().code == ResponseCode::invalid_request);

    IommuBench without;
    without.enable();
    without.iommu.request_page({.requester = device, .address = 0, .is_last = true, .is_read = true}, {});
    REQUIRE(without.responses.size() == 1);
    CHECK(without.responses[0].code == ResponseCode::failure);
    CHECK(without.fault_status().value() == 0);
}
