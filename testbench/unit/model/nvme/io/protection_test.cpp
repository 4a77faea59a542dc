#include "model/nvme/io/protection.h"

#include "model/nvme/data/crc.h"
#include "testbench/unit/model/nvme/io_bench.h"

using namespace testbench;
using abi::nvme::DataPointerType;
using abi::nvme::SglType;
using model::nvme::Guard;
using model::nvme::NamespaceConfig;
using model::nvme::Protection;

namespace {

NamespaceConfig of(std::uint8_t format, Protection protection, bool is_extended = false, bool is_first = false) {
    auto config = IoBench::of(format);
    config.protection = protection, config.is_extended = is_extended, config.is_protection_first = is_first;
    return config;
}

constexpr std::uint64_t data_at = 0x10000, metadata_at = 0x20000, read_at = 0x30000, read_metadata_at = 0x40000;

Sqe io(IoOpcode opcode, std::uint64_t lba, std::uint32_t blocks) {
    const bool is_read = opcode == IoOpcode::read;
    const auto data = is_read ? read_at : data_at;
    return Sqe(opcode)
        .range(lba, blocks)
        .prp(data, data + 4096)
        .set<"mptr">(is_read ? read_metadata_at : metadata_at)
        .rw<"ilbrt">(static_cast<std::uint32_t>(lba));
}
Sqe checked(Sqe sqe) {
    return sqe.rw<"prchk_guard">(true).rw<"prchk_reference">(true).rw<"prchk_application">(true).rw<"lbatm">(
        std::uint16_t{0xffff});
}
std::uint32_t big(const std::vector<std::byte>& bytes, std::size_t at, unsigned count) {
    std::uint32_t value = 0;
    for (unsigned i = 0; i < count; ++i)
        value = value << 8 | std::to_integer<std::uint32_t>(bytes[at + i]);
    return value;
}

/// Writes two blocks at LBA 5 with PRACT, and reads them with their metadata.
std::vector<std::byte> automatic(IoBench& bench) {
    bench.memory.poke(data_at, pattern(1024));
    REQUIRE(bench.status(io(IoOpcode::write, 5, 2).rw<"pract">(true).rw<"lbat">(std::uint16_t{0xabcd})) ==
            Status::success);
    REQUIRE(bench.status(checked(io(IoOpcode::read, 5, 2)).rw<"lbat">(std::uint16_t{0xabcd})) == Status::success);
    CHECK(bench.memory.peek(read_at, 1024) == pattern(1024));
    return bench.memory.peek(read_metadata_at, 16);
}

} // namespace

TEST_CASE("with PRACT the drive makes the protection information", "[unit][nvme]") {
    IoBench bench(IoBench::space_of({of(2, Protection::type1)}));
    const auto metadata = automatic(bench);
    const auto data = pattern(1024);
    for (unsigned i = 0; i < 2; ++i) {
        CHECK(big(metadata, 8 * i, 2) == model::nvme::crc16_t10(std::span(data).subspan(512 * i, 512)));
        CHECK(big(metadata, 8 * i + 2, 2) == 0xabcd);
        CHECK(big(metadata, 8 * i + 4, 4) == 5 + i);
    }
    bench.memory.clear_log();
    REQUIRE(bench.status(checked(io(IoOpcode::read, 5, 2)).rw<"lbat">(std::uint16_t{0xabcd}).rw<"pract">(true)) ==
            Status::success);
    CHECK(bench.memory.log().size() == 1); // no metadata goes to the host
}

TEST_CASE("the reference tag of type 3 does not count", "[unit][nvme]") {
    IoBench bench(IoBench::space_of({of(2, Protection::type3)}));
    bench.memory.poke(data_at, pattern(1024));
    REQUIRE(bench.status(io(IoOpcode::write, 5, 2).rw<"pract">(true).rw<"ilbrt">(77u)) == Status::success);
    REQUIRE(bench.status(io(IoOpcode::read, 5, 2)) == Status::success);
    const auto metadata = bench.memory.peek(read_metadata_at, 16);
    CHECK(big(metadata, 4, 4) == 77);
    CHECK(big(metadata, 12, 4) == 77);
    CHECK(bench.status(io(IoOpcode::read, 5, 2).rw<"prchk_reference">(true)) == Status::invalid_protection);
}

TEST_CASE("each part of protection information is checked if the command asks", "[unit][nvme]") {
    IoBench bench(IoBench::space_of({of(2, Protection::type1)}));
    const auto good = automatic(bench);
    struct Case {
        std::size_t at;
        Status status;
    };
    for (const auto& [at, status] : {Case{8, Status::guard_check_error}, Case{10, Status::application_tag_check_error},
                                     Case{15, Status::reference_tag_check_error}}) {
        auto bad = good;
        bad[at] ^= std::byte{1};
        bench.memory.poke(metadata_at, bad);
        const auto before = bench.stored(5, 1024);
        bench.memory.poke(data_at, pattern(1024));
        const auto write = io(IoOpcode::write, 5, 2).rw<"lbat">(std::uint16_t{0xabcd});
        const auto outcome = bench.run(checked(write));
        CHECK(outcome.status == status);
        CHECK(outcome.dnr);
        CHECK(outcome.lba == 6);
        CHECK(bench.stored(5, 1024) == before);
        // Unchecked it is written as it is, and found when it is read.
        REQUIRE(bench.status(write) == Status::success);
        for (const auto opcode : {IoOpcode::read, IoOpcode::verify, IoOpcode::compare}) {
            const auto found = bench.run(checked(io(opcode, 5, 2)).rw<"lbat">(std::uint16_t{0xabcd}));
            CHECK(found.status == status);
            CHECK(found.lba == 6);
        }
        CHECK(bench.status(io(IoOpcode::read, 5, 2)) == Status::success);
        bench.memory.poke(metadata_at, good);
        CHECK(bench.status(checked(write)) == Status::success);
    }
}

TEST_CASE("the mask says which bits of the application tag are checked", "[unit][nvme]") {
    IoBench bench(IoBench::space_of({of(2, Protection::type2)}));
    automatic(bench);
    const auto read = io(IoOpcode::read, 5, 2).rw<"prchk_application">(true).rw<"lbat">(std::uint16_t{0xab00});
    CHECK(bench.status(Sqe(read).rw<"lbatm">(std::uint16_t{0xff00})) == Status::success);
    CHECK(bench.status(Sqe(read).rw<"lbatm">(std::uint16_t{0xff01})) == Status::application_tag_check_error);
}

TEST_CASE("an application tag of all ones turns the checks off", "[unit][nvme]") {
    for (const auto type : {Protection::type1, Protection::type3}) {
        IoBench bench(IoBench::space_of({of(2, type)}));
        bench.memory.poke(data_at, pattern(512));
        bench.memory.poke(metadata_at, std::vector<std::byte>(8, std::byte{0xff}));
        const auto write = io(IoOpcode::write, 5, 1).rw<"prchk_guard">(true);
        CHECK(bench.status(write) == Status::success);
        std::vector<std::byte> almost(8, std::byte{0xff});
        almost[7] = std::byte{0};
        bench.memory.poke(metadata_at, almost);
        CHECK(bench.status(write) == (type == Protection::type3 ? Status::guard_check_error : Status::success));
    }
}

TEST_CASE("what was never written is read without a check", "[unit][nvme]") {
    IoBench bench(IoBench::space_of({of(2, Protection::type1)}));
    REQUIRE(bench.status(checked(io(IoOpcode::read, 5, 2))) == Status::success);
    CHECK(bench.memory.peek(read_metadata_at, 16) == std::vector<std::byte>(16, std::byte{0xff}));
    CHECK(bench.memory.peek(read_at, 1024) == std::vector<std::byte>(1024));
}

TEST_CASE("zeroes are protected if PRACT says so, and else nobody checks them", "[unit][nvme]") {
    IoBench bench(IoBench::space_of({of(2, Protection::type1)}));
    REQUIRE(bench.status(io(IoOpcode::write_zeroes, 5, 3000).rw<"pract">(true)) == Status::success);
    REQUIRE(bench.status(checked(io(IoOpcode::verify, 5, 3000))) == Status::success);
    REQUIRE(bench.status(io(IoOpcode::read, 3004, 1)) == Status::success);
    CHECK(big(bench.memory.peek(read_metadata_at, 8), 4, 4) == 3004);
    REQUIRE(bench.status(io(IoOpcode::write_zeroes, 5, 2)) == Status::success);
    REQUIRE(bench.status(checked(io(IoOpcode::read, 5, 2))) == Status::success);
    CHECK(bench.memory.peek(read_metadata_at, 8) == std::vector<std::byte>(8, std::byte{0xff}));
}

TEST_CASE("Verify goes over more than a transfer may have, and finds the block that is wrong", "[unit][nvme]") {
    IoBench bench(IoBench::space_of({of(2, Protection::type1)}));
    REQUIRE(bench.status(io(IoOpcode::write_zeroes, 0, 9000).rw<"pract">(true)) == Status::success);
    REQUIRE(bench.status(checked(io(IoOpcode::verify, 0, 9000))) == Status::success);
    bench.memory.poke(data_at, pattern(512));
    bench.memory.poke(metadata_at, std::vector<std::byte>(8));
    REQUIRE(bench.status(io(IoOpcode::write, 8765, 1)) == Status::success);
    const auto outcome = bench.run(checked(io(IoOpcode::verify, 0, 9000)));
    CHECK(outcome.status == Status::guard_check_error);
    CHECK(outcome.lba == 8765);
}

TEST_CASE("protection that does not fit the namespace is refused", "[unit][nvme]") {
    IoBench plain;
    for (const auto& sqe :
         {io(IoOpcode::read, 0, 1).rw<"pract">(true), io(IoOpcode::read, 0, 1).rw<"prchk_guard">(true)}) {
        const auto outcome = plain.run(sqe);
        CHECK(outcome.status == Status::invalid_protection);
        CHECK(outcome.dnr);
        CHECK(outcome.parameter == (0x33 | 2 << 8));
    }
    IoBench type1(IoBench::space_of({of(2, Protection::type1)}));
    const auto other = io(IoOpcode::write, 5, 1).rw<"ilbrt">(6u).rw<"prchk_reference">(true);
    CHECK(type1.status(other) == Status::invalid_protection);
    IoBench type2(IoBench::space_of({of(2, Protection::type2)}));
    CHECK(type2.status(Sqe(other).rw<"pract">(true)) == Status::success);
    CHECK(type2.status(Sqe(IoOpcode::read)
                           .range(5, 1)
                           .prp(read_at)
                           .rw<"ilbrt">(6u)
                           .rw<"prchk_reference">(true)
                           .rw<"pract">(true)) == Status::success);
    CHECK(type2.status(Sqe(IoOpcode::read)
                           .range(5, 1)
                           .prp(read_at)
                           .rw<"ilbrt">(7u)
                           .rw<"prchk_reference">(true)
                           .rw<"pract">(true)) == Status::reference_tag_check_error);
}

TEST_CASE("metadata goes behind the data of each block where the format is extended", "[unit][nvme]") {
    IoBench bench(IoBench::space_of({of(2, Protection::none, true), of(2, Protection::type1, true)}));
    const auto both = pattern(2 * 520, 3);
    bench.memory.poke(data_at, both);
    REQUIRE(bench.status(io(IoOpcode::write, 5, 2)) == Status::success);
    REQUIRE(bench.status(io(IoOpcode::read, 5, 2)) == Status::success);
    CHECK(bench.memory.peek(read_at, 2 * 520) == both);
    CHECK(bench.stored(6, 512) == std::vector(both.begin() + 520, both.begin() + 1032));
    CHECK(bench.status(io(IoOpcode::compare, 5, 2)) == Status::success);
    auto other = both;
    other[519] ^= std::byte{1}; // the last byte of metadata of the first block
    bench.memory.poke(data_at, other);
    CHECK(bench.run(io(IoOpcode::compare, 5, 2)).lba == 5);
    CHECK(bench.status(io(IoOpcode::compare, 5, 2)) == Status::compare_failure);

    // With PRACT the host has data only.
    bench.memory.poke(data_at, pattern(1024));
    REQUIRE(bench.status(io(IoOpcode::write, 5, 2).set<"nsid">(2u).rw<"pract">(true)) == Status::success);
    REQUIRE(bench.status(checked(io(IoOpcode::read, 5, 2)).set<"nsid">(2u)) == Status::success);
    const auto read = bench.memory.peek(read_at, 1040);
    CHECK(std::equal(read.begin(), read.begin() + 512, pattern(1024).begin()));
    CHECK(big(read, 512 + 4, 4) == 5);
    CHECK(big(read, 520 + 512 + 4, 4) == 6);
}

TEST_CASE("the tuple is the first or the last part of larger metadata, and what is before it is covered",
          "[unit][nvme]") {
    for (const bool is_first : {false, true}) {
        IoBench bench(IoBench::space_of({of(4, Protection::type1, false, is_first)}));
        bench.memory.poke(data_at, pattern(4096));
        bench.memory.poke(metadata_at, pattern(64, 9));
        REQUIRE(bench.status(io(IoOpcode::write, 5, 1).rw<"pract">(true)) == Status::success);
        REQUIRE(bench.status(io(IoOpcode::read, 5, 1).rw<"prchk_guard">(true).rw<"pract">(true)) == Status::success);
        auto metadata = bench.memory.peek(read_metadata_at, 64); // PRACT removes only metadata that is all tuple
        const auto tuple = is_first ? 0u : 56u;
        CHECK(big(metadata, tuple + 4, 4) == 5);
        CHECK(std::equal(metadata.begin() + (is_first ? 8 : 0), metadata.end() - (is_first ? 0 : 8),
                         pattern(64, 9).begin() + (is_first ? 8 : 0)));
        metadata[20] ^= std::byte{1};
        bench.memory.poke(metadata_at, metadata);
        CHECK(bench.status(io(IoOpcode::write, 5, 1).rw<"prchk_guard">(true)) ==
              (is_first ? Status::success : Status::guard_check_error));
    }
}

TEST_CASE("guards of 32 and 64 bits have tuples of 16 bytes", "[unit][nvme]") {
    for (const auto guard : {Guard::crc32, Guard::crc64}) {
        auto space = IoBench::space_of({of(0, Protection::type1)});
        space.formats = {{.data_shift = 12, .metadata_bytes = 16, .guard = guard}};
        IoBench bench(space);
        const auto data = pattern(4096);
        bench.memory.poke(data_at, data);
        const auto write = io(IoOpcode::write, 5, 1).rw<"pract">(true).rw<"lbat">(std::uint16_t{0x1234});
        REQUIRE(bench.status(write) == Status::success);
        const auto read = checked(io(IoOpcode::read, 5, 1)).rw<"lbat">(std::uint16_t{0x1234});
        REQUIRE(bench.status(read) == Status::success);
        auto metadata = bench.memory.peek(read_metadata_at, 16);
        const auto application = guard == Guard::crc32 ? 4u : 8u;
        CHECK(big(metadata, application, 2) == 0x1234);
        CHECK(big(metadata, 12, 4) == 5);
        if (guard == Guard::crc32)
            CHECK(big(metadata, 0, 4) == model::nvme::crc32c(data));
        else
            CHECK((std::uint64_t{big(metadata, 0, 4)} << 32 | big(metadata, 4, 4)) == model::nvme::crc64_nvme(data));
        metadata[0] ^= std::byte{1};
        bench.memory.poke(metadata_at, metadata);
        REQUIRE(bench.status(io(IoOpcode::write, 5, 1)) == Status::success);
        CHECK(bench.status(read) == Status::guard_check_error);
    }
}

TEST_CASE("metadata that cannot be fetched leaves the blocks as they were", "[unit][nvme]") {
    IoBench bench(IoBench::space_of({of(2, Protection::none)}));
    bench.memory.poke(data_at, pattern(512));
    bench.memory.fail(metadata_at, metadata_at + 1, DmaStatus::unsupported_request);
    CHECK(bench.status(io(IoOpcode::write, 5, 1)) == Status::data_transfer_error);
    CHECK(bench.stored(5, 512) == std::vector<std::byte>(512));
    CHECK(bench.space().allocated().count() == 0);
}

TEST_CASE("a copy says the reference tags of type 1 as they are", "[unit][nvme]") {
    IoBench bench(IoBench::space_of({of(2, Protection::type1)}));
    automatic(bench);
    abi::Block<abi::nvme::CopyRange> range;
    range.view().set<"slba">(5).set<"nlb">(std::uint16_t{1}).set<"eilbrt">(6u);
    bench.memory.poke(0x50000, range.bytes);
    auto copy = Sqe(IoOpcode::copy).prp(0x50000).set_in<abi::nvme::Copy, "sdlba">(100u).rw<"pract">(true);
    const auto written = bench.run(Sqe(copy).rw<"prchk_reference">(true).rw<"ilbrt">(101u));
    CHECK(written.status == Status::invalid_protection);
    CHECK(written.dnr);
    CHECK(written.parameter == (0x33 | 2 << 8));
    copy.rw<"prchk_reference">(true).rw<"ilbrt">(100u);
    CHECK(bench.status(copy) == Status::success);
    const auto read = bench.run(copy.set_in<abi::nvme::Copy, "read_prchk_reference">(true));
    CHECK(read.status == Status::invalid_protection);
    CHECK(read.parameter == (0x31 | 4 << 8));
}

TEST_CASE("a copy keeps protection information, or makes it new", "[unit][nvme]") {
    IoBench bench(IoBench::space_of({of(2, Protection::type2)}));
    automatic(bench);
    abi::Block<abi::nvme::CopyRange> range;
    range.view().set<"slba">(5).set<"nlb">(std::uint16_t{1}).set<"eilbrt">(5u);
    bench.memory.poke(0x50000, range.bytes);
    auto copy = Sqe(IoOpcode::copy).prp(0x50000).set_in<abi::nvme::Copy, "sdlba">(100u);
    copy.set_in<abi::nvme::Copy, "read_prchk_reference">(true).set_in<abi::nvme::Copy, "read_prchk_guard">(true);
    REQUIRE(bench.status(copy) == Status::success);
    REQUIRE(bench.status(io(IoOpcode::read, 100, 2)) == Status::success);
    CHECK(big(bench.memory.peek(read_metadata_at, 16), 12, 4) == 6);
    const auto outcome = bench.run(Sqe(copy).rw<"prchk_reference">(true).rw<"ilbrt">(7u)); // of what is written
    CHECK(outcome.status == Status::reference_tag_check_error);
    CHECK(outcome.lba == 100);
    REQUIRE(bench.status(copy.rw<"pract">(true).rw<"ilbrt">(100u)) == Status::success);
    REQUIRE(bench.status(io(IoOpcode::read, 100, 2)) == Status::success);
    CHECK(big(bench.memory.peek(read_metadata_at, 16), 12, 4) == 101);
    range.view().set<"eilbrt">(6u);
    bench.memory.poke(0x50000, range.bytes);
    CHECK(bench.status(copy) == Status::reference_tag_check_error);
}
