// The controller memory buffer: queues, lists and data in it, what CMBSZ does not have, and what lies across its ends.
#include "testbench/unit/model/nvme/controller_bench.h"

#include <catch2/catch_test_macros.hpp>

using namespace nvme_test;
using abi::nvme::AdminOpcode;
using abi::nvme::IoOpcode;
using abi::nvme::MemoryUse;

namespace {

constexpr std::uint64_t base = 0x8000'0000, size = 0x10000;
constexpr std::uint64_t inside = base + 0x4000, outside = Bench::buffer, list_inside = base + 0x8000;

NvmeConfig with_buffer(std::uint32_t uses = abi::nvme::all_memory_uses) {
    auto config = small();
    config.memory_buffer = size;
    config.memory_buffer_uses = uses;
    return config;
}
constexpr std::uint32_t without(MemoryUse use) { return abi::nvme::all_memory_uses & ~static_cast<std::uint32_t>(use); }

struct Buffered : Bench {
    explicit Buffered(std::uint32_t uses = abi::nvme::all_memory_uses) : Bench(with_buffer(uses)) {
        set(0x54, base >> 32), set(0x50, (base & 0xffff'ffff) | 3);
        enable();
        create_pair(1);
    }
    void store(std::uint64_t address, std::span<const std::byte> bytes) {
        controller.bar_write(2, address - base, bytes, clock.now());
    }
    void store(std::uint64_t address, std::uint64_t value) {
        std::array<std::byte, 8> bytes{};
        abi::store<std::uint64_t, abi::Endian::little>(bytes.data(), value);
        store(address, bytes);
    }
    void descriptor(std::uint64_t address, std::uint64_t target, std::uint32_t length, std::uint8_t type) {
        std::array<std::byte, 16> bytes{};
        abi::store<std::uint64_t, abi::Endian::little>(bytes.data(), target);
        abi::store<std::uint32_t, abi::Endian::little>(bytes.data() + 8, length);
        bytes[15] = static_cast<std::byte>(type << 4);
        if (address >= base && address < base + size)
            store(address, bytes);
        else
            memory.poke(address, bytes);
    }
    std::byte first_byte(std::uint64_t address) { return controller.direct(2, address - base)[0]; }
    Status move(IoOpcode opcode, std::uint64_t prp1, std::uint64_t prp2 = 0, std::uint32_t blocks = 1) {
        auto block = command(static_cast<std::uint8_t>(opcode), 1, 0, 0, blocks - 1);
        block.view().set<"prp1">(prp1).set<"prp2">(prp2);
        return end(submit(1, block));
    }
    /// An SGL whose one segment of `length` bytes lies at `segment`.
    Status move_sgl(IoOpcode opcode, std::uint64_t segment, std::uint32_t length, std::uint32_t blocks = 1) {
        auto block = command(static_cast<std::uint8_t>(opcode), 1, 0, 0, blocks - 1);
        block.view().set<"psdt">(abi::nvme::DataPointerType::sgl_metadata_buffer).set<"prp1">(segment);
        abi::store<std::uint32_t, abi::Endian::little>(block.bytes.data() + 32, length);
        block.bytes[39] = std::byte{0x30};
        return end(submit(1, block));
    }
    /// A wrong use of the buffer stays wrong.
    static Status end(const abi::Block<abi::nvme::Completion>& entry) {
        const auto status = entry.view().get<"status">();
        CHECK(entry.view().get<"dnr">() == (status == Status::invalid_cmb_use));
        return status;
    }
};

} // namespace

TEST_CASE("data, PRP lists and SGL segments may lie in the controller memory buffer", "[unit][nvme][cmb]") {
    Buffered b;
    CHECK((b.get(0x3c) & 0x1f) == 0x1f);
    CHECK((b.get(0x38) >> 3 & 0x3f) == 0x28); // lists lie anywhere, queues at any dword, nothing is mixed
    b.store(inside, std::vector<std::byte>(0x3000, std::byte{7}));

    CHECK(b.move(IoOpcode::write, inside) == Status::success);
    CHECK(b.move(IoOpcode::read, outside) == Status::success);
    CHECK(b.memory.peek(outside, 1)[0] == std::byte{7});
    b.memory.poke(outside, std::vector<std::byte>(0x3000, std::byte{9}));
    CHECK(b.move(IoOpcode::write, outside, outside + 0x1000, 16) == Status::success);
    CHECK(b.move(IoOpcode::read, inside, inside + 0x1000, 16) == Status::success);
    CHECK(b.first_byte(inside + 0x1fff) == std::byte{9});

    // A list in the buffer, its data in the host's memory, and the other way round.
    b.store(list_inside, outside + 0x1000), b.store(list_inside + 8, outside + 0x2000);
    CHECK(b.move(IoOpcode::write, outside, list_inside, 24) == Status::success);
    b.descriptor(0x180000, inside, 0x1000, 0);
    CHECK(b.move_sgl(IoOpcode::write, 0x180000, 16, 8) == Status::success);
    b.descriptor(list_inside, outside, 0x1000, 0);
    CHECK(b.move_sgl(IoOpcode::read, list_inside, 16, 8) == Status::success);
    auto identify = Bench::command(static_cast<std::uint8_t>(AdminOpcode::identify), 0, 1);
    identify.view().set<"prp1">(inside);
    CHECK(b.submit(0, identify).view().get<"status">() == Status::success);
    CHECK(b.first_byte(inside + 768) == std::byte{'n'});
}

TEST_CASE("what the controller memory buffer is not for is refused, and nothing has moved", "[unit][nvme][cmb]") {
    SECTION("data of reads") {
        Buffered b(without(MemoryUse::data_to_host));
        CHECK((b.get(0x3c) & 0x1f) == 0x17);
        b.store(inside, std::vector<std::byte>(512, std::byte{7}));
        CHECK(b.move(IoOpcode::read, inside) == Status::invalid_cmb_use);
        CHECK(b.first_byte(inside) == std::byte{7});
        CHECK(b.move(IoOpcode::write, inside) == Status::success);
    }
    SECTION("data of writes") {
        Buffered b(without(MemoryUse::data_from_host));
        CHECK(b.move(IoOpcode::write, inside) == Status::invalid_cmb_use);
        CHECK(b.move(IoOpcode::compare, inside) == Status::invalid_cmb_use);
        CHECK(b.move(IoOpcode::read, inside) == Status::success);
    }
    SECTION("lists") {
        Buffered b(without(MemoryUse::lists));
        b.store(list_inside, outside + 0x1000), b.store(list_inside + 8, outside + 0x2000);
        CHECK(b.move(IoOpcode::read, outside, list_inside, 24) == Status::invalid_cmb_use);
        b.descriptor(list_inside, outside, 0x1000, 0);
        CHECK(b.move_sgl(IoOpcode::read, list_inside, 16) == Status::invalid_cmb_use);
    }
    SECTION("queues") {
        Buffered b(without(MemoryUse::submission_queues) & without(MemoryUse::completion_queues));
        CHECK(b.create(AdminOpcode::create_cq, inside, 15 << 16 | 2, 1) == Status::invalid_cmb_use);
        CHECK(b.create(AdminOpcode::create_sq, inside, 15 << 16 | 2, 1 << 16 | 1) == Status::invalid_cmb_use);
    }
}

TEST_CASE("a command has data on one side of the buffer's ends, and lists on one side, not across",
          "[unit][nvme][cmb]") {
    Buffered b;

    CHECK(b.move(IoOpcode::read, inside, outside, 16) == Status::invalid_cmb_use);
    CHECK(b.move(IoOpcode::read, outside, inside, 16) == Status::invalid_cmb_use);
    CHECK(b.move(IoOpcode::read, base + size - 0x1000, base + size, 16) == Status::invalid_cmb_use);
    CHECK(b.move(IoOpcode::read, base - 0x1000, base, 16) == Status::invalid_cmb_use);
    b.descriptor(0x180000, base + size - 256, 512, 0); // one block of data across the end
    CHECK(b.move_sgl(IoOpcode::read, 0x180000, 16) == Status::invalid_cmb_use);
    b.descriptor(0x180000, base - 256, 512, 0); // and across the begin
    CHECK(b.move_sgl(IoOpcode::read, 0x180000, 16) == Status::invalid_cmb_use);
    CHECK(b.move_sgl(IoOpcode::read, base + size - 16, 32) == Status::invalid_cmb_use); // a segment across the end
    CHECK(b.move_sgl(IoOpcode::read, base + size - 0x1000, 0x2000) == Status::invalid_cmb_use);
    // A list that goes on on the other side.
    b.memory.poke(0x180ff8, std::vector<std::byte>(8));
    std::array<std::byte, 8> entry{};
    abi::store<std::uint64_t, abi::Endian::little>(entry.data(), list_inside);
    b.memory.poke(0x180ff8, entry);
    b.store(list_inside, outside + 0x1000), b.store(list_inside + 8, outside + 0x2000);
    CHECK(b.move(IoOpcode::read, outside, 0x180ff8, 24) == Status::invalid_cmb_use);
    CHECK(b.move(IoOpcode::read, outside, list_inside, 24) == Status::success);
    CHECK(b.create(AdminOpcode::create_cq, base + size - 0x1000, 511 << 16 | 2, 1) == Status::invalid_cmb_use);
    CHECK(b.create(AdminOpcode::create_cq, base + size - 0x1000, 255 << 16 | 2, 1) == Status::success);
}

TEST_CASE("metadata lies where the data of its command does", "[unit][nvme][cmb]") {
    auto config = with_buffer();
    config.space.namespaces[0].format = 2; // 512 and 8 bytes
    Bench b(config);
    b.set(0x54, 0), b.set(0x50, (base & 0xffff'ffff) | 3);
    b.enable(), b.create_pair(1);
    const auto move = [&](std::uint64_t data, std::uint64_t metadata) {
        auto block = Bench::command(static_cast<std::uint8_t>(IoOpcode::write), 1);
        block.view().set<"prp1">(data).set<"mptr">(metadata);
        return b.submit(1, block).view().get<"status">();
    };
    CHECK(move(inside, list_inside) == Status::success);
    CHECK(move(outside, 0x180000) == Status::success);
    CHECK(move(inside, 0x180000) == Status::invalid_cmb_use);
    CHECK(move(outside, list_inside) == Status::invalid_cmb_use);
    CHECK(move(inside, base + size - 4) == Status::invalid_cmb_use);
}

TEST_CASE("both queues of a pair may lie in the controller memory buffer, and go on after a reset",
          "[unit][nvme][cmb]") {
    Buffered b;
    for (unsigned round = 0; round < 2; ++round) {
        REQUIRE(b.create(AdminOpcode::create_cq, inside, 15 << 16 | 2, 2u << 16 | 3) == Status::success);
        REQUIRE(b.create(AdminOpcode::create_sq, inside + 0x1000, 15 << 16 | 2, 2u << 16 | 1) == Status::success);
        b.store(inside, std::vector<std::byte>(256));
        auto flush = Bench::command(static_cast<std::uint8_t>(IoOpcode::flush), 1);
        flush.view().set<"cid">(77);
        b.store(inside + 0x1000, flush.bytes);
        b.interrupts.vectors.clear();
        b.set(0x1010, 1), b.run();
        CHECK(b.interrupts.vectors == std::vector<std::uint16_t>{2});
        CHECK(b.first_byte(inside + 12) == std::byte{77});
        b.set(Register::cc, 0x0046'0000);
        b.enable();
    }
}

TEST_CASE("a buffer whose base address leaves no room for it stays unmapped and says so", "[unit][nvme][cmb]") {
    Buffered b;
    b.set(0x54, 0xffff'ffff), b.set(0x50, 0xffff'8003);
    CHECK(b.get(0x58) == 1); // CMBSTS.CBAI
    b.store(inside, std::vector<std::byte>(512, std::byte{7}));
    CHECK(b.move(IoOpcode::write, inside) == Status::success); // host memory again
    CHECK(b.move(IoOpcode::read, outside) == Status::success);
    CHECK(b.memory.peek(outside, 1)[0] == std::byte{});
    CHECK(b.move(IoOpcode::write, 0xffff'ffff'ffff'c000) == Status::success); // where it would have been
    CHECK(b.move(IoOpcode::read, outside) == Status::success);
    CHECK(b.memory.peek(outside, 1)[0] == std::byte{});
    b.set(0x54, 0), b.set(0x50, (base & 0xffff'ffff) | 3);
    CHECK(b.get(0x58) == 0);
}
