#include "testbench/unit/model/nvme/io_bench.h"

using namespace testbench;
using abi::nvme::DataPointerType;
using abi::nvme::SglType;
using model::nvme::BusRange;
using model::nvme::BusRanges;
using model::nvme::DataRules;
using model::nvme::DataWalker;
using model::nvme::Direction;
using model::nvme::Refusal;

namespace {

struct Bench : IoBench {
    DataWalker walker{memory};
    BusRanges out;
    Time at{};

    template <class Change> void change_rules(Change&& change) {
        DataRules rules;
        change(rules);
        walker.set_rules(rules);
    }
    Refusal prp(std::uint64_t length, std::uint64_t prp1, std::uint64_t prp2) {
        memory.clear_log();
        return walker.walk({DataPointerType::prp, prp1, prp2, 0}, length, Direction::to_host, out, at);
    }
    Refusal sgl(std::uint64_t length, SglType type, std::uint64_t address, std::uint32_t bytes,
                Direction direction = Direction::to_host, std::uint32_t subtype = 0) {
        memory.clear_log();
        const auto high = std::uint64_t{bytes} | std::uint64_t{static_cast<unsigned>(type) << 4 | subtype} << 56;
        return walker.walk({DataPointerType::sgl_metadata_buffer, address, high, 0}, length, direction, out, at);
    }
    bool is(std::initializer_list<BusRange> ranges) const { return std::ranges::equal(out, ranges); }
};

bool refused(const Refusal& refusal, Status status, std::uint16_t where) {
    CHECK(static_cast<unsigned>(refusal.status) == static_cast<unsigned>(status));
    return refusal == Refusal{status, true, where};
}

} // namespace

TEST_CASE("PRP1 carries the rest of its page, PRP2 the next page", "[unit][nvme]") {
    Bench bench;
    CHECK(bench.prp(512, 0x10e00, 0xdead).is_ok()); // PRP2 is not needed, so it is not looked at
    CHECK(bench.is({{0x10e00, 512}}));
    CHECK(bench.prp(1024, 0x10e00, 0x30000).is_ok());
    CHECK(bench.is({{0x10e00, 512}, {0x30000, 512}}));
    CHECK(bench.prp(4096 + 512, 0x10e00, 0x30000).is_ok());
    CHECK(bench.is({{0x10e00, 512}, {0x30000, 4096}}));
    CHECK(bench.prp(8192, 0x10000, 0x11000).is_ok());
    CHECK(bench.is({{0x10000, 8192}}));
    CHECK(bench.memory.log().empty());
}

TEST_CASE("a PRP entry with a wrong offset is refused where it stands", "[unit][nvme]") {
    Bench bench;
    CHECK(refused(bench.prp(512, 0x10002, 0), Status::invalid_prp_offset, 24));
    CHECK(bench.prp(512, 0x10004, 0).is_ok());
    CHECK(refused(bench.prp(8192, 0x10000, 0x20200), Status::invalid_prp_offset, 32));
    CHECK(refused(bench.prp(8193, 0x10000, 0x20004), Status::invalid_prp_offset, 32)); // a list, not at a qword
    bench.poke64(0x20000, {0x30000, 0x31008});
    CHECK(refused(bench.prp(3 * 4096, 0x10000, 0x20000), Status::invalid_prp_offset, 32));
}

TEST_CASE("a PRP list may begin anywhere in its page, and no more of it is read than is needed", "[unit][nvme]") {
    Bench bench;
    bench.poke64(0x20100, {0x40000, 0x50000, 0x60000});
    bench.memory.fail(0x20118, 0x21000, DmaStatus::unsupported_request);

    CHECK(bench.prp(4 * 4096, 0x10000, 0x20100).is_ok());

    CHECK(bench.is({{0x10000, 4096}, {0x40000, 4096}, {0x50000, 4096}, {0x60000, 4096}}));
    REQUIRE(bench.memory.log().size() == 1);
    CHECK(bench.memory.log()[0].length == 24);
}

TEST_CASE("the last entry of a page of a PRP list is data if it is the last one needed", "[unit][nvme]") {
    Bench bench;
    bench.poke64(0x20ff0, {0x40000, 0x50000});
    CHECK(bench.prp(3 * 4096, 0x10000, 0x20ff0).is_ok());
    CHECK(bench.is({{0x10000, 4096}, {0x40000, 4096}, {0x50000, 4096}}));

    bench.poke64(0x50000, {0x60000, 0x70000}); // now it leads to the next list
    CHECK(bench.prp(4 * 4096, 0x10000, 0x20ff0).is_ok());
    CHECK(bench.is({{0x10000, 4096}, {0x40000, 4096}, {0x60000, 4096}, {0x70000, 4096}}));

    bench.poke64(0x20ff0, {0x40000, 0x50008}); // the next list begins with its page
    CHECK(refused(bench.prp(4 * 4096, 0x10000, 0x20ff0), Status::invalid_prp_offset, 32));
}

TEST_CASE("a PRP list that leads to itself has an end", "[unit][nvme]") {
    Bench bench;
    for (std::size_t i = 0; i < 512; ++i)
        bench.poke64(0x20000 + 8 * i, {0x20000});
    CHECK(bench.prp(8 << 20, 0x10000, 0x20000).is_ok());
    CHECK(bench.out.length() == 8 << 20);
    CHECK(bench.memory.log().size() <= 5);
}

TEST_CASE("memory pages are as large as CC.MPS says", "[unit][nvme]") {
    Bench bench;
    bench.change_rules([](DataRules& rules) { rules.page_bytes = 16384; });
    CHECK(bench.prp(32768, 0x10000, 0x20000).is_ok());
    CHECK(bench.is({{0x10000, 16384}, {0x20000, 16384}}));
    CHECK(refused(bench.prp(32768, 0x10000, 0x21000), Status::invalid_prp_offset, 32));
}

TEST_CASE("a list that cannot be read is a data transfer error, which may be tried again", "[unit][nvme]") {
    Bench bench;
    bench.memory.fail(0x20000, 0x21000, DmaStatus::unsupported_request);
    CHECK(bench.prp(4 * 4096, 0x10000, 0x20000) == model::nvme::fail(Status::data_transfer_error));
    CHECK(bench.sgl(512, SglType::last_segment, 0x20000, 32) == model::nvme::fail(Status::data_transfer_error));
}

TEST_CASE("an SGL is one data block, or a chain of segments", "[unit][nvme]") {
    Bench bench;
    CHECK(bench.sgl(513, SglType::data_block, 0x10001, 513).is_ok());
    CHECK(bench.is({{0x10001, 513}}));

    bench.poke_sgl(0x20000, SglType::data_block, 0x30000, 100);
    bench.poke_sgl(0x20010, SglType::data_block, 0x40000, 0);
    bench.poke_sgl(0x20020, SglType::segment, 0x50000, 32);
    bench.poke_sgl(0x50000, SglType::bit_bucket, 0, 12);
    bench.poke_sgl(0x50010, SglType::last_segment, 0x60000, 16);
    bench.poke_sgl(0x60000, SglType::data_block, 0x70000, 400);
    CHECK(bench.sgl(512, SglType::segment, 0x20000, 48).is_ok());
    CHECK(bench.is({{0x30000, 100}, {0, 12, true}, {0x70000, 400}}));
}

TEST_CASE("an SGL may be longer than the data where SGLS says so, and never shorter", "[unit][nvme]") {
    Bench bench;
    CHECK(bench.sgl(512, SglType::data_block, 0x10000, 513).is_ok());
    CHECK(bench.is({{0x10000, 512}}));
    CHECK(refused(bench.sgl(512, SglType::data_block, 0x10000, 511), Status::invalid_data_sgl_length, 24));
    bench.poke_sgl(0x20000, SglType::data_block, 0x30000, 512);
    bench.poke_sgl(0x20010, SglType::data_block, 0x40000, 1);
    CHECK(bench.sgl(512, SglType::last_segment, 0x20000, 32).is_ok());
    CHECK(refused(bench.sgl(514, SglType::last_segment, 0x20000, 32), Status::invalid_data_sgl_length, 24));

    bench.change_rules([](DataRules& rules) { rules.takes_excess = false; });
    CHECK(refused(bench.sgl(512, SglType::data_block, 0x10000, 513), Status::invalid_data_sgl_length, 24));
    CHECK(refused(bench.sgl(512, SglType::last_segment, 0x20000, 32), Status::invalid_data_sgl_length, 24));
    CHECK(bench.sgl(513, SglType::last_segment, 0x20000, 32).is_ok());
}

TEST_CASE("SGL descriptors of an unknown kind are refused", "[unit][nvme]") {
    Bench bench;
    for (const auto type : {SglType::keyed, SglType::transport, SglType{6}, SglType{15}})
        CHECK(refused(bench.sgl(512, type, 0x10000, 512), Status::invalid_sgl_type, 24));
    CHECK(refused(bench.sgl(512, SglType::data_block, 0x10000, 512, Direction::to_host, 1), Status::invalid_sgl_type,
                  24));
    CHECK(refused(bench.sgl(512, SglType::segment, 0x10000, 16, Direction::to_host, 1), Status::invalid_sgl_type, 24));
    bench.change_rules([](DataRules& rules) { rules.takes_bit_buckets = false; });
    CHECK(refused(bench.sgl(512, SglType::bit_bucket, 0, 512), Status::invalid_sgl_type, 24));
}

TEST_CASE("a segment has descriptors, and a chain of them an end", "[unit][nvme]") {
    Bench bench;
    for (const auto length : {0u, 8u, 17u})
        CHECK(refused(bench.sgl(512, SglType::last_segment, 0x20000, length), Status::invalid_sgl_segment, 24));
    CHECK(refused(bench.sgl(512, SglType::last_segment, 0x20004, 16), Status::invalid_sgl_segment, 24));
    CHECK(refused(bench.sgl(512, SglType::last_segment, ~0ull - 7, 16), Status::invalid_sgl_segment, 24));
    bench.poke_sgl(0x20000, SglType::data_block, 0x30000, 100);
    bench.poke_sgl(0x20010, SglType::last_segment, 0x40000, 16);
    CHECK(refused(bench.sgl(512, SglType::last_segment, 0x20000, 32), Status::invalid_sgl_segment, 24));
    CHECK(refused(bench.sgl(512, SglType::segment, 0x20000, 16), Status::invalid_sgl_segment, 24)); // nothing follows
    bench.poke_sgl(0x20020, SglType::data_block, 0x30000, 412);
    CHECK(refused(bench.sgl(512, SglType::segment, 0x20000, 48), Status::invalid_sgl_count, 24)); // not in last place
    bench.poke_sgl(0x50000, SglType::segment, 0x50000, 16);                                       // to itself
    CHECK(refused(bench.sgl(512, SglType::segment, 0x50000, 16), Status::invalid_sgl_segment, 24));
    CHECK(bench.memory.log().size() == 1);
}

TEST_CASE("the descriptors of one command are counted", "[unit][nvme]") {
    Bench bench;
    bench.change_rules([](DataRules& rules) { rules.most_descriptors = 300; });
    CHECK(refused(bench.sgl(512, SglType::last_segment, 0x100000, 16 * 600), Status::invalid_sgl_count, 24));
    CHECK(bench.memory.log().size() == 1);
}

TEST_CASE("a data block does not go on behind the last address", "[unit][nvme]") {
    Bench bench;
    CHECK(refused(bench.sgl(512, SglType::data_block, ~0ull - 10, 512), Status::invalid_data_sgl_length, 24));
}

TEST_CASE("data blocks are dwords where SGLS says so", "[unit][nvme]") {
    Bench bench;
    bench.change_rules([](DataRules& rules) { rules.is_dword_granular = true; });
    CHECK(refused(bench.sgl(512, SglType::data_block, 0x10002, 512), Status::invalid_sgl_granularity, 24));
    CHECK(refused(bench.sgl(512, SglType::data_block, 0x10000, 514), Status::invalid_sgl_granularity, 24));
    CHECK(bench.sgl(512, SglType::data_block, 0x10004, 512).is_ok());
}

TEST_CASE("a bit bucket takes bytes of a read, and gives none to a write", "[unit][nvme]") {
    Bench bench;
    bench.poke_sgl(0x20000, SglType::bit_bucket, 0, 256);
    bench.poke_sgl(0x20010, SglType::data_block, 0x30000, 512);
    CHECK(bench.sgl(512, SglType::last_segment, 0x20000, 32, Direction::from_host).is_ok());
    CHECK(bench.is({{0x30000, 512}}));
    bench.fill(0, 1);
    REQUIRE(bench.status(Sqe(IoOpcode::read).range(0, 1).sgl(SglType::last_segment, 0x20000, 32)) == Status::success);
    const auto all = pattern(512);
    CHECK(bench.memory.peek(0x30000, 256) == std::vector(all.begin() + 256, all.end()));
    CHECK(bench.memory.peek(0x30100, 4) == std::vector<std::byte>(4));
    CHECK(bench.memory.peek(0, 256) == std::vector<std::byte>(256)); // a bucket has no address
}

TEST_CASE("PSDT 3 means nothing", "[unit][nvme]") {
    Bench bench;
    for (const auto opcode : {IoOpcode::read, IoOpcode::write, IoOpcode::verify, IoOpcode::dataset_management}) {
        const auto outcome = bench.run(Sqe(opcode).range(0, 1).set<"psdt">(DataPointerType::reserved));
        CHECK(outcome.status == Status::invalid_field);
        CHECK(outcome.dnr);
        CHECK(outcome.parameter == (1 | 6 << 8));
    }
    // What asks the walker itself, too.
    CHECK(refused(
        bench.walker.walk({DataPointerType::reserved, 0x10000, 0, 0}, 512, Direction::to_host, bench.out, bench.at),
        Status::invalid_field, 1 | 6 << 8));
    CHECK(refused(bench.walker.walk_metadata({DataPointerType::reserved, 0, 0, 0x1000}, 64, Direction::to_host,
                                             bench.out, bench.at),
                  Status::invalid_field, 1 | 6 << 8));
}

TEST_CASE("metadata lies at an address, or where an SGL of its own says", "[unit][nvme]") {
    Bench bench;
    const auto walk = [&](DataPointerType type, std::uint64_t mptr) {
        return bench.walker.walk_metadata({type, 0, 0, mptr}, 64, Direction::to_host, bench.out, bench.at);
    };
    CHECK(walk(DataPointerType::prp, 0x1004).is_ok());
    CHECK(bench.is({{0x1004, 64}}));
    CHECK(refused(walk(DataPointerType::prp, 0x1002), Status::invalid_field, 16));
    CHECK(walk(DataPointerType::sgl_metadata_buffer, 0x1001).is_ok());
    CHECK(refused(walk(DataPointerType::prp, ~0ull - 3), Status::invalid_field, 16));
    bench.poke_sgl(0x20000, SglType::data_block, 0x30000, 64);
    CHECK(walk(DataPointerType::sgl_metadata_sgl, 0x20000).is_ok());
    CHECK(bench.is({{0x30000, 64}}));
    CHECK(refused(walk(DataPointerType::sgl_metadata_sgl, 0x20004), Status::invalid_field, 16));
    bench.poke_sgl(0x20000, SglType::data_block, 0x30000, 63);
    CHECK(refused(walk(DataPointerType::sgl_metadata_sgl, 0x20000), Status::invalid_metadata_sgl_length, 16));
    bench.change_rules([](DataRules& rules) { rules.takes_metadata_sgl = false; });
    CHECK(refused(walk(DataPointerType::sgl_metadata_sgl, 0x20000), Status::invalid_field, 1 | 6 << 8));
}

TEST_CASE("data of admin commands goes both ways, by PRPs only", "[unit][nvme]") {
    Bench bench;
    auto& data = bench.io.data();
    const auto page = pattern(4096);
    CHECK(data.send({DataPointerType::prp, 0x10a00, 0x20000, 0}, page, bench.at).is_ok());
    CHECK(bench.memory.peek(0x10a00, 0x600) == std::vector(page.begin(), page.begin() + 0x600));
    CHECK(bench.memory.peek(0x20000, 0xa00) == std::vector(page.begin() + 0x600, page.end()));
    std::vector<std::byte> back(4096);
    CHECK(data.receive({DataPointerType::prp, 0x10a00, 0x20000, 0}, back, bench.at).is_ok());
    CHECK(back == page);
    CHECK(refused(data.send({DataPointerType::sgl_metadata_buffer, 0x10000, 4096, 0}, page, bench.at),
                  Status::invalid_field, 1 | 6 << 8));
    CHECK(refused(data.receive({DataPointerType::sgl_metadata_sgl, 0x10000, 4096, 0}, back, bench.at),
                  Status::invalid_field, 1 | 6 << 8));
}
