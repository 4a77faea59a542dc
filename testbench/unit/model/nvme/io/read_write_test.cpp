#include "testbench/unit/model/nvme/io_bench.h"

using namespace testbench;

TEST_CASE("what is written is read, of blocks of 512 and of 4096 bytes", "[unit][nvme]") {
    IoBench bench;
    for (const std::uint32_t nsid : {1u, 2u}) {
        const auto bytes = nsid == 1 ? 512u : 4096u;
        const auto data = pattern(bytes, nsid);
        bench.memory.poke(0x10000, data);

        REQUIRE(bench.status(Sqe(IoOpcode::write, nsid).range(3, 1).prp(0x10000)) == Status::success);
        REQUIRE(bench.status(Sqe(IoOpcode::read, nsid).range(3, 1).prp(0x20000)) == Status::success);

        CHECK(bench.memory.peek(0x20000, bytes) == data);
        CHECK(bench.memory.peek(0x20000 + bytes, 8) == std::vector<std::byte>(8));
        CHECK(bench.stored(2, bytes, nsid) == std::vector<std::byte>(bytes));
        CHECK(bench.stored(3, bytes, nsid) == data);
        CHECK(bench.stored(4, bytes, nsid) == std::vector<std::byte>(bytes));
    }
}

TEST_CASE("what was never written reads as zero", "[unit][nvme]") {
    IoBench bench;
    bench.memory.poke(0x20000, pattern(512));

    REQUIRE(bench.status(Sqe(IoOpcode::read).range(9, 1).prp(0x20000)) == Status::success);

    CHECK(bench.memory.peek(0x20000, 512) == std::vector<std::byte>(512));
}

TEST_CASE("a range that leaves the namespace is refused before anything moves", "[unit][nvme]") {
    IoBench bench;
    const auto blocks = bench.space().blocks();
    for (const auto opcode : {IoOpcode::read, IoOpcode::write, IoOpcode::compare, IoOpcode::verify,
                              IoOpcode::write_zeroes, IoOpcode::write_uncorrectable}) {
        bench.memory.clear_log();
        for (const auto& [lba, count] : {std::pair{blocks, 1u}, {blocks - 1, 2u}, {~0ull, 1u}, {~0ull - 1, 4u}}) {
            const auto outcome = bench.run(Sqe(opcode).range(lba, count).prp(0x10000));
            CHECK(outcome.status == Status::lba_out_of_range);
            CHECK(outcome.dnr);
            CHECK(outcome.parameter == 0x28);
            CHECK(outcome.lba == lba);
        }
        CHECK(bench.memory.log().empty());
        if (opcode != IoOpcode::compare)
            CHECK(bench.status(Sqe(opcode).range(blocks - 1, 1).prp(0x10000)) == Status::success);
        REQUIRE(bench.status(Sqe(IoOpcode::write_zeroes).range(blocks - 1, 1)) == Status::success);
    }
}

TEST_CASE("a command names a namespace that exists and is attached", "[unit][nvme]") {
    IoBench bench;
    for (const std::uint32_t nsid : {0u, 17u, 0xffffffffu}) {
        const auto outcome = bench.run(Sqe(IoOpcode::read, nsid).range(0, 1).prp(0x10000));
        CHECK(outcome.status == Status::invalid_namespace);
        CHECK(outcome.dnr);
        CHECK(outcome.parameter == 4);
    }
    CHECK(bench.status(Sqe(IoOpcode::read, 3).range(0, 1).prp(0x10000)) == Status::invalid_field);
    REQUIRE(bench.spaces.detach(2).is_ok());
    const auto outcome = bench.run(Sqe(IoOpcode::read, 2).range(0, 1).prp(0x10000));
    CHECK(outcome.status == Status::invalid_field);
    CHECK(outcome.dnr);
    CHECK(outcome.parameter == 4);
}

TEST_CASE("an opcode that is not there, or not offered, is refused", "[unit][nvme]") {
    model::nvme::IoConfig config;
    config.has_compare = config.has_verify = config.has_write_zeroes = config.has_copy = false;
    config.has_write_uncorrectable = config.has_dataset_management = false;
    IoBench bench(IoBench::space_of({IoBench::of(0)}), config);
    for (const auto opcode : {IoOpcode{0x03}, IoOpcode{0x7f}, IoOpcode{0xff}, IoOpcode::reservation_report,
                              IoOpcode::compare, IoOpcode::verify, IoOpcode::write_zeroes,
                              IoOpcode::write_uncorrectable, IoOpcode::dataset_management, IoOpcode::copy}) {
        const auto outcome = bench.run(Sqe(opcode).range(0, 1).prp(0x10000));
        CHECK(outcome.status == Status::invalid_opcode);
        CHECK(outcome.dnr);
        CHECK(outcome.parameter == 0);
    }
}

TEST_CASE("more than the largest transfer is refused", "[unit][nvme]") {
    model::nvme::IoConfig config;
    config.max_transfer_bytes = 8192;
    config.max_write_zeroes_bytes = config.max_verify_bytes = 4096;
    config.max_write_uncorrectable_bytes = 4096;
    IoBench bench(IoBench::space_of({IoBench::of(0)}), config);

    CHECK(bench.status(Sqe(IoOpcode::read).range(0, 16).prp(0x10000, 0x11000)) == Status::success);
    const auto outcome = bench.run(Sqe(IoOpcode::read).range(0, 17).prp(0x10000, 0x11000));
    CHECK(outcome.status == Status::invalid_field);
    CHECK(outcome.dnr);
    CHECK(outcome.parameter == 0x30);
    for (const auto opcode : {IoOpcode::write_zeroes, IoOpcode::verify, IoOpcode::write_uncorrectable}) {
        CHECK(bench.status(Sqe(opcode).range(0, 9)) == Status::size_limit_exceeded);
        CHECK(bench.status(Sqe(opcode).range(100, 8)) == Status::success);
    }
}

TEST_CASE("a write whose data cannot all be fetched changes nothing", "[unit][nvme]") {
    IoBench bench;
    bench.fill(0, 16);
    const auto before = bench.stored(0, 8192);
    bench.memory.poke(0x30000, pattern(4096, 99));
    bench.memory.fail(0x41000, 0x41001, DmaStatus::unsupported_request);

    const auto outcome = bench.run(Sqe(IoOpcode::write).range(0, 16).prp(0x30000, 0x41000));

    CHECK(outcome.status == Status::data_transfer_error);
    CHECK_FALSE(outcome.dnr);
    CHECK(bench.stored(0, 8192) == before);
}

TEST_CASE("a read that cannot be delivered is a data transfer error", "[unit][nvme]") {
    IoBench bench;
    bench.memory.fail(0x41000, 0x41001, DmaStatus::unsupported_request);

    CHECK(bench.status(Sqe(IoOpcode::read).range(0, 16).prp(0x30000, 0x41000)) == Status::data_transfer_error);
}

TEST_CASE("the data of a write is copied once, out of the host's memory", "[unit][nvme]") {
    IoBench bench;
    bench.memory.poke(0x20000, pattern(8192));
    bench.memory.clear_log();

    REQUIRE(bench.status(Sqe(IoOpcode::write).range(0, 16).prp(0x20000, 0x21000)) == Status::success);

    REQUIRE(bench.memory.log().size() == 1); // both pages in one piece
    CHECK(bench.memory.log()[0].kind == model::port::MemoryDma::Kind::lend);
    CHECK(bench.memory.log()[0].purpose == model::port::Purpose::payload);
}

TEST_CASE("memory that is not lent is read", "[unit][nvme]") {
    IoBench bench;
    const auto data = pattern(16384, 5);
    bench.memory.poke(0x1e000, data); // crosses a boundary behind which nothing is lent
    bench.poke64(0x50000, {0x1f000, 0x20000, 0x21000});

    REQUIRE(bench.status(Sqe(IoOpcode::write).range(0, 32).prp(0x1e000, 0x50000)) == Status::success);

    CHECK(bench.stored(0, 16384) == data);
}

TEST_CASE("a latent sector is an error until it is written", "[unit][nvme]") {
    IoBench bench;
    bench.fill(0, 8);
    bench.medium().make_latent({5 * 512 + 100, 5 * 512 + 101});
    for (const auto opcode : {IoOpcode::read, IoOpcode::compare, IoOpcode::verify}) {
        const auto outcome = bench.run(Sqe(opcode).range(0, 8).prp(0x10000));
        CHECK(outcome.status == Status::unrecovered_read_error);
        CHECK(outcome.lba == 5);
        CHECK_FALSE(outcome.dnr);
    }
    CHECK(bench.status(Sqe(IoOpcode::read).range(0, 5).prp(0x10000)) == Status::success);
    bench.fill(5, 1);
    CHECK(bench.status(Sqe(IoOpcode::read).range(0, 8).prp(0x10000)) == Status::success);
}

TEST_CASE("a write that the medium refuses is a write fault with its block", "[unit][nvme]") {
    IoBench bench;
    bench.medium().make_read_only({7 * 512, 8 * 512});
    for (const auto opcode : {IoOpcode::write, IoOpcode::write_zeroes}) {
        const auto outcome = bench.run(Sqe(opcode).range(0, 16).prp(0x10000, 0x11000));
        CHECK(outcome.status == Status::write_fault);
        CHECK(outcome.lba == 7);
    }
}

TEST_CASE("a command whose medium does not answer has no end", "[unit][nvme]") {
    IoBench bench;
    bench.medium().make_silent({0, 512});
    for (const auto opcode : {IoOpcode::read, IoOpcode::write, IoOpcode::verify, IoOpcode::write_zeroes}) {
        const auto outcome = bench.run(Sqe(opcode).range(0, 1).prp(0x10000));
        CHECK(outcome.done == model::port::never);
        CHECK(outcome.is_ok());
    }
    CHECK(bench.run(Sqe(IoOpcode::read).range(1, 1).prp(0x10000)).done == Time{});
}

TEST_CASE("a namespace that is write protected is only read", "[unit][nvme]") {
    IoBench bench;
    bench.fill(0, 1);
    REQUIRE(bench.protect(1, 1).is_ok());
    bench.poke64(0x10000, {1ull << 32, 0});
    for (const auto opcode : {IoOpcode::write, IoOpcode::write_zeroes, IoOpcode::write_uncorrectable}) {
        const auto outcome = bench.run(Sqe(opcode).range(0, 1).prp(0x10000));
        CHECK(outcome.status == Status::namespace_write_protected);
        CHECK(outcome.dnr);
    }
    const auto trim = Sqe(IoOpcode::dataset_management).set<"cdw11">(4u).prp(0x10000);
    CHECK(bench.status(trim) == Status::namespace_write_protected);
    CHECK(bench.status(Sqe(IoOpcode::read).range(0, 1).prp(0x20000)) == Status::success);
    CHECK(bench.memory.peek(0x20000, 512) == pattern(512));
    REQUIRE(bench.protect(1, 0).is_ok());
    CHECK(bench.status(trim) == Status::success);
}

TEST_CASE("while the drive is being sanitized every command says so", "[unit][nvme]") {
    IoBench bench;
    bench.spaces.set_hold(Status::sanitize_in_progress);
    CHECK(bench.status(Sqe(IoOpcode::read).range(0, 1).prp(0x10000)) == Status::sanitize_in_progress);
    CHECK(bench.status(Sqe(IoOpcode::flush)) == Status::sanitize_in_progress);
    bench.spaces.set_hold(Status::success);
    CHECK(bench.status(Sqe(IoOpcode::read).range(0, 1).prp(0x10000)) == Status::success);
}

TEST_CASE("a command ends when its data has moved and its medium is ready", "[unit][nvme]") {
    IoBench bench(IoBench::space_of({IoBench::of(0)}), {},
                  {.channel_rate = 0,
                   .host_rate = 512'000'000, // a block a microsecond
                   .read = 80us,
                   .program = 300us,
                   .erase = 0us,
                   .map_latency = 2us});
    bench.memory.set_latency(1us);
    const auto write = Sqe(IoOpcode::write).range(0, 1).prp(0x10000);
    const auto forced = Sqe(IoOpcode::write).range(800, 1).rw<"fua">(true).prp(0x10000);

    CHECK(bench.run(write, 100us).done == 104us); // from the host, mapped, across, in the cache
    CHECK(bench.run(Sqe(IoOpcode::read).range(64, 1).prp(0x10000), 150us).done == 234us);
    CHECK(bench.run(Sqe(IoOpcode::read).range(0, 1).prp(0x10000), 200us).done == 204us); // from the cache
    CHECK(bench.run(Sqe(IoOpcode::flush), 300us).done == 600us);
    CHECK(bench.run(Sqe(IoOpcode::flush), 700us).done == 700us);
    CHECK(bench.run(forced, 1000us).done == 1304us);
    CHECK(bench.run(Sqe(IoOpcode::write_zeroes).range(0, 8), 2000us).done == 2002us);
    CHECK(bench.run(Sqe(IoOpcode::verify).range(0, 1), 3000us).done == 3083us);
    auto at = Time(4000us);
    REQUIRE(bench.io.set_cache(false, at).is_ok());
    CHECK(bench.run(write, 5000us).done == 5304us); // without a cache every write is as safe as a forced one
}
