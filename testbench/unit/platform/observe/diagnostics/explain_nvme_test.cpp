// Paragraphs about what an NVMe controller refuses, said by a real one.
#include "platform/observe/diagnostics/explain.h"
#include "testbench/unit/model/nvme/controller_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <cstdlib>
#include <string>

using namespace nvme_test;
using abi::nvme::AdminOpcode;
using abi::nvme::IoOpcode;
using platform::observe::diagnostics::Explain;

namespace {

struct Explained {
    EventLog log;
    Bench b{small(), traces::Events(&log, 0)};

    Explained() {
        b.enable();
        b.create_pair(1);
    }
    std::string text() const {
        char* data = nullptr;
        std::size_t size = 0;
        std::FILE* file = open_memstream(&data, &size);
        platform::observe::Sources sources;
        sources.add("A.nvme0");
        {
            Explain explain(file, sources);
            for (const auto& [stamp, event] : log.entries)
                explain.on({0, stamp.source}, event);
        }
        std::fclose(file);
        std::string said(data, size);
        std::free(data);
        return said;
    }
    void expect(std::string_view part) const {
        INFO(text());
        INFO(part);
        CHECK(text().find(part) != std::string::npos);
    }
};

} // namespace

TEST_CASE("commands of a drive that end well are not explained", "[unit][observe][explain][nvme]") {
    Explained drive;
    REQUIRE(drive.b.ask(1, IoOpcode::read, 1) == Status::success);
    CHECK(drive.text().empty());
}

TEST_CASE("a refused command of a drive has its paragraph: object, input, rule, chapter and cause",
          "[unit][observe][explain][nvme]") {
    Explained drive;
    REQUIRE(drive.b.ask(1, IoOpcode::read, 1, 5000, 0, 7) == Status::lba_out_of_range);
    drive.expect("A.nvme0: command Read in submission queue 1, identifier 0x3: status 0/0x80 (LBA Out of Range).");
    drive.expect("Decoded: namespace 0x1, data pointer 0x100000 0x0, PSDT 0, FUSE 0; ");
    drive.expect("slba");
    drive.expect("the error is in byte 40, bit 0 (slba); block 0x1388.");
    drive.expect("Rule: all blocks of a command are below NSZE [NVM command set 1.0");
    drive.expect("Likely cause: sectors of 512 bytes were taken for blocks of 4096");

    REQUIRE(drive.b.create(AdminOpcode::create_sq, 0x300000, 15 << 16 | 2, 3 << 16 | 1) ==
            Status::invalid_completion_queue);
    drive.expect("command Create I/O Submission Queue in submission queue 0, identifier 0x4: status 1/0x00");
    drive.expect("(cqid)");
    REQUIRE(drive.b.ask(0, static_cast<AdminOpcode>(0xc3)) == Status::invalid_opcode);
    drive.expect("command without a name (opcode 0xc3)");
}

TEST_CASE("doorbells that a drive passes over, and its fatal status, have their paragraphs",
          "[unit][observe][explain][nvme]") {
    Explained drive;
    drive.b.set(0x1018, 1);
    drive.expect("A.nvme0: doorbell of submission queue 3 ignored: no such queue.");
    drive.b.set(0x100c, 9);
    drive.expect("doorbell of completion queue 1 ignored: the head passes completions that are not there.");
    drive.b.memory.fail(drive.b.queues[1].sq, drive.b.queues[1].sq + 64, model::port::DmaStatus::unsupported_request);
    drive.b.place(1, Bench::command(0, 1)), drive.b.ring(1);
    drive.expect("the controller has failed (CSTS.CFS): a submission queue cannot be read.");
    drive.expect("Decoded: bus address 0x220000.");
    drive.b.set(Register::cc, 0);
    drive.b.set(Register::aqa, 0);
    drive.b.set(Register::cc, 0x0046'0001);
    drive.expect("it was enabled with what it does not support");
    drive.expect("Decoded: CC 0x00460001.");
}

TEST_CASE("what a driver does wrong again once it has enabled the controller anew is told anew",
          "[unit][observe][explain][nvme]") {
    Explained drive;
    const auto told = [&] {
        const auto text = drive.text();
        std::size_t found = 0;
        for (auto at = text.find("Likely cause"); at != text.npos; at = text.find("Likely cause", at + 1))
            ++found;
        return found;
    };
    for (unsigned i = 0; i < 5; ++i)
        drive.b.set(0x1018, 1);
    REQUIRE(told() == 3);

    drive.b.set(Register::cc, 0);
    drive.b.enable();
    drive.b.set(0x1018, 1);

    CHECK(told() == 4);
    drive.expect("5 times in all, 2 of them left out here");
}

TEST_CASE("every status of NVMe is explained", "[unit][observe][explain][nvme]") {
    for (const auto& status : named(std::type_identity<Status>{})) {
        if (status.value == Status::success)
            continue;
        INFO(status.text);
        const auto* row = platform::observe::diagnostics::explain(status.value);
        REQUIRE(row != nullptr);
        CHECK(row->is_complete());
    }
}
