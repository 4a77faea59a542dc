// Accesses of any length and alignment, as requests and completions.
#include "platform/record/accesses.h"

#include "testbench/unit/traces/codec/trace_bench.h"

#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>

using namespace platform::record;
using abi::pcie::CompletionStatus;

namespace {

std::vector<Piece> pieces(std::uint64_t address, std::uint64_t length, std::uint32_t most = 4096) {
    std::vector<Piece> out;
    for_each_piece(address, length, most, [&](Piece piece) { out.push_back(piece); });
    return out;
}

std::string hex(std::span<const std::byte> bytes) {
    std::string out;
    for (const auto byte : bytes) {
        constexpr std::string_view digits = "0123456789abcdef";
        out += digits[std::to_integer<std::size_t>(byte >> 4)];
        out += digits[std::to_integer<std::size_t>(byte & std::byte{15})];
    }
    return out;
}

} // namespace

TEST_CASE("an access is cut where its largest request ends", "[unit][record]") {
    CHECK(pieces(0x1000, 0x2000) == std::vector<Piece>{{0x1000, 0x1000}, {0x2000, 0x1000}});
    CHECK(pieces(0x1ffe, 4) == std::vector<Piece>{{0x1ffe, 2}, {0x2000, 2}});
    CHECK(pieces(0x1010, 600, 256) == std::vector<Piece>{{0x1010, 240}, {0x1100, 256}, {0x1200, 104}});
    CHECK(pieces(0x1003, 0) == std::vector<Piece>{{0x1003, 0}});
}

TEST_CASE("requests stand on the link as PCIe has them", "[unit][record]") {
    CHECK(hex(memory_request(true, {0x1000, 8}, 0x0100, 7).bytes()) == "40000002010007ff00001000");
    CHECK(hex(memory_request(false, {0x1000, 4096}, 0x0100, 7).bytes()) == "00000000010007ff00001000");
    CHECK(hex(memory_request(true, {0x1'0000'0801, 2}, 0x0100, 7).bytes()) == "60000001010007060000000100000800");
    CHECK(hex(memory_request(false, {0x1003, 6}, 0, 0).bytes()) == "00000003000000180000"
                                                                   "1000");
    CHECK(hex(memory_request(false, {0x1003, 0}, 0, 0).bytes()) == "000000010000000000001000");
    CHECK(hex(completion(CompletionStatus::success, {0x1003, 6}, 0x0100, 7).bytes()) == "4a0000030000000601000703");
    CHECK(hex(completion(CompletionStatus::completer_abort, {0x1000, 64}, 0, 1).bytes()) == "0a0000000000804000000100");
}

TEST_CASE("each request is read as the bytes that it was made of", "[unit][record][property]") {
    const auto seed = testbench::random_seed();
    INFO("HCA_SEED=" << seed);
    std::mt19937_64 random(seed);
    for (int i = 0; i < 20000; ++i) {
        const auto address = random() >> random() % 40;
        const auto length = static_cast<std::uint32_t>(random() % (random() % 2 ? 9 : 4097 - address % 4096));
        const Piece piece{address, static_cast<std::uint32_t>(std::min<std::uint64_t>(length, 4096 - address % 4096))};
        INFO(address << " + " << piece.length);
        const bool is_write = random() % 2 != 0;

        const auto header = memory_request(is_write, piece, 1, 2);
        const auto again = read_memory_request(header.bytes());

        REQUIRE(again);
        REQUIRE(again->is_write == is_write);
        REQUIRE(again->piece.length == piece.length);
        REQUIRE(again->piece.address == (piece.length == 0 ? piece.first_dword() : piece.address));
        REQUIRE(traces::codec::tlp_head_bytes(header.bytes()) == header.bytes().size());
        REQUIRE(traces::codec::tlp_payload_bytes(header.bytes()) == (is_write ? piece.padded() : 0));
        if (piece.length == 0)
            continue;
        const auto answer = completion(CompletionStatus::success, piece, 1, 2);
        const auto answered = read_completion(answer.bytes());
        REQUIRE(answered);
        REQUIRE(answered->status == CompletionStatus::success);
        REQUIRE(answered->length == piece.length);
        REQUIRE(answered->lead == piece.lead());
        REQUIRE(traces::codec::tlp_payload_bytes(answer.bytes()) == piece.padded());
    }
}

TEST_CASE("enables that are not contiguous mean no access", "[unit][record]") {
    const auto header = [](unsigned first, unsigned last, unsigned dwords) {
        trace_bench::Bytes bytes(12);
        bytes[3] = static_cast<std::byte>(dwords);
        bytes[7] = static_cast<std::byte>(last << 4 | first);
        return read_memory_request(bytes).has_value();
    };
    CHECK(header(0b0110, 0, 1));
    CHECK_FALSE(header(0b0101, 0, 1));
    CHECK_FALSE(header(0b1111, 1, 1));
    CHECK(header(0b1100, 0b0011, 3));
    CHECK_FALSE(header(0b0011, 0b0011, 3));
    CHECK_FALSE(header(0b1100, 0b1100, 3));
    CHECK_FALSE(header(0, 0b0011, 3));
}

namespace {

struct Sizes {
    unsigned payload, read_request;
};
/// "0x1000: 512 instead of 256", or nothing.
std::string other(TlpSort sort, std::uint64_t address, std::uint64_t length, Sizes recorded, Sizes played) {
    using model::pcie::TlpSizes;
    const auto found = first_other_tlp(
        sort, address, length,
        {TlpSizes::of(recorded.payload, recorded.read_request), TlpSizes::of(played.payload, played.read_request)});
    return found ? fmt::format("{:#x}: {} instead of {}", found->address, found->played, found->recorded) : "";
}

} // namespace

TEST_CASE("the first TLP that another link makes otherwise is found", "[unit][record]") {
    constexpr Sizes usual{512, 512}, half{256, 512}, small_reads{512, 256};

    CHECK(other(TlpSort::write, 0x1000, 4096, usual, half) == "0x1000: 256 instead of 512");
    CHECK(other(TlpSort::write, 0x11a0, 4096, usual, half) == "0x1200: 256 instead of 512"); // 96 bytes in front
    CHECK(other(TlpSort::write, 0x10c0, 128, usual, half) == "0x10c0: 64 instead of 128");
    CHECK(other(TlpSort::write, 0x1000, 256, usual, half) == "");
    CHECK(other(TlpSort::write, 0x1100, 256, usual, half) == "");
    CHECK(other(TlpSort::write, 0x1003, 0, usual, half) == "");
    CHECK(other(TlpSort::write, 0x1000, 4096, half, usual) == "0x1000: 512 instead of 256");
    CHECK(other(TlpSort::write, 0x1000, 4096, usual, small_reads) == "");
    CHECK(other(TlpSort::read_request, 0x1000, 4096, usual, half) == "");
    CHECK(other(TlpSort::read_request, 0x11a0, 4096, usual, small_reads) == "0x1200: 256 instead of 512");
}

TEST_CASE("completions end at a read completion boundary, and with their request", "[unit][record]") {
    constexpr Sizes usual{512, 512}, half{256, 512}, small_reads{512, 256};

    CHECK(other(TlpSort::completion, 0x1000, 512, usual, half) == "0x1000: 256 instead of 512");
    CHECK(other(TlpSort::completion, 0x1010, 300, usual, half) == "0x1010: 240 instead of 300");
    CHECK(other(TlpSort::completion, 0x1010, 240, usual, half) == "");
    CHECK(other(TlpSort::completion, 0x1020, 600, usual, small_reads) == "0x1020: 224 instead of 480");
    CHECK(other(TlpSort::completion, 0x1000, 200, usual, small_reads) == "");
}
