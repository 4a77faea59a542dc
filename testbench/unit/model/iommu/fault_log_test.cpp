#include "model/iommu/fault_log.h"
#include "testbench/harness/iommu_bench.h"

#include <catch2/catch_test_macros.hpp>

using namespace abi::iommu;
using model::iommu::Access;
using testbench::IommuBench;

namespace {

struct Faulty {
    IommuBench bench{{.fault_records = 3}};
    Faulty() { bench.enable(); } // no root entry: every request is a fault
    void fault(std::uint64_t address) { bench.translate(address, Access::write); }
    bool is_message_sent() {
        const bool is_sent = bench.dword(IommuBench::fault_message) == 0x41;
        bench.memory.poke(IommuBench::fault_message, std::array<std::byte, 4>{});
        return is_sent;
    }
};

} // namespace

TEST_CASE("a record holds who asked for what and why it was refused", "[unit][iommu]") {
    Faulty f;

    f.bench.translate({.requester = 0x1234, .address = 0xabcd'e678, .length = 4, .access = Access::read});
    f.bench.translate({.requester = 0x1235,
                       .pasid = 0x54321,
                       .address = 0x1000,
                       .length = 4,
                       .access = Access::write,
                       .is_privileged = true,
                       .is_execute = true});
    f.bench.translate({.requester = 0x1236, .address = 0x2000, .length = 8, .access = Access::atomic});

    const auto first = f.bench.record(0), second = f.bench.record(1), third = f.bench.record(2);
    CHECK(first.get<"sid">() == 0x1234);
    CHECK(first.get<"fi">() == 0xabcd'e000);
    CHECK(first.get<"fr">() == 1);
    CHECK(first.get<"t1">());
    CHECK_FALSE(first.get<"t2">());
    CHECK_FALSE(first.get<"pp">());
    CHECK(second.get<"pp">());
    CHECK(second.get<"pv">() == 0x54321);
    CHECK(second.get<"priv">());
    CHECK(second.get<"exe">());
    CHECK_FALSE(second.get<"t1">());
    CHECK(third.get<"t1">());
    CHECK(third.get<"t2">());
}

TEST_CASE("records are taken in turn; when the next one is taken the fault is lost and overflow is set",
          "[unit][iommu]") {
    Faulty f;
    for (std::uint64_t page = 1; page <= 4; ++page)
        f.fault(page << 12);

    CHECK(f.bench.fault_status() == FaultStatus{}.set<"ppf">(true).set<"pfo">(true).set<"fri">(0));
    CHECK(f.bench.record(2).get<"fi">() == 0x3000);
    CHECK(f.bench.iommu.faults().lost() == 1);

    f.bench.free_record(0);
    f.fault(0x5000); // not before the overflow has been cleared
    CHECK_FALSE(f.bench.record(0).get<"f">());
    f.bench.write(Register::fsts, FaultStatus::mask<"pfo">);
    f.fault(0x6000);
    CHECK(f.bench.record(0).get<"f">());
    CHECK(f.bench.record(0).get<"fi">() == 0x6000);
}

TEST_CASE("FRI names the record that was first when faults became pending", "[unit][iommu]") {
    Faulty f;
    f.fault(0x1000);
    f.bench.free_record(0);
    CHECK_FALSE(f.bench.fault_status().get<"ppf">());

    f.fault(0x2000), f.fault(0x3000);

    CHECK(f.bench.fault_status().get<"fri">() == 1);
    f.bench.free_record(1);
    CHECK(f.bench.fault_status().get<"ppf">());
    f.bench.free_record(2);
    CHECK_FALSE(f.bench.fault_status().get<"ppf">());
}

TEST_CASE("a record is freed by its own bit only", "[unit][iommu]") {
    Faulty f;
    f.fault(0x1000);

    f.bench.iommu.write(model::iommu::fault_record_offset + 12, 4, 0x7fff'ffff, {});
    f.bench.iommu.write(model::iommu::fault_record_offset, 8, ~0ull, {});
    CHECK(f.bench.record(0).get<"f">());
    f.bench.iommu.write(model::iommu::fault_record_offset + 8, 8, 1ull << 63, {});
    CHECK_FALSE(f.bench.record(0).get<"f">());
    CHECK(f.bench.record(0).get<"fi">() == 0x1000);
}

TEST_CASE("one message is sent until software has cleared every status bit", "[unit][iommu]") {
    Faulty f;
    f.fault(0x1000);
    CHECK(f.is_message_sent());
    f.fault(0x2000);
    CHECK_FALSE(f.is_message_sent());

    f.bench.free_record(0);
    f.fault(0x3000);
    CHECK_FALSE(f.is_message_sent()); // record 1 was pending all the time
    f.bench.free_record(1), f.bench.free_record(2);
    f.fault(0x4000);
    CHECK(f.is_message_sent());
}

TEST_CASE("a masked fault event is pending, and is sent when it is unmasked", "[unit][iommu]") {
    Faulty f;
    f.bench.write(Register::fectl, EventControl::mask<"im">);
    f.fault(0x1000);
    CHECK_FALSE(f.is_message_sent());
    CHECK(f.bench.read(Register::fectl) == (EventControl::mask<"im"> | EventControl::mask<"ip">));

    SECTION("unmasked") {
        f.bench.write(Register::fectl, 0);
        CHECK(f.is_message_sent());
        CHECK(f.bench.read(Register::fectl) == 0);
    }
    SECTION("served before") {
        f.bench.free_record(0);
        CHECK(f.bench.read(Register::fectl) == EventControl::mask<"im">);
        f.bench.write(Register::fectl, 0);
        CHECK_FALSE(f.is_message_sent());
    }
}

TEST_CASE("each fault is an event, whether there is a record of it or not", "[unit][iommu]") {
    struct Seen final : traces::Sink {
        std::vector<traces::RemappingFault> faults;
        std::vector<traces::InvalidationStopped> stops;
        void on(const traces::Stamp&, const traces::Event& event) override {
            if (const auto* fault = std::get_if<traces::RemappingFault>(&event))
                faults.push_back(*fault);
            if (const auto* stop = std::get_if<traces::InvalidationStopped>(&event))
                stops.push_back(*stop);
        }
    } seen;
    Faulty f;
    f.bench.iommu.set_events({&seen, 0});
    f.bench.attach(IommuBench::other_device, ContextEntry{}.set<"fpd">(true));

    f.fault(0x1000), f.fault(0x2000), f.fault(0x3000), f.fault(0x4000); // and no record for the last one
    f.bench.translate(0x5000, Access::read, 64, IommuBench::other_device);
    f.bench.submit(WaitDescriptor{}.set<"type">(15)); // no such type

    REQUIRE(seen.faults.size() == 5);
    CHECK(seen.faults[0].requester == IommuBench::device);
    CHECK(seen.faults[0].address == 0x1000);
    CHECK(seen.faults[0].access == 1);
    CHECK(seen.faults[0].fault == static_cast<unsigned>(FaultReason::root_not_present));
    CHECK(seen.faults[0].reason() == name(FaultReason::root_not_present));
    CHECK(seen.faults[2].is_recorded);
    CHECK_FALSE(seen.faults[3].is_recorded);
    CHECK(seen.faults[4].fault == static_cast<unsigned>(FaultReason::context_not_present));
    CHECK(seen.faults[4].access == 0);
    CHECK_FALSE(seen.faults[4].is_recorded);
    REQUIRE(seen.stops.size() == 1);
    CHECK(seen.stops[0].error == static_cast<unsigned>(QueueError::invalid_type));
    CHECK(seen.stops[0].reason() == name(QueueError::invalid_type));
}
