#include "sw/mlx/queue/wqe.h"
#include "testbench/unit/sw/mlx/fake_hca.h"

#include <catch2/catch_test_macros.hpp>

#include <array>

using namespace sw::mlx;
using abi::Qpn;
using testbench::be32;
using testbench::be64;

namespace {

struct Queue {
    alignas(64) std::array<std::byte, 16 * 64> bytes;
    SendRing ring{bytes.data(), 16};
    Queue() { bytes.fill(std::byte{0xcc}); }
    /// Writes `request` at block `counter` and returns its size in 16-byte units.
    std::uint32_t write(const SendRequest& request, std::uint32_t counter = 0, bool is_signaled = true) {
        const auto units = segments_of(request);
        write_send(ring, counter, Qpn{0x1150}, request, units, is_signaled);
        return units;
    }
    /// 16 bytes as four dwords, as dumps print them.
    std::array<std::uint32_t, 4> row(std::size_t unit) const {
        return {be32(bytes, unit * 16), be32(bytes, unit * 16 + 4), be32(bytes, unit * 16 + 8),
                be32(bytes, unit * 16 + 12)};
    }
    bool is_untouched(std::size_t unit) const {
        return row(unit) == Row{0xcccccccc, 0xcccccccc, 0xcccccccc, 0xcccccccc};
    }
    using Row = std::array<std::uint32_t, 4>;
};
using Row = Queue::Row;

constexpr Sge element{.address = 0x7fc59a5b2000, .length = 554, .lkey = 0x8a0b};

} // namespace

TEST_CASE("a SEND is a control segment and its elements, as the published dump has them", "[unit][mlx][wqe]") {
    Queue queue;

    const auto units = queue.write({.sge = &element, .sge_count = 1, .operation = SendOperation::send});

    CHECK(units == 2);
    CHECK(queue.row(0) == Row{0x0000000a, 0x00115002, 0x00000008, 0x00000000});
    CHECK(queue.row(1) == Row{0x0000022a, 0x00008a0b, 0x00007fc5, 0x9a5b2000});
    CHECK(queue.is_untouched(2));
}

TEST_CASE("a WRITE with immediate carries remote address, key and immediate", "[unit][mlx][wqe]") {
    Queue queue;

    const auto units = queue.write({.sge = &element,
                                    .sge_count = 1,
                                    .operation = SendOperation::write_imm,
                                    .flags = send_flag::solicited,
                                    .immediate = 0xdeadbeef,
                                    .rkey = 0xdd5d,
                                    .remote_address = 0x123456789abcdef0},
                                   7);

    CHECK(units == 3);
    CHECK(queue.row(28) == Row{0x00000709, 0x00115003, 0x0000000a, 0xdeadbeef});
    CHECK(queue.row(29) == Row{0x12345678, 0x9abcdef0, 0x0000dd5d, 0});
    CHECK(queue.row(30) == Row{0x0000022a, 0x00008a0b, 0x00007fc5, 0x9a5b2000});
}

TEST_CASE("opcodes and operands of READ, compare and swap, fetch and add, NOP", "[unit][mlx][wqe]") {
    Queue queue;
    const Sge result{.address = 0x1000, .length = 8, .lkey = 0x700};

    queue.write({.sge = &element, .sge_count = 1, .operation = SendOperation::read, .rkey = 1, .remote_address = 2}, 0);
    CHECK(queue.row(0) == Row{0x00000010, 0x00115003, 0x00000008, 0});
    queue.write({.sge = &result,
                 .sge_count = 1,
                 .operation = SendOperation::compare_swap,
                 .rkey = 1,
                 .remote_address = 2,
                 .compare = 0x1111111122222222,
                 .swap_or_add = 0x3333333344444444},
                1);
    CHECK(queue.row(4) == Row{0x00000111, 0x00115004, 0x00000008, 0});
    CHECK(queue.row(6) == Row{0x33333333, 0x44444444, 0x11111111, 0x22222222});
    CHECK(queue.row(7) == Row{8, 0x700, 0, 0x1000});
    queue.write({.sge = &result,
                 .sge_count = 1,
                 .operation = SendOperation::fetch_add,
                 .rkey = 1,
                 .remote_address = 2,
                 .swap_or_add = 5},
                2);
    CHECK(queue.row(8) == Row{0x00000212, 0x00115004, 0x00000008, 0});
    CHECK(queue.row(10) == Row{0, 5, 0, 0});
    queue.write({.operation = SendOperation::nop}, 3);
    CHECK(queue.row(12) == Row{0x00000300, 0x00115001, 0x00000008, 0});
    CHECK(queue.is_untouched(13));
}

TEST_CASE("fences and completion are bits of the third dword", "[unit][mlx][wqe]") {
    Queue queue;

    queue.write({.operation = SendOperation::nop}, 0, false);
    queue.write({.operation = SendOperation::nop, .flags = send_flag::fence}, 1);
    queue.write({.operation = SendOperation::nop, .flags = send_flag::small_fence}, 2, false);

    CHECK(queue.row(0)[2] == 0x00);
    CHECK(queue.row(4)[2] == (4u << 5 | 8));
    CHECK(queue.row(8)[2] == 1u << 5);
}

TEST_CASE("several elements follow one another and empty ones take no room", "[unit][mlx][wqe]") {
    Queue queue;
    const std::array<Sge, 5> elements{Sge{1, 10, 11}, Sge{2, 0, 12}, Sge{3, 30, 13}, Sge{4, 40, 14}, Sge{5, 50, 15}};

    const auto units = queue.write({.sge = elements.data(), .sge_count = 5, .operation = SendOperation::write});

    CHECK(units == 6);
    CHECK(blocks_of(units) == 2);
    CHECK(queue.row(2) == Row{10, 11, 0, 1});
    CHECK(queue.row(3) == Row{30, 13, 0, 3});
    CHECK(queue.row(5) == Row{50, 15, 0, 5});
    CHECK(queue.is_untouched(6));
}

TEST_CASE("a WQE that reaches the end of the ring goes on at its start", "[unit][mlx][wqe]") {
    Queue queue;
    const std::array<Sge, 4> elements{Sge{1, 10, 11}, Sge{2, 20, 12}, Sge{3, 30, 13}, Sge{4, 40, 14}};

    queue.write({.sge = elements.data(), .sge_count = 4, .operation = SendOperation::write, .rkey = 9}, 15 + 16 * 3);

    CHECK(queue.row(60)[0] == ((15 + 48) << 8 | 8));
    CHECK(queue.row(62) == Row{10, 11, 0, 1});
    CHECK(queue.row(63) == Row{20, 12, 0, 2});
    CHECK(queue.row(0) == Row{30, 13, 0, 3});
    CHECK(queue.row(1) == Row{40, 14, 0, 4});
    CHECK(queue.is_untouched(2));
}

TEST_CASE("the index of a WQE counts blocks modulo 2^16", "[unit][mlx][wqe]") {
    Queue queue;

    queue.write({.operation = SendOperation::nop}, 0x12fff0);

    CHECK(queue.row(0)[0] == 0x00fff000);
}

TEST_CASE("inline data follows its length at once and may wrap", "[unit][mlx][wqe]") {
    Queue queue;
    std::array<std::byte, 100> data;
    for (std::size_t i = 0; i < data.size(); ++i)
        data[i] = static_cast<std::byte>(i + 1);
    const std::array<Sge, 2> parts{Sge{reinterpret_cast<std::uintptr_t>(data.data()), 40, 0},
                                   Sge{reinterpret_cast<std::uintptr_t>(data.data() + 40), 60, 0}};

    const auto units = queue.write(
        {.sge = parts.data(), .sge_count = 2, .operation = SendOperation::send, .flags = send_flag::inline_data}, 15);

    CHECK(units == 1 + 7); // 104 bytes
    CHECK(be32(queue.bytes, 15 * 64 + 16) == (0x80000000u | 100));
    CHECK(std::equal(data.begin(), data.begin() + 44, queue.bytes.begin() + 15 * 64 + 20));
    CHECK(std::equal(data.begin() + 44, data.end(), queue.bytes.begin()));
    CHECK(queue.bytes[56] == std::byte{0xcc});
}

TEST_CASE("an empty inline message has no data segment", "[unit][mlx][wqe]") {
    Queue queue;

    CHECK(queue.write({.operation = SendOperation::send, .flags = send_flag::inline_data}) == 1);
    CHECK(queue.is_untouched(1));
}

TEST_CASE("a receive WQE is its elements, then a terminator where there is room", "[unit][mlx][wqe]") {
    std::array<std::byte, 64> wqe;
    wqe.fill(std::byte{0xcc});
    const std::array<Sge, 4> elements{Sge{1, 10, 11}, Sge{2, 20, 12}, Sge{3, 30, 13}, Sge{4, 40, 14}};

    write_receive(wqe.data(), 64, {.sge = elements.data(), .sge_count = 2});
    CHECK(be32(wqe, 0) == 10);
    CHECK(be32(wqe, 20) == 12);
    CHECK(be32(wqe, 32) == 0);
    CHECK(be32(wqe, 36) == 0x100);
    CHECK(be64(wqe, 40) == 0);
    CHECK(be32(wqe, 48) == 0xcccccccc);

    write_receive(wqe.data(), 64, {.sge = elements.data(), .sge_count = 4});
    CHECK(be32(wqe, 48) == 40);
    CHECK(be32(wqe, 52) == 14);
}
