#include "platform/observe/diagnostics/explain.h"

#include "model/iommu/fault_log.h"
#include "model/pcie/acs.h"
#include "platform/observe/ownership/ownership.h"

#include <catch2/catch_test_macros.hpp>

#include <cstdlib>
#include <string>

using namespace platform::observe;
using namespace platform::observe::diagnostics;
namespace stale = platform::observe::ownership::stale;

namespace {

struct At {
    std::int64_t ps;
    std::int64_t count() const { return ps; }
};

/// What is printed about one event of a root complex.
template <class E> std::string text_of(const E& event) {
    char* data = nullptr;
    std::size_t size = 0;
    auto* file = open_memstream(&data, &size);
    Sources sources;
    const auto source = sources.add("A.root");
    {
        Explain explain(file, sources);
        traces::Events(&explain, source).emit(At{5}, event);
    }
    std::fclose(file);
    std::string text(data, size);
    std::free(data);
    return text;
}

} // namespace

TEST_CASE("an access by a stale mapping is told with both owners and the mapping's history",
          "[unit][observe][explain]") {
    const auto text = text_of(traces::StaleAccess{.requester = 0x0300,
                                                  .key = 0x8001,
                                                  .address = 0x1'0000'0040,
                                                  .page = 0x10'0000,
                                                  .length = 64,
                                                  .is_write = true,
                                                  .mapping = stale::unit,
                                                  .owner_then = "X",
                                                  .owner_now = "Y",
                                                  .mapped_ps = 1'000'000,
                                                  .unmapped_ps = 2'000'000,
                                                  .invalidated_ps = ~std::uint64_t{0},
                                                  .changed_ps = 3'000'000});

    CHECK(text.contains("device 03:00.0 uses a stale mapping: its remapping unit led to another's page.\n"));
    CHECK(text.contains(
        "writes 64 bytes at 0x100000040 by key 0x8001, which led to page 0x100000; that is of Y since 3.000 us; "
        "mapped at 1.000 us (remapping unit), when it was of X; unmapped at 2.000 us, invalidated never"));
    CHECK(text.contains("the IOTLB (or the device-TLB) was not invalidated"));
}

TEST_CASE("every kind of stale mapping has its explanation", "[unit][observe][explain]") {
    for (std::size_t number = 0; number < traces::stale_mappings.size(); ++number) {
        const auto kind = traces::StaleMapping::numbered(number);
        INFO(kind.text());
        REQUIRE(explain(kind) != nullptr);
        CHECK(explain(kind)->is_complete());
    }
}

TEST_CASE("a remapping fault is told with device, address, condition and likely cause", "[unit][observe][explain]") {
    const auto text = text_of(traces::RemappingFault{.requester = 0x0300,
                                                     .pasid = 7,
                                                     .address = 0x12'3456'7000,
                                                     .access = 1,
                                                     .type = 0,
                                                     .fault = 0x05,
                                                     .is_recorded = true});

    CHECK(text.contains(
        "A.root: remapping fault of device 03:00.0: 0x05 (LGN.2: a paging entry does not allow writes).\n"));
    CHECK(text.contains("  Decoded: write at 0x1234567000, PASID 0x7, untranslated; there is a fault record of it.\n"));
    CHECK(
        text.contains("  Rule: every paging entry on the way allows writes [VT-d \"Address Translation Faults\"].\n"));
    CHECK(text.contains("  Likely cause: nothing is mapped at the address"));
}

TEST_CASE("an invalidation queue that stops is told with its error, or with the silent device",
          "[unit][observe][explain]") {
    const auto error = text_of(traces::InvalidationStopped{.device = 0, .error = 3});
    CHECK(error.contains(
        "the invalidation queue stops: there is no such descriptor type.\n  Decoded: invalidation queue error 3.\n"));
    CHECK(error.contains("Likely cause: the tail was moved before the descriptor was written"));

    const auto silent = text_of(traces::InvalidationStopped{.device = 0x0518, .error = 0});
    CHECK(silent.contains("Decoded: invalidation time-out, device 05:03.0.\n"));
    CHECK(silent.contains("Likely cause: ATS is off in the device"));
}

TEST_CASE("a posted write that is lost is told with its requester, and why nobody else says so",
          "[unit][observe][explain]") {
    const auto text = text_of(traces::WriteLost{.requester = 0x0300, .address = 0x1000, .length = 64, .status = 1});
    CHECK(text.contains("a posted write of device 03:00.0 is lost ("));
    CHECK(text.contains("Decoded: 64 bytes at bus address 0x1000.\n"));
    CHECK(text.contains("its requester is never told"));

    using model::port::DmaStatus;
    for (const auto status : {DmaStatus::unsupported_request, DmaStatus::completer_abort, DmaStatus::timeout}) {
        REQUIRE(explain_loss(status) != nullptr);
        CHECK(explain_loss(status)->is_complete());
    }
}

TEST_CASE("a request that a port blocks is told with the port and the rule", "[unit][observe][explain]") {
    const auto text = text_of(traces::RequestBlocked{.requester = 0x0300,
                                                     .port = 0x0008,
                                                     .address = 0x100'0000'0000,
                                                     .type = 2,
                                                     .reason = model::pcie::blocked::host});

    CHECK(text.contains(
        "port 00:01.0 blocks a request of device 03:00.0: the host forwards no requests between devices.\n"));
    CHECK(text.contains("Decoded: address 0x10000000000, translated.\n"));
    CHECK(text.contains("host.peer_forwarding"));
}
