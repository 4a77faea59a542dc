#include "platform/observe/diagnostics/explanations.h"

#include "model/hca/completion/local_error.h"
#include "model/hca/responder/placement.h"
#include "model/wire/parser.h"
#include "model/iommu/fault_log.h"
#include "model/pcie/acs.h"

#include <catch2/catch_test_macros.hpp>

#include <set>
#include <string>

using namespace platform::observe;
using namespace platform::observe::diagnostics;

namespace {

/// Each value of an enumeration that has a text of its own has a row of its own.
template <class E> unsigned walk() {
    unsigned count = 0;
    for (; to_string(static_cast<E>(count)) != "unknown"; ++count) {
        INFO(to_string(static_cast<E>(count)));
        const auto* row = explain(static_cast<E>(count));
        REQUIRE(row != nullptr);
        CHECK(row->is_complete());
    }
    return count;
}

} // namespace

TEST_CASE("every violation of a memory key is explained", "[unit][observe][explain]") {
    CHECK(walk<model::hca::tpt::Violation>() == 10);
}

TEST_CASE("every fault of a UMR is explained", "[unit][observe][explain]") {
    CHECK(walk<model::hca::umr::Fault>() == 13);
}

TEST_CASE("every syndrome of an error CQE is explained and has its name in verbs", "[unit][observe][explain]") {
    std::set<std::string_view> names;
    for (const auto& syndrome : named(std::type_identity<abi::prm::CqeSyndrome>{})) {
        INFO(syndrome.text);
        const auto* row = explain(syndrome.value);
        REQUIRE(row != nullptr);
        CHECK(row->is_complete());
        CHECK(verbs_name(syndrome.value).starts_with("IBV_WC_"));
        names.insert(verbs_name(syndrome.value));
    }
    CHECK(names.size() == named(std::type_identity<abi::prm::CqeSyndrome>{}).size());
    CHECK(verbs_name(abi::prm::CqeSyndrome{0x7f}).empty());
}

TEST_CASE("every remapping fault and every error of the invalidation queue is explained", "[unit][observe][explain]") {
    const auto check = [](const auto& rows) {
        for (const auto& one : rows) {
            INFO(one.text);
            const auto* row = explain(one.value);
            CHECK((row != nullptr) == (static_cast<unsigned>(one.value) != 0)); // 0: no fault
            CHECK((row == nullptr || row->is_complete()));
        }
    };
    check(named(std::type_identity<abi::iommu::FaultReason>{}));
    check(named(std::type_identity<abi::iommu::QueueError>{}));
}

TEST_CASE("every reason for which a port blocks a request is explained", "[unit][observe][explain]") {
    using namespace model::pcie::blocked;
    for (const auto reason : {source, translation, own_port, host}) {
        INFO(reason.text());
        REQUIRE(explain(reason) != nullptr);
        CHECK(explain(reason)->is_complete());
    }
    CHECK(explain_silence().is_complete());
}

TEST_CASE("every refusal of a command is explained", "[unit][observe][explain]") {
    for (const auto& refusal : firmware::refusals()) {
        INFO(refusal.name);
        CHECK(explain(refusal).is_complete());
        CHECK(explain(refusal).rule == refusal.why);
    }
}

TEST_CASE("a refusal without a row has no cause", "[unit][observe][explain]") {
    CHECK_FALSE(explain(firmware::Refusal{0x0101, {}, "nothing.of_this_name", "a rule"}).is_complete());
}

TEST_CASE("every way in which a command queue entry cannot be delivered is explained", "[unit][observe][explain]") {
    for (const auto& status : named(std::type_identity<abi::prm::DeliveryStatus>{})) {
        INFO(status.text);
        const auto* row = explain(status.value);
        REQUIRE(row != nullptr);
        CHECK(row->is_complete());
    }
}

TEST_CASE("every reason for which the parser drops a packet is explained", "[unit][observe][explain]") {
    using model::wire::DropReason;
    for (unsigned i = 0; i <= static_cast<unsigned>(DropReason::payload_length); ++i) {
        INFO(name(static_cast<DropReason>(i)));
        const auto* row = explain_drop(reason(static_cast<DropReason>(i)));
        REQUIRE(row != nullptr);
        CHECK(row->is_complete());
    }
    CHECK(explain_drop(traces::harmless) == nullptr);
    CHECK(explain_doorbell(traces::harmless) == nullptr);
}

TEST_CASE("a requester's vendor syndrome names the rule of the room that found the mistake",
          "[unit][observe][explain]") {
    namespace vendor = model::hca::completion::vendor;
    const auto decoded = [](unsigned code) { return decode_vendor(false, static_cast<std::uint8_t>(code)); };

    for (unsigned i = 0; i <= static_cast<unsigned>(model::hca::tpt::Violation::page_fault); ++i) {
        const auto violation = static_cast<model::hca::tpt::Violation>(i);
        CHECK(decoded(vendor::translation + i).what == to_string(violation));
        CHECK(decoded(vendor::translation + i).refusal == reason_of(violation));
        CHECK(explain(reason_of(violation)) == explain(violation));
    }
    for (unsigned i = 0; i <= static_cast<unsigned>(model::hca::umr::Fault::list_too_short); ++i) {
        const auto fault = static_cast<model::hca::umr::Fault>(i);
        CHECK(decoded(vendor::umr + i).row == explain(fault));
        CHECK(explain(reason_of(fault)) == explain(fault));
    }
    for (unsigned i = 1; i <= static_cast<unsigned>(model::hca::queue::WqeFault::bad_segment); ++i) {
        REQUIRE(decoded(vendor::wqe + i).row != nullptr);
        CHECK(decoded(vendor::wqe + i).row->is_complete());
    }
    for (unsigned i = 1; i <= static_cast<unsigned>(model::port::DmaStatus::timeout); ++i) {
        CHECK(decoded(vendor::bus + i).is_bus);
        CHECK(decoded(vendor::bus + i).row == explain(static_cast<model::port::DmaStatus>(i)));
    }
    CHECK(decoded(vendor::length).row->is_complete());
    CHECK(decoded(vendor::response).row->is_complete());
    CHECK(decoded(vendor::nak + 2).what == "remote access error");
    CHECK(decoded(vendor::nak + 9).what == "?");
    CHECK(decoded(0xf0).room.empty());
}

TEST_CASE("a responder's vendor syndromes are others than a requester's", "[unit][observe][explain]") {
    namespace vendor = model::hca::responder::vendor;

    CHECK(decode_vendor(true, vendor::too_long).what == "message too long");
    CHECK(decode_vendor(true, vendor::translation + 3).what == "wrong protection domain");
    CHECK(decode_vendor(true, vendor::bus + 1).row == explain(model::port::DmaStatus::unsupported_request));
    CHECK(decode_vendor(true, vendor::wqe).row->is_complete());
    CHECK(decode_vendor(true, 0x20).room.empty());
}
